package selftest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

const path = "/api/selftest"

type object = map[string]any

// healthy are the statuses of a service that passes, by call in the order of the steps.
var healthy = []struct {
	call   string
	status int
}{
	{"GET /api/presence", 200},
	{"GET /api/receipt", 200},
	{"GET /api/suggest", 405},
	{"OPTIONS /api/signal", 204},
	{"GET /api/mcp", 405},
	{"GET /api/new", 200},
}

// host is a fake host with these endpoints and the self-test. change changes the answers of its
// calls.
func host(t *testing.T, change func(call string, r *turn.Result)) *edgetest.Fake {
	s := edgetest.Snapshot()
	var live []object
	for _, endpoint := range []string{
		"GET presence", "GET receipt", "POST receipt", "POST suggest", "GET signal", "GET selftest", "POST mcp", "DELETE mcp", "GET new",
	} {
		method, name, _ := strings.Cut(endpoint, " ")
		live = append(live, object{"method": method, "path": "/api/" + name})
	}
	s.Documents["endpoints"], _ = json.Marshal(live)
	h := edgetest.NewFake(t)
	h.Edge = edgetest.Load(t, s)
	h.Fetch = func(f turn.Fetch) turn.Result {
		call, r := f.Method+" "+strings.TrimPrefix(f.URL, "https://www.example.org"), turn.Result{Status: 404}
		for _, known := range healthy {
			if known.call == call && f.Self {
				r = turn.Result{Status: known.status, Millis: 7, Data: []byte("{}")}
			}
		}
		if r.Status == 204 {
			r.Data = nil
		}
		if change != nil {
			change(call, &r)
		}
		return r
	}
	return h
}

type funnel struct {
	Selftest  string
	TestedURL string `json:"tested_url"`
	Steps     []struct {
		N       int
		Call    string
		Status  *int
		OK      bool
		Checked string
		Ms      int
	}
	Pass    bool
	Verdict string
}

func run(t *testing.T, h *edgetest.Fake) (f funnel) {
	t.Helper()
	r := h.Do("GET", path, "")
	if err := json.Unmarshal(r.Body, &f); err != nil || r.Status != 200 {
		t.Fatalf("%d %s, %v", r.Status, r.Body, err)
	}
	return f
}

// The funnel calls each live endpoint once, itself apart. It writes nothing, and its calls go to
// the service itself, marked and shared.
func TestFunnelPasses(t *testing.T) {
	h := host(t, nil)
	f := run(t, h)
	if !f.Pass || f.Selftest != "funnel" || f.TestedURL != "https://www.example.org" || f.Verdict != "All 6 steps pass." ||
		len(f.Steps) != len(healthy) {
		t.Errorf("%+v", f)
	}
	for i, s := range f.Steps {
		checked := fmt.Sprintf("status %d, a JSON object", healthy[i].status)
		if s.Call == "OPTIONS /api/signal" {
			checked = "status 204, no body"
		}
		if s.N != i+1 || s.Call != healthy[i].call || !s.OK || s.Ms != 7 || s.Status == nil || *s.Status != healthy[i].status || s.Checked != checked {
			t.Errorf("%+v", s)
		}
	}
	if len(h.Statements)+len(h.Messages)+len(h.Limits) != 0 {
		t.Errorf("effects %v %v %v", h.Statements, h.Messages, h.Limits)
	}
	for _, f := range h.Fetches {
		if !f.Self || f.ShareSeconds != 30 || f.TimeoutMillis != 10_000 || f.MaxBytes != 256<<10 ||
			!slices.Contains(f.Header, turn.Header{Name: "x-anteroom-selftest", Value: "1"}) {
			t.Errorf("%+v", f)
		}
	}
}

