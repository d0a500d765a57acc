//go:build full

package service_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// Each alert fires for the series below, and no other does.
var fires = map[string]string{
	"AnteroomDown":            `up{job="anteroom"} 0x2000`,
	"AnteroomNotReady":        `anteroom_ready{check="store"} 0x2000`,
	"AnteroomStoreErrors":     `anteroom_store_errors_total{kind="timeout"} 0+1x2000`,
	"AnteroomErrors":          `anteroom_http_requests_total{code="503"} 0+1x2000`,
	"AnteroomMailDead":        `anteroom_outbox_messages{state="dead"} 1x2000`,
	"AnteroomMailWaits":       `anteroom_outbox_oldest_message_timestamp_seconds 1x2000`,
	"AnteroomRelayFails":      `anteroom_relay_messages_total{outcome="refused"} 0+1x2000`,
	"AnteroomReloadFailed":    `anteroom_content_reloads_total{outcome="failure"} 0+1x2000`,
	"AnteroomUnverified":      `anteroom_records_unverified_oldest_timestamp_seconds{kind="charter"} 1x30000`,
	"AnteroomRoom":            "anteroom_store_bytes 9x2000\nanteroom_store_room_bytes 10x2000",
	"AnteroomBackupOld":       `anteroom_backup_newest_timestamp_seconds 1x30000`,
	"AnteroomReplicaOld":      `anteroom_replica_newest_timestamp_seconds 1x2000`,
	"AnteroomSecurityTxtEnds": `anteroom_security_txt_expires_timestamp_seconds 2000000x2000`,
	"AnteroomSlowCommits":     "anteroom_store_commit_duration_seconds_bucket{le=\"0.5\"} 0x2000\nanteroom_store_commit_duration_seconds_bucket{le=\"2\"} 0+10x2000\nanteroom_store_commit_duration_seconds_bucket{le=\"+Inf\"} 0+10x2000",
	"AnteroomWritesRefused":   `anteroom_limiter_refusals_total 0+120x2000`,
}

// healthySeries make no alert fire.
const healthySeries = `up{job="anteroom"} 1x2000
anteroom_ready{check="store"} 1x2000
anteroom_store_errors_total{kind="timeout"} 0x2000
anteroom_http_requests_total{code="200"} 0+9x2000
anteroom_outbox_messages{state="dead"} 0x2000
anteroom_outbox_oldest_message_timestamp_seconds 0x2000
anteroom_relay_messages_total{outcome="sent"} 0+1x2000
anteroom_content_reloads_total{outcome="success"} 0+1x2000
anteroom_records_unverified_oldest_timestamp_seconds{kind="charter"} 0x2000
anteroom_store_bytes 1x2000
anteroom_store_room_bytes 10x2000
anteroom_backup_newest_timestamp_seconds 0+60x2000
anteroom_replica_newest_timestamp_seconds 0+60x2000
anteroom_security_txt_expires_timestamp_seconds 90000000x2000
anteroom_limiter_refusals_total 0x2000`

func TestRules(t *testing.T) {
	t.Parallel()
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Load([]byte(text(t, "rules.yml")), &rules); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "rules.yml", text(t, "rules.yml"))
	var hours, days strings.Builder
	hours.WriteString("rule_files: [rules.yml]\nevaluation_interval: 5m\ntests:\n")
	days.WriteString("rule_files: [rules.yml]\nevaluation_interval: 12h\ntests:\n")
	add := func(tests *strings.Builder, series, firing, at string) {
		tests.WriteString("  - interval: 1m\n    input_series:\n")
		for line := range strings.Lines(series) {
			name, values, _ := strings.Cut(strings.TrimSpace(line), " ")
			fmt.Fprintf(tests, "      - {series: '%s', values: '%s'}\n", name, values)
		}
		fmt.Fprintf(tests, "    promql_expr_test:\n      - expr: count by (alertname) (ALERTS{alertstate=\"firing\"})\n        eval_time: %s\n        exp_samples: [%s]\n", at, firing)
	}
	add(&hours, healthySeries, "", "20h")
	var expressions, listed []string
	for _, rule := range rules.Groups[0].Rules {
		tests, at := &hours, "2h"
		if strings.HasSuffix(fires[rule.Alert], "x30000") {
			tests, at = &days, "360h"
		}
		add(tests, fires[rule.Alert], fmt.Sprintf(`{labels: '{alertname="%s"}', value: 1}`, rule.Alert), at)
		expressions, listed = append(expressions, rule.Expr), append(listed, rule.Alert)
	}
	if len(listed) != len(fires) {
		t.Errorf("the alerts are %s", listed)
	}
	files := []string{"test", "rules", write(t, dir, "hours.yml", hours.String()), write(t, dir, "days.yml", days.String())}
	if said, err := command(t, "promtool", files...).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}

	// A host shows what the alerts ask for.
	h := start(t, t.TempDir(), "ANTEROOM_BACKUPS="+dir, "ANTEROOM_REPLICA=none")
	register(t, http.DefaultClient, "http://"+h.address)
	_, page := ask(t, http.DefaultClient, "GET", h.said.until(t, `metrics are shown" url=(\S+)`), "")
	shown := []string{"anteroom_replica_newest_timestamp_seconds"}
	for _, series := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(page, -1) {
		shown = append(shown, series[1])
	}
	for _, expression := range expressions {
		for _, name := range regexp.MustCompile(`anteroom_[a-z_]+`).FindAllString(expression, -1) {
			if !slices.ContainsFunc(shown, func(series string) bool { return strings.TrimSuffix(name, "_bucket") == series || name == series }) {
				t.Errorf("no host shows %s", name)
			}
		}
	}
}
