package native

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"anteroom/edge/assets"
	"anteroom/edge/edgetest"
	"anteroom/edge/native/metrics"
	"anteroom/edge/native/static"
)

// manifestOf are documents of which the manifest names a content.
func manifestOf(t *testing.T, version string) *static.Documents {
	t.Helper()
	documents, err := static.New([]assets.File{{Path: "/manifest.json", Bytes: []byte(`{"content_version":"` + version + `"}`)}})
	must(t, err)
	return documents
}

// An answer is given again for five seconds, and no longer. While one is made, others wait for it.
// The store is written to once in that time.
func TestReadinessIsKept(t *testing.T) {
	h, _ := open(t, Config{Key: edgetest.Key, Documents: manifestOf(t, "test")}, fake{})
	var mu sync.Mutex
	now := time.Unix(edgetest.Now, 0)
	h.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	address, _ := serve(t, h)
	ready := func(method, want string) {
		t.Helper()
		// A foreign name, an address or no name at all: whoever checks may use any.
		for _, host := range []string{"evil.example", ""} {
			answer := raw(t, address, method+" /readyz HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
			if text := bodyOf(answer); fmt.Sprint(answer.StatusCode, " ", text) != want {
				t.Errorf("on %q: %d %s, want %s", host, answer.StatusCode, text, want)
			}
		}
	}
	whole, failing := `200 {"status":"ok","content":"test","as_of":"2026-11-18"}`, `503 {"status":"failing","content":"test","as_of":"2026-11-18","failing":["store"]}`
	written := func() any {
		t.Helper()
		rows := h.store.Exec(one("SELECT written_at FROM health")).Rows
		return rows[0][0][0]
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { ready("GET", whole) })
	}
	all.Wait()
	if at := written(); at != edgetest.Now {
		t.Errorf("written at %v, want %d", at, edgetest.Now)
	}
	// Another process with the same store, and a HEAD, ask soon after: the store is left alone.
	mu.Lock()
	now = now.Add(4 * time.Second)
	mu.Unlock()
	ready("HEAD", "200 ")
	if at := written(); at != edgetest.Now {
		t.Errorf("written again at %v", at)
	}
	put(t, h.store, "DROP TABLE health")
	ready("GET", whole)
	mu.Lock()
	now = now.Add(time.Second)
	mu.Unlock()
	ready("GET", failing)
	// New content is checked at once.
	put(t, h.store, "CREATE TABLE health (id INTEGER PRIMARY KEY, written_at INTEGER)")
	must(t, h.Publish(edgetest.Snapshot(), manifestOf(t, "another")))
	ready("GET", strings.Replace(failing, "store", "documents", 1))
}

// Where the log of the database is removed, the host takes no write and is not ready. At a clean
// end it saves what was answered before.
func TestLogOfTheStoreIsGone(t *testing.T) {
	h, _ := open(t, Config{Key: edgetest.Key, Metrics: metrics.New("", "")}, fake{})
	folder, name := h.config.Data, h.store.Name()
	register(t, h, "ada")
	must(t, os.Remove(name+"-wal"))
	for path, want := range map[string]string{"/api/waitlist?agent_name=bo": "nothing was recorded", "/readyz": `"failing":["store"`} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "http://www.example.org"+path, nil))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	must(t, h.Close())
	if left, _ := filepath.Glob(name + "?*"); len(left) > 0 {
		t.Errorf("after a clean end there are %v", left)
	}
	again, _ := open(t, Config{Data: folder}, fake{})
	if n := count(t, again.store, "registrations"); n != 1 {
		t.Errorf("%d registrations, want 1", n)
	}
}
