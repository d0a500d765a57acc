package tlog_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"anteroom/generator/tlog"

	"golang.org/x/mod/sumdb/note"
)

// swapLines exchanges two lines of a stage, which count from 0 on.
func swapLines(s *stage, i, j int) {
	lines := slices.Collect(strings.Lines(string(s.lines)))
	lines[i], lines[j] = lines[j], lines[i]
	s.lines = []byte(strings.Join(lines, ""))
}

func replaceIn(s *stage, old, replacement string) {
	s.lines = bytes.Replace(s.lines, []byte(old), []byte(replacement), 1)
}

// hash is the hash in a line of a stage.
func (s *stage) hash(line int) string {
	return strings.Split(strings.Split(string(s.lines), "\n")[line], `"entry":"`)[1][:64]
}

// other1 is another digit than this, in hexadecimal and base64 alike.
func other1(digit string) string {
	if digit == "a" {
		return "b"
	}
	return "a"
}

// Every fault of a stage is named, with its line if it has one.
func TestFaults(t *testing.T) {
	signer, _ := keyOf(t, 1)
	stranger, _ := namedKey(t, tlog.Origin(host, 1), 77)
	root := func(s *stage) string { return strings.Split(string(s.checkpoint), "\n")[2] }
	resigned := func(old, with string) func(s *stage) {
		return func(s *stage) { s.checkpoint = signNote(t, strings.Replace(signedText(s), old, with, 1), signer) }
	}
	replaced := func(old, with string) func(s *stage) { return func(s *stage) { replaceIn(s, old, with) } }
	const otherForm, threeLines = "entry is not in canonical form\n", "0: open checkpoint: want three lines: origin, size, and root"
	for name, c := range map[string]struct {
		change func(s *stage) // the second stage: five entries
		want   string
	}{
		"nothing":                 {func(*stage) {}, ""},
		"a line that is not JSON": {replaced("{", "["), "1: entry is not a JSON object: "},
		"white space":             {replaced(`"kind":"vouched"`, `"kind": "vouched"`), "4: " + otherForm},
		"an unknown kind":         {replaced("charter", "chapter"), `2: unknown kind of entry "chapter"` + "\n"},
		"a line without end":      {func(s *stage) { s.lines = s.lines[:len(s.lines)-1] }, "5: entry does not end with a line feed\n"},
		"a line that is too long": {func(s *stage) {
			s.lines = append(bytes.Repeat([]byte("x"), tlog.MaxEntry+1), s.lines...)
			replaceIn(s, "{", "\n{")
		}, "1: entry is longer than 65535 bytes\n"},
		"two verifications": {func(s *stage) {
			s.lines = append(s.lines, s.lines[bytes.LastIndex(s.lines[:len(s.lines)-1], []byte("\n"))+1:]...)
		}, "6: an entry follows the verification, which must be the last entry\n"},
		"an entry behind the verification": {func(s *stage) { swapLines(s, 3, 4) }, "4: verification counts"},
		"no verification":                  {func(s *stage) { s.lines = s.lines[:bytes.LastIndex(s.lines[:len(s.lines)-1], []byte("\n"))+1] }, "4: the last entry is not a verification\n"},
		"counts that are not those":        {replaced(`"charters_filed":1`, `"charters_filed":2`), "5: verification counts charters_filed 2, entries add up to charters_filed 1\n"},
		"a month for a day":                {replaced(`"as_of":"2026-11-21"`, `"as_of":"2026-11"`), "5: last entry is verification /scoreboard/2026-11-21.json of 2026-11, want 2026-11-21\n"},

		"an entry changed": {func(s *stage) { replaceIn(s, `"entry":"`+s.hash(0)[:1], `"entry":"`+other1(s.hash(0)[:1])) }, "0: signed root does not match: an entry up to here was changed\n"},
		"no version": {func(s *stage) {
			at := bytes.Index(s.lines, []byte(`,"version"`))
			s.lines = append(s.lines[:at:at], "}\n"...)
		}, "5: entry version 1 after version 2\n"},
		"an earlier version": {replaced(`"version":2`, `"version":1`), "5: entry is not in canonical form\n"},
		"a later version":    {replaced(`"version":2`, `"version":3`), "5: entry version 3, newest supported 2 (install a later anteroom)\n"},
		"an entry that counts for nothing": {
			replaced(`{"kind":"vouched"`, `{"kind":"correction","index":0,"to":"none"}`+"\n"+`{"kind":"correction","index":0,"to":"own"}`+"\n"+`{"kind":"vouched"`),
			"0: signed size is 7, but there are 9 entries\n",
		},

		"no checkpoint":             {func(s *stage) { s.checkpoint = nil }, "0: open checkpoint: malformed note\n"},
		"another root, signed":      {func(s *stage) { resigned(root(s)[:2], "AA")(s) }, "0: signed root does not match"},
		"a root that is too short":  {func(s *stage) { resigned(root(s), "AAAA")(s) }, threeLines},
		"a key of the same name":    {func(s *stage) { s.checkpoint = signNote(t, signedText(s), stranger) }, "0: open checkpoint: not signed by a known key\n"},
		"the origin of another log": {resigned(host, "other.example"), `0: open checkpoint: not signed by the key of "other.example/log"` + "\n"},
	} {
		b := empty(t, 1)
		b.add(t, 1, "2026-11-20", recordOf(tlog.Registration, 0))
		b.add(t, 1, "2026-11-21", recordOf(tlog.Registration, 1), recordOf(tlog.Charter, 2), correction(0, tlog.Own), vouched(2))
		c.change(&b.stages[1])
		if _, faults := readAll(b.Keys, nil, b.stages); (faults == nil) != (c.want == "") || !strings.HasPrefix(lineOf(faults), c.want) {
			t.Errorf("%s: %swant %s", name, lineOf(faults), c.want)
		}
	}
	b := treeOf(t, 3, 5)
	if _, faults := readAll([]string{"a key"}, nil, b.stages); !strings.HasPrefix(lineOf(faults), `0: open checkpoint: key "a key": `) {
		t.Errorf("not a key: %s", lineOf(faults))
	}
}

