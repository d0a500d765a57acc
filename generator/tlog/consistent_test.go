package tlog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"
)

// A log goes on from each of its checkpoints, and from no other that its key has signed.
func TestConsistent(t *testing.T) {
	key, signer := tlogtest.Key(t, tlog.Origin("www.base.example", 1))
	// log has a stage with these texts as the payloads of its registrations, for each list.
	log := func(stages ...[]string) *tlog.Log {
		l := tlog.New([]string{key}, nil)
		for day, payloads := range stages {
			name := "2026-11-0" + string(rune('1'+day))
			var entries []tlog.Entry
			for _, payload := range payloads {
				entries = append(entries, tlog.Entry{Kind: tlog.Registration, Hash: tlog.RecordHash("id", payload)})
			}
			entries = append(entries, tlog.Entry{Kind: tlog.Verification, AsOf: name, Board: "/scoreboard/" + name + ".json", BoardSHA256: tlog.RecordHash(name, "")})
			if _, _, err := l.Append(name, entries, signer); err != nil {
				t.Fatal(err)
			}
		}
		return l
	}
	whole := log([]string{"a"}, []string{"b", "c"})
	own := func(l *tlog.Log, stage int) []byte { return l.Stages[stage].Checkpoint }
	for i := range whole.Stages {
		if err := whole.Consistent(own(whole, i)); err != nil {
			t.Errorf("its own checkpoint %d: %v", i, err)
		}
	}
	longer := log([]string{"a"}, []string{"b", "c"}, []string{"d"})
	for _, l := range []*tlog.Log{whole, tlog.New([]string{key}, nil)} {
		if err := l.Consistent(own(longer, 2)); !errors.Is(err, tlog.ErrAhead) || errors.As(err, new(*tlog.Fork)) {
			t.Errorf("ahead of %d entries: %v", l.Size(), err)
		}
	}
	for name, c := range map[string]struct{ given, own []byte }{
		"another entry, of the size of a stage": {own(log([]string{"x"}), 0), own(whole, 0)},
		"of no size that it has signed":         {own(log([]string{"a", "x"}), 0), own(whole, 1)},
	} {
		var fork *tlog.Fork
		if err := whole.Consistent(c.given); !errors.As(err, &fork) || !slices.Equal(fork.Notes, []string{string(c.own), string(c.given)}) {
			t.Errorf("%s: %v", name, err)
		} else if !strings.Contains(err.Error(), "www.base.example/log is forked") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, other := grow(t, 1)
	if err := whole.Consistent(other.Current().Checkpoint); err == nil || errors.As(err, new(*tlog.Fork)) || !strings.Contains(err.Error(), "no known key") {
		t.Errorf("of another key: %v", err)
	}
}

// The edge is published, and what a client reads that has the newest checkpoint.
func TestEdge(t *testing.T) {
	_, _, l := grow(t, 254, 300, 66000)
	files, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, level := range []struct {
		level    int
		n, width int64
	}{{-1, 259, 253}, {0, 259, 253}, {1, 1, 3}, {2, 0, 1}} {
		want = append(want, tlog.Folder+tlog.TilePath(level.level, level.n, level.width))
	}
	if got := l.Edge(); !slices.Equal(got, want) {
		t.Errorf("%d entries: %v, want %v", l.Size(), got, want)
	}
	for _, p := range l.Edge() {
		if !slices.ContainsFunc(files, func(f tlog.File) bool { return f.Path == p }) {
			t.Errorf("%s is not published", p)
		}
	}
	_, _, full := grow(t, 255)
	if got := full.Edge(); !slices.Equal(got, []string{"/log/tile/entries/000", "/log/tile/0/000", "/log/tile/1/000.p/1"}) {
		t.Errorf("256 entries: %v", got)
	}
}

// Two checkpoints may have the same partial tile, which is one file.
func TestEachFileOnce(t *testing.T) {
	_, _, l := grow(t, 300, 5, 66000, 3)
	files, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		if seen[f.Path] {
			t.Errorf("%s stands there twice", f.Path)
		}
		seen[f.Path] = true
	}
}

func TestTreePath(t *testing.T) {
	for p, want := range map[string]string{
		"/log/checkpoint": "/log", "/log/2/checkpoint": "/log/2", "/log/12/tile/0/000": "/log/12", "/log/checkpoints/2": "/log", "/log/": "/log", "/a/2/x": "/log",
	} {
		if got := tlog.TreePath(p); got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
		if is := tlog.IsCheckpoint(p); is != strings.HasSuffix(p, "/checkpoint") {
			t.Errorf("%s is a checkpoint: %t", p, is)
		}
	}
	if p, err := tlog.TreeOf("www.base.example/log/2+x"); err == nil {
		t.Errorf("the tree of no key is %s", p)
	}
	key, _, _ := grow(t, 0)
	if p, err := tlog.TreeOf(key); err != nil || p != tlog.Folder {
		t.Errorf("%s, %v", p, err)
	}
}
