package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSplitHint(t *testing.T) {
	for line, want := range map[string][2]string{
		"there is none (make one)":             {"there is none", "make one"},
		"none (make one (or two) now)":         {"none", "make one (or two) now"},
		"a (b c) d":                            {"a (b c) d", ""},
		"database is locked (5) (SQLITE_BUSY)": {"database is locked (5) (SQLITE_BUSY)", ""},
		"call f(a, b c)":                       {"call f(a, b c)", ""},
		"unbalanced b) (c d))":                 {"unbalanced b) (c d))", ""},
		"(all of it)":                          {"(all of it)", ""},
		"":                                     {"", ""},
		"a stranger's ) word (look at it)":     {"a stranger's ) word", "look at it"},
		"read x: no file (see y) (z --help)":   {"read x: no file (see y)", "z --help"},
	} {
		if message, hint := SplitHint(line); [2]string{message, hint} != want {
			t.Errorf("%q: %q, %q", line, message, hint)
		}
	}
}

// Nothing of a line is lost.
func FuzzSplitHint(f *testing.F) {
	for _, seed := range []string{"there is none (make one)", "a (b) (c d)", " (", ")", "(a b)", "é ( )"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		message, hint := SplitHint(line)
		if whole := message + " (" + hint + ")"; hint != "" && whole != line || hint == "" && message != line {
			t.Errorf("%q: %q, %q", line, message, hint)
		}
	})
}

// What strangers wrote into an error does nothing to a terminal, and its JSON stays JSON.
func TestErrorOfStrangers(t *testing.T) {
	const unseen = "\u009b2J\u202e\u200b\U000e0041\u0085Valid: genuine"
	var out, complaint bytes.Buffer
	term := New(nil, &out, &complaint)
	term.FailJSON(errors.New("no agent \""+unseen+"\" has anteroom-secret:AAAA\\\" (ask "+unseen+" again)"), ExitFailure)
	term.FailJSON(errors.New("another"), ExitFailure) // one answer is enough
	term.Out.Flush()
	if strings.ContainsAny(out.String(), "\u009b\u202e\u200b\U000e0041\u0085") {
		t.Errorf("an invisible character is printed: %q", &out)
	}
	var got struct{ Error errorReport }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || !strings.Contains(got.Error.Message, unseen) || got.Error.Hint != "ask "+unseen+" again" {
		t.Errorf("%s: %+v, %v", &out, got, err)
	}
	if strings.Contains(out.String(), "AAAA") || complaint.Len() > 0 {
		t.Errorf("%s %s", &out, &complaint)
	}
	out.Reset()
	silent := New(nil, &out, &complaint)
	silent.FailJSON(ErrSilent, ExitFailure)
	if silent.Out.Flush(); out.Len() > 0 {
		t.Errorf("a silent end: %s", &out)
	}
}

func TestByteSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1.0 kB", 999_900: "999.9 kB", 1_000_000: "1.0 MB", 44_062_800_000: "44.1 GB",
	} {
		if got := ByteSize(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// An editor opens a file at a line in its own way, with the arguments that EDITOR has for it.
func TestEditAtLine(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		editor string
		line   int
		want   string
	}{
		{"vim", 7, "+7 a file"},
		{"emacsclient -t", 7, "-t +7 a file"},
		{"other", 7, "a file"},
		{"vim", 0, "a file"},
	} {
		program, _, _ := strings.Cut(c.editor, " ")
		if err := os.WriteFile(filepath.Join(folder, program), []byte("#!/bin/sh\nIFS='|'\necho \"$#:$*\"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("VISUAL", filepath.Join(folder, c.editor))
		var out bytes.Buffer
		if err := New(nil, &out, &out).Edit("a file", c.line); err != nil {
			t.Fatal(err)
		}
		if _, got, _ := strings.Cut(strings.TrimSpace(out.String()), ":"); strings.ReplaceAll(got, "|", " ") != c.want || strings.Contains(got, "a|file") {
			t.Errorf("%s at %d: %q, want %q", c.editor, c.line, got, c.want)
		}
	}
}
