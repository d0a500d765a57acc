package signal_test

import (
	"encoding/json"
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

const path = "/api/signal"

// world is a host with a store of its own, and with servers that answer its fetches.
type world struct {
	*edgetest.Fake
	t         *testing.T
	store     *sqlite.Store
	key       turn.Result            // the answer to a fetch of the key file
	endpoints map[string]turn.Result // the answers of the endpoints, by address
	now       int64
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
	w := &world{
		Fake: edgetest.NewFake(t), t: t, store: store, key: turn.Result{Status: 200, Data: []byte(s.IndexNowKey)},
		endpoints: map[string]turn.Result{}, now: edgetest.Now,
	}
	w.publish(s)
	for _, endpoint := range s.IndexNowURLs {
		w.endpoints[endpoint] = turn.Result{Status: 200}
	}
	w.Fetch = func(f turn.Fetch) turn.Result {
		if r, ok := w.endpoints[f.URL]; ok && f.Method == "POST" {
			return r
		}
		return w.key
	}
	w.Exec = w.store.Exec
	return w
}

func (w *world) publish(s *snapshot.Snapshot) { w.Edge = edgetest.Load(w.t, s) }

// sql runs a statement, and gives its rows.
func (w *world) sql(text string, args ...any) [][]any {
	w.t.Helper()
	r := w.store.Exec(turn.Exec{Statements: []turn.Statement{{SQL: text, Args: args}}})
	if r.Failure != turn.None {
		w.t.Fatalf("%s: %s", text, r.Failure)
	}
	return r.Rows[0]
}

// ask sends a request to a host. The time is w.now.
func (w *world) ask(method, target, host string, headers ...turn.Header) *turn.Response {
	w.Fetches = nil
	return w.Run(&turn.Turn{Request: turn.Request{Method: method, Target: target, Host: host, Header: headers}, Now: w.now, Host: w.Host}, w.Edge.Handle)
}

func (w *world) fire() *turn.Response { return w.ask("GET", path+"?fire=1", "www.example.org") }

// sent are the addresses to which something was posted.
func (w *world) sent() (urls []string) {
	for _, f := range w.Fetches {
		if f.Method == "POST" {
			urls = append(urls, f.URL)
		}
	}
	return urls
}

func TestReport(t *testing.T) {
	for _, c := range []struct {
		name   string
		key    turn.Result
		signal string
		detail string // a part of it
	}{
		{"verifies", turn.Result{Status: 200, Data: []byte("0123456789abcdef")}, "ready", "verifies"},
		{"a line break more", turn.Result{Status: 200, Data: []byte("0123456789abcdef\n")}, "blocked", "byte for byte"},
		{"not there", turn.Result{Status: 404, Data: []byte("0123456789abcdef")}, "blocked", "404"},
		{"slow", turn.Result{Failure: turn.Timeout}, "blocked", "could not be fetched"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.key = c.key
			r := w.ask("GET", path, "www.example.org")
			body := edgetest.Decode(t, r)
			if r.Status != 200 || body["signal"] != c.signal || !strings.Contains(body["detail"].(string), c.detail) {
				t.Errorf("%d %s", r.Status, r.Body)
			}
			if fmt.Sprint(body["urls"]) != "[https://www.example.org/ https://www.example.org/llms.txt]" || body["key_file"] != "https://www.example.org/0123456789abcdef.txt" {
				t.Errorf("urls %v, key_file %v", body["urls"], body["key_file"])
			}
			if edgetest.Header(r, "cache-control") != "no-store" || edgetest.Header(r, "etag") != "" {
				t.Errorf("headers %v", r.Header)
			}
			if len(w.Fetches) != 1 || len(w.Statements) != 0 || len(w.Limits) != 0 {
				t.Fatalf("fetches %v, statements %v, limits %v", w.Fetches, w.Statements, w.Limits)
			}
			f := w.Fetches[0]
			if f.Self || f.Method != "GET" || f.URL != body["key_file"] || f.MaxBytes != len("0123456789abcdef")+1 || f.TimeoutMillis != 5000 || f.ShareSeconds != 30 {
				t.Errorf("fetch %+v", f)
			}
		})
	}
}

