package tlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/generator/tlog"
)

// forkOf are two logs of one key that begin alike, and the record that only the second one has.
func forkOf(t *testing.T) (shown, hidden *book, victim string) {
	t.Helper()
	record := recordOf(tlog.Registration, 900)
	shown = empty(t, 1).count(t, 1, "2026-11-20", records(1, tlog.Registration, 3)...).count(t, 1, "2026-11-21", records(2, tlog.Registration, 2)...)
	hidden = empty(t, 1).count(t, 1, "2026-11-20", records(1, tlog.Registration, 3)...)
	return shown, hidden.count(t, 1, "2026-11-22", append(records(3, tlog.Registration, 3), record)...), record.Hash
}

// Files of another log of the key, beside those that everybody sees, prove nothing to one reader,
// and who lists the files finds them.
func TestHiddenFork(t *testing.T) {
	shown, hidden, victim := forkOf(t)
	p := shown.publish(t)
	for path, text := range hidden.publish(t) {
		if p[path] == nil {
			p[path] = text
		}
	}
	if _, err := tlog.ReadProof(p.read, victim, shown.Keys, nil); !errors.Is(err, tlog.ErrOtherLog) || !strings.Contains(err.Error(), "proof is for size 9 root ") {
		t.Errorf("the victim is told: %v", err)
	}
	if as, _, err := tlog.Standing(p.read, victim, shown.Keys); as != "" || err != nil {
		t.Errorf("what the victim counts as: %q, %v", as, err)
	}
	r, err := tlog.Check(tlog.Checking{Read: p.read, List: func() ([]string, error) { return slices.Sorted(maps.Keys(p)), nil }})
	if text := fmt.Sprint(r.Faults); err != nil || !strings.Contains(text, "/log/checkpoints/9 does not belong to the log") || !strings.Contains(text, tlog.LookupPath(victim)) {
		t.Errorf("%v, %s", err, text)
	}
	proved, err := hidden.Prove(victim)
	if err != nil {
		t.Fatal(err)
	}
	// The proof proves the fork. Its checkpoint alone may mean that the log is an old one.
	kept := proved.Proof
	if r := check(t, shown.publish(t), shown.Keys, kept.Append(nil)); r.Since != tlog.Forked || len(r.Forks) != 1 || len(r.Forks[0].Notes) != 2 {
		t.Errorf("since the proof: %+v", r)
	}
	if r := check(t, shown.publish(t), shown.Keys, kept.Checkpoint); r.Since != tlog.Behind || len(r.Faults) != 1 || len(r.Faults[0].Notes) != 2 {
		t.Errorf("since its checkpoint: %+v", r)
	}
	if err := tlog.Compare(shown.publish(t).read, proved, shown.Keys); err == nil {
		t.Error("the proof is taken for one of the log")
	}
}

// A proof of a larger tree shows that a smaller one is a fork, where it has a subtree of that.
func TestForkOfLarger(t *testing.T) {
	shown := empty(t, 1).count(t, 1, "2026-11-20", records(1, tlog.Registration, 5)...)
	other := empty(t, 1).count(t, 1, "2026-11-20", records(2, tlog.Registration, 8)...)
	kept, err := other.Stages[0].Proof()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		kept  []byte
		since string
	}{"a proof": {kept.Append(nil), tlog.Behind}, "its checkpoint": {other.stages[0].checkpoint, tlog.Behind}} {
		if r := check(t, shown.publish(t), shown.Keys, c.kept); r.Since != c.since || r.OK() {
			t.Errorf("%s: %+v", name, r)
		}
	}
	shown = shown.count(t, 1, "2026-11-21", records(3, tlog.Registration, 1)...) // eight entries
	if r := check(t, shown.publish(t), shown.Keys, kept.Append(nil)); r.Since != tlog.Forked || len(r.Faults) > 0 {
		t.Errorf("%+v", r)
	}
	old := empty(t, 1).count(t, 1, "2026-11-20", records(2, tlog.Registration, 7)...)
	later := old.Clone()
	signer, _ := keyOf(t, 1)
	if _, _, err := later.Append("2026-11-21", []tlog.Entry{verification("2026-11-21")}, signer); err != nil {
		t.Fatal(err)
	}
	if kept, err = later.Current().Proof(); err != nil {
		t.Fatal(err)
	}
	if r := check(t, old.publish(t), old.Keys, kept.Append(nil)); r.Since != tlog.Behind || len(r.Forks) > 0 {
		t.Errorf("an old state: %+v", r)
	}
}

