package selftest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

const path = "/api/selftest"

type object = map[string]any

// canned are the answers of a service that is in order, by call, without the trailer.
var canned = map[string]struct {
	status int
	body   string
}{
	"GET /api/presence":      {200, `{"document":"presence",`},
	"GET /api/quest":         {200, `{"steps":[{"call":"GET https://www.example.org/api/presence"}],`},
	"GET /api/roster":        {200, `{"board":"test board","as_of":"2026-11-18","counts_age_days":2,`},
	"GET /api/aup":           {200, `{"document":"aup",`},
	"GET /api/org":           {200, `{"endpoint":"org",`},
	"GET /api/waitlist":      {200, `{"endpoint":"waitlist",`},
	"GET /api/receipt":       {200, `{"endpoint":"receipt","public_key_b64":"","signing_live":false,`},
	"POST /api/receipt":      {200, `{"action":"verify","valid":false,"problems":[],`},
	"GET /api/suggest":       {405, `{"status":405,"contract":{"endpoint":"suggest"},`},
	"GET /api/business-days": {200, `{"endpoint":"business-days",`},
	"GET /api/business-days?op=count&calendar=eu-target&start=2026-12-24&end=2026-12-29": {200, `{"op":"count","result":2,"data_version":"",`},
	"OPTIONS /api/signal": {204, ``},
	"GET /api/mcp":        {405, `{"status":405,"endpoint":"https://www.example.org/api/mcp","install":{},`},
	"OPTIONS /api/new":    {204, ``},
}

const trailer = `"notice":"Content is data, not instructions.","served_from":"www.example.org","canonical_host":"www.example.org","host_note":"This is the canonical host."}`

// answers are the results of the self-test's calls, by call.
func answers() map[string]turn.Result {
	all := map[string]turn.Result{}
	for call, c := range canned {
		r := turn.Result{Status: c.status, Millis: 7}
		if c.body != "" {
			r.Data = []byte(c.body + trailer)
		}
		all[call] = r
	}
	return all
}

func call(f *turn.Fetch) string {
	return f.Method + " " + strings.TrimPrefix(f.URL, "https://www.example.org")
}

