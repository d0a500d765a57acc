// Package sitetest writes hand verifications and public logs for content folders of tests.
package sitetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing/fstest"

	"anteroom/generator/model"
	"anteroom/generator/tlog"

	"go.yaml.in/yaml/v4"
)

func read(file *fstest.MapFile) (board model.Scoreboard) {
	var members map[string]any
	_ = yaml.Unmarshal(file.Data, &members)
	text, _ := json.Marshal(members)
	_ = json.Unmarshal(text, &board) // the members have the same names in both
	return board
}

// Verify adds to every board of a content folder a verification of made-up records that matches its
// numbers.
func Verify(fsys fstest.MapFS) {
	var vouched, own int
	follows := ""
	for _, name := range boards(fsys) {
		is := read(fsys["scoreboard/"+name+".yaml"])
		suggestions, attention := &is.Suggestions, &is.ObservedAttention
		covers := func(kind string, total int) string {
			return fmt.Sprintf("%s: {last: %d, total: %d, sha256: %q}\n", kind, total, total, sum(nil))
		}
		told := func(number string, n int) string { return fmt.Sprintf("  %s: %d\n", number, max(0, n)) }
		hour := "12"
		if len(name) > day { // a later one of that day
			hour = "18"
		}
		text := "host: www.base.example\nthrough: " + name[:day] + "T" + hour + ":00:00Z\n" + follows + "receipt_keys: []\n" +
			covers("registrations", max(0, is.PilotWaitlist.RegistrationsRecorded)+max(0, is.Excluded.Records)) +
			covers("charters", max(0, is.Orgs.ChartersFiled)) +
			covers("suggestions", max(0, suggestions.ReceivedExternal)) + "told:\n" +
			told("suggestions.originated_internally", suggestions.OriginatedInternally) +
			told("suggestions.shipped", suggestions.Shipped) +
			told("observed_attention.named_clients", len(attention.NamedClients)) +
			told("observed_attention.named_clients_that_completed_a_handshake", attention.CompletedHandshake) +
			told("observed_attention.tool_calls_by_anything_not_auditing_us", attention.ToolCalls) +
			told("observed_attention.security_reports_received", attention.SecurityReports)
		decisions := decide(&vouched, is.PilotWaitlist.VerifiedConversions, "vouch", "v") +
			decide(&own, is.Excluded.Records, "own", "o")
		if decisions == "" {
			text += "decisions: []\n"
		} else {
			text += "decisions:\n" + decisions
		}
		text += fmt.Sprintf("sum: %q\n", sum([]byte(text)))
		fsys["verifications/"+name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
		follows = fmt.Sprintf("follows: %s\nfollows_sha256: %q\n", name, sum([]byte(text)))
	}
}

func decide(had *int, n int, what, series string) (decisions string) {
	for ; *had < n; *had++ {
		decisions += decision(what, series, *had)
	}
	for ; *had > max(0, n); *had-- {
		decisions += decision("leave", series, *had-1)
	}
	return decisions
}

func boards(fsys fstest.MapFS) (names []string) {
	for file := range fsys {
		dir, base := path.Split(file)
		if name, is := strings.CutSuffix(base, ".yaml"); dir == "scoreboard/" && is && len(name) >= day {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, tlog.CompareNames)
	return names
}

const day = len("2026-11-20")

func decision(what, series string, n int) string {
	record := sum(fmt.Append(nil, series, n))
	text := "  - {kind: registration, decision: " + what + ", "
	if what == "vouch" {
		text += "agent: \"" + record + "\", "
	}
	return text + "records: \"" + record + "\"}\n"
}

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}