// Each demand on each step fails in turn, and the verdict names the step. Two faults are both
// named.
func TestFunnelFails(t *testing.T) {
	for _, c := range healthy {
		for why, change := range map[string]func(r *turn.Result){
			fmt.Sprintf("got status 500, want %d", c.status): func(r *turn.Result) { r.Status = 500 },
			"timed out":                         func(r *turn.Result) { *r = turn.Result{Failure: turn.Timeout} },
			"the service could not call itself": func(r *turn.Result) { *r = turn.Result{Failure: turn.Unavailable} },
			"the body is not a JSON object":     func(r *turn.Result) { r.Data = []byte("[]") },
			"got a body, want none":             func(r *turn.Result) { r.Data = []byte("{}") },
		} {
			if (why == "got a body, want none") != (c.status == 204) && strings.Contains(why, "body") {
				continue
			}
			f := run(t, host(t, func(call string, r *turn.Result) {
				if call == c.call {
					change(r)
				}
			}))
			if want := "1 of 6 steps failed: " + c.call + " (" + why + ")."; f.Pass || f.Verdict != want {
				t.Errorf("pass %v\n got %s\nwant %s", f.Pass, f.Verdict, want)
			}
			for _, s := range f.Steps {
				if s.OK != (s.Call != c.call) || (s.Status == nil) != (!s.OK && strings.Contains("it timed out, the service could not call itself", why)) {
					t.Errorf("%s: %+v", why, s)
				}
			}
		}
	}
	two := run(t, host(t, func(call string, r *turn.Result) {
		if call == "GET /api/new" || call == "GET /api/mcp" {
			r.Status = 503
		}
	}))
	if two.Verdict != "2 of 6 steps failed: GET /api/mcp (got status 503, want 405); GET /api/new (got status 503, want 200)." {
		t.Error(two.Verdict)
	}
	if n := len(api.Routes); n > turn.MaxEffects {
		t.Errorf("%d endpoints are called in one round of %d", n, turn.MaxEffects)
	}
	none, s := edgetest.NewFake(t), edgetest.Snapshot()
	s.Documents["endpoints"] = snapshot.JSON(`[]`)
	none.Edge = edgetest.Load(t, s)
	if f := run(t, none); f.Pass || f.Verdict != "No endpoint is live, so there are no steps." {
		t.Errorf("%+v", f)
	}
}

func TestRequests(t *testing.T) {
	for _, c := range []struct {
		method, query, header string
		status                int
		fault                 string
		fetches               int
	}{
		{"GET", "?suite=&other=1", "", 200, "", 6},
		{"GET", "?suite=funnel", "", 200, "", 6},
		{"GET", "?suite=mcp", "", 200, "", 1},
		{"GET", "?suite=all", "", 400, "suite unknown_value", 0},
		{"GET", "", "1", 400, " nested_selftest", 0},
		{"GET", "?suite=x", "1", 400, " nested_selftest, suite unknown_value", 0},
		{"HEAD", "?suite=mcp", "", 200, "", 0},
	} {
		h := host(t, nil)
		r := h.Do(c.method, path+c.query, "", "x-anteroom-selftest", c.header)
		if r.Status != c.status || len(h.Fetches) != c.fetches || len(h.Limits) != 0 || r.Get("cache-control") != "no-store" {
			t.Errorf("%s %s: %d %s, %d fetches", c.method, c.query, r.Status, r.Body, len(h.Fetches))
		}
		if c.status != 400 {
			continue
		}
		if got := strings.Join(edgetest.Faults(t, r), ", "); got != c.fault {
			t.Errorf("%s %s: %q, want %q", c.method, c.query, got, c.fault)
		}
	}
	// A self-test calls the host on which it was asked for.
	h := host(t, nil)
	h.Host.Port = 8080
	h.Do("GET", path, "", "host", "127.0.0.1")
	if len(h.Fetches) == 0 || !strings.HasPrefix(h.Fetches[0].URL, "http://127.0.0.1:8080/api/") {
		t.Errorf("%v", h.Fetches)
	}
}