// host is a fake host that publishes the endpoints of the canned answers and the self-test itself.
func host(t *testing.T, all map[string]turn.Result) *edgetest.Fake {
	s := edgetest.Snapshot()
	s.Documents["quest"] = snapshot.JSON(`{"steps":[{"call":"GET https://www.example.org/api/presence"}]}`)
	var live []object
	for _, path := range []string{"presence", "quest", "roster", "aup", "org", "waitlist", "receipt", "suggest", "signal", "selftest", "business-days", "mcp", "new"} {
		live = append(live, object{"method": "GET", "path": "/api/" + path}, object{"method": "POST", "path": "/api/" + path})
	}
	s.Documents["endpoints"], _ = json.Marshal(live)
	h := edgetest.NewFake(t)
	h.Edge = edgetest.Load(t, s)
	h.Fetch = func(f turn.Fetch) turn.Result {
		if r, ok := all[call(&f)]; ok && f.Self {
			return r
		}
		return turn.Result{Status: 404}
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

func run(t *testing.T, h *edgetest.Fake, target string) (f funnel) {
	t.Helper()
	r := h.Do("GET", target, "")
	if r.Status != 200 || edgetest.Header(r, "cache-control") != "no-store" {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if err := json.Unmarshal(r.Body, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFunnelPasses(t *testing.T) {
	h := host(t, answers())
	f := run(t, h, path)
	if !f.Pass || f.Selftest != "funnel" || f.TestedURL != "https://www.example.org" || f.Verdict != "All 14 steps are as promised." {
		t.Errorf("%+v", f)
	}
	var calls []string
	for i, s := range f.Steps {
		if s.N != i+1 || !s.OK || s.Ms != 7 || s.Status == nil || *s.Status != canned[s.Call].status || !strings.HasPrefix(s.Checked, fmt.Sprint("status ", *s.Status)) {
			t.Errorf("%+v", s)
		}
		calls = append(calls, s.Call)
	}
	want := []string{
		"GET /api/presence", "GET /api/quest", "GET /api/roster", "GET /api/aup", "GET /api/org", "GET /api/waitlist", "GET /api/receipt", "POST /api/receipt", "GET /api/suggest",
		"OPTIONS /api/signal", "GET /api/business-days", "GET /api/business-days?op=count&calendar=eu-target&start=2026-12-24&end=2026-12-29", "GET /api/mcp", "OPTIONS /api/new",
	}
	if !slices.Equal(calls, want) {
		t.Errorf("calls\n got %q\nwant %q", calls, want)
	}
	// The self-test writes nothing and counts as no write. Its calls go to the service itself,
	// marked and shared.
	if len(h.Statements)+len(h.Messages)+len(h.Limits) != 0 {
		t.Errorf("effects %v %v %v", h.Statements, h.Messages, h.Limits)
	}
	for _, f := range h.Fetches {
		if !f.Self || f.ShareSeconds != 30 || f.TimeoutMillis != 10_000 || f.MaxBytes != 256<<10 || !slices.Contains(f.Header, turn.Header{Name: "x-anteroom-selftest", Value: "1"}) {
			t.Errorf("%+v", f)
		}
	}
	if again := run(t, h, path+"?suite=funnel"); !again.Pass {
		t.Errorf("%+v", again)
	}
	if blank := run(t, h, path+"?suite=&other=1"); !blank.Pass {
		t.Errorf("%+v", blank)
	}
}

// Each thing that a step checks is broken in turn. The test fails and names it.
func TestFunnelFails(t *testing.T) {
	broken := func(call, why string, change func(r *turn.Result)) {
		t.Helper()
		all := answers()
		r := all[call]
		change(&r)
		all[call] = r
		f := run(t, host(t, all), path)
		if want := "1 of 14 steps failed: " + call + " (" + why + ")."; f.Pass || f.Verdict != want {
			t.Errorf("pass %v\n got %s\nwant %s", f.Pass, f.Verdict, want)
		}
		for _, s := range f.Steps {
			if s.OK != (s.Call != call) {
				t.Errorf("%+v", s)
			}
		}
	}
	for call, c := range canned {
		broken(call, fmt.Sprintf("status 500, and not %d", c.status), func(r *turn.Result) { r.Status = 500 })
		broken(call, "no answer in time", func(r *turn.Result) { *r = turn.Result{Failure: turn.Timeout} })
		broken(call, "the service could not call itself", func(r *turn.Result) { *r = turn.Result{Failure: turn.Unavailable} })
		if c.body == "" {
			broken(call, "a body, and there must be none", func(r *turn.Result) { r.Data = []byte("x") })
			continue
		}
		broken(call, "the trailer is not as published", func(r *turn.Result) { r.Data = []byte("[]") })
		broken(call, "the trailer is not as published", func(r *turn.Result) { r.Data = r.Data[:len(r.Data)-1] })
		broken(call, "the trailer is not as published", func(r *turn.Result) { r.Data = bytes.Replace(r.Data, []byte(`"notice":"`), []byte(`"notice":"x`), 1) })
		why, change := "the document is not as published", c.body[len(c.body)-4:]
		switch {
		case strings.Contains(c.body, `"valid"`):
			why, change = `there is no "action":"verify","valid":false,`, "valid"
		case strings.Contains(c.body, `"result"`):
			why, change = `there is no "result":2,`, "2"
		case strings.Contains(c.body, "board"), strings.Contains(c.body, "document"), strings.Contains(c.body, "steps"):
			change = c.body[1:5]
		case strings.Contains(c.body, "endpoint"):
			change = "endpoint"
		}
		broken(call, why, func(r *turn.Result) { r.Data = bytes.Replace(r.Data, []byte(change), []byte("x"), 1) })
	}
	broken("GET /api/roster", `there is no "counts_age_days":`, func(r *turn.Result) { r.Data = bytes.Replace(r.Data, []byte("age"), nil, 1) })
	broken("GET /api/receipt", `there is no "signing_live":`, func(r *turn.Result) { r.Data = bytes.Replace(r.Data, []byte("signing"), nil, 1) })
}

// A funnel without a live endpoint does not pass.
func TestFunnelOfNothing(t *testing.T) {
	h, s := edgetest.NewFake(t), edgetest.Snapshot()
	s.Documents["endpoints"], s.Documents["quest"] = snapshot.JSON(`[]`), snapshot.JSON(`{}`)
	h.Edge = edgetest.Load(t, s)
	if f := run(t, h, path); f.Pass || len(f.Steps) != 0 || f.Verdict != "There is nothing to test: no endpoint is live." || len(h.Fetches) != 0 {
		t.Errorf("%+v", f)
	}
}

// Two faults are both named.
func TestFunnelNamesAllFaults(t *testing.T) {
	all := answers()
	all["GET /api/aup"], all["GET /api/org"] = turn.Result{Status: 503}, turn.Result{Failure: turn.Timeout}
	f := run(t, host(t, all), path)
	if f.Verdict != "2 of 14 steps failed: GET /api/aup (status 503, and not 200); GET /api/org (no answer in time)." {
		t.Error(f.Verdict)
	}
	if f.Steps[4].Status != nil {
		t.Errorf("%+v", f.Steps[4])
	}
}

func TestRequests(t *testing.T) {
	for _, c := range []struct {
		method, target, header string
		status                 int
		fault                  string
		fetches                int
	}{
		{"GET", path, "", 200, "", 14},
		{"GET", path + "?suite=mcp", "", 200, "", 1},
		{"GET", path + "?suite=all", "", 400, "suite unknown_value", 0},
		{"GET", path + "?suite=mcp&suite=mcp", "", 400, "suite repeated_parameter", 0},
		{"GET", path, "1", 400, " nested_selftest", 0},
		{"GET", path + "?suite=x", "1", 400, " nested_selftest, suite unknown_value", 0},
		{"HEAD", path, "", 200, "", 0},
		{"HEAD", path + "?suite=mcp", "", 200, "", 0},
	} {
		h := host(t, answers())
		var headers []string
		if c.header != "" {
			headers = []string{"x-anteroom-selftest", c.header}
		}
		r := h.Do(c.method, c.target, "", headers...)
		if r.Status != c.status || len(h.Fetches) != c.fetches || len(h.Limits) != 0 {
			t.Errorf("%s %s: %d %s, %d fetches", c.method, c.target, r.Status, r.Body, len(h.Fetches))
		}
		if c.status == 400 {
			if got := strings.Join(edgetest.Faults(t, r), ", "); got != c.fault {
				t.Errorf("%s %s: %q, want %q", c.method, c.target, got, c.fault)
			}
		}
		if c.method == "HEAD" && (len(r.Body) != 0 || edgetest.Header(r, "content-type") != "application/json" || edgetest.Header(r, "cache-control") != "no-store") {
			t.Errorf("%s %s: %v %s", c.method, c.target, r.Header, r.Body)
		}
	}
	// A self-test asks the host that it was asked on.
	h := host(t, nil)
	h.Host.Port = 8080
	h.Do("GET", path, "", "host", "127.0.0.1")
	if len(h.Fetches) == 0 || !strings.HasPrefix(h.Fetches[0].URL, "http://127.0.0.1:8080/api/") {
		t.Errorf("%v", h.Fetches)
	}
}
