package tlog_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"anteroom/generator/tlog"
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
	signer, _ := keyOf(t)
	stranger, _ := namedKey(t, host+"/log", 77)
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
		"a hash in upper case":    {func(s *stage) { replaceIn(s, `"entry":"`+s.hash(0)[:1], `"entry":"Z`) }, "1: entry: want a SHA-256 in lower-case hexadecimal\n"},
		"an unknown kind":         {replaced("charter", "chapter"), `2: unknown kind of entry "chapter"` + "\n"},
		"a line without end":      {func(s *stage) { s.lines = s.lines[:len(s.lines)-1] }, "5: entry does not end with a line feed\n"},
		"a line that is too long": {func(s *stage) {
			s.lines = append(bytes.Repeat([]byte("x"), tlog.MaxEntry+1), s.lines...)
			replaceIn(s, "{", "\n{")
		}, "1: entry is longer than 65535 bytes\n"},
		"an entry behind the verification": {func(s *stage) { swapLines(s, 3, 4) }, "5: an entry follows the verification, which must be the last entry\n"},
		"no verification":                  {func(s *stage) { s.lines = s.lines[:bytes.LastIndex(s.lines[:len(s.lines)-1], []byte("\n"))+1] }, "4: the last entry is not a verification\n"},
		"a month for a day":                {replaced(`"as_of":"2026-11-21"`, `"as_of":"2026-11"`), "5: last entry is verification /scoreboard/2026-11-21.json of 2026-11, want 2026-11-21\n"},

		"no receipt keys": {replaced(`,"receipt_keys":[]`, ""), "5: receipt_keys is missing\n"},

		"an entry changed": {func(s *stage) { replaceIn(s, `"entry":"`+s.hash(0)[:1], `"entry":"`+other1(s.hash(0)[:1])) }, "0: signed root does not match: an entry up to here was changed\n"},
		"an entry that counts for nothing": {
			replaced(`{"kind":"vouched"`, `{"kind":"correction","index":0,"to":"none"}`+"\n"+`{"kind":"correction","index":0,"to":"own"}`+"\n"+`{"kind":"vouched"`),
			"0: signed size is 7, but there are 9 entries\n",
		},

		"no checkpoint":             {func(s *stage) { s.checkpoint = nil }, "0: open checkpoint: malformed note\n"},
		"another root, signed":      {func(s *stage) { resigned(root(s)[:2], "AA")(s) }, "0: signed root does not match"},
		"a root that is too short":  {func(s *stage) { resigned(root(s), "AAAA")(s) }, threeLines},
		"a key of the same name":    {func(s *stage) { s.checkpoint = signNote(t, signedText(s), stranger) }, "0: open checkpoint: not signed by the key of the log\n"},
		"the origin of another log": {resigned(host, "other.example"), "0: open checkpoint: not signed by the key of the log\n"},
	} {
		b := empty(t)
		b.add(t, "2026-11-20", recordOf(tlog.Registration, 0))
		b.add(t, "2026-11-21", recordOf(tlog.Registration, 1), recordOf(tlog.Charter, 2), correction(0, tlog.Own), vouched(2))
		c.change(&b.stages[1])
		if _, faults := readAll(b.Key, nil, b.stages); (faults == nil) != (c.want == "") || !strings.HasPrefix(lineOf(faults), c.want) {
			t.Errorf("%s: %swant %s", name, lineOf(faults), c.want)
		}
	}
	b := treeOf(t, 3, 5)
	if _, faults := readAll("a key", nil, b.stages); !strings.HasPrefix(lineOf(faults), `0: open checkpoint: key "a key": `) {
		t.Errorf("not a key: %s", lineOf(faults))
	}
}

// What is appended to a clone is in that alone, wherever the tiles of the log end.
func TestClone(t *testing.T) {
	signer, _ := keyOf(t)
	for _, sizes := range [][]int64{{256}, {300, 512}} {
		b := treeOf(t, sizes...)
		size := b.Size()
		root, err := b.Root(size)
		if err != nil {
			t.Fatal(err)
		}
		clones := []*tlog.Log{b.Clone(), b.Clone()}
		for i, l := range clones {
			entries := []tlog.Entry{recordOf(tlog.Suggestion, 90_000+i), tlog.VerificationOf("2026-12-01", "2026-12-01", nil)}
			if _, _, err := l.Append("2026-12-01", entries, signer); err != nil {
				t.Fatal(err)
			}
		}
		for i, l := range clones {
			if got := l.Entry(size).Hash; got != recordOf(tlog.Suggestion, 90_000+i).Hash {
				t.Errorf("%v: the clones share what was appended", sizes)
			}
		}
		if again, err := b.Root(b.Size()); err != nil || b.Size() != size || again != root || len(b.Stages) != len(sizes) || b.Counts().Registrations != int(size)-len(sizes) {
			t.Errorf("%v: the log has changed: %v", sizes, err)
		}
	}
}

func TestReadHashesBeyondTheTree(t *testing.T) {
	b := treeOf(t, 3)
	l, _ := readAll(b.Key, nil, b.stages)
	if _, err := l.ReadHashes([]int64{99}); err == nil || err.Error() != "read hash 99: beyond the tree of 3 entries" {
		t.Error(err)
	}
}
