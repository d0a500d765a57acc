package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"anteroom/edge/worker/cloudflare/apitest"
	"anteroom/edge/worker/deploy"
)

// remarks are what is said of the platform now, a line each.
func (o *operator) remarks() string {
	o.t.Helper()
	r, err := o.survey()
	if err != nil {
		o.t.Fatal(err)
	}
	before := len(o.Calls())
	var b strings.Builder
	last := -1
	for _, remark := range r.Platform(o.ctx) {
		fmt.Fprintln(&b, remark.Severity, remark)
		rank := strings.Index(fmt.Sprint(deploy.Fault, deploy.Warning, deploy.ByHand), string(remark.Severity))
		if rank < last {
			o.t.Errorf("%s comes too late", remark)
		}
		last = rank
	}
	for _, call := range o.Calls()[before:] {
		if call.Method != "GET" {
			o.t.Errorf("looking at the platform makes the call %s %s", call.Method, call.Path)
		}
	}
	return b.String()
}

// wantRemarks fails the test where the remarks lack one of the texts, or have more lines than there
// are texts.
func (o *operator) wantRemarks(texts ...string) {
	o.t.Helper()
	got := o.remarks()
	for _, text := range texts {
		if !strings.Contains(got, text) {
			o.t.Errorf("it says\n%s\nwant %q", got, text)
		}
	}
	if n := strings.Count(got, "\n"); n != len(texts) {
		o.t.Errorf("it says %d things, want %d:\n%s", n, len(texts), got)
	}
}

func TestPlatform(t *testing.T) {
	o := newOperator(t)
	zone := o.Zone("anteroom.example")
	fresh := []string{
		"fault operator@anteroom.example: it is no destination address of the account",
		"warning anteroom.example: Always Use HTTPS is off",
		"warning anteroom.example: Browser Integrity Check is on",
		"warning anteroom.example: Email Address Obfuscation is on",
		"warning anteroom.example: Automatic HTTPS Rewrites is on",
	}
	o.wantRemarks(fresh...)
	o.must()
	o.wantRemarks(fresh...)

	// As it is meant to be.
	o.AddAddress("operator@anteroom.example", false)
	o.Set(zone, "always_use_https", "on")
	for _, setting := range []string{"browser_check", "email_obfuscation", "automatic_https_rewrites"} {
		o.Set(zone, setting, "off")
	}
	o.wantRemarks("fault operator@anteroom.example: it is not verified")
	o.AddAddress("operator@anteroom.example", true)
	o.wantRemarks()

	// What somebody changes in the dashboard.
	for member, value := range map[string]any{"fight_mode": true, "ai_bots_protection": "block", "is_robots_txt_managed": true, "enable_js": true, "crawler_protection": "enabled"} {
		o.SetBots(zone, member, value)
	}
	o.Set(zone, "security_level", "under_attack")
	o.Set(zone, "rocket_loader", "on")
	o.wantRemarks(
		"fault anteroom.example: Bot Fight Mode is on", "fault anteroom.example: Block AI bots is on", "fault anteroom.example: robots.txt is managed",
		"warning anteroom.example: JavaScript Detections is on", "warning anteroom.example: AI Labyrinth is on", "fault anteroom.example: Under Attack mode is on",
		"warning anteroom.example: Rocket Loader is on",
	)
	for member, value := range map[string]any{"fight_mode": false, "ai_bots_protection": "disabled", "is_robots_txt_managed": false, "enable_js": false, "crawler_protection": "disabled"} {
		o.SetBots(zone, member, value)
	}
	o.Set(zone, "security_level", "medium")
	o.Set(zone, "rocket_loader", "off")
	on := true
	o.SetObservability(t, "anteroom", &apitest.Observability{Enabled: &on})
	o.wantRemarks("fault anteroom: observability.redact_query_string is not set: queries hold e-mail addresses", "fault anteroom: what is logged is not as wrangler.toml says")
	o.must() // sets it again
	o.wantRemarks()

	text, err := os.ReadFile(o.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.path, bytes.ReplaceAll(text, []byte(`"417263051"`), []byte(`"1001"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	o.wantRemarks("warning anteroom: the rate limit has the namespace_id 1001")
}

// What the token may not read is said, with where it is to be looked at, and nothing else is lost.
func TestPlatformWithoutPermissions(t *testing.T) {
	o := newOperator(t)
	zone := o.Zone("anteroom.example")
	o.must()
	o.Deny("GET", "email/")
	o.Deny("GET", "zones/"+zone.ID+"/settings")
	o.Deny("GET", "zones/"+zone.ID+"/bot_management")
	o.wantRemarks(
		"look by hand operator@anteroom.example: whether the address of the relay is verified could not be read: the token lacks the permission Account, Email Routing Addresses, Read",
		"look by hand anteroom.example: always_use_https, browser_check, email_obfuscation, rocket_loader, automatic_https_rewrites, security_level could not be read: the token lacks the permission Zone, Zone Settings, Read",
		"look by hand anteroom.example: what it does about bots could not be read: the token lacks the permission Zone, Bot Management, Read (look in the dashboard at Security, Settings, Bot traffic of anteroom.example)",
	)

	o = newOperator(t)
	o.AddAddress("operator@anteroom.example", true)
	o.FailOn("GET", "settings/browser_check", apitest.Times(9, apitest.Refuse(500, 0, "down"))...)
	if got := o.remarks(); !strings.Contains(got, "look by hand anteroom.example: browser_check could not be read: ") || !strings.Contains(got, "warning anteroom.example: Email Address Obfuscation is on") {
		t.Errorf("it says\n%s", got)
	}
}
