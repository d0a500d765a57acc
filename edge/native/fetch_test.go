package native

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/turn"
)

// upstream is a search-index endpoint on this machine that counts what it gets.
func upstream(t *testing.T, answer http.HandlerFunc) (url string, calls *atomic.Int32) {
	t.Helper()
	calls = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/indexnow", calls
}

// TestFetchIsBounded: a fetch gives up an endpoint that hangs or drips, or whose head is too large,
// and reads no more than it may of one that never ends. The core allows 10 s; here it is less.
func TestFetchIsBounded(t *testing.T) {
	release := make(chan struct{})
	hanging, _ := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	dripping, _ := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	})
	defer close(release)
	endless, _ := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			w.Write(make([]byte, 4096))
		}
	})
	boasting, _ := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", 2*turn.MaxHead))
	})
	busy, _ := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	h, _ := open(t, Config{}, fake{})
	fetch := func(url string, millis int) turn.Result {
		return h.performOne(h.site.Load(), turn.Fetch{Method: "POST", URL: url, MaxBytes: 4096, TimeoutMillis: millis}, h.sendMail)
	}
	for _, url := range []string{hanging, dripping} {
		if r := fetch(url, 100); r.Failure != turn.Timeout || r.Millis < 90 {
			t.Errorf("%s: %+v", url, r)
		}
	}
	if r := fetch(endless, 10_000); r.Status != 200 || len(r.Data) != 4096 {
		t.Errorf("without an end: %d with %d bytes", r.Status, len(r.Data))
	}
	if r := fetch(busy, 10_000); r.Status != 429 || r.Reset != 3600 {
		t.Errorf("busy: %+v", r)
	}
	if r := fetch(boasting, 10_000); r.Failure != turn.Timeout {
		t.Errorf("a large head: %+v", r)
	}
}

// TestFetchesAreShared: callers share a fetch for as long as it says, also a failed one, until the
// content changes.
func TestFetchesAreShared(t *testing.T) {
	url, calls := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(20 * time.Millisecond)
		io.WriteString(w, "answer")
	})
	h, _ := open(t, Config{}, fake{})
	at := new(atomic.Int64)
	h.now = func() time.Time { return time.Unix(at.Load(), 0) }
	ask := func(change func(*turn.Fetch)) {
		t.Helper()
		f := turn.Fetch{Method: "GET", URL: url, MaxBytes: 100, TimeoutMillis: 5000, ShareSeconds: 30}
		if change != nil {
			change(&f)
		}
		if r := h.performOne(h.site.Load(), f, h.sendMail); string(r.Data) != "answer" {
			t.Errorf("%+v", r)
		}
	}
	expect := func(what string, n int32) {
		t.Helper()
		if calls.Swap(0) != n {
			t.Errorf("%s: not fetched %d times", what, n)
		}
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { ask(nil) })
	}
	all.Wait()
	expect("at once", 1)
	at.Store(29)
	ask(nil)
	expect("after 29 s", 0)
	at.Store(30)
	ask(nil)
	expect("after 30 s", 1)
	ask(func(f *turn.Fetch) { f.Method = "POST" })
	ask(func(f *turn.Fetch) { f.Body = []byte("b") })
	ask(func(f *turn.Fetch) { f.Header = []turn.Header{{Name: "a", Value: "b"}} })
	ask(func(f *turn.Fetch) { f.ShareSeconds = 0 })
	expect("something else", 4)
	must(t, h.Publish(edgetest.Snapshot(), nil))
	ask(nil)
	expect("after a change of the content", 1)
	closed := turn.Fetch{Method: "GET", URL: "http://127.0.0.1:1/", MaxBytes: 1, TimeoutMillis: 1000, ShareSeconds: 30}
	for range 2 {
		if r := h.performOne(h.site.Load(), closed, h.sendMail); r.Failure != turn.Refused {
			t.Errorf("%+v", r)
		}
	}
	if len(h.fetches.known) != 2 {
		t.Errorf("%d results are kept, want 2", len(h.fetches.known))
	}
}
