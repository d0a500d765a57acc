package tlog_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"

	"golang.org/x/mod/sumdb/note"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// FuzzParseEntry: an entry is read as a whole and written back as it was, or refused.
func FuzzParseEntry(f *testing.F) {
	for _, s := range rotated(f).stages {
		for line := range bytes.Lines(s.lines) {
			f.Add(bytes.TrimSuffix(line, []byte("\n")))
		}
	}
	f.Add([]byte(`{"kind":"correction","index":-9223372036854775808,"to":"\u2028\u003c<é"}`))
	f.Add([]byte(`{"kind":"verification","as_of":"","counts":{},"board":"","board_sha256":""}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := tlog.ParseEntry(line)
		switch {
		case err != nil && !reflect.DeepEqual(e, tlog.Entry{}):
			t.Errorf("%q: %+v beside %v", line, e, err)
		case err == nil && !bytes.Equal(e.Append(nil), line):
			t.Errorf("%q comes back as %q", line, e.Append(nil))
		}
	})
}

// FuzzParseProof: a proof is read as a whole and written back as it was, or refused. To verify it
// does no harm.
func FuzzParseProof(f *testing.F) {
	b := rotated(f)
	for i := range b.Stages {
		p, err := b.Stages[i].Prove(0)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p.Append(nil))
		f.Add(p.Extra)
	}
	entry := b.Trees[0].Entry(0)
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := tlog.ParseProof(text)
		if err != nil {
			return
		}
		if !bytes.Equal(p.Append(nil), text) {
			t.Errorf("%q comes back as %q", text, p.Append(nil))
		}
		if c, err := p.Verify(entry, b.Keys, nil); err == nil && (p.Index != 0 || c.Size > b.Trees[0].Size()) {
			t.Errorf("%q proves that the first entry is number %d", text, p.Index)
		}
	})
}

// FuzzOpen: a checkpoint that is taken is one that the log has signed, whatever follows its
// signature.
func FuzzOpen(f *testing.F) {
	b := rotated(f)
	w := tlogtest.New(b.Keys[0])
	witnesses := []tlog.Witness{{Key: w.VKey()}}
	signed := map[string]bool{}
	for i := range b.stages {
		text := b.stages[i].checkpoint
		f.Add(text)
		f.Add(slices.Concat(text, []byte(w.Cosign(string(text)))))
		signed[checkpointOf(f, text, b.Keys)] = true
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := tlog.Open(text, b.Keys, witnesses); err != nil {
			return
		}
		if c := checkpointOf(t, text, b.Keys); !signed[c] {
			t.Errorf("%q is taken, as %s", text, c)
		}
	})
}

// FuzzReadSigned: a first stage whose key has signed whatever is in it is read as a whole, and
// appended again as it was, or has faults.
func FuzzReadSigned(f *testing.F) {
	b := rotated(f)
	f.Add(b.stages[0].lines)
	for _, text := range []string{"r r c s o", "r v0 o 2:registration v2", "r 0:own 0:none 0:registration", "c s 1:none", ""} {
		b := empty(f, 1)
		b.add(f, 1, "2026-11-20", scripted(f, text)...)
		f.Add(b.stages[0].lines)
	}
	signer, key := keyOf(f, 1)
	f.Fuzz(func(t *testing.T, lines []byte) {
		var texts []string
		var entries []tlog.Entry
		for line := range strings.Lines(string(lines)) {
			text := strings.TrimSuffix(line, "\n")
			e, _ := tlog.ParseEntry([]byte(text))
			texts, entries = append(texts, text), append(entries, e)
		}
		l, faults := readAll([]string{key}, nil, []stage{{"2026-11-20", lines, signedTree(t, signer, texts)}})
		if faults != nil {
			return
		}
		again := tlog.New([]string{key}, nil)
		if text, _, err := again.Append("2026-11-20", entries, signer); err != nil || !bytes.Equal(text, lines) || again.Counts() != l.Counts() {
			t.Errorf("%q is read, and appended as %q, %v", lines, text, err)
		}
		if counts := l.Counts(); counts.Vouched < 0 || counts.Registrations < 0 || counts.Charters < 0 || counts.Suggestions < 0 || counts.Own < 0 {
			t.Errorf("%q: %+v", lines, counts)
		}
		_, _ = l.Files() // which may name a record that is there twice
	})
}

// rotated is a log with each kind of entry.
func rotated(t testing.TB) *book {
	t.Helper()
	b := empty(t, 2)
	b.add(t, 1, "2026-11-20", recordOf(tlog.Registration, 0), recordOf(tlog.Charter, 1), recordOf(tlog.Suggestion, 2), recordOf(tlog.Own, 3), vouched(0))
	b.add(t, 1, "2026-11-21", correction(1, tlog.Own), recordOf(tlog.Registration, 4))
	b.add(t, 2, "2026-11-21-2", recordOf(tlog.Charter, 5), correction(1, tlog.None))
	return b
}

// signedTree signs the tree of any entries.
func signedTree(t testing.TB, signer note.Signer, lines []string) []byte {
	t.Helper()
	var stored []merkle.Hash
	hashes := merkle.HashReaderFunc(func(indexes []int64) (hashes []merkle.Hash, err error) {
		for _, i := range indexes {
			hashes = append(hashes, stored[i])
		}
		return hashes, nil
	})
	for i, line := range lines {
		more, err := merkle.StoredHashes(int64(i), []byte(line), hashes)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
	}
	root, err := merkle.TreeHash(int64(len(lines)), hashes)
	if err != nil {
		t.Fatal(err)
	}
	return signNote(t, fmt.Sprintf("%s\n%d\n%s\n", signer.Name(), len(lines), root), signer)
}

// checkpointOf is what a checkpoint signs.
func checkpointOf(t testing.TB, text []byte, keys []string) string {
	t.Helper()
	c, err := tlog.Open(text, keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(c.Origin, " ", c.Size, " ", c.Root)
}