// What Read would refuse, Append refuses, so that it is never signed.
func TestAppendRefuses(t *testing.T) {
	signer, _ := keyOf(t, 1)
	older, _ := keyOf(t, 9)
	const day, notLast = "2026-11-20", "last entry: want verification 2026-11-20"
	for name, c := range map[string]struct {
		entries []tlog.Entry
		signer  note.Signer
		want    string
	}{
		"no entry":                   {nil, signer, notLast},
		"an entry behind it":         {[]tlog.Entry{verification(day), recordOf(tlog.Own, 1)}, signer, "entry 1: an entry follows the verification"},
		"an unknown kind":            {[]tlog.Entry{{Kind: "receipt"}, verification(day)}, signer, `entry 0: unknown kind of entry "receipt"`},
		"a hash that is none":        {[]tlog.Entry{{Kind: tlog.Charter, Hash: "A9"}, verification(day)}, signer, "entry 0: entry: want a SHA-256 in lower-case hexadecimal"},
		"an entry that is too long":  {[]tlog.Entry{{Kind: tlog.Verification, Board: strings.Repeat("x", tlog.MaxEntry)}}, signer, "entry 0: entry is longer than 65535 bytes"},
		"a key that the log has not": {[]tlog.Entry{verification(day)}, older, "key www.base.example/log/9 is not in log.keys, or was replaced"},
	} {
		if _, _, err := empty(t, 1).Append(day, c.entries, c.signer); err == nil || !strings.HasPrefix(err.Error(), "append to log: "+c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// A log that is read from its content proves every entry under every checkpoint after it.
func TestReadAndProve(t *testing.T) {
	made := treeOf(t, 1, 3, 258, 66560)
	l, faults := readAll(made.Keys, nil, made.stages)
	if faults != nil {
		t.Fatal(lineOf(faults))
	}
	if l.Size() != made.Size() || l.Counts() != made.Counts() {
		t.Errorf("%d entries, %+v", l.Size(), l.Counts())
	}
	for i := range l.Stages {
		s := &l.Stages[i]
		for _, index := range []int64{0, s.Size / 2, s.Size - 1} {
			p, err := s.Prove(index)
			if err != nil {
				t.Fatal(err)
			}
			if c, err := p.Verify(s.Tree.Entry(index), l.Keys, nil); err != nil || c.Size != s.Size {
				t.Errorf("entry %d of %d: %v", index, s.Size, err)
			}
			again, err := tlog.ParseProof(p.Append(nil))
			if err != nil || !bytes.Equal(again.Append(nil), p.Append(nil)) {
				t.Errorf("entry %d of %d: its proof is read as another: %v", index, s.Size, err)
			}
			own, err := tlog.ParseProof(p.Extra)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := own.Verify(own.Extra, l.Keys, nil); err != nil {
				t.Errorf("entry %d of %d: the proof of the verification: %v", index, s.Size, err)
			}
			if _, err := p.Verify(s.Tree.Entry((index+1)%s.Size), l.Keys, nil); s.Size > 1 && err == nil {
				t.Errorf("entry %d of %d: its proof proves another entry", index, s.Size)
			}
		}
		for _, index := range []int64{-1, s.Size} {
			if _, err := s.Prove(index); err == nil {
				t.Errorf("entry %d of %d is proved", index, s.Size)
			}
		}
	}
}

// A second key begins a second tree, which holds the end of the first one.
func TestRotation(t *testing.T) {
	b := empty(t, 3)
	b.add(t, 1, "2026-11-20", recordOf(tlog.Registration, 0), recordOf(tlog.Charter, 1))
	b.add(t, 1, "2026-11-21", recordOf(tlog.Own, 2))
	b.add(t, 3, "2026-11-22", recordOf(tlog.Suggestion, 3), vouched(0), correction(3, tlog.Registration))
	b.add(t, 3, "2026-11-22-2", recordOf(tlog.Registration, 4), correction(1, tlog.Own))
	l, faults := readAll(b.Keys, nil, b.stages)
	if faults != nil {
		t.Fatal(lineOf(faults))
	}
	if len(l.Trees) != 2 || l.Trees[0].First != 0 || l.Trees[1].First != 5 || l.Trees[1].Size() != 8 || l.Trees[1].Path() != "/log/3" || l.Trees[1].Key != l.Keys[2] {
		t.Fatalf("%d trees, %+v", len(l.Trees), l.Trees)
	}
	first, err := tlog.ParseEntry(l.Trees[1].Entry(0))
	if err != nil || first.Kind != tlog.Previous || first.Checkpoint != string(b.stages[1].checkpoint) {
		t.Errorf("the second tree begins with %+v, %v", first, err)
	}
	quoted := func(checkpoint []byte) []byte { return bytes.ReplaceAll(checkpoint, []byte("\n"), []byte(`\n`)) } // as it is in an entry
	const begins = "1: a new tree must begin with the previous tree's last checkpoint\n"
	for name, c := range map[string]struct {
		change func(stages []stage)
		want   string
	}{
		"the checkpoint before the last one": {func(s []stage) {
			s[2].lines = bytes.Replace(s[2].lines, quoted(s[1].checkpoint), quoted(s[0].checkpoint), 1)
		}, "1: checkpoint differs from the last one of the previous tree\n"},
		"no checkpoint first": {func(s []stage) { s[2].lines = s[2].lines[bytes.IndexByte(s[2].lines, '\n')+1:] }, begins},
		"a checkpoint second": {func(s []stage) { swapLines(&s[2], 0, 1) }, begins},
		"a checkpoint in a later stage": {func(s []stage) {
			s[3].lines = append(slices.Clone(s[2].lines[:bytes.IndexByte(s[2].lines, '\n')+1]), s[3].lines...)
		}, "1: a log entry must be the first entry of a new tree\n"},
		"the older key again": {func(s []stage) { s[3] = s[1] }, "0: key www.base.example/log is not in log.keys, or was replaced"},
	} {
		stages := slices.Clone(b.stages)
		c.change(stages)
		if _, faults := readAll(b.Keys, nil, stages); !strings.HasPrefix(lineOf(faults), c.want) {
			t.Errorf("%s: %swant %s", name, lineOf(faults), c.want)
		}
	}
	for n := range 2 {
		signer, _ := keyOf(t, n+1)
		if _, _, err := b.Append("2026-11-23", []tlog.Entry{verification("2026-11-23")}, signer); err == nil || !strings.Contains(err.Error(), "or was replaced") {
			t.Errorf("key %d signs again: %v", n+1, err)
		}
	}

	if want := (tlog.Counts{Vouched: 1, Registrations: 3, Suggestions: 1, Own: 1}); l.Counts() != want {
		t.Errorf("%+v, want %+v", l.Counts(), want)
	}
	wanted := map[string]bool{tlog.RecordHash("none", ""): true}
	for n := range 5 {
		wanted[recordOf("", n).Hash] = n != 2
	}
	found := l.Find(wanted)
	if at := []int64{found[recordOf("", 1).Hash], found[recordOf("", 3).Hash]}; len(found) != 4 || at[0] != 1 || at[1] != 6 {
		t.Errorf("found %v", found)
	}
	for hash, index := range found {
		if l.HashAt(index) != hash {
			t.Errorf("entry %d is that of %s, not %s", index, l.HashAt(index), hash)
		}
	}
	if at := l.VouchedAt(); len(at) != 1 || at[0] != 7 || l.CountsAs(7) != tlog.Vouched || l.CountsAs(3) != tlog.Registration {
		t.Errorf("vouched for at %v", at)
	}
}

// What is appended to a clone is in that alone, wherever the tiles of the log end.
func TestClone(t *testing.T) {
	signer, _ := keyOf(t, 1)
	for _, sizes := range [][]int64{{1}, {256}, {300, 512}} {
		b := treeOf(t, sizes...)
		size := b.Size()
		root, err := b.Trees[0].Root(size)
		if err != nil {
			t.Fatal(err)
		}
		clones := []*tlog.Log{b.Clone(), b.Clone()}
		for i, l := range clones {
			entries := []tlog.Entry{recordOf(tlog.Suggestion, 90_000+i), correction(0, tlog.None), tlog.VerificationOf("2026-12-01", "2026-12-01", nil)}
			if sizes[0] == 1 {
				entries = append(entries[:1], entries[2]) // entry 0 is a verification
			}
			if _, _, err := l.Append("2026-12-01", entries, signer); err != nil {
				t.Fatal(err)
			}
		}
		for i, l := range clones {
			if got := l.HashAt(size); got != recordOf(tlog.Suggestion, 90_000+i).Hash {
				t.Errorf("%v: the clones share what was appended", sizes)
			}
			s := l.Current()
			if p, err := s.Prove(size); err != nil {
				t.Error(err)
			} else if _, err := p.Verify(s.Tree.Entry(size), l.Keys, nil); err != nil {
				t.Errorf("%v: %v", sizes, err)
			}
		}
		if again, err := b.Trees[0].Root(b.Size()); err != nil || b.Size() != size || again != root || len(b.Stages) != len(sizes) || b.Counts().Registrations != int(size)-len(sizes) {
			t.Errorf("%v: the log has changed: %v", sizes, err)
		}
	}
}
