package health_test

import (
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

// A service is ready where the store takes a write, the key is the one of the content, and so are
// the documents. What fails is named, all of it.
func TestReady(t *testing.T) {
	whole := manifest(200, `{"documents":[],"content_version":"test"}`)
	own, foreign := edgetest.PublicKey(edgetest.Key), edgetest.PublicKey(edgetest.RetiredKey)
	for name, c := range map[string]struct {
		fetch     func(turn.Fetch) turn.Result
		store     turn.Failure
		key       string
		published string
		fault     bool
		verified  string
		failing   string
	}{
		"ready":            {fetch: whole, key: own, published: own},
		"no key at all":    {fetch: whole},
		"store refuses":    {fetch: whole, key: own, published: own, store: turn.Refused, failing: "store"},
		"no store":         {fetch: whole, key: own, published: own, store: turn.Unavailable, failing: "store"},
		"foreign key":      {fetch: whole, key: foreign, published: own, failing: "key"},
		"missing key":      {fetch: whole, published: own, failing: "key"},
		"faulty key":       {fetch: whole, published: own, fault: true, failing: "key"},
		"other documents":  {fetch: manifest(200, `{"content_version":"tess"}`), key: own, published: own, failing: "documents"},
		"no documents":     {fetch: manifest(404, `{"content_version":"test"}`), key: own, published: own, failing: "documents"},
		"no manifest":      {fetch: manifest(200, `<html>`), key: own, published: own, failing: "documents"},
		"no way to itself": {key: own, published: own, failing: "documents"},
		"its store":        {fetch: whole, key: own, published: own, verified: "one"},
		"another store":    {fetch: whole, key: own, published: own, verified: "another", failing: "store"},
		"nothing works":    {key: foreign, published: own, store: turn.Refused, failing: `store","key","documents`},
	} {
		h := edgetest.NewFake(t)
		s := edgetest.Snapshot()
		s.CurrentKey, s.Store = c.published, c.verified
		h.Edge, h.Fetch, h.Host.PublicKey, h.Host.KeyFault = edgetest.Load(t, s), c.fetch, c.key, c.fault
		h.Exec = func(turn.Exec) turn.Result { return turn.Result{Rows: [][][]any{nil, {{"one"}}}} }
		h.Fail = map[string]turn.Failure{"exec": c.store}
		want, status := `{"status":"ok","content":"test","as_of":"2026-11-18"}`, 200
		if c.failing != "" {
			want, status = `{"status":"failing","content":"test","as_of":"2026-11-18","failing":["`+c.failing+`"]}`, 503
		}
		r := h.Do("GET", "/readyz", "")
		if r.Status != status || string(r.Body) != want {
			t.Errorf("%s: %d %s, want %d %s", name, r.Status, r.Body, status, want)
		}
		head := h.Do("HEAD", "/readyz?x", "")
		if head.Status != status || len(head.Body) > 0 || head.Get("content-length") == "0" {
			t.Errorf("%s: HEAD: %d %v %q", name, head.Status, head.Header, head.Body)
		}
		if preview := h.Do("GET", "/readyz", "", "host", "preview.example.org"); c.failing == "store" && c.store == turn.None && preview.Status != 200 {
			t.Errorf("%s: a preview: %d %s", name, preview.Status, preview.Body)
		}
		if len(h.Limits) > 0 {
			t.Errorf("%s: it is counted as a write", name)
		}
		if live := h.Do("GET", "/healthz", ""); live.Status != 200 || string(live.Body) != `{"status":"ok","content":"test","as_of":"2026-11-18"}` || h.Rounds != 0 {
			t.Errorf("%s: the service is not live: %d %s", name, live.Status, live.Body)
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
