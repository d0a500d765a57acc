package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cli"
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
		if message, hint := cli.SplitHint(line); [2]string{message, hint} != want {
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
		message, hint := cli.SplitHint(line)
		if whole := message + " (" + hint + ")"; hint != "" && whole != line || hint == "" && message != line {
			t.Errorf("%q: %q, %q", line, message, hint)
		}
	})
}

// What strangers wrote into an error does nothing to a terminal, and its JSON stays JSON.
func TestErrorOfStrangers(t *testing.T) {
	var out, complaint bytes.Buffer
	term := cli.New(nil, &out, &complaint)
	term.FailJSON(cli.Exit(cli.ExitFailure, errors.New("no agent \""+unseen+"\" has anteroom-secret:AAAA\\\" (ask "+unseen+" again)")), cli.ExitFailure)
	term.FailJSON(errors.New("another"), cli.ExitFailure) // one answer is enough
	term.Out.Flush()
	checkSeen(t, "an error", out.String())
	var got struct{ Error cli.ErrorReport }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || !strings.Contains(got.Error.Message, unseen) || got.Error.Hint != "ask "+unseen+" again" {
		t.Errorf("%s: %+v, %v", &out, got, err)
	}
	if strings.Contains(out.String(), "AAAA") || complaint.Len() > 0 {
		t.Errorf("%s %s", &out, &complaint)
	}
	out.Reset()
	silent := cli.New(nil, &out, &complaint)
	silent.FailJSON(cli.Exit(cli.ExitFailure, cli.ErrSilent), cli.ExitFailure)
	if silent.Out.Flush(); out.Len() > 0 {
		t.Errorf("a silent end: %s", &out)
	}
}
