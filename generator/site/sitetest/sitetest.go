// Package sitetest writes hand verifications and public logs for content folders of tests.
package sitetest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing/fstest"

	"anteroom/generator/model"

	"go.yaml.in/yaml/v4"
)

// read reads the numbers of a board. What is wrong with it is for the loader to say.
func read(file *fstest.MapFile) (board model.Roster) {
	var members map[string]any
	_ = yaml.Unmarshal(file.Data, &members)
	text, _ := json.Marshal(members)
	_ = json.Unmarshal(text, &board) // the members have the same names in both
	return board
}

// Verify gives every board of a content folder a verification that agrees with its numbers, of
// records that it makes up. It replaces those that are there. A board that cannot be read gets one
// of no records.
func Verify(fsys fstest.MapFS) {
	var vouched, own int
	previous, previousSum := "", ""
	for _, name := range boards(fsys) {
		is := read(fsys["scoreboard/"+name+".yaml"])
		var b bytes.Buffer
		line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
		line("host: www.base.example\nthrough: %sT12:00:00Z", name[:day])
		if previous != "" {
			line("follows: %s\nfollows_sha256: %q", previous, previousSum)
		}
		line("receipt_keys: []")
		for _, kind := range []struct {
			name  string
			total int
		}{
			{"registrations", max(0, is.PilotWaitlist.RegistrationsRecorded) + max(0, is.Excluded.Records)},
			{"charters", max(0, is.Orgs.ChartersFiled)},
			{"suggestions", max(0, is.Suggestions.ReceivedExternal)},
		} {
			line("%s: {last: %d, total: %d, sha256: %q}", kind.name, kind.total, kind.total, sum(nil))
		}
		line("told:")
		for _, n := range []struct {
			path  string
			value int
		}{
			{"suggestions.originated_internally", is.Suggestions.OriginatedInternally},
			{"suggestions.shipped", is.Suggestions.Shipped},
			{"observed_attention.named_clients", len(is.ObservedAttention.NamedClients)},
			{"observed_attention.named_clients_that_completed_a_handshake", is.ObservedAttention.CompletedHandshake},
			{"observed_attention.tool_calls_by_anything_not_auditing_us", is.ObservedAttention.ToolCalls},
			{"observed_attention.security_reports_received", is.ObservedAttention.SecurityReports},
		} {
			line("  %s: %d", n.path, max(0, n.value))
		}
		decisions := ""
		for ; vouched < is.PilotWaitlist.VerifiedConversions; vouched++ {
			decisions += decision("vouch", "v", vouched)
		}
		for ; vouched > max(0, is.PilotWaitlist.VerifiedConversions); vouched-- {
			decisions += decision("leave", "v", vouched-1)
		}
		for ; own < is.Excluded.Records; own++ {
			decisions += decision("own", "o", own)
		}
		for ; own > max(0, is.Excluded.Records); own-- {
			decisions += decision("leave", "o", own-1)
		}
		if decisions == "" {
			decisions = " []\n"
		} else {
			decisions = "\n" + decisions
		}
		b.WriteString("decisions:" + decisions)
		line("sum: %q", sum(b.Bytes()))
		fsys["verifications/"+name+".yaml"] = &fstest.MapFile{Data: b.Bytes()}
		previous, previousSum = name, sum(b.Bytes())
	}
}

// boards are the names of the boards of a content folder, oldest first.
func boards(fsys fstest.MapFS) (names []string) {
	for file := range fsys {
		if dir, base := path.Split(file); dir == "scoreboard/" && strings.HasSuffix(base, ".yaml") && len(base) >= len("2026-11-20.yaml") {
			names = append(names, strings.TrimSuffix(base, ".yaml"))
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(a[:day], b[:day]), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	return names
}

// day is the length of a date.
const day = len("2026-11-20")

// decision is what is decided about one made-up record.
func decision(what, series string, n int) string {
	commitment := sum(fmt.Append(nil, series, n))
	id := commitment[:32]
	text := "  - {kind: registration, decision: " + what + ", "
	if what == "vouch" {
		text += "agent: \"" + id + "\", "
	}
	return text + "records: \"" + id + " " + commitment + "\"}\n"
}

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}
