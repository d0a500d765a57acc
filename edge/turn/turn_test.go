package turn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

// turn is the turn of a request to the named host.
func newTurn(host string) *turn.Turn {
	return &turn.Turn{Snapshot: edgetest.Snapshot(), Now: edgetest.Now, Request: turn.Request{Method: "GET", Target: "/api/x", Host: host}}
}

// ServedFrom names only hosts that the service answers for, and Origin is where others reach them.
func TestOrigin(t *testing.T) {
	for _, c := range []struct {
		host   string
		port   int
		serves bool
		origin string
	}{
		{"www.example.org", 0, true, "https://www.example.org"},
		{"www.example.org", 8080, true, "https://www.example.org"},
		{"preview.example.org", 0, true, "https://preview.example.org"},
		{"box.internal", 8080, true, "https://box.internal"},
		{"evil.example", 8080, false, "https://www.example.org"},
		{"", 0, false, "https://www.example.org"},
		{"localhost", 0, true, "http://localhost"},
		{"localhost", 8080, true, "http://localhost:8080"},
		{"127.0.0.1", 80, true, "http://127.0.0.1:80"},
		{"127.0.0.2", 80, false, "https://www.example.org"},
		{"::1", 8080, true, "http://[::1]:8080"},
		{"::1", 0, true, "http://[::1]"},
	} {
		current := newTurn(c.host)
		current.Host = turn.HostInfo{Extra: []string{"other.internal", "box.internal"}, Port: c.port}
		if got := current.Origin(); current.Serves() != c.serves || got != c.origin {
			t.Errorf("%q, port %d: serves %v from %s, want %v, %s", c.host, c.port, current.Serves(), got, c.serves, c.origin)
		}
	}
}

// Set leaves one field of a name.
func TestHeaders(t *testing.T) {
	current := newTurn("localhost")
	current.SetHeader("a", "1")
	current.SetHeader("b", "2")
	current.SetHeader("a", "3")
	if got := current.Outcome(respond.Empty(204, "no-store")).Response.Header; !slices.Equal(got, []turn.Header{{Name: "cache-control", Value: "no-store"}, {Name: "a", Value: "3"}, {Name: "b", Value: "2"}}) {
		t.Errorf("%v", got)
	}
}

// Lines that agree are one value, however they are joined; a comma in quotation marks joins none.
func TestSingle(t *testing.T) {
	for joined, want := range map[string]string{
		"": "", ", ": "", "a": "a", "a, a": "a", "a,a , a": "a", " a": "a", "a, ": "a", ", a": "a", `"a, b"`: `"a, b"`, `"a, b", "a, b"`: `"a, b"`,
		`"\", a", "\", a"`: `"\", a"`, `x="a,b"; y, x="a,b"; y`: `x="a,b"; y`, `"a`: `"a`, `"a, "a`: `"a, "a`, `"\`: `"\`,
		"a, b": "-", "a, A": "-", `"a", a`: "-", "a, a, b": "-", `"a", "b"`: "-", `"a, b", "a, c"`: "-",
	} {
		r := turn.Request{Header: []turn.Header{{Name: "x", Value: joined}}}
		if got, one := r.Single("x"); one != (want != "-") || one && got != want || !one && got != joined {
			t.Errorf("%q: %q, %t", joined, got, one)
		}
	}
	if got, one := new(turn.Request).Single("x"); got != "" || !one {
		t.Errorf("an absent field: %q, %t", got, one)
	}
}

// A handler that goes on without a result gets no later one in its place, and no response before
// all effects are performed, in the order in which it asked.
func TestIgnoredOK(t *testing.T) {
	var performed []string
	r := turn.Run(&turn.Turn{}, func(current *turn.Turn) turn.Outcome {
		current.Begin(edgetest.Snapshot())
		stored, _ := current.Do(turn.Exec{Statements: []turn.Statement{{SQL: "INSERT"}}})
		signed, ok := current.DoAll(turn.Sign{}, turn.Sign{})
		if ok != (len(current.Journal) == 3) || ok && fmt.Sprint(signed[0].Status, signed[1].Status) != "202 203" {
			t.Errorf("after %d results: %v, %t", len(current.Journal), signed, ok)
		}
		return current.Outcome(&turn.Response{Status: stored.Status})
	}, func(effects []turn.Effect) (results []turn.Result) {
		for _, e := range effects {
			performed = append(performed, fmt.Sprintf("%T", e))
			results = append(results, turn.Result{Status: 200 + len(performed)})
		}
		return results
	})
	if r == nil || r.Status != 201 || !slices.Equal(performed, []string{"turn.Exec", "turn.Sign", "turn.Sign"}) {
		t.Errorf("%+v after %v", r, performed)
	}
}

// A turn that begins again counts its statements from zero.
func TestStatements(t *testing.T) {
	current := newTurn("localhost")
	for range 2 {
		current.Begin(current.Snapshot)
		current.Exec(make([]turn.Statement, 3)...)
	}
	if current.Statements != 3 {
		t.Errorf("%d statements, want 3", current.Statements)
	}
}

// Identifiers are 32 hexadecimal digits that depend on the turn's entropy. No two are alike.
func TestNewID(t *testing.T) {
	seen := map[string]bool{}
	for entropy := range byte(2) {
		current := newTurn("localhost")
		current.Entropy[15] = entropy
		for range 20 {
			id := current.NewID()
			if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" || seen[id] {
				t.Errorf("%q, given before: %v", id, seen[id])
			}
			seen[id] = true
		}
		current.Begin(current.Snapshot)
		if !seen[current.NewID()] {
			t.Error("a turn that begins again gives other identifiers")
		}
	}
}

func TestRunIsBounded(t *testing.T) {
	asked := 0
	answer := func(e []turn.Effect) []turn.Result {
		asked++
		return make([]turn.Result, len(e))
	}
	endless := func(current *turn.Turn) turn.Outcome {
		for {
			if _, ok := current.Do(turn.Limit{}); !ok {
				return current.Outcome(nil)
			}
		}
	}
	if r := turn.Run(&turn.Turn{}, endless, answer); r != nil || asked != turn.MaxRounds {
		t.Errorf("%v after %d rounds", r, asked)
	}
	greedy := func(current *turn.Turn) turn.Outcome {
		current.DoAll(make([]turn.Effect, turn.MaxEffects+1)...)
		return current.Outcome(nil)
	}
	if r := turn.Run(&turn.Turn{}, greedy, answer); r != nil || asked != turn.MaxRounds {
		t.Errorf("%v for too many effects", r)
	}
}
