//go:build full

package main

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/native"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/native/static"
	"anteroom/edge/snapshot"
)

// TestReadiness: both hosts say the same of the same state of a service.
func TestReadiness(t *testing.T) {
	t.Parallel()
	const foreign = "O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik="
	for name, c := range map[string]struct {
		manifest  string // of the documents; "" for no documents
		published string // the key that the content publishes
		spoil     string // SQL
		failing   string
	}{
		"ready":          {`{"content_version":"test"}`, edgetest.PublicKey(edgetest.Key), "", ""},
		"foreign key":    {`{"content_version":"test"}`, foreign, "", `"key"`},
		"no more writes": {`{"content_version":"test"}`, edgetest.PublicKey(edgetest.Key), "CREATE TRIGGER full BEFORE UPDATE ON health BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END", `"store"`},
		"all of it":      {"", foreign, "DROP TABLE health", `"store","key","documents"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := edgetest.Snapshot()
			s.CurrentKey = c.published
			want := `200 {"status":"ok","content":"test","as_of":"2026-11-18"}`
			if c.failing != "" {
				want = `503 {"status":"failing","content":"test","as_of":"2026-11-18","failing":[` + c.failing + `]}`
			}
			for host, base := range map[string]string{"native": readyOnMachine(t, s, c.manifest, c.spoil), "worker": readyOnWorker(t, s, c.manifest, c.spoil)} {
				for _, target := range []string{"/readyz", "/readyz", "/readyz?x"} { // the second answer is one that was kept
					for _, method := range []string{"GET", "HEAD"} {
						status, body := askAt(t, method, base+target, "www.example.org")
						wanted := want
						if method == "HEAD" {
							wanted = want[:4]
						}
						if got := fmt.Sprint(status, " ", body); got != wanted {
							t.Errorf("%s: %s %s: %s, want %s", host, method, target, got, wanted)
						}
					}
				}
				if status, body := askAt(t, "GET", base+"/healthz", "www.example.org"); status != 200 || body != `{"status":"ok","content":"test","as_of":"2026-11-18"}` {
					t.Errorf("%s: the service is not live: %d %s", host, status, body)
				}
			}
		})
	}
}

// askAt sends a request without a body on a host name.
func askAt(t *testing.T, method, url, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// readyOnMachine starts the native host. spoil is SQL for its store, "" for none.
func readyOnMachine(t *testing.T, s *snapshot.Snapshot, manifest, spoil string) string {
	t.Helper()
	c := native.Config{Snapshot: s, Data: t.TempDir()}
	if manifest != "" {
		documents, err := static.New([]static.File{{Path: "/manifest.json", Bytes: []byte(manifest)}})
		if err != nil {
			t.Fatal(err)
		}
		c.Documents = documents
	}
	base := startNative(t, c)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(c.Data, sqlite.FileName)+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(spoil); err != nil {
		t.Fatal(err)
	}
	return base
}

// readyOnWorker starts the worker.
func readyOnWorker(t *testing.T, s *snapshot.Snapshot, manifest, spoil string) string {
	t.Helper()
	o := bound(t, s)
	if manifest != "" {
		o.Main = with(fmt.Sprintf(`ASSETS: { fetch: async ({ url }) => new Response(new URL(url).pathname === '/manifest.json' ? %q : '{}') }`, manifest))
	}
	worker := start(t, o)
	if spoil != "" {
		worker.sql(spoil)
	}
	return worker.url
}

// TestReadinessIsKept: the worker gives an answer again, of each method, and asks neither its store
// nor itself meanwhile. Without bindings it is not ready, and says of what.
func TestReadinessIsKept(t *testing.T) {
	t.Parallel()
	o := bound(t, edgetest.Snapshot())
	o.Main = `let now = 1795176000000, asked = 0;
Date.now = () => now;
const { default: worker } = await import('./worker.mjs');
export default {
  fetch(request, env, ctx) {
    const { pathname, search } = new URL(request.url);
    if (pathname === '/later') return Response.json({ asked, now: (now += Number(search.slice(1)) * 1000) });
    const SELF = { fetch: async () => (asked++, Response.json({ content_version: 'test' })) };
    return worker.fetch(request, search === '?bare' ? {} : { ...env, SELF, ASSETS: undefined }, ctx);
  },
};`
	s := start(t, o)
	later := func(seconds string) float64 { return s.want(200, "GET", "/later?"+seconds, "")["asked"].(float64) }
	s.want(200, "GET", "/readyz", "")
	later("4")
	s.sql("DROP TABLE health")
	s.want(200, "GET", "/readyz?x", "")
	if n := later("1"); n != 1 {
		t.Errorf("asked %v times, want once", n)
	}
	if body := s.want(503, "GET", "/readyz", ""); fmt.Sprint(body["failing"]) != "[store]" {
		t.Errorf("%v", body)
	}
	if n := later("5"); n != 2 {
		t.Errorf("asked %v times, want twice", n)
	}
	if body := s.want(503, "GET", "/readyz?bare", ""); !strings.HasPrefix(fmt.Sprint(body["failing"]), "[store ") || !strings.HasSuffix(fmt.Sprint(body["failing"]), "documents]") {
		t.Errorf("without bindings: %v", body)
	}
}