func TestFire(t *testing.T) {
	const one, two = "https://one.example/indexnow", "https://two.example/indexnow"
	for _, c := range []struct {
		name      string
		key       string
		one, two  turn.Result
		status    int
		submitted float64
		details   string // of the results
	}{
		{"both accept", "", turn.Result{Status: 200}, turn.Result{Status: 202}, 200, 2, "accepted; accepted, the key will be checked later"},
		{"any 2xx accepts", "", turn.Result{Status: 203}, turn.Result{Status: 403, Data: []byte(`{"errorCode":"UserForbiddedToAccessSite"}`)}, 200, 2, "accepted; key not valid (UserForbiddedToAccessSite)"},
		{"one hangs", "", turn.Result{Failure: turn.Timeout}, turn.Result{Status: 200}, 200, 2, "a time-out: whether it took the addresses is not known; accepted"},
		{"both reject", "", turn.Result{Status: 429}, turn.Result{Status: 500}, 502, 0, "too many requests; not accepted"},
		{"unreachable, moved", "", turn.Result{Failure: turn.Refused}, turn.Result{Status: 301}, 502, 0, "not reachable; a redirect, which is not followed"},
		{"bad format, bad host", "", turn.Result{Status: 400, Data: []byte("<html>")}, turn.Result{Status: 422}, 502, 0, "invalid format; the addresses or the key do not fit the host"},
		{"the key does not verify", "other", turn.Result{Status: 200}, turn.Result{Status: 200}, 502, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.endpoints[one], w.endpoints[two] = c.one, c.two
			if c.key != "" {
				w.key.Data = []byte(c.key)
			}
			r := w.fire()
			if r.Status != c.status {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			var body struct {
				Signal    string
				Submitted *float64
				Detail    string
				Results   []struct {
					Endpoint, Detail string
					Status           *int
					Accepted         bool
				}
				AcceptedBy []string `json:"accepted_by"`
				RejectedBy []string `json:"rejected_by"`
				Replayed   *bool
				FiredAt    string `json:"fired_at"`
				Type       string
			}
			if err := json.Unmarshal(r.Body, &body); err != nil {
				t.Fatal(err)
			}
			signal, outcome := "fired", "fired"
			if c.status == 502 {
				signal, outcome = "failed", "failed"
				if !strings.HasSuffix(body.Type, "/problems/signal-failed.html") || edgetest.Header(r, "content-type") != "application/problem+json" {
					t.Errorf("%s", r.Body)
				}
			}
			if len(body.AcceptedBy)+len(body.RejectedBy) != len(body.Results) || len(body.AcceptedBy) > 0 != (signal == "fired") {
				t.Errorf("%s", r.Body)
			}
			var details []string
			for i, result := range body.Results {
				details = append(details, result.Detail)
				answered := []turn.Result{c.one, c.two}[i]
				if there := result.Status != nil; there != (answered.Failure == turn.None) || there && *result.Status != answered.Status || result.Accepted != slices.Contains(body.AcceptedBy, result.Endpoint) {
					t.Errorf("%+v for %+v", result, answered)
				}
			}
			said := map[bool]string{true: "Accepted by ", false: "No endpoint accepted the addresses"}[c.status == 200]
			if c.key != "" {
				said = "The key file"
			}
			if !strings.HasPrefix(body.Detail, said) {
				t.Errorf("%s, want %s", body.Detail, said)
			}
			if body.Signal != signal || body.Submitted == nil || *body.Submitted != c.submitted || body.Replayed == nil || *body.Replayed || body.FiredAt != "2026-11-20T12:00:00Z" ||
				strings.Join(details, "; ") != c.details {
				t.Errorf("%s", r.Body)
			}
			if runs := w.sql("SELECT outcome FROM signal_runs"); len(runs) != 1 || runs[0][0] != outcome || len(w.Limits) != 1 {
				t.Errorf("runs %v, limits %v", runs, w.Limits)
			}
			want := []string{one, two}
			if c.key != "" {
				want = nil
			}
			if !slices.Equal(w.sent(), want) {
				t.Errorf("sent to %v", w.sent())
			}
			for _, f := range w.Fetches[1:] {
				if string(f.Body) != `{"host":"www.example.org","key":"0123456789abcdef","keyLocation":"https://www.example.org/0123456789abcdef.txt",`+
					`"urlList":["https://www.example.org/","https://www.example.org/llms.txt"]}` || f.ShareSeconds != 0 || f.TimeoutMillis != 10_000 || f.MaxBytes != 4096 {
					t.Errorf("%+v %s", f, f.Body)
				}
			}
		})
	}
}

