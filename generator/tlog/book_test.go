package tlog_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"anteroom/generator/tlog"

	"golang.org/x/mod/sumdb/note"
)

const host = "www.base.example"

// keyOf gives the n-th key of the logs of tests, which is always the same.
func keyOf(t testing.TB, n int) (signer note.Signer, key string) {
	t.Helper()
	return namedKey(t, tlog.Origin(host, n), byte(n))
}

func namedKey(t testing.TB, name string, seed byte) (signer note.Signer, key string) {
	t.Helper()
	secret, key, err := note.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{seed}, 32)), name)
	if err != nil {
		t.Fatal(err)
	}
	if signer, err = note.NewSigner(secret); err != nil {
		t.Fatal(err)
	}
	return signer, key
}

// book is a log with its content.
type book struct {
	*tlog.Log
	stages []stage
}

// add adds a stage, signed with the n-th key. Its verification comes behind the entries.
func (b *book) add(t testing.TB, n int, name string, entries ...tlog.Entry) {
	t.Helper()
	signer, _ := keyOf(t, n)
	lines, checkpoint, err := b.Append(name, append(entries, verification(name)), signer)
	if err != nil {
		t.Fatal(err)
	}
	b.stages = append(b.stages, stage{name, lines, checkpoint})
}

// recordOf is an entry of a record, other than that of any other number.
func recordOf(kind string, number int) tlog.Entry {
	return tlog.Entry{Kind: kind, Hash: tlog.RecordHash(strconv.Itoa(number), "payload")}
}

func verification(name string) tlog.Entry {
	return tlog.Entry{
		Kind: tlog.Verification, AsOf: name[:len("2026-11-20")],
		Board: "/scoreboard/" + name + ".json", BoardSHA256: tlog.RecordHash(name, ""),
	}
}

// empty is a log without entries, with so many keys.
func empty(t testing.TB, keys int) *book {
	t.Helper()
	b := &book{Log: tlog.New(nil, nil)}
	for n := range keys {
		_, key := keyOf(t, n+1)
		b.Keys = append(b.Keys, key)
	}
	return b
}

// treeOf makes a log of one tree with stages of these sizes, of registrations.
func treeOf(t testing.TB, sizes ...int64) *book {
	t.Helper()
	b := empty(t, 1)
	for day, size := range sizes {
		var entries []tlog.Entry
		for n := b.Size(); n < size-1; n++ {
			entries = append(entries, recordOf(tlog.Registration, int(n)))
		}
		b.add(t, 1, fmt.Sprintf("2026-11-%02d", day+1), entries...)
	}
	return b
}

// sizesFrom are those of three checkpoints, of which the first has n entries.
func sizesFrom(n int64) []int64 { return []int64{n, n + 1, n + 256} }

// readAll reads the content of a log, up to the first fault.
func readAll(keys []string, witnesses []tlog.Witness, stages []stage) (*tlog.Log, []tlog.Fault) {
	l := tlog.New(keys, witnesses)
	for _, s := range stages {
		if faults := l.Read(s.name, bytes.NewReader(s.lines), s.checkpoint); faults != nil {
			return l, faults
		}
	}
	return l, nil
}

// told is what is said of faults, a line each.
func told(faults []tlog.Fault) string {
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&b, "%d: %s\n", f.Line, f.What)
	}
	return b.String()
}

// A log that is read from its content proves every entry under every checkpoint behind it.
func TestReadAndProve(t *testing.T) {
	made := treeOf(t, 1, 3, 258, 559, 66560)
	l, faults := readAll(made.Keys, nil, made.stages)
	if faults != nil {
		t.Fatal(told(faults))
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

// What Read would refuse, Append refuses, so that it is never signed.
func TestAppendRefuses(t *testing.T) {
	signer, _ := keyOf(t, 1)
	older, _ := keyOf(t, 9)
	day := "2026-11-20"
	for name, c := range map[string]struct {
		entries []tlog.Entry
		signer  note.Signer
		want    string
	}{
		"no entry":                   {nil, signer, "the last entry is not the verification 2026-11-20"},
		"no verification":            {[]tlog.Entry{recordOf(tlog.Own, 1)}, signer, "the last entry is not the verification 2026-11-20"},
		"another verification":       {[]tlog.Entry{verification(day + "-2")}, signer, "the last entry is not the verification 2026-11-20"},
		"another day":                {[]tlog.Entry{{Kind: tlog.Verification, AsOf: "2026-11", Board: verification(day).Board}}, signer, "the last entry is not the verification 2026-11-20"},
		"an entry behind it":         {[]tlog.Entry{verification(day), recordOf(tlog.Own, 1)}, signer, "entry 1 stands behind the verification"},
		"a kind that there is not":   {[]tlog.Entry{{Kind: "receipt"}, verification(day)}, signer, `entry 0: there is no kind "receipt" of entry`},
		"a hash that is none":        {[]tlog.Entry{{Kind: tlog.Charter, Hash: "A9"}, verification(day)}, signer, "entry 0: its entry is no SHA-256"},
		"an entry that is too long":  {[]tlog.Entry{{Kind: tlog.Verification, Board: strings.Repeat("x", tlog.MaxEntry)}}, signer, "entry 0: the entry has more than 65535 bytes"},
		"the checkpoint of no tree":  {[]tlog.Entry{{Kind: tlog.Previous}, verification(day)}, signer, "entry 0: the first entry of a tree under a new key"},
		"a key that the log has not": {[]tlog.Entry{verification(day)}, older, "the key www.base.example/log/9 is not one of the log, or older than the one that signed last"},
	} {
		if _, _, err := empty(t, 1).Append(day, c.entries, c.signer); err == nil || !strings.HasPrefix(err.Error(), "append to log: "+c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	other, _ := namedKey(t, tlog.Origin(host, 1), 77)
	if _, _, err := empty(t, 1).Append(day, []tlog.Entry{verification(day)}, other); err == nil || !strings.Contains(err.Error(), "no known key has signed it") {
		t.Errorf("a key of the same name: %v", err)
	}
}
