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
			faults.Add(names[i], input.UnknownField, "is not a field")
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

// A failed write was not recorded, or it is not known after a time-out.
// A turn that cannot be finished is answered in its own words where it has any.
func TestStoreFailed(t *testing.T) {
	for failure, want := range map[turn.Failure]string{turn.Refused: "nothing was recorded", turn.Unavailable: "nothing was recorded", turn.Timeout: "is not known"} {
		if r := respond.StoreFailed(newTurn("localhost"), failure); r.Status != 503 || r.Get("retry-after") != "30" || !strings.Contains(string(r.Body), want) {
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