// Whoever has stolen a key that was replaced proves nothing with it, also not of an earlier day.
func TestStolenKey(t *testing.T) {
	b := empty(t, 2).count(t, 1, "2026-11-20", records(1, tlog.Registration, 3)...)
	b.count(t, 1, "2026-11-21", records(2, tlog.Registration, 2)...).count(t, 2, "2026-11-22", records(3, tlog.Registration, 2)...)
	ends, err := b.Ends()
	if err != nil || len(ends) != 1 || ends[0].Size != 7 {
		t.Fatalf("%+v, %v", ends, err)
	}
	victim := recordOf(tlog.Registration, 900)
	thief := empty(t, 1).count(t, 1, "2026-11-01", victim)
	forged, err := thief.Prove(victim.Hash)
	if err != nil {
		t.Fatal(err)
	}
	for name, known := range map[string][]tlog.Checkpoint{"the end": ends, "no end": nil} {
		if _, err := tlog.VerifyProof(forged.Proof.Append(nil), victim.Hash, b.Keys, nil, known); !errors.Is(err, tlog.ErrRetired) {
			t.Errorf("%s is known: %v", name, err)
		}
	}
	if err := tlog.Compare(b.publish(t).read, forged, b.Keys); err == nil {
		t.Error("it is taken for a proof of the log")
	}
	for _, stage := range b.Stages { // those of the log itself hold, under both keys
		hash := b.HashAt(stage.Tree.First + stage.Size - 2)
		own, err := b.Prove(hash)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tlog.VerifyProof(own.Proof.Append(nil), hash, b.Keys, nil, ends); err != nil {
			t.Errorf("%s: %v", stage.Name, err)
		}
		if err := tlog.Compare(b.publish(t).read, own, b.Keys); err != nil {
			t.Errorf("%s: %v", stage.Name, err)
		}
	}
	texts, err := b.KeysWithEnds()
	if err != nil || len(texts) != 2 || texts[1] != b.Keys[1] {
		t.Fatalf("%q, %v", texts, err)
	}
	if key, end, err := tlog.CutEnd(texts[0]); err != nil || key != b.Keys[0] || end.Size != ends[0].Size || end.Root != ends[0].Root {
		t.Errorf("%s: %s %+v %v", texts[0], key, end, err)
	}
	if _, _, err := tlog.CutEnd(b.Keys[0] + "@7:x"); err == nil || err.Error() != "want KEY@SIZE:ROOT, with the root in base64" {
		t.Error("an end without a root is taken")
	}
}

// What a kept checkpoint proves is a fault, also without the key: the log was taken down, its key
// replaced under the same name, or its newest tree hidden.
func TestKept(t *testing.T) {
	b := empty(t, 2).count(t, 1, "2026-11-20", records(1, tlog.Registration, 3)...).count(t, 2, "2026-11-21", records(2, tlog.Registration, 2)...)
	whole, first, newest := b.publish(t), b.stages[0].checkpoint, b.stages[1].checkpoint
	stranger, key := namedKey(t, tlog.Origin(host, 1), 77)
	other := &book{Log: tlog.New([]string{key}, nil), boards: map[string][]byte{}}
	lines, checkpoint, err := other.Append("2026-11-20", []tlog.Entry{verification("2026-11-20")}, stranger)
	if err != nil {
		t.Fatal(err)
	}
	other.stages = []stage{{"2026-11-20", lines, checkpoint}}
	hidden := maps.Clone(whole)
	hidden[tlog.KeysPath] = []byte(b.Keys[0] + "\n")
	const gone = "which signed the kept checkpoint"
	for name, c := range map[string]struct {
		published
		keys []string
		kept []byte
		want string
	}{
		"as it is":                        {whole, nil, newest, ""},
		"taken down":                      {published{}, nil, first, gone},
		"taken down, with the key":        {published{}, b.Keys, first, "a checkpoint of 4 entries was kept"},
		"a key replaced":                  {other.publish(t), nil, first, gone},
		"a key replaced, with the key":    {other.publish(t), b.Keys, first, "does not list the key " + b.Keys[0]},
		"the newest tree hidden":          {hidden, nil, newest, gone},
		"the newest tree hidden, its key": {hidden, b.Keys, newest, "does not list the key " + b.Keys[1]},
	} {
		r, err := tlog.Check(tlog.Checking{Read: c.published.read, Keys: c.keys, Kept: keptOf(c.kept)})
		if err != nil || r.OK() != (c.want == "") || !strings.Contains(fmt.Sprint(r.Faults), c.want) {
			t.Errorf("%s: %v, %+v", name, err, r.Faults)
		}
	}
	damaged := bytes.Clone(first)
	damaged[len(damaged)-9] ^= 1
	if _, err := tlog.Check(tlog.Checking{Read: whole.read, Kept: [][]byte{damaged}}); !errors.Is(err, tlog.ErrKept) {
		t.Errorf("a damaged one: %v", err)
	}
}

