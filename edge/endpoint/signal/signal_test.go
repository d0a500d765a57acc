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
func (w *world) fire(status, sent int, replayed bool, headers ...string) map[string]any {
	w.t.Helper()
	r := w.ask("GET", "?fire=1", headers...)
	body := edgetest.Decode(w.t, r)
	if again, _ := body["replayed"].(bool); r.Status != status || len(w.sent()) != sent || again != replayed {
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
		"verifies":             {Status: 200, Data: []byte("0123456789abcdef")},
		"byte for byte":        {Status: 200, Data: []byte("0123456789abcdef\n")},
		"404":                  {Status: 404, Data: []byte("0123456789abcdef")},
		"could not be fetched": {Failure: turn.Timeout},
	} {
		w := newWorld(t, nil)
		w.key = key
		body := edgetest.Decode(t, w.ask("GET", ""))
		want := map[bool]string{true: "ready", false: "blocked"}[detail == "verifies"]
		if body["signal"] != want || !strings.Contains(body["detail"].(string), detail) || len(w.Statements)+len(w.Limits) != 0 || len(w.Fetches) != 1 {
			t.Fatalf("%s: %v, fetches %v, statements %v, limits %v", detail, body, w.Fetches, w.Statements, w.Limits)
		}
		f := w.Fetches[0]
		if f.Self || f.Method != "GET" || f.URL != body["key_file"] || f.URL != "https://www.example.org/0123456789abcdef.txt" ||
			f.MaxBytes != len("0123456789abcdef")+1 || f.TimeoutMillis != 5000 || f.ShareSeconds != 30 {
			t.Errorf("fetch %+v", f)
		}
	}
}

