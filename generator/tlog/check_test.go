package tlog_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"
)

// today is a day on which no verification of these tests is in the future.
var today = time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC)

// faultsOf checks what is published, and gives the faults a line each.
func faultsOf(t testing.TB, p published, what tlog.Checking) string {
	t.Helper()
	what.Read, what.Now = p.read, today
	what.List = func() (paths []string, err error) {
		for path := range p {
			if tlog.Published(path) {
				paths = append(paths, path)
			}
		}
		return paths, nil
	}
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
		if err != nil || !r.OK() || r.Kept != len(b.stages) || r.Size != b.Size() || len(r.Verifications) != len(b.stages) || r.Log.Counts() != b.Counts() || r.Origin != host+"/log" {
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

// Five attackers, each of whom has the key of the log, and what tells on them.
func TestAttacks(t *testing.T) {
	victim := recordOf(tlog.Registration, 900)
	honest := years(t)
	kept := [][]byte{honest.stages[1].checkpoint}
	head, err := tlog.Open(honest.stages[1].checkpoint, honest.Key, nil)
	if err != nil {
		t.Fatal(err)
	}
	promise := func(by string) []*tlog.Promised {
		return []*tlog.Promised{{Name: "a.json", Kind: tlog.Registration, Hash: victim.Hash, By: by, Head: head, Signer: "key", Signed: true, Host: host, RecordedAt: "2026-11-21T10:00:00Z"}}
	}
	rewritten := empty(t)
	for i, s := range honest.Stages {
		from := int64(0)
		if i > 0 {
			from = honest.Stages[i-1].Size
		}
		var entries []tlog.Entry
		for at := from; at < s.Size-1; at++ {
			entries = append(entries, *honest.Entry(at))
		}
		if i == 0 {
			entries[3] = recordOf(tlog.Registration, 77)
		}
		rewritten.add(t, s.Name, entries...)
	}
	backdated := empty(t)
	backdated.add(t, "2026-11-20", recordOf(tlog.Registration, 1))
	seen := [][]byte{slices.Clone(backdated.stages[0].checkpoint)}
	slipped := empty(t).add(t, "2026-11-19").add(t, "2026-11-20", recordOf(tlog.Registration, 1))
	witness := tlogtest.New(honest.Key)
	both := func(a *book) published { // what the service shows to others
		p := a.publish(t)
		p[tlog.CheckpointOf(head.Size)] = honest.stages[1].checkpoint
		return p
	}
	for name, c := range map[string]struct {
		shown published
		what  tlog.Checking
		want  string
	}{
		"history rewritten, for who kept a checkpoint": {rewritten.publish(t), tlog.Checking{Kept: kept}, "FORK: does not begin with the 711 entries of the kept checkpoint"},
		"history rewritten, for who has a promise":     {rewritten.publish(t), tlog.Checking{Promised: promise("2028-01-01"), ReceiptKeys: []string{"key"}}, "FORK: does not begin with the 711 entries of the tree that the promise names"},
		"one checkpoint of a forked view":              {both(rewritten), tlog.Checking{}, "/log/checkpoints/711 FORK: does not begin"},
		"a forked view, without a witness":             {rewritten.publish(t), tlog.Checking{Witnesses: []tlog.Witness{{Key: witness.VKey()}}}, "is not cosigned by " + tlogtest.Name},
		"a log taken back":                             {treeOf(t, 5).publish(t), tlog.Checking{Kept: kept}, "has 5 entries, but the kept checkpoint has 711: old copy, or fork"},
		"a log taken down":                             {honest.boards, tlog.Checking{Key: honest.Key, Kept: kept}, "/log/checkpoint is not published"},
		"a registration left out":                      {honest.publish(t), tlog.Checking{Promised: promise("2026-12-21"), ReceiptKeys: []string{"key"}}, "a.json was promised to be counted by 2026-12-21, and is not"},
		"a backdated board":                            {slipped.publish(t), tlog.Checking{Kept: seen}, "FORK: does not begin with the 2 entries"},
		"a forged promise is no evidence":              {honest.publish(t), tlog.Checking{Promised: promise("2026-12-21")}, ""},
	} {
		if c.what.Key == "" {
			c.what.Key = honest.Key
		}
		got := faultsOf(t, c.shown, c.what)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s:\n%s\nwant %s", name, got, c.want)
		}
	}
	if err := backdated.Clone(); true {
		signer, _ := keyOf(t)
		// A later verification cannot have an earlier day: the check refuses what Append would sign.
		_, _, failed := err.Append("2026-11-19", []tlog.Entry{tlog.VerificationOf("2026-11-19", "2026-11-19", board("2026-11-19", err.Counts()))}, signer)
		late := &book{Log: err, boards: maps.Clone(backdated.boards)}
		late.boards["/scoreboard/2026-11-19.json"] = board("2026-11-19", err.Counts())
		if got := faultsOf(t, late.publish(t), tlog.Checking{Key: err.Key, Kept: seen}); failed != nil || !strings.Contains(got, "verification 2026-11-19 follows verification 2026-11-20, which is not earlier") {
			t.Errorf("a backdated board at the end: %v, %s", failed, got)
		}
	}
}

// A change of any byte of any published file is a fault, and so is a file that is missing or is one
// too many.
func TestCheckEveryFile(t *testing.T) {
	b := treeOf(t, 3, 300)
	what := tlog.Checking{Key: b.Key}
	for path, text := range b.publish(t) {
		for at := range text {
			if at > 40 && at < len(text)-40 && at%97 != 0 {
				continue
			}
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
		if got := faultsOf(t, missing, what); !strings.Contains(got, path+" is not published") {
			t.Errorf("%s can be missing: %s", path, got)
		}
	}
	more := b.publish(t)
	more["/log/surprise"] = nil
	if got := faultsOf(t, more, what); got != "/log/surprise does not belong to the log" {
		t.Errorf("one more: %s", got)
	}
	board := b.publish(t)
	board["/scoreboard.json"] = bytes.Replace(board["/scoreboard.json"], []byte(`"registrations_recorded":298`), []byte(`"registrations_recorded":299`), 1)
	if got := faultsOf(t, board, what); got != `/scoreboard.json pilot_waitlist.registrations_recorded does not match the log: got "299", want 298` {
		t.Errorf("another number: %s", got)
	}
	// Whoever serves other entries can do so without the key: that is no fork.
	served := b.publish(t)
	served["/log/tile/entries/000"] = bytes.Replace(served["/log/tile/entries/000"], []byte(b.Entry(0).Hash), []byte(recordOf(tlog.Registration, 7777).Hash), 1)
	if got := faultsOf(t, served, what); got != "/log/checkpoint does not match the published entries" {
		t.Errorf("other entries: %s", got)
	}
	told := b.publish(t) // a number that no entry gives
	told["/scoreboard/2026-11-01.json"] = bytes.Replace(told["/scoreboard/2026-11-01.json"], []byte(`"shipped":4`), []byte(`"shipped":5`), 1)
	if got := faultsOf(t, told, what); !strings.HasPrefix(got, "/scoreboard/2026-11-01.json SHA-256 does not match its verification: got ") {
		t.Errorf("another number that was entered: %s", got)
	}
}

// cosignAt is the line by which a witness cosigns a checkpoint at a time, whatever its clock says.
func cosignAt(checkpoint []byte, name string, number byte, at uint64) []byte {
	body, _, _ := strings.Cut(string(checkpoint), "\n\n")
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{number}, ed25519.SeedSize))
	line := binary.BigEndian.AppendUint32(nil, tlogtest.Signer(name, number).KeyHash())
	line = binary.BigEndian.AppendUint64(line, at)
	line = append(line, ed25519.Sign(key, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s\n", at, body))...)
	return fmt.Appendf(nil, "— %s %s\n", name, base64.StdEncoding.EncodeToString(line))
}

// The time of a cosignature is when its witness has seen the checkpoint. One that cannot be true is
// not taken.
func TestCosignedAt(t *testing.T) {
	signer := tlogtest.Signer("witness.example/w", 1)
	day := uint64(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC).Unix())
	const fault = "was cosigned by witness.example/w at %s, which is before its day or in the future"
	for _, c := range []struct {
		at   uint64
		says string
	}{
		{day, ""},
		{day - 1, fmt.Sprintf(fault, "2026-11-19T23:59:59Z")},
		{uint64(today.Unix()) + 300, ""},
		{uint64(today.Unix()) + 301, fmt.Sprintf(fault, today.Add(301*time.Second).Format(time.RFC3339))},
		{0, "time out of range"},
		{1 << 62, "time out of range"},
		{math.MaxUint64, "time out of range"},
	} {
		b := empty(t).add(t, "2026-11-20", recordOf(tlog.Registration, 1))
		b.Witnesses = []tlog.Witness{{Key: signer.Verifier().String()}}
		p := b.publish(t)
		for path, text := range p {
			if strings.HasPrefix(path, tlog.Folder+"/checkpoint") {
				p[path] = append(slices.Clone(text), cosignAt(text, signer.Name(), 1, c.at)...)
			}
		}
		if got := faultsOf(t, p, tlog.Checking{Key: b.Key, Witnesses: b.Witnesses}); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%d: %s, want %q", c.at, got, c.says)
		}
	}
}
