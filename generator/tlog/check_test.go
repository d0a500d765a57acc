package tlog_test

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"anteroom/generator/tlog"
)

// today is a day on which no verification of these tests is in the future.
var today = time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC)

// faultsOf checks what is published, and gives the faults a line each.
func faultsOf(t testing.TB, p published, what tlog.Checking) string {
	t.Helper()
	what.Read, what.Now = p.read, today
	r, err := tlog.Check(what)
	if err != nil {
		t.Error(err)
	}
	var lines []string
	for _, f := range r.Faults {
		lines = append(lines, f.Path+" "+f.What)
	}
	return strings.Join(lines, "\n")
}

// An honest log has no fault, and extends each of its checkpoints.
func TestCheck(t *testing.T) {
	for _, b := range []*book{treeOf(t, 1), treeOf(t, 255, 256, 257, 600), years(t)} {
		what := tlog.Checking{Read: b.publish(t).read, Key: b.Key, Now: today}
		for _, s := range b.stages {
			what.Kept = append(what.Kept, s.checkpoint)
		}
		r, err := tlog.Check(what)
		if err != nil || !r.OK() || r.Kept != len(b.stages) || r.Size != b.Size() || len(r.Verifications) != len(b.stages) || r.Verifications[len(b.stages)-1].Counts != b.Counts() || r.Origin != host+"/log" {
			t.Errorf("%v, %+v", err, r)
		}
	}
	if r, err := tlog.Check(tlog.Checking{Read: published{}.read}); !errors.Is(err, tlog.ErrNoLog) || !r.OK() {
		t.Errorf("no log: %v", err)
	}
	if r, err := tlog.Check(tlog.Checking{Read: empty(t).publish(t).read}); !errors.Is(err, tlog.ErrEmpty) || !r.OK() {
		t.Errorf("a log that has not begun: %v", err)
	}
}

// What an attacker who has the key of the log can publish, and what gives it away. TestOneVerdict
// of the command has rewritten logs, forked ones and promises.
func TestAttacks(t *testing.T) {
	honest, rewritten := treeOf(t, 3, 5), empty(t).add(t, "2026-11-01", records(9, tlog.Registration, 2)...).add(t, "2026-11-02", recordOf(tlog.Registration, 4))
	kept := [][]byte{honest.stages[1].checkpoint}
	both := rewritten.publish(t)
	both["/log/checkpoints/3"] = honest.stages[0].checkpoint
	slipped := empty(t).add(t, "2026-10-31").add(t, "2026-11-01", recordOf(tlog.Registration, 0), recordOf(tlog.Registration, 1))
	signer, _ := keyOf(t)
	late := &book{Log: honest.Clone(), boards: maps.Clone(honest.boards)}
	late.boards["/scoreboard/2026-10-31.json"] = board("2026-10-31", late.Counts())
	if _, _, err := late.Append("2026-10-31", []tlog.Entry{tlog.VerificationOf("2026-10-31", "2026-10-31", late.boards["/scoreboard/2026-10-31.json"])}, signer); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		shown published
		kept  [][]byte
		want  string
	}{
		"one checkpoint of a forked view": {both, nil, "/log/checkpoints/3 FORK: does not begin"},
		"a backdated board":               {slipped.publish(t), [][]byte{honest.stages[0].checkpoint}, "FORK: does not begin with the 3 entries"},
		"a backdated board at the end":    {late.publish(t), kept, "verification 2026-10-31 follows verification 2026-11-02, which is not earlier"},
	} {
		if got := faultsOf(t, c.shown, tlog.Checking{Key: honest.Key, Kept: c.kept}); !strings.Contains(got, c.want) {
			t.Errorf("%s:\n%s\nwant %s", name, got, c.want)
		}
	}
}

// A change of a byte of any published file is a fault, and so is a file that is missing.
func TestCheckEveryFile(t *testing.T) {
	b := treeOf(t, 3, 300)
	what := tlog.Checking{Key: b.Key}
	for path, text := range b.publish(t) {
		for at := 0; at < len(text); at += max(1, len(text)/20) {
			changed := b.publish(t)
			changed[path] = bytes.Clone(text)
			changed[path][at] ^= 1
			if _, err := tlog.Open(changed[path], b.Key, nil); err == nil { // a spare bit of its base64
				continue
			}
			if got := faultsOf(t, changed, what); got == "" && path != "/scoreboard.json" {
				t.Errorf("%s: byte %d can be changed", path, at)
			}
		}
		missing := b.publish(t)
		delete(missing, path)
		if got := faultsOf(t, missing, tlog.Checking{Key: b.Key, Kept: [][]byte{b.stages[0].checkpoint}}); !strings.Contains(got, path+" is not published") {
			t.Errorf("%s can be missing: %s", path, got)
		}
	}
	for _, c := range []struct{ path, old, new, want string }{
		{"/scoreboard.json", `"registrations_recorded":298`, `"registrations_recorded":299`, `/scoreboard.json pilot_waitlist.registrations_recorded does not match the log: got "299", want 298`},
		// Whoever serves other entries can do so without the key: that is no fork.
		{"/log/tile/entries/000", b.Entry(0).Hash, recordOf(tlog.Registration, 7777).Hash, "/log/checkpoint does not match the published entries"},
		{"/log/tile/entries/001.p/44", `"as_of":"2026-11-02"`, `"as_of":"2026-11-03"`, `/log/tile/entries/001.p/44 entry 299: scoreboard "/scoreboard/2026-11-02.json" does not match verification date "2026-11-03"`},
		{"/scoreboard/2026-11-01.json", `"shipped":4`, `"shipped":5`, "/scoreboard/2026-11-01.json SHA-256 does not match its verification: got "}, // which no entry has
	} {
		changed := b.publish(t)
		changed[c.path] = bytes.Replace(changed[c.path], []byte(c.old), []byte(c.new), 1)
		if got := faultsOf(t, changed, what); !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %s", c.want, got)
		}
	}
}