func TestFire(t *testing.T) {
	for _, c := range []struct {
		key      string // of the file, if it is not the right one
		one, two turn.Result
		status   int
		detail   string // its beginning
		results  string // status, whether it is accepted, and detail of each
	}{
		{
			"",
			turn.Result{Status: 200},
			turn.Result{Status: 202},
			200, "Accepted by 2 of 2",
			"200 true accepted; 202 true accepted",
		},
		{
			"",
			turn.Result{Status: 203},
			turn.Result{Status: 403, Data: []byte(`{"errorCode":"UserForbiddedToAccessSite"}`)},
			200, "Accepted by 1 of 2",
			"203 true accepted; 403 false not accepted (UserForbiddedToAccessSite)",
		},
		{
			"",
			turn.Result{Failure: turn.Timeout},
			turn.Result{Status: 200},
			200, "Accepted by 1 of 2",
			"<nil> false timed out: whether it took the addresses is not known; 200 true accepted",
		},
		{
			"",
			turn.Result{Status: 429},
			turn.Result{Status: 500},
			502, "No endpoint accepted",
			"429 false not accepted; 500 false not accepted",
		},
		{
			"",
			turn.Result{Failure: turn.Refused},
			turn.Result{Status: 301},
			502, "No endpoint accepted",
			"<nil> false not reachable; 301 false not accepted",
		},
		{
			"",
			turn.Result{Status: 400, Data: []byte("<html>")},
			turn.Result{Status: 422},
			502, "No endpoint accepted",
			"400 false not accepted; 422 false not accepted",
		},
		{"other", turn.Result{Status: 200}, turn.Result{Status: 200}, 502, "The key file does not contain the key", ""},
	} {
		w := newWorld(t, nil)
		w.endpoints[one], w.endpoints[two] = c.one, c.two
		fires, sent, outcome, submitted := c.status == 200, 2, "failed", 0.
		if fires {
			outcome, submitted = "fired", 2
		}
		if c.key != "" {
			w.key.Data, sent = []byte(c.key), 0
		}
		body := w.fire(c.status, sent, false)
		var results, accepted, rejected []string
		for _, result := range body["results"].([]any) {
			r := result.(map[string]any)
			results = append(results, fmt.Sprint(r["status"], " ", r["accepted"], " ", r["detail"]))
			if r["accepted"] == true {
				accepted = append(accepted, r["endpoint"].(string))
			} else {
				rejected = append(rejected, r["endpoint"].(string))
			}
		}
		if strings.Join(results, "; ") != c.results || !strings.HasPrefix(body["detail"].(string), c.detail) || body["signal"] != outcome || body["submitted"] != submitted ||
			fmt.Sprint(body["accepted_by"]) != fmt.Sprint(accepted) || fmt.Sprint(body["rejected_by"]) != fmt.Sprint(rejected) || body["fired_at"] != "2026-11-20T12:00:00Z" {
			t.Errorf("%v, want %s", body, c.results)
		}
		if problem, _ := body["type"].(string); strings.HasSuffix(problem, "/problems/signal-failed.html") == fires {
			t.Errorf("%v", body)
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
		again := edgetest.Decode(t, w.ask("GET", "?fire=1&typo=2"))
		for _, name := range []string{"signal", "submitted", "accepted_by", "rejected_by", "results", "detail", "fired_at"} {
			if fmt.Sprint(again[name]) != fmt.Sprint(first[name]) {
				t.Errorf("after %d s: %s is %v, was %v", later, name, again[name], first[name])
			}
		}
		if again["replayed"] != true || fmt.Sprint(again["ignored_fields"]) != "[typo]" || len(w.Fetches) != 0 {
			t.Errorf("after %d s: %v", later, again)
		}
	}
	w.Later, w.key.Data = 600, nil
	w.fire(502, 0, false)
	w.Later, w.key.Data = 659, []byte("0123456789abcdef")
	if failed := w.fire(502, 0, true); failed["fired_at"] != "2026-11-20T12:10:00Z" {
		t.Errorf("%v", failed)
	}
	w.Later = 660
	w.fire(200, 2, false)
}

// A failed run is repeated only when each endpoint wants it again, but after a day at most.
func TestRetryAfter(t *testing.T) {
	for reset, pause := range map[int64]int64{0: 60, 5: 60, 3600: 3600, 1 << 40: 24 * 3600} {
		w := newWorld(t, nil)
		w.endpoints[one], w.endpoints[two] = turn.Result{Status: 429, Reset: reset}, turn.Result{Status: 503, Reset: 1}
		failed := fmt.Sprint(w.fire(502, 2, false)["results"])
		if says := strings.Contains(failed, fmt.Sprintf("detail:not accepted, again in %d seconds", reset)); says != (reset > 0) {
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
	if r := second; r.Status != 503 || r.Get("retry-after") != "15" || !strings.HasSuffix(edgetest.Decode(t, r)["type"].(string), "/problems/signal-under-way.html") {
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
	if changed := w.fire(200, 1, false); changed["submitted"] != 3. {
		t.Errorf("%v", changed)
	}
}

// A run is kept for thirty days.
func TestOldRunsAreDropped(t *testing.T) {
	w := newWorld(t, nil)
	for _, later := range []int64{0, signal.KeepDays * 24 * 3600, signal.KeepDays*24*3600 + signal.FiredPause} {
		w.Later = later
		w.fire(200, 2, false)
	}
	if runs := w.sql("SELECT id FROM signal_runs ORDER BY id"); len(runs) != 2 || runs[0][0] != int64(2) {
		t.Errorf("runs %v: the first is older than thirty days", runs)
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
		if body := edgetest.Decode(t, w.ask("GET", query)); body["signal"] != "blocked" || body["key_file"] != nil || len(w.Fetches) != 0 {
			t.Errorf("%s without a key: %v", query, body)
		}
	}
}

// Only a GET with fire=1 that is not speculative fires. It counts as a write.
func TestWhatFires(t *testing.T) {
	for _, c := range []struct {
		method, query, header, value string
		status, limits, fetches      int
	}{
		{"GET", "?fire=", "", "", 200, 0, 1},
		{"GET", "?x=1", "", "", 200, 0, 1},
		{"GET", "?fire=2", "", "", 400, 1, 0},
		{"GET", "?fire=1&fire=1", "", "", 400, 0, 0},
		{"GET", "?fire=1", "sec-purpose", "prefetch;prerender", 200, 0, 1},
		{"GET", "?fire=1", "sec-fetch-mode", "no-cors", 200, 0, 1},
		{"HEAD", "", "", "", 200, 0, 0},
		{"HEAD", "?fire=1", "", "", 200, 0, 0},
	} {
		w := newWorld(t, nil)
		r := w.ask(c.method, c.query, c.header, c.value)
		if r.Status != c.status || len(w.Limits) != c.limits || len(w.Fetches) != c.fetches || len(w.sent())+len(w.Statements) != 0 {
			t.Errorf("%+v: status %d, limits %v, fetches %v", c, r.Status, w.Limits, w.Fetches)
		}
	}
}