// The same addresses are not sent again for 10 minutes after a run that was accepted, and for 60
// seconds after one that failed.
func TestReplay(t *testing.T) {
	w := newWorld(t, nil)
	first := edgetest.Decode(t, w.fire())
	for _, after := range []int64{0, 1, 599} {
		w.now = edgetest.Now + after
		r := w.ask("GET", path+"?fire=1&typo=2", "www.example.org")
		again := edgetest.Decode(t, r)
		if r.Status != 200 || len(w.Fetches) != 0 || again["replayed"] != true || fmt.Sprint(again["ignored_fields"]) != "[typo]" {
			t.Errorf("after %d s: %d %v %s", after, r.Status, w.Fetches, r.Body)
		}
		for _, name := range []string{"signal", "submitted", "accepted_by", "rejected_by", "results", "detail", "fired_at"} {
			if fmt.Sprint(again[name]) != fmt.Sprint(first[name]) {
				t.Errorf("after %d s: %s is %v, was %v", after, name, again[name], first[name])
			}
		}
	}
	w.now = edgetest.Now + 600
	w.key.Data = nil
	if r := w.fire(); r.Status != 502 || edgetest.Decode(t, r)["replayed"] != false {
		t.Errorf("after 600 s: %d %s", r.Status, r.Body)
	}
	w.key.Data = []byte("0123456789abcdef")
	w.now += 59
	if r := w.fire(); r.Status != 502 || len(w.Fetches) != 0 || edgetest.Decode(t, r)["replayed"] != true || edgetest.Decode(t, r)["fired_at"] != "2026-11-20T12:10:00Z" {
		t.Errorf("59 s after a failed: %d %s", r.Status, r.Body)
	}
	w.now++
	if r := w.fire(); r.Status != 200 || len(w.sent()) != 2 {
		t.Errorf("60 s after a failed: %d %s", r.Status, r.Body)
	}
}

// A firing sends nothing while another one is under way. One that never ended blocks others for a
// minute.
func TestUnderWay(t *testing.T) {
	w := newWorld(t, nil)
	second := (*turn.Response)(nil)
	fetch := w.Fetch
	w.Fetch = func(f turn.Fetch) turn.Result { // the first firing is under way while the second is asked for
		if second == nil {
			w.Fetch = fetch
			second = w.fire()
		}
		return fetch(f)
	}
	first := w.fire()
	if first.Status != 200 {
		t.Errorf("%d %s", first.Status, first.Body)
	}
	if r := second; r.Status != 503 || edgetest.Header(r, "retry-after") != "15" || !strings.HasSuffix(edgetest.Decode(t, r)["type"].(string), "/problems/signal-under-way.html") {
		t.Errorf("%d %v %s", r.Status, r.Header, r.Body)
	}
	w.sql("UPDATE signal_runs SET finished_at = NULL, outcome = NULL, body = NULL") // its process was killed
	w.now += 59
	if r := w.fire(); r.Status != 503 || len(w.sent()) != 0 {
		t.Errorf("before a minute is over: %d %s", r.Status, r.Body)
	}
	w.now++
	if r := w.fire(); r.Status != 200 || len(w.sent()) != 2 {
		t.Errorf("after a minute: %d %s", r.Status, r.Body)
	}
}

// An outcome is replayed for the same host and the same addresses only.
func TestReplayIsOfTheSameHostAndAddresses(t *testing.T) {
	loopback := func(s *snapshot.Snapshot) { s.IndexNowURLs = []string{"http://127.0.0.1:1/indexnow"} }
	w := newWorld(t, loopback)
	w.key.Status = 404
	if r := w.ask("GET", path+"?fire=1", "localhost"); r.Status != 502 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	w.key.Status = 200
	if r := w.fire(); r.Status != 200 || edgetest.Decode(t, r)["replayed"] != false || len(w.sent()) != 1 {
		t.Errorf("another host: %d %s", r.Status, r.Body)
	}
	if r := w.ask("GET", path+"?fire=1", "localhost"); r.Status != 502 || edgetest.Decode(t, r)["replayed"] != true {
		t.Errorf("the same host: %d %s", r.Status, r.Body)
	}
	changed := edgetest.Snapshot()
	loopback(changed)
	changed.Sitemap = append(changed.Sitemap, "https://www.example.org/new")
	w.publish(changed)
	if r := w.fire(); r.Status != 200 || edgetest.Decode(t, r)["replayed"] != false || edgetest.Decode(t, r)["submitted"] != 3.0 {
		t.Errorf("other addresses: %d %s", r.Status, r.Body)
	}
}

// A run is kept for thirty days.
func TestOldRunsAreDropped(t *testing.T) {
	w := newWorld(t, nil)
	w.fire()
	w.now += signal.KeepDays * 24 * 3600
	w.fire()
	if runs := w.sql("SELECT id FROM signal_runs"); len(runs) != 2 {
		t.Errorf("%d runs after thirty days", len(runs))
	}
	w.now += signal.FiredPause
	w.fire()
	if runs := w.sql("SELECT id FROM signal_runs"); len(runs) != 2 {
		t.Errorf("%d runs, and the first is older than thirty days", len(runs))
	}
}

