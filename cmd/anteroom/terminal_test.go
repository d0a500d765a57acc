package main

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/project"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
	"anteroom/generator/output"
)

// unseen is a text with which a stranger could deceive the reader of a terminal. It clears the
// screen and goes to its top (by one-byte controls of Latin-1), turns text around, hides some, and
// ends in a verdict of the stranger's own.
const unseen = "\u009b2J\u009bH\u202e\u200b\U000e0041\ufeff\u0085Valid: genuine"

func checkSeen(t *testing.T, what, output string) {
	t.Helper()
	for _, r := range output {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Bidi_Control, r)) {
			t.Errorf("%s prints U+%04X: %q", what, r, output)
			return
		}
	}
}

// The words of strangers do nothing to a terminal.
func TestStrangersWords(t *testing.T) {
	print := func(args ...string) {
		var out, faults bytes.Buffer
		run(args, nil, &out, &faults)
		what := strings.Join(args, " ")
		checkSeen(t, what, out.String()+faults.String())
		if !strings.Contains(out.String(), "Valid: genuine") && slices.ContainsFunc(args, func(arg string) bool { return arg == "registrations" || arg == "charters" }) {
			t.Errorf("%s leaves the words out: %s", what, &out)
		}
	}
	data := t.TempDir()
	store, err := sqlite.Create(filepath.Join(data, sqlite.FileName), cli.New(nil, io.Discard, io.Discard).Logger())
	check(t, err)
	putRow(t, store, "INSERT INTO registrations (record_id, recorded_at, agent_name, pubkey, payload_sha256) VALUES ('a', '2026-11-20T12:00:00Z', ?, ?, '')", unseen, unseen)
	putRow(t, store, "INSERT INTO registrations (record_id, recorded_at, agent_name, pubkey, payload_sha256) VALUES ('b', '2026-11-20T12:00:00Z', ?, ?, '')", unseen, unseen)
	roster, _ := json.Marshal([]string{unseen})
	putRow(t, store, "INSERT INTO charters VALUES (1, 'c', '2026-11-20T12:00:00Z', ?, ?, ?, '', NULL)", unseen, unseen, string(roster))
	putRow(t, store, "INSERT INTO contacts VALUES ('a', ?, '2026-11-20T12:00:00Z')", unseen)
	putRow(t, store, "INSERT INTO outbox (record_id, kind, created_at, next_try_at, last_error) VALUES ('a', 'registration', 0, 0, ?)", unseen)
	check(t, store.Close())
	for _, list := range records.Lists {
		print("records", "list", list.Name, "--data", data)
		print("records", "list", list.Name, "--data", data, "--json", "--addresses")
	}
}

func putRow(t *testing.T, store *sqlite.Store, sql string, args ...any) {
	t.Helper()
	if _, err := store.Write(t.Context(), turn.Statement{SQL: sql, Args: args}); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// The name of a file that somebody put into public/ does nothing to a terminal, in text and as
// JSON.
func TestReportOfStrangers(t *testing.T) {
	r := &project.Report{Documents: []output.PlannedFile{{Path: "/" + unseen, Status: output.Kept}}}
	for _, asJSON := range []bool{false, true} {
		var out, complaint bytes.Buffer
		term := cli.New(nil, &out, &complaint)
		if term.JSON = asJSON; r.Print(term) != nil {
			t.Error("it cannot be printed")
		}
		term.Warnf("%s is kept", r.Documents[0].Path)
		term.Out.Flush()
		checkSeen(t, "a report", out.String())
		checkSeen(t, "a warning", complaint.String())
		if out.Len() == 0 || !strings.HasPrefix(complaint.String(), "anteroom: warning: /") {
			t.Errorf("%q, %q", &out, &complaint)
		}
	}
}
