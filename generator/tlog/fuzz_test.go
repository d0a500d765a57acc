package tlog_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"
)

// FuzzParseEntry: an entry is read as a whole and written back as it was, or refused.
func FuzzParseEntry(f *testing.F) {
	for _, s := range each(f).stages {
		for line := range bytes.Lines(s.lines) {
			f.Add(bytes.TrimSuffix(line, []byte("\n")))
		}
	}
	f.Add([]byte(`{"kind":"correction","index":-9223372036854775808,"to":"\u2028\u003c<é"}`))
	f.Add([]byte(`{"kind":"verification","as_of":"","board":"","board_sha256":""}`))
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

// FuzzOpen: a checkpoint that is taken is one that the log has signed, whatever follows its
// signature.
func FuzzOpen(f *testing.F) {
	b := each(f)
	w := tlogtest.New(b.Key)
	witnesses := []tlog.Witness{{Key: w.VKey()}}
	signed := map[string]bool{}
	for i := range b.stages {
		text := b.stages[i].checkpoint
		f.Add(text)
		f.Add(slices.Concat(text, []byte(w.Cosign(string(text)))))
		signed[checkpointOf(f, text, b.Key)] = true
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := tlog.Open(text, b.Key, witnesses); err != nil {
			return
		}
		if c := checkpointOf(t, text, b.Key); !signed[c] {
			t.Errorf("%q is taken, as %s", text, c)
		}
	})
}

// each is a log with each kind of entry.
func each(t testing.TB) *book {
	t.Helper()
	b := empty(t)
	b.add(t, "2026-11-20", recordOf(tlog.Registration, 0), recordOf(tlog.Charter, 1), recordOf(tlog.Suggestion, 2), recordOf(tlog.Own, 3), vouched(0))
	return b.add(t, "2026-11-21", correction(1, tlog.Own), recordOf(tlog.Registration, 4))
}

// checkpointOf is what a checkpoint signs.
func checkpointOf(t testing.TB, text []byte, key string) string {
	t.Helper()
	c, err := tlog.Open(text, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(c.Origin, " ", c.Size, " ", c.Root)
}