// The newest verification proves what a record counts as, and that one is not in the log.
func TestStanding(t *testing.T) {
	b := years(t)
	p := b.publish(t)
	none := tlog.RecordHash("none", "")
	for hash, want := range map[string]string{b.HashAt(5): tlog.Registration, b.HashAt(7): tlog.Own, b.HashAt(8): tlog.None, none: ""} {
		read, total := 0, 0
		as, newest, err := tlog.Standing(func(path string) ([]byte, error) {
			text, err := p.read(path)
			read, total = read+1, total+len(text)
			return text, err
		}, hash, b.Keys)
		if err != nil || as != want || newest.AsOf != "2027-01-02" || read > 5 || total > 60_000 {
			t.Errorf("%s: %q of %s, %v, %d files of %d bytes", hash, as, newest.AsOf, err, read, total)
		}
	}
	corrected := b.HashAt(7)
	for path, changed := range map[string]string{
		tlog.LookupPath(corrected): strings.Replace(string(p[tlog.LookupPath(corrected)]), " own\n", "\n", 1), // hides a correction
		tlog.LookupPath(none):      none + " 5 2026-11-20 registration\n",
		"/log/lookup/index":        "",
		tlog.NewestPath:            string(p[tlog.ProofPath("2026-11-25")]),
	} {
		q := maps.Clone(p)
		q[path] = []byte(changed)
		hash := corrected
		if path == tlog.LookupPath(none) {
			hash = none
		}
		as, _, err := tlog.Standing(q.read, hash, b.Keys)
		if listed := p[tlog.LookupPath(none)] != nil; err == nil && (hash == corrected || as != "" || listed) {
			t.Errorf("%s: %q", path, as)
		}
	}
}

// An earlier lookup with the proof of its verification hides a correction, and is refused.
func TestStandingOfAnEarlierDay(t *testing.T) {
	b := empty(t, 1).count(t, 1, "2026-11-20", records(1, tlog.Registration, 3)...)
	earlier := b.publish(t)
	b.count(t, 1, "2026-11-21", tlog.Entry{Kind: tlog.Correction, Index: 0, To: tlog.None})
	p := b.publish(t)
	if as, _, err := tlog.Standing(p.read, b.HashAt(0), b.Keys); err != nil || as != tlog.None {
		t.Fatalf("%q, %v", as, err)
	}
	for path, text := range earlier {
		if path == tlog.NewestPath || strings.HasPrefix(path, tlog.LookupFolder) {
			p[path] = text
		}
	}
	if as, _, err := tlog.Standing(p.read, b.HashAt(0), b.Keys); !errors.Is(err, tlog.ErrOtherLog) {
		t.Errorf("%q, %v", as, err)
	}
}

// A verification of a day to come is a fault.
func TestFuture(t *testing.T) {
	b := treeOf(t, 3)
	for day, passes := range map[int]bool{30: false, 31: true, 32: true} { // the first of November 2026 is the board's
		now := time.Date(2026, 10, day, 12, 0, 0, 0, time.UTC)
		r, err := tlog.Check(tlog.Checking{Read: b.publish(t).read, Now: now})
		if err != nil || r.OK() != passes {
			t.Errorf("%s: %v %+v", now, err, r.Faults)
		}
	}
}
