package respond_test

import (
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

// turn is the turn of a request to the named host.
func newTurn(host string) *turn.Turn {
	return &turn.Turn{Snapshot: edgetest.Snapshot(), Now: edgetest.Now, Request: turn.Request{Method: "GET", Target: "/api/x", Host: host}}
}

// Lists that repeat what a caller sent have at most 50 entries. Their total is there only where
// some entries are left out.
func TestCapped(t *testing.T) {
	for n, total := range map[int]string{0: "", 1: "", 49: "", 50: "", 51: "51", 99: "99"} {
		var faults input.Faults
		names := make([]string, n)
		for i := range names {
			names[i] = strconv.Itoa(i)
			faults.Add(names[i], input.UnknownField, "is no field")
		}
		var w jsondoc.Writer
		w.Open('{')
		respond.WriteCapped(&w, "ignored_fields", names)
		faults.Write(&w)
		w.Close('}')
		v, err := jsondoc.Parse(w.Buf)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ignored_fields", "errors"} {
			if got := v.Get(name).Items; len(got) != min(n, 50) || v.Get(name+"_total").Text != total {
				t.Errorf("%d: %s has %d entries of %q", n, name, len(got), v.Get(name+"_total").Text)
			}
		}
	}
}

// A problem says what is wrong and where the contract is. A 400 shows the contract of the
// operation that was asked for.
func TestProblem(t *testing.T) {
	for _, c := range []struct {
		problem *respond.ProblemType
		url     string
		shown   bool // whether the contract is shown
		faults  bool
	}{
		{respond.InvalidInput, "/api/x", true, true},
		{respond.MethodNotAllowed, "/api/x", false, false},
		{respond.NotFound, "", false, false},
		{respond.TooManyWrites, "/api/x", false, true},
		{respond.Internal, "/api/x", false, false},
	} {
		current := newTurn("www.example.org")
		var faults *input.Faults
		if c.faults {
			faults = &input.Faults{}
			faults.Add("f", "code", "detail")
		}
		wantURL := "https://www.example.org/openapi.json"
		if current.ContractURL = c.url; c.url != "" {
			wantURL = "https://www.example.org" + c.url
			current.Operation = "getQuest"
		}
		r := respond.Problem(current, c.problem, "d", faults, func(w *jsondoc.Writer) { w.Bool("own", true) })
		v, err := jsondoc.Parse(r.Body)
		if err != nil || r.Status != c.problem.Status || edgetest.Header(r, "content-type") != respond.MediaProblem || edgetest.Header(r, "cache-control") != "no-store" {
			t.Fatalf("%s: %d %v %s", c.problem.Slug, r.Status, r.Header, r.Body)
		}
		if v.Get("type").Text != "https://www.example.org/problems/"+c.problem.Slug+".html" || v.Get("title").Text != c.problem.Title || v.Get("detail").Text != "d" ||
			v.Get("contract_url").Text != wantURL || !v.Get("own").True || (v.Get("contract").Get("id").Text == "getQuest") != c.shown || (len(v.Get("errors").Items) == 1) != c.faults {
			t.Errorf("%s: %s", c.problem.Slug, r.Body)
		}
		if r := respond.Problem(current, c.problem, "d", nil, nil); strings.Contains(string(r.Body), `"own"`) || strings.Contains(string(r.Body), `"errors"`) {
			t.Errorf("%s: %s", c.problem.Slug, r.Body)
		}
	}
	if current := newTurn("localhost"); respond.Problem(current, respond.InvalidInput, "d", nil, nil).Status != 400 {
		t.Error("a problem that has no contract")
	}
}

// Invalid says how many faults an input has, and which of its names were ignored.
func TestInvalid(t *testing.T) {
	for _, c := range []struct {
		faults  int
		body    string
		detail  string
		ignored int
	}{{1, `{"x":1}`, "1 fault found; nothing was recorded.", 1}, {2, `{}`, "2 faults found; nothing was recorded.", 0}} {
		in := input.ParseBody([]byte(c.body))
		for range c.faults {
			in.Add("f", "code", "detail")
		}
		v, err := jsondoc.Parse(respond.Invalid(newTurn("localhost"), in).Body)
		if err != nil || !strings.HasPrefix(v.Get("detail").Text, c.detail) || len(v.Get("ignored_fields").Items) != c.ignored || (v.Get("ignored_fields").Kind == jsondoc.Absent) != (c.ignored == 0) {
			t.Errorf("%s, %v, want %s", v.Raw, err, c.detail)
		}
	}
}

// A failed write was not recorded, or it is not known after a time-out.
// A turn that cannot be finished is answered in its own words where it has any.
func TestStoreFailed(t *testing.T) {
	for failure, want := range map[turn.Failure]string{turn.Refused: "nothing was recorded", turn.Unavailable: "nothing was recorded", turn.Timeout: "is not known"} {
		if r := respond.StoreFailed(newTurn("localhost"), failure); r.Status != 503 || edgetest.Header(r, "retry-after") != "30" || !strings.Contains(string(r.Body), want) {
			t.Errorf("%s: %d %v %s", failure, r.Status, r.Header, r.Body)
		}
	}
	own := &turn.Response{Status: 502}
	current := newTurn("localhost")
	if r := respond.Unfinished(current); r.Status != 500 || !strings.Contains(string(r.Body), "is not known") {
		t.Errorf("%+v", r)
	}
	if current.Failed = own; respond.Unfinished(current) != own {
		t.Error("the turn has an answer of its own for that")
	}
}

// The addresses of next_actions are absolute.
func TestActions(t *testing.T) {
	w := jsondoc.Writer{}
	w.Open('{')
	respond.WriteActions(newTurn("localhost"), &w, "a", "/1", "b", "/2")
	w.Close('}')
	if want := `{"next_actions":[{"rel":"a","href":"https://www.example.org/1"},{"rel":"b","href":"https://www.example.org/2"}]}`; string(w.Buf) != want {
		t.Errorf("%s, want %s", w.Buf, want)
	}
}
