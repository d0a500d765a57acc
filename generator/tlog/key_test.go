package tlog_test

import (
	"strings"
	"testing"

	"anteroom/generator/tlog"

	merkle "golang.org/x/mod/sumdb/tlog"
)

// A key that was made is read again, and is the one that its public half belongs to.
func TestKey(t *testing.T) {
	origin := tlog.Origin("www.base.example", 2)
	text, public, err := tlog.NewKey(origin)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "\n", "\r\n"} {
		if key, err := tlog.ParseKey(text + end); err != nil || key.Public != public || key.Name() != origin {
			t.Errorf("%q: %v", end, err)
		}
	}
	if _, _, err := tlog.NewKey("www.base.example"); err == nil {
		t.Error("a name without /log is taken")
	}
	secret := strings.SplitN(text, "+", 5)[4] // which may hold a + itself
	for name, wrong := range map[string]string{
		"empty": "", "the public half": public, "cut": text[:len(text)-4], "two lines": text + "\n\n", "another name": strings.Replace(text, "base", "other", 1),
		"a receipt key": "anteroom-secret:" + secret, "a space": " " + text,
	} {
		if _, err := tlog.ParseKey(wrong); err == nil {
			t.Errorf("%s is taken", name)
		} else if strings.Contains(err.Error(), secret[:8]) {
			t.Errorf("%s: the error repeats the key", name)
		}
	}
}

// What is appended to a clone is in that alone, wherever the tiles of the log end.
func TestClone(t *testing.T) {
	for _, sizes := range [][]int{{0}, {1}, {254}, {255}, {300, 212}, {600}} {
		_, _, l, signer := growWith(t, sizes...)
		size, root := l.Size(), rootOf(t, l)
		first, second := l.Clone(), l.Clone()
		for _, c := range []struct {
			log *tlog.Log
			id  string
		}{{first, "a"}, {second, "b"}} {
			entries := []tlog.Entry{
				{Kind: tlog.Suggestion, Hash: tlog.RecordHash(c.id, "")},
				{Kind: tlog.Correction, Index: 0, To: tlog.None},
				tlog.VerificationOf("2026-12-01", "2026-12-01", nil),
			}
			if sizes[0] == 0 {
				entries = append(entries[:1], entries[2]) // entry 0 is a verification
			}
			if _, _, err := c.log.Append("2026-12-01", entries, signer); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			log *tlog.Log
			id  string
		}{{first, "a"}, {second, "b"}} {
			if got := c.log.HashAt(size); got != tlog.RecordHash(c.id, "") {
				t.Errorf("%v: the clones share what was appended", sizes)
			}
			s := c.log.Current()
			if p, err := s.Prove(size); err != nil {
				t.Error(err)
			} else if _, err := p.Verify(s.Tree.Entry(size), c.log.Keys, nil); err != nil {
				t.Errorf("%v: %v", sizes, err)
			}
		}
		if l.Size() != size || rootOf(t, l) != root || len(l.Stages) != len(sizes) || l.Counts().Registrations != int(size)-len(sizes) {
			t.Errorf("%v: the log has changed", sizes)
		}
	}
}

// rootOf is the root of a log's only tree.
func rootOf(t *testing.T, l *tlog.Log) merkle.Hash {
	t.Helper()
	root, err := l.Trees[0].Root(l.Size())
	if err != nil {
		t.Fatal(err)
	}
	return root
}
