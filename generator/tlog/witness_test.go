package tlog_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"

	"golang.org/x/mod/sumdb/note"
)

// names are those of the witnesses.
func names(all []tlog.Cosignature) (names []string) {
	for _, s := range all {
		names = append(names, s.Witness)
	}
	return names
}

// The witnesses that have cosigned are named. A wrong cosignature by one of them is refused.
func TestWitnesses(t *testing.T) {
	first, second := tlogtest.Signer("witness.example/w", 1), tlogtest.Signer("other.example", 2)
	known := []tlog.Witness{{Key: first.Verifier().String()}, {Key: second.Verifier().String()}}
	b := treeOf(t, 5)
	s := &b.stages[0]
	cosign := func(signer note.Signer) string { return tlogtest.Cosign(string(s.checkpoint), signer) }
	broken := []byte(cosign(first))
	broken[len(broken)-20] = other1(string(broken[len(broken)-20]))[0]
	for name, c := range map[string]struct {
		lines     string
		witnesses []tlog.Witness
		cosigned  []string
		refused   string
	}{
		"none":                   {"", known, nil, ""},
		"one":                    {cosign(first), known, []string{first.Name()}, ""},
		"both":                   {cosign(second) + cosign(first), known, []string{second.Name(), first.Name()}, ""},
		"one that is not known":  {cosign(second), known[:1], nil, ""},
		"a key of the same name": {cosign(tlogtest.Signer(first.Name(), 3)), known, nil, ""},
		"another signature":      {string(broken), known, nil, "invalid signature for key " + first.Name()},
	} {
		text := append(slices.Clone(s.checkpoint), c.lines...)
		l, fault := readAll(b.Key, c.witnesses, []stage{{s.name, s.lines, text}})
		switch {
		case c.refused != "" && !strings.HasPrefix(lineOf(fault), "0: open checkpoint: "+c.refused):
			t.Errorf("%s: %swant %s", name, lineOf(fault), c.refused)
		case c.refused == "" && (fault != nil || !slices.Equal(names(l.Current().Cosigned), c.cosigned)):
			t.Errorf("%s: %s%q, want %q", name, lineOf(fault), l.Current().Cosigned, c.cosigned)
		}
	}

	// A cosignature alone is not a signature of the log.
	if _, err := tlog.Open([]byte(signedText(s)+"\n"+cosign(first)), b.Key, known); err == nil || !strings.Contains(err.Error(), "not signed by the key of the log") {
		t.Errorf("a witness alone: %v", err)
	}
}

// The key of a witness is one for cosignatures.
func TestWitnessKey(t *testing.T) {
	_, key := keyOf(t)
	good := tlogtest.New(key).VKey()
	for key, want := range map[string]string{key: "unknown verifier algorithm", "other.example" + good[strings.Index(good, "+"):]: "invalid verifier hash"} {
		if err := (&tlog.Witness{Key: key}).Check(); err == nil || !strings.HasPrefix(err.Error(), "witness key ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", key, err, want)
		}
	}
}

// A witness cosigns each checkpoint, whatever it has seen before.
func TestCosign(t *testing.T) {
	b := years(t)
	l, end := b.Log, b.Current()
	for seen := -1; seen < 4; seen++ {
		w := tlogtest.New(b.Key)
		if seen >= 0 {
			c, err := tlog.Open(b.Stages[seen].Checkpoint, b.Key, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.Size, w.Root = c.Size, c.Root
		}
		server := httptest.NewServer(w)
		known := tlog.Witness{Key: w.VKey(), URL: server.URL + "/w/"}
		if err := known.Check(); err != nil {
			t.Fatal(err)
		}
		line, err := l.Cosign(t.Context(), server.Client(), &known)
		server.Close()
		if err != nil || w.Size != end.Size {
			t.Errorf("a witness that has seen stage %d: %v", seen, err)
			continue
		}
		cosigned := append(bytes.Clone(end.Checkpoint), line...)
		c, err := tlog.Open(cosigned, l.Key, []tlog.Witness{known})
		if err != nil || len(c.Cosigned) != 1 || c.Cosigned[0].Witness != known.Name() || known.Name() != tlogtest.Name {
			t.Errorf("a witness that has seen stage %d: %+v, %v", seen, c, err)
		}
	}
}

// A witness that refuses, fails or lies is named with its reason, and leaves nothing behind.
func TestCosignFaults(t *testing.T) {
	l := *treeOf(t, 3, 5).Log
	other := empty(t).add(t, "2026-11-20", records(30, tlog.Registration, 2)...)
	c, err := tlog.Open(other.Stages[0].Checkpoint, l.Key, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, foreign := namedKey(t, "www.other.example/log", 2)
	honest, split, ahead, otherKey := tlogtest.New(l.Key), tlogtest.New(l.Key), tlogtest.New(l.Key), tlogtest.New(l.Key)
	split.Size, split.Root, ahead.Size, otherKey.Signer = c.Size, c.Root, 99999, tlogtest.Signer(tlogtest.Name, 8)
	answer := func(status int, text string) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Location", "http://127.0.0.1:1/")
			rw.WriteHeader(status)
			io.WriteString(rw, text)
		})
	}
	for name, c := range map[string]struct {
		handler http.Handler
		want    string
	}{
		"that knows another log":    {tlogtest.New(foreign), "403: does not know the log (ask the witness's operator to add " + l.Key},
		"with a fork":               {split, "422: cosigned another tree"},
		"that is ahead":             {ahead, `has seen a tree of "99999\n" entries, the newest here has 5`},
		"that signs as another":     {otherKey, "no cosignature by this key"},
		"that cosigns another text": {answer(200, honest.Cosign(string(other.stages[0].checkpoint))), "no cosignature"},
		"that names no size":        {answer(409, "<html>"), "has seen a tree of"},
		"that is never content":     {answer(409, "5\n"), "did not accept the size 5"},
	} {
		server := httptest.NewServer(c.handler)
		line, err := l.Cosign(t.Context(), server.Client(), &tlog.Witness{Key: honest.VKey(), URL: server.URL + "/w"})
		server.Close()
		if line != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("a witness %s: %q, %v, want %q", name, line, err, c.want)
		}
	}
}
