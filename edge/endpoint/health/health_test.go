package health_test

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/turn"
)

// manifest answers the fetch of the manifest.
func manifest(status int, body string) func(turn.Fetch) turn.Result {
	return func(turn.Fetch) turn.Result { return turn.Result{Status: status, Data: []byte(body)} }
}

// A service is ready if the store takes a write, the key is the one of the content, and so are the
// documents. Each failure is named.
func TestReady(t *testing.T) {
	own, foreign := edgetest.PublicKey(edgetest.Key), edgetest.PublicKey(edgetest.RetiredKey)
	for name, c := range map[string]struct {
		status    int
		manifest  string
		store     turn.Failure
		key       string
		published string
		fault     bool
		verified  string
		failing   string
	}{
		"ready":           {key: own, published: own},
		"no key at all":   {verified: "one"},
		"no store":        {key: own, published: own, store: turn.Unavailable, failing: "store"},
		"another store":   {key: own, published: own, verified: "another", failing: "store"},
		"foreign key":     {key: foreign, published: own, failing: "key"},
		"missing key":     {published: own, failing: "key"},
		"faulty key":      {published: own, fault: true, failing: "key"},
		"other documents": {key: own, published: own, manifest: `{"content_version":"tess"}`, failing: "documents"},
		"no manifest":     {key: own, published: own, manifest: `<html>`, failing: "documents"},
		"nothing works":   {status: 404, key: foreign, published: own, store: turn.Refused, failing: `store","key","documents`},
	} {
		h := edgetest.NewFake(t)
		s := edgetest.Snapshot()
		s.CurrentKey, s.Store = c.published, c.verified
		h.Edge, h.Host.PublicKey, h.Host.KeyFault = edgetest.Load(t, s), c.key, c.fault
		h.Fetch = manifest(cmp.Or(c.status, 200), cmp.Or(c.manifest, `{"documents":[],"content_version":"test"}`))
		h.Exec = func(turn.Exec) turn.Result { return turn.Result{Rows: [][][]any{nil, {{"one"}}}} }
		h.Fail = map[string]turn.Failure{"exec": c.store}
		want, status := `{"status":"ok","content":"test","as_of":"2026-11-18"}`, 200
		if c.failing != "" {
			want, status = `{"status":"failing","content":"test","as_of":"2026-11-18","failing":["`+c.failing+`"]}`, 503
		}
		if r := h.Do("GET", "/readyz", ""); r.Status != status || string(r.Body) != want || len(h.Limits) > 0 {
			t.Errorf("%s: %d %s, want %d %s", name, r.Status, r.Body, status, want)
		}
		if preview := h.Do("GET", "/readyz", "", "host", "preview.example.org"); name == "another store" && preview.Status != 200 {
			t.Errorf("%s: a preview: %d %s", name, preview.Status, preview.Body)
		}
	}
}

// A time of a write that is still to come, as a clock that was set back leaves it, is not taken for
// a write of now: a store that takes none is not ready.
func TestClockSetBack(t *testing.T) {
	store, err := sqlite.Create(filepath.Join(t.TempDir(), sqlite.FileName), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h := edgetest.NewFake(t)
	h.Exec, h.Fetch = store.Exec, manifest(200, `{"content_version":"test"}`)
	for _, c := range []struct {
		written string // seconds after now
		status  int
	}{{"- 5", 503}, {"- 4", 200}, {"", 200}, {"+ 1", 503}, {"+ 86400", 503}} {
		for _, sql := range []string{
			"DROP TRIGGER IF EXISTS full", "UPDATE health SET written_at = ? " + c.written,
			"CREATE TRIGGER full BEFORE UPDATE ON health BEGIN SELECT RAISE(ABORT, 'full'); END",
		} {
			args := []any{edgetest.Now}[:strings.Count(sql, "?")]
			if r := store.Exec(turn.Exec{Statements: []turn.Statement{{SQL: sql, Args: args}}}); r.Failure != turn.None {
				t.Fatal(r.Failure)
			}
		}
		if r := h.Do("GET", "/readyz", ""); r.Status != c.status {
			t.Errorf("written at now %s: %d %s, want %d", c.written, r.Status, r.Body, c.status)
		}
	}
}

// The manifest is fetched from the service itself, and the write is into a table of its own.
func TestEffects(t *testing.T) {
	h := edgetest.NewFake(t)
	h.Do("GET", health.Ready, "")
	if len(h.Fetches) != 1 || !h.Fetches[0].Self || h.Fetches[0].URL != "https://www.example.org/manifest.json" {
		t.Errorf("fetches %+v", h.Fetches)
	}
	if len(h.Statements) != 2 || !strings.HasPrefix(h.Statements[0].SQL, "INSERT INTO health ") || !slices.Equal(h.Statements[0].Args, []any{edgetest.Now}) {
		t.Errorf("statements %+v", h.Statements)
	}
}
