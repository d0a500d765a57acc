package signal_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/signal"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

const (
	path = "/api/signal"
	one  = "https://one.example/indexnow"
	two  = "https://two.example/indexnow"
)

// world is a host with a store, and with servers that answer its fetches.
type world struct {
	*edgetest.Fake
	t         *testing.T
	store     *sqlite.Store
	key       turn.Result            // the answer to a fetch of the key file
	endpoints map[string]turn.Result // the answers of the endpoints, by address
}

func newWorld(t *testing.T, change func(*snapshot.Snapshot)) *world {
	t.Helper()
	s := edgetest.Snapshot()
	if change != nil {
		change(s)
	}
	store, err := sqlite.Create(filepath.Join(t.TempDir(), sqlite.FileName), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w := &world{Fake: edgetest.NewFake(t), t: t, store: store, endpoints: map[string]turn.Result{}}
	w.key = turn.Result{Status: 200, Data: []byte(s.IndexNowKey)}
	w.Edge, w.Exec = edgetest.Load(t, s), store.Exec
	for _, endpoint := range s.IndexNowURLs {
		w.endpoints[endpoint] = turn.Result{Status: 200}
	}
	w.Fetch = func(f turn.Fetch) turn.Result {
		if r, ok := w.endpoints[f.URL]; ok && f.Method == "POST" {
			return r
		}
		return w.key
	}
	return w
}

// sql runs a statement, and returns its rows.
func (w *world) sql(text string) [][]any {
	w.t.Helper()
	r := w.store.Exec(turn.Exec{Statements: []turn.Statement{{SQL: text}}})
	if r.Failure != turn.None {
		w.t.Fatalf("%s: %s", text, r.Failure)
	}
	return r.Rows[0]
}

// ask forgets earlier effects, and sends a request.
func (w *world) ask(method, query string, headers ...string) *turn.Response {
	w.Fetches, w.Statements, w.Limits = nil, nil, nil
	return w.Do(method, path+query, "", headers...)
}

// fire fires and checks the status, the number of submissions, and whether an earlier run is
// replayed.
func (w *world) fire(status, sent int, replayed bool, headers ...string) string {
	w.t.Helper()
	r := w.ask("GET", "?fire=1", headers...)
	body := string(r.Body)
	if again := strings.Contains(body, `"replayed":true`); r.Status != status || len(w.sent()) != sent || again != replayed {
		w.t.Errorf("%d s later %q: %d, sent to %q: %s", w.Later, headers, r.Status, w.sent(), r.Body)
	}
	return body
}

// sent lists the addresses to which something was posted.
func (w *world) sent() (urls []string) {
	for _, f := range w.Fetches {
		if f.Method == "POST" {
			urls = append(urls, f.URL)
		}
	}
	return urls
}

func TestReport(t *testing.T) {
	for detail, key := range map[string]turn.Result{
		"The key file verifies.":                               {Status: 200, Data: []byte("0123456789abcdef")},
		"The key file does not contain the key, byte for byte": {Status: 200, Data: []byte("0123456789abcdef\n")},
		"The key file has status 404, want 200.":               {Status: 404, Data: []byte("0123456789abcdef")},
		"The key file could not be fetched.":                   {Failure: turn.Timeout},
	} {
		w := newWorld(t, nil)
		w.key = key
		signal := map[bool]string{true: "ready", false: "blocked"}[strings.HasSuffix(detail, "verifies.")]
		r := w.ask("GET", "?fire=")
		if !strings.HasPrefix(string(r.Body), `{"signal":"`+signal+`","detail":"`+detail) || len(w.Statements)+len(w.Limits) != 0 || len(w.Fetches) != 1 {
			t.Fatalf("%s: %s, fetches %v, statements %v, limits %v", detail, r.Body, w.Fetches, w.Statements, w.Limits)
		}
		f := w.Fetches[0]
		if f.Self || f.Method != "GET" || f.URL != "https://www.example.org/0123456789abcdef.txt" || !strings.Contains(string(r.Body), `"key_file":"`+f.URL+`",`) ||
			f.MaxBytes != len("0123456789abcdef")+1 || f.TimeoutMillis != 5000 || f.ShareSeconds != 30 {
			t.Errorf("fetch %+v", f)
		}
	}
}

func TestFire(t *testing.T) {
	address := strings.NewReplacer("ONE", `"`+one+`"`, "TWO", `"`+two+`"`)
	for _, c := range []struct {
		key      string
		one, two turn.Result
		status   int
		want     string
	}{
		{
			"0123456789abcdef",
			turn.Result{Status: 203},
			turn.Result{Status: 403, Data: []byte(`{"errorCode":"UserForbiddedToAccessSite"}`)},
			200,
			`"signal":"fired","detail":"Accepted by 1 of 2 endpoints. Accepted is not indexed.","submitted":2,"accepted_by":[ONE],"rejected_by":[TWO],"results":[` +
				`{"endpoint":ONE,"status":203,"accepted":true,"detail":"accepted"},{"endpoint":TWO,"status":403,"accepted":false,"detail":"not accepted (UserForbiddedToAccessSite)"}]`,
		},
		{
			"0123456789abcdef",
			turn.Result{Failure: turn.Timeout},
			turn.Result{Status: 200},
			200,
			`"submitted":2,"accepted_by":[TWO],"rejected_by":[ONE],"results":[` +
				`{"endpoint":ONE,"status":null,"accepted":false,"detail":"timed out: whether it took the addresses is not known"},{"endpoint":TWO,"status":200,"accepted":true,"detail":"accepted"}]`,
		},
		{
			"0123456789abcdef",
			turn.Result{Failure: turn.Refused},
			turn.Result{Status: 301, Data: []byte("<html>")},
			502,
			`"signal":"failed","submitted":0,"accepted_by":[],"rejected_by":[ONE,TWO],"results":[` +
				`{"endpoint":ONE,"status":null,"accepted":false,"detail":"not reachable"},{"endpoint":TWO,"status":301,"accepted":false,"detail":"not accepted"}]`,
		},
		{"other", turn.Result{}, turn.Result{}, 502, `"signal":"failed","submitted":0,"accepted_by":[],"rejected_by":[],"results":[]`},
	} {
		w := newWorld(t, nil)
		w.key.Data, w.endpoints[one], w.endpoints[two] = []byte(c.key), c.one, c.two
		sent, outcome := 2, "fired"
		if c.key == "other" {
			sent = 0
		}
		if c.status == 502 {
			outcome = "failed"
		}
		body := w.fire(c.status, sent, false)
		want := address.Replace(c.want) + `,"replayed":false,"fired_at":"2026-11-20T12:00:00Z"`
		if !strings.Contains(body, want) || strings.Contains(body, "/problems/signal-failed.html") != (c.status == 502) {
			t.Errorf("%s\nwant %s", body, want)
		}
		if runs := w.sql("SELECT outcome FROM signal_runs"); len(runs) != 1 || runs[0][0] != outcome || len(w.Limits) != 1 {
			t.Errorf("runs %v, limits %v", runs, w.Limits)
		}
		for _, f := range w.Fetches[1:] {
			if string(f.Body) != `{"host":"www.example.org","key":"0123456789abcdef","keyLocation":"https://www.example.org/0123456789abcdef.txt",`+
				`"urlList":["https://www.example.org/","https://www.example.org/llms.txt"]}` || f.ShareSeconds != 0 || f.TimeoutMillis != 10_000 || f.MaxBytes != 4096 {
				t.Errorf("%+v %s", f, f.Body)
			}
		}
	}
}

// The same addresses are not sent again for 10 minutes after a run that was accepted, and for 60
// seconds after one that failed. An outcome is the same each time.
func TestReplay(t *testing.T) {
	w := newWorld(t, nil)
	first := w.fire(200, 2, false)
	for _, later := range []int64{0, 1, 599} {
		w.Later = later
		again := w.fire(200, 0, true)
		if strings.Replace(again, `"replayed":true`, `"replayed":false`, 1) != first || len(w.Fetches) != 0 {
			t.Errorf("after %d s: %s, was %s", later, again, first)
		}
	}
	w.Later, w.key.Data = 600, nil
	w.fire(502, 0, false)
	w.Later, w.key.Data = 659, []byte("0123456789abcdef")
	if failed := w.fire(502, 0, true); !strings.Contains(failed, `"fired_at":"2026-11-20T12:10:00Z"`) {
		t.Error(failed)
	}
	w.Later = 660
	w.fire(200, 2, false)
}

// A failed run is repeated only when each endpoint wants it again, but after a day at most.
func TestRetryAfter(t *testing.T) {
	for reset, pause := range map[int64]int64{0: 60, 5: 60, 3600: 3600, 1 << 40: 24 * 3600} {
		w := newWorld(t, nil)
		w.endpoints[one], w.endpoints[two] = turn.Result{Status: 429, Reset: reset}, turn.Result{Status: 503, Reset: 1}
		failed := w.fire(502, 2, false)
		if says := strings.Contains(failed, fmt.Sprintf(`"detail":"not accepted, again in %d seconds"`, reset)); says != (reset > 0) {
			t.Errorf("it asks for %d s: %s", reset, failed)
		}
		w.Later = pause - 1
		w.fire(502, 0, true)
		w.Later = pause
		w.fire(502, 2, false)
	}
}

// A firing sends nothing while another one is under way. One that never ended blocks others for a
// minute.
func TestUnderWay(t *testing.T) {
	w := newWorld(t, nil)
	fetch := w.Fetch
	var second *turn.Response
	w.Fetch = func(f turn.Fetch) turn.Result { // the first firing is under way while the second is asked for
		if second == nil {
			w.Fetch = fetch
			second = w.ask("GET", "?fire=1")
		}
		return fetch(f)
	}
	w.fire(200, 2, false)
	if r := second; r.Status != 503 || r.Get("retry-after") != "15" || !strings.Contains(string(r.Body), "/problems/signal-under-way.html") {
		t.Errorf("%d %v %s", r.Status, r.Header, r.Body)
	}
	w.sql("UPDATE signal_runs SET finished_at = NULL, outcome = NULL, body = NULL") // its process was killed
	w.Later = 59
	w.fire(503, 0, false)
	w.Later = 60
	w.fire(200, 2, false)
}

// An outcome is replayed for the same host and the same addresses only.
func TestReplayIsOfTheSameHostAndAddresses(t *testing.T) {
	s := edgetest.Snapshot()
	w := newWorld(t, func(published *snapshot.Snapshot) {
		published.IndexNowURLs = []string{"http://127.0.0.1:1/indexnow"}
		s = published
	})
	w.key.Status = 404
	w.fire(502, 0, false, "host", "localhost")
	w.key.Status = 200
	w.fire(200, 1, false)
	w.fire(502, 0, true, "host", "localhost")
	s.Sitemap = append(s.Sitemap, "https://www.example.org/new")
	w.Edge = edgetest.Load(t, s)
	if changed := w.fire(200, 1, false); !strings.Contains(changed, `"submitted":3,`) {
		t.Error(changed)
	}
}

// A run is kept for thirty days.
func TestOldRunsAreDropped(t *testing.T) {
	const month = signal.KeepDays * 24 * 3600
	for later, want := range map[int64]string{month: "[[1] [2]]", month + 1: "[[2]]"} {
		w := newWorld(t, nil)
		w.fire(200, 2, false)
		w.Later = later
		w.fire(200, 2, false)
		if runs := w.sql("SELECT id FROM signal_runs ORDER BY id"); fmt.Sprint(runs) != want {
			t.Errorf("%d s later: runs %v, want %s", later, runs, want)
		}
	}
}

// A store that fails stops a firing. If it fails at the end, the answer is as ever and the log says
// so.
func TestStoreFails(t *testing.T) {
	w := newWorld(t, nil)
	for _, failure := range []turn.Failure{turn.Refused, turn.Timeout, turn.Unavailable} {
		w.Fail = map[string]turn.Failure{"exec": failure}
		if r := w.ask("GET", "?fire=1"); r.Status != 503 || r.Get("retry-after") == "" || len(w.Fetches) != 0 {
			t.Errorf("%s: %d %v %v", failure, r.Status, r.Header, w.Fetches)
		}
	}
	w = newWorld(t, nil)
	w.Exec = func(e turn.Exec) turn.Result {
		if strings.HasPrefix(e.Statements[0].SQL, "UPDATE") {
			return turn.Result{Failure: turn.Timeout}
		}
		return w.store.Exec(e)
	}
	if r := w.ask("GET", "?fire=1"); r.Status != 200 || !strings.HasPrefix(r.Log, "record signal: timeout") {
		t.Errorf("%d %q", r.Status, r.Log)
	}
}

// Firing works on the canonical host, or if all endpoints are on this machine.
func TestWhereFiringWorks(t *testing.T) {
	for _, c := range []struct {
		endpoints []string
		fires     bool
	}{
		{[]string{one, two}, false},
		{[]string{"http://127.0.0.1:1/indexnow", "http://localhost/x", "http://[::1]:3?x"}, true},
		{[]string{"http://127.0.0.1:1/indexnow", one}, false},
		{[]string{"https://127.0.0.1.evil.example/indexnow"}, false},
	} {
		w := newWorld(t, func(s *snapshot.Snapshot) { s.IndexNowURLs = c.endpoints })
		for _, host := range []string{"preview.example.org", "localhost"} {
			body := edgetest.Decode(t, w.ask("GET", "?fire=1", "host", host))
			blocked := body["signal"] == "blocked" && body["submitted"] == 0. && len(w.Fetches)+len(w.Statements) == 0
			if fired := body["signal"] == "fired" && slices.Equal(w.sent(), c.endpoints); fired != c.fires || blocked == c.fires {
				t.Errorf("%v on %s: %v", c.endpoints, host, body)
			}
		}
	}
	w := newWorld(t, func(s *snapshot.Snapshot) { s.IndexNowKey, s.IndexNowURLs = "", []string{} })
	for _, query := range []string{"", "?fire=1"} {
		if r := w.ask("GET", query); !strings.Contains(string(r.Body), `"signal":"blocked"`) || !strings.Contains(string(r.Body), `"key_file":null`) || len(w.Fetches) != 0 {
			t.Errorf("%s without a key: %s", query, r.Body)
		}
	}
}
