package tlog_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"
)

// A witness cosigns each checkpoint, whatever it has seen before.
func TestCosign(t *testing.T) {
	p := years(t)
	stages := p.log.Stages
	for seen := -1; seen < 4; seen++ {
		l := *p.log
		l.Stages = stages[:4] // under the first key
		w := tlogtest.New(l.Keys[0])
		if seen >= 0 {
			c, err := tlog.Open(stages[seen].Checkpoint, l.Keys, nil)
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
		if err != nil || w.Size != stages[3].Size {
			t.Errorf("a witness that has seen stage %d: %v", seen, err)
			continue
		}
		cosigned := append(bytes.Clone(stages[3].Checkpoint), line...)
		c, err := tlog.Open(cosigned, l.Keys, []tlog.Witness{known})
		if err != nil || len(c.Cosigned) != 1 || c.Cosigned[0] != known.Name() || known.Name() != tlogtest.Name {
			t.Errorf("a witness that has seen stage %d: %+v, %v", seen, c, err)
		}
		if want := 2 - len(w.Asked); seen < 0 && want != 1 || seen >= 0 && want != 0 {
			t.Errorf("a witness that has seen stage %d was asked %d times", seen, len(w.Asked))
		}
	}
	// What a witness has cosigned before is where it is asked to go on from.
	w := tlogtest.New(p.log.Keys[0])
	known := tlog.Witness{Key: w.VKey()}
	grown := years(t).log
	grown.Stages = grown.Stages[:4]
	grown.Stages[1].Checkpoint = append(grown.Stages[1].Checkpoint, w.Cosign(string(grown.Stages[1].Checkpoint))...)
	c, err := tlog.Open(grown.Stages[1].Checkpoint, grown.Keys, nil)
	if err != nil || !grown.Stages[1].HasCosigned(&known) || grown.Stages[3].HasCosigned(&known) {
		t.Fatal(err)
	}
	w.Size, w.Root = c.Size, c.Root
	server := httptest.NewServer(w)
	defer server.Close()
	known.URL = server.URL + "/w"
	if _, err := grown.Cosign(t.Context(), server.Client(), &known); err != nil || len(w.Asked) != 1 {
		t.Errorf("%v, asked %d times", err, len(w.Asked))
	}
}

// What a witness refuses, and what one that fails or lies does, is said and leaves nothing behind.
func TestCosignFaults(t *testing.T) {
	p := years(t)
	l := *p.log
	l.Stages = l.Stages[:4]
	other := publish(t, nil, addition{"2026-11-20", 1, records("other", tlog.Registration, 307)}, addition{"2026-11-21", 1, records("other", tlog.Charter, 962)})
	split := func(stage int) *tlogtest.Witness {
		w := tlogtest.New(l.Keys[0])
		c, err := tlog.Open(other.log.Stages[stage].Checkpoint, l.Keys, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.Size, w.Root = c.Size, c.Root
		return w
	}
	_, foreign := signer(t, 2)
	otherKey := tlogtest.New(l.Keys[0])
	otherKey.Secret = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize))
	ahead := tlogtest.New(l.Keys[0])
	ahead.Size = 99999
	answer := func(status int, text string) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Location", "http://127.0.0.1:1/")
			rw.WriteHeader(status)
			io.WriteString(rw, text)
		})
	}
	honest := tlogtest.New(l.Keys[0])
	for name, c := range map[string]struct {
		handler http.Handler
		want    string
	}{
		"that knows another log":       {tlogtest.New(foreign), "404: it does not know the log (have who runs it add " + l.Keys[0]},
		"with a fork of another size":  {split(0), "422: it has cosigned another tree than this one"},
		"with a fork of the same size": {split(1), "it has cosigned another tree than this one"},
		"that is ahead":                {ahead, "it has seen a tree of 99999 entries, and the newest here has 1271"},
		"that signs with another key":  {otherKey, "without a cosignature of the checkpoint by its key"},
		"that cosigns another text":    {answer(200, honest.Cosign("www.base.example/log\n1\nAAAA\n\n")), "without a cosignature"},
		"that says nothing":            {answer(200, ""), "without a cosignature"},
		"that talks":                   {answer(200, strings.Repeat("— "+tlogtest.Name+" AAAA\n", 3)), "without a cosignature"},
		"that talks without end":       {answer(200, strings.Repeat("— x AAAA\n", 10_000)), "more than 64 KiB"},
		"that forbids":                 {answer(403, "no"), "403: it knows the log by another key"},
		"that is overloaded":           {answer(503, ""), "503: it fails in passing"},
		"that is a page":               {answer(405, "<html>"), "405: it takes no such request"},
		"that redirects":               {answer(307, ""), "307: it redirects"},
		"that names no size":           {answer(409, "<html>"), "without the size"},
		"that names a size below zero": {answer(409, "-1\n"), "without the size"},
		"that is never content":        {answer(409, "5\n"), "took none of them"},
	} {
		server := httptest.NewServer(c.handler)
		line, err := l.Cosign(t.Context(), server.Client(), &tlog.Witness{Key: honest.VKey(), URL: server.URL + "/w"})
		server.Close()
		if line != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("a witness %s: %q, %v, want %q", name, line, err, c.want)
		}
	}
	if _, err := l.Cosign(t.Context(), &http.Client{}, &tlog.Witness{Key: honest.VKey(), URL: "http://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a witness that is not there: %v", err)
	}
	done := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-done }))
	defer silent.Close()
	defer close(done)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Cosign(ctx, silent.Client(), &tlog.Witness{Key: honest.VKey(), URL: silent.URL}); err == nil || errors.Is(err, tlog.ErrSplit) {
		t.Errorf("a witness that is silent: %v", err)
	}
}

// FuzzCosignature gives a log any answer of a witness.
func FuzzCosignature(f *testing.F) {
	p := years(f)
	l := *p.log
	l.Stages = l.Stages[:4]
	w := tlogtest.New(l.Keys[0])
	good := w.Cosign(string(l.Stages[3].Checkpoint))
	f.Add(200, []byte(good))
	f.Add(200, []byte("— x AAAA\n"+good+good))
	f.Add(409, []byte("308\n"))
	f.Add(409, []byte("99999999999999999999\n"))
	known := &tlog.Witness{Key: w.VKey(), URL: "http://witness.base.example"}
	f.Fuzz(func(t *testing.T, status int, answer []byte) {
		client := &http.Client{Transport: answering(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(answer))}, nil
		})}
		line, err := l.Cosign(t.Context(), client, known)
		if err != nil {
			return
		}
		c, err := tlog.Open(append(bytes.Clone(l.Stages[3].Checkpoint), line...), l.Keys, []tlog.Witness{*known})
		if err != nil || len(c.Cosigned) != 1 || bytes.Count(line, []byte("\n")) != 1 {
			t.Errorf("%q is taken: %v", line, err)
		}
	})
}

// answering is a transport without a network.
type answering func(*http.Request) (*http.Response, error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }
