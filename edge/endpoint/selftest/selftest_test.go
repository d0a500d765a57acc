package selftest_test

import (
	"encoding/json"
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

func run(t *testing.T, h *edgetest.Fake, query string) string {
	t.Helper()
	r := h.Do("GET", path+query, "")
	if r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return string(r.Body)
}

// The funnel calls each live endpoint once, itself apart. It writes nothing, and its calls go to
// the service itself, marked and shared.
func TestFunnelPasses(t *testing.T) {
	h := host(t, nil)
	const want = `{"selftest":"funnel","tested_url":"https://www.example.org","steps":[` +
		`{"n":1,"call":"GET /api/presence","status":200,"ok":true,"checked":"status 200, a JSON object","ms":7},` +
		`{"n":2,"call":"GET /api/receipt","status":200,"ok":true,"checked":"status 200, a JSON object","ms":7},` +
		`{"n":3,"call":"GET /api/suggest","status":405,"ok":true,"checked":"status 405, a JSON object","ms":7},` +
		`{"n":4,"call":"OPTIONS /api/signal","status":204,"ok":true,"checked":"status 204, no body","ms":7},` +
		`{"n":5,"call":"GET /api/mcp","status":405,"ok":true,"checked":"status 405, a JSON object","ms":7},` +
		`{"n":6,"call":"GET /api/new","status":200,"ok":true,"checked":"status 200, a JSON object","ms":7}],` +
		`"pass":true,"verdict":"All 6 steps pass.",`
	if got := run(t, h, ""); !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
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

// Each demand on each kind of step fails in turn, and the verdict names the step. Two faults are
// both named.
func TestFunnelFails(t *testing.T) {
	const read, preflight = "GET /api/presence", "OPTIONS /api/signal"
	for _, c := range []struct {
		call         string
		r            turn.Result
		status, want string
	}{
		{read, turn.Result{Status: 500, Data: []byte("{}")}, "500", "got status 500, want 200"},
		{read, turn.Result{Failure: turn.Timeout}, "null", "timed out"},
		{read, turn.Result{Failure: turn.Unavailable}, "null", "the service could not call itself"},
		{read, turn.Result{Status: 200, Data: []byte("[]")}, "200", "the body is not a JSON object"},
		{read, turn.Result{Status: 200, Data: []byte("{")}, "200", "the body is not a JSON object"},
		{preflight, turn.Result{Status: 200}, "200", "got status 200, want 204"},
		{preflight, turn.Result{Status: 204, Data: []byte(" ")}, "204", "got a body, want none"},
	} {
		got := run(t, host(t, func(call string, r *turn.Result) {
			if call == c.call {
				*r = c.r
			}
		}), "")
		for _, want := range []string{
			`"call":"` + c.call + `","status":` + c.status + `,"ok":false,`, `"pass":false,"verdict":"1 of 6 steps failed: ` + c.call + " (" + c.want + `)."`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s\nwant %s", got, want)
			}
		}
	}
	two := run(t, host(t, func(call string, r *turn.Result) {
		if call == "GET /api/new" || call == "GET /api/mcp" {
			r.Status = 503
		}
	}), "")
	if !strings.Contains(two, `"2 of 6 steps failed: GET /api/mcp (got status 503, want 405); GET /api/new (got status 503, want 200)."`) {
		t.Error(two)
	}
	if n := len(api.Routes); n > turn.MaxEffects {
		t.Errorf("%d endpoints are called in one round of %d", n, turn.MaxEffects)
	}
	none, s := edgetest.NewFake(t), edgetest.Snapshot()
	s.Documents["endpoints"] = snapshot.JSON(`[]`)
	none.Edge = edgetest.Load(t, s)
	if got := run(t, none, ""); !strings.Contains(got, `"pass":false,"verdict":"No endpoint is live, so there are no steps."`) {
		t.Error(got)
	}
}

// A self-test calls the host on which it was asked for.
func TestRequests(t *testing.T) {
	for query, fetches := range map[string]int{"?suite=&other=1": 6, "?suite=funnel": 6, "?suite=mcp": 1} {
		h := host(t, nil)
		h.Host.Port = 8080
		h.Do("GET", path+query, "", "host", "127.0.0.1")
		if len(h.Fetches) != fetches || !strings.HasPrefix(h.Fetches[0].URL, "http://127.0.0.1:8080/api/") {
			t.Errorf("%s: %+v", query, h.Fetches)
		}
	}
}
