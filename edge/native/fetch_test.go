package native

import (
	"fmt"
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

// TestFetch: a fetch gives up an endpoint that hangs or drips, or whose head is too large, reads no
// more than it may of one that never ends, and follows no redirect. The core allows 10 s; here it
// is less.
func TestFetch(t *testing.T) {
	url, _ := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // so that the server sees the client go
		switch strings.TrimPrefix(r.URL.Path, "/indexnow/") {
		case "moved":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case "hangs":
			<-r.Context().Done()
		case "drips":
			for r.Context().Err() == nil {
				io.WriteString(w, "x")
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		case "endless":
			for r.Context().Err() == nil {
				w.Write(make([]byte, 4096))
			}
		case "boasts":
			w.Header().Set("X-Large", strings.Repeat("x", 2*turn.MaxHead))
		case "busy":
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-A"), body)
		}
	})
	h, _ := open(t, Config{}, fake{})
	for path, want := range map[string]string{
		"": " 200 0 POST 1 body", "moved": " 302 0 ", "hangs": "timeout 0 0 ", "drips": "timeout 0 0 ", "endless": " 200 0 " + strings.Repeat("\x00", 4096),
		"boasts": "timeout 0 0 ", "busy": " 429 3600 ",
	} {
		f := turn.Fetch{Method: "POST", URL: url + "/" + path, Header: []turn.Header{{Name: "x-a", Value: "1"}}, Body: []byte("body"), MaxBytes: 4096, TimeoutMillis: 10_000}
		if strings.HasPrefix(want, "timeout") {
			f.TimeoutMillis = 200
		}
		r := h.performOne(h.site.Load(), f, h.sendMail)
		if got := fmt.Sprint(r.Failure, " ", r.Status, " ", r.Reset, " ", string(r.Data)); got != want || path == "hangs" && r.Millis < 190 {
			t.Errorf("%s: %.100q in %d ms, want %.100q", path, got, r.Millis, want)
		}
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