func TestStoreFails(t *testing.T) {
	w := newWorld(t, nil)
	for _, failure := range []turn.Failure{turn.Refused, turn.Timeout, turn.Unavailable} {
		w.Fail = map[string]turn.Failure{"exec": failure}
		if r := w.fire(); r.Status != 503 || edgetest.Header(r, "retry-after") == "" || len(w.Fetches) != 0 {
			t.Errorf("%s: %d %v %v", failure, r.Status, r.Header, w.Fetches)
		}
	}
	// Where the addresses were sent and the run was not recorded, the answer says that they were
	// sent, and the log says the rest.
	w = newWorld(t, nil)
	w.Exec = func(e turn.Exec) turn.Result {
		if strings.HasPrefix(e.Statements[0].SQL, "UPDATE") {
			return turn.Result{Failure: turn.Timeout}
		}
		return w.store.Exec(e)
	}
	if r := w.fire(); r.Status != 200 || !strings.HasPrefix(r.Log, "record signal: timeout") {
		t.Errorf("%d %q", r.Status, r.Log)
	}
}

// Firing works on the canonical host, or where all endpoints are on this machine.
func TestWhereFiringWorks(t *testing.T) {
	w := newWorld(t, nil)
	for _, host := range []string{"preview.example.org", "localhost"} {
		r := w.ask("GET", path+"?fire=1", host)
		body := edgetest.Decode(t, r)
		if r.Status != 200 || body["signal"] != "blocked" || body["submitted"] != 0.0 || len(w.Fetches) != 0 || len(w.Statements) != 0 {
			t.Errorf("%s: %d %s", host, r.Status, r.Body)
		}
	}
	for _, c := range []struct {
		endpoints []string
		fires     bool
	}{
		{[]string{"http://127.0.0.1:1/indexnow", "http://localhost/x", "http://[::1]:3?x"}, true},
		{[]string{"http://127.0.0.1:1/indexnow", "https://one.example/indexnow"}, false},
		{[]string{"https://127.0.0.1.evil.example/indexnow"}, false},
	} {
		w := newWorld(t, func(s *snapshot.Snapshot) { s.IndexNowURLs = c.endpoints })
		r := w.ask("GET", path+"?fire=1", "localhost")
		if fired := edgetest.Decode(t, r)["signal"] == "fired"; fired != c.fires || c.fires != (len(w.sent()) == len(c.endpoints)) {
			t.Errorf("%v: %s", c.endpoints, r.Body)
		}
	}
	w = newWorld(t, func(s *snapshot.Snapshot) { s.IndexNowKey, s.IndexNowURLs = "", []string{} })
	for _, target := range []string{path, path + "?fire=1"} {
		r := w.ask("GET", target, "www.example.org")
		if body := edgetest.Decode(t, r); r.Status != 200 || body["signal"] != "blocked" || body["key_file"] != nil || len(w.Fetches) != 0 {
			t.Errorf("%s without a key: %d %s", target, r.Status, r.Body)
		}
	}
}

// Only a GET with fire=1 that is not a speculative request fires. It counts as a write.
func TestWhatFires(t *testing.T) {
	for _, c := range []struct {
		method, target string
		headers        []turn.Header
		status         int
		limits         int
		fetches        int
	}{
		{"GET", path, nil, 200, 0, 1},
		{"GET", path + "?fire=", nil, 200, 0, 1},
		{"GET", path + "?x=1", nil, 200, 0, 1},
		{"GET", path + "?fire=2", nil, 400, 1, 0},
		{"GET", path + "?fire=1&fire=1", nil, 400, 0, 0},
		{"GET", path + "?fire=1", []turn.Header{{Name: "sec-purpose", Value: "prefetch;prerender"}}, 200, 0, 1},
		{"GET", path + "?fire=1", []turn.Header{{Name: "sec-fetch-mode", Value: "no-cors"}}, 200, 0, 1},
		{"HEAD", path, nil, 200, 0, 0},
		{"HEAD", path + "?fire=1", nil, 200, 0, 0},
	} {
		w := newWorld(t, nil)
		r := w.ask(c.method, c.target, "www.example.org", c.headers...)
		name := fmt.Sprint(c.method, " ", c.target, c.headers)
		if r.Status != c.status || len(w.Limits) != c.limits || len(w.Fetches) != c.fetches || len(w.sent()) != 0 || len(w.Statements) != 0 {
			t.Errorf("%s: status %d, limits %v, fetches %v", name, r.Status, w.Limits, w.Fetches)
		}
		if c.method == "HEAD" && (len(r.Body) != 0 || edgetest.Header(r, "content-type") != "application/json" || edgetest.Header(r, "cache-control") != "no-store" || edgetest.Header(r, "link") == "") {
			t.Errorf("%s: %v %s", name, r.Header, r.Body)
		}
	}
}
