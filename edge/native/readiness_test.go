package native

import (
	"database/sql"
	"fmt"
	"net/http"
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
	"anteroom/edge/native/sqlite"
	"anteroom/edge/native/static"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
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
		for _, host := range []string{"evil.example", "192.0.2.7", ""} {
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
	if r := h.store.Exec(one("DROP TABLE health")); r.Failure != turn.None {
		t.Fatal(r.Failure)
	}
	ready("GET", whole)
	mu.Lock()
	now = now.Add(time.Second)
	mu.Unlock()
	ready("GET", failing)
	if answer := raw(t, address, "GET /healthz HTTP/1.1\r\nHost: 192.0.2.7\r\n\r\n"); answer.StatusCode != 200 {
		t.Errorf("the service is not live: %d", answer.StatusCode)
	}
}

// New content is checked at once.
func TestReadinessOfANewContent(t *testing.T) {
	h, _ := open(t, Config{Key: edgetest.Key, Documents: manifestOf(t, "test")}, fake{})
	address, _ := serve(t, h)
	get := func() (int, string) {
		answer, err := http.Get("http://" + address + "/readyz")
		must(t, err)
		return answer.StatusCode, bodyOf(answer)
	}
	if status, text := get(); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	changed := *edgetest.Snapshot()
	changed.Version = "0123456789abcdef"
	for _, c := range []struct {
		published *snapshot.Snapshot
		documents *static.Documents
		want      string
	}{
		{&changed, manifestOf(t, "0123456789ab"), `"status":"ok","content":"0123456789ab"`},
		{&changed, manifestOf(t, "test"), `"failing":["documents"]`},
		{&changed, nil, `"failing":["documents"]`},
	} {
		must(t, h.Publish(c.published, c.documents))
		if _, text := get(); !strings.Contains(text, c.want) {
			t.Errorf("%s, want %s", text, c.want)
		}
	}
}

// While another process has the database locked, callers and checks of readiness are refused when
// their patience ends. What was refused is never written.
func TestLockedStore(t *testing.T) {
	before := sqlite.Patience
	t.Cleanup(func() { sqlite.Patience = before })
	sqlite.Patience = 20 * time.Millisecond
	h, _ := open(t, Config{Key: edgetest.Key, Documents: manifestOf(t, "test")}, fake{})
	address, _ := serve(t, h)
	other, err := sql.Open("sqlite", h.store.Name())
	must(t, err)
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("PRAGMA busy_timeout = 10000; BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	asked := func(request, want string) {
		t.Helper()
		answer := raw(t, address, request)
		if text := fmt.Sprint(answer.StatusCode, " ", bodyOf(answer)); !strings.Contains(text, want) {
			t.Errorf("%s: %s", request, text)
		}
	}
	const host = " HTTP/1.1\r\nHost: www.example.org\r\n\r\n"
	asked("GET /api/waitlist?agent_name=ada"+host, "nothing was recorded")
	asked("GET /readyz"+host, `"failing":["store"]`)
	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	sqlite.Patience = 10 * time.Second
	asked("GET /api/waitlist?agent_name=bo"+host, `"recorded":true`)
	if n := count(t, h.store, "registrations"); n != 1 {
		t.Errorf("%d registrations, want 1", n)
	}
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
