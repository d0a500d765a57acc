package tlog_test

import (
	"bytes"
	"reflect"
	"testing"

	"anteroom/generator/tlog"
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

// each is a log with each kind of entry.
func each(t testing.TB) *book {
	t.Helper()
	b := empty(t)
	b.add(t, "2026-11-20", recordOf(tlog.Registration, 0), recordOf(tlog.Charter, 1), recordOf(tlog.Suggestion, 2), recordOf(tlog.Own, 3), vouched(0))
	return b.add(t, "2026-11-21", correction(1, tlog.Own), recordOf(tlog.Registration, 4))
}
