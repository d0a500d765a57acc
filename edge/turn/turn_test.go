package turn_test

import (
	"encoding/base64"
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

// Get finds a header field by its name, and Set leaves one field of a name.
func TestHeaders(t *testing.T) {
	r := turn.Request{Header: []turn.Header{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}}
	if r.Get("a") != "1" || r.Get("b") != "2" || r.Get("c") != "" {
		t.Errorf("%v", r.Header)
	}
	answer := respond.JSON(200, respond.MediaJSON, "no-store", nil)
	answer.Set("cache-control", "public")
	answer.Set("etag", "x")
	answer.Set("etag", "y")
	want := []turn.Header{{Name: "content-type", Value: respond.MediaJSON}, {Name: "cache-control", Value: "public"}, {Name: "etag", Value: "y"}}
	if !slices.Equal(answer.Header, want) {
		t.Errorf("%v", answer.Header)
	}
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

// Each effect gets its own result, over any number of rounds, and none is asked for twice.
func TestAwait(t *testing.T) {
	rounds, asked := 0, 0
	handle := func(current *turn.Turn) turn.Outcome {
		rounds++
		current.Begin(edgetest.Snapshot())
		part := turn.AwaitAll([]turn.Effect{turn.Limit{Key: "a"}, turn.Limit{Key: "b"}}, func(two []turn.Result) *turn.Response {
			return turn.Presume(turn.Limit{Key: "c"}, func(one turn.Result) *turn.Response {
				return &turn.Response{Status: int(two[0].Remaining*100 + two[1].Remaining*10 + one.Remaining)}
			})
		})
		return current.Outcome(part.Then(func(r *turn.Response) *turn.Response { return &turn.Response{Status: r.Status + 1000} }))
	}
	r := turn.Run(&turn.Turn{}, handle, func(effects []turn.Effect) (results []turn.Result) {
		for _, e := range effects {
			asked++
			results = append(results, turn.Result{OK: true, Remaining: int64(e.(turn.Limit).Key[0] - 'a' + 1)})
		}
		return results
	})
	if r == nil || r.Status != 1123 || rounds != 3 || asked != 3 {
		t.Errorf("%+v after %d rounds with %d effects", r, rounds, asked)
	}
}

// The effects of a prepared response are performed in order, each once those before it went as
// presumed. After one that did not, the handler gets the results so far.
func TestPresumeInOrder(t *testing.T) {
	limit, insert := turn.Limit{Key: "a", Policy: "p"}, turn.Exec{Statements: []turn.Statement{{SQL: "INSERT"}}}
	for _, c := range []struct {
		name   string
		result turn.Result // of the limit
		rounds int
		want   string // body of the answer
		done   int    // how many effects are performed
		left   string // the RateLimit header field
	}{
		{"both as presumed", turn.Result{OK: true, Remaining: -1}, 1, "stored", 2, ""},
		{"the limit says what remains", turn.Result{OK: true, Remaining: 7, Reset: 3}, 1, "stored", 2, `"p";r=7;t=3`},
		{"the limit says that this was the last", turn.Result{OK: true, Reset: 3}, 1, "stored", 2, `"p";r=0;t=3`},
		{"the first refuses", turn.Result{Remaining: -1}, 2, "limited", 1, ""},
		{"the first fails", turn.Result{OK: true, Failure: turn.Unavailable}, 3, "stored without a limit", 2, ""},
	} {
		current, rounds, done := newTurn("localhost"), 0, 0
		r := turn.Run(current, func(current *turn.Turn) turn.Outcome {
			rounds++
			current.Begin(edgetest.Snapshot())
			return current.Outcome(turn.Presume(limit, func(left turn.Result) *turn.Response {
				stored := func(body string) func(turn.Result) *turn.Response {
					return func(turn.Result) *turn.Response { return &turn.Response{Status: 200, Body: []byte(body)} }
				}
				switch {
				case !left.OK:
					return &turn.Response{Status: 429, Body: []byte("limited")}
				case left.Failure != turn.None:
					return turn.Await(insert, stored("stored without a limit"))
				}
				return turn.Presume(insert, stored("stored"))
			}))
		}, func(effects []turn.Effect) []turn.Result {
			if done++; len(effects) != 1 {
				t.Errorf("%s: %d effects side by side", c.name, len(effects))
			}
			if _, limits := effects[0].(turn.Limit); limits {
				return []turn.Result{c.result}
			}
			return []turn.Result{{}}
		})
		if r == nil || string(r.Body) != c.want || rounds != c.rounds || done != c.done || edgetest.Header(r, "ratelimit") != c.left {
			t.Errorf("%s: %+v after %d rounds and %d effects", c.name, r, rounds, done)
		}
	}
}

// An effect that is not presumed waits until the presumed one before it has gone as presumed.
func TestPresumeBeforeAnother(t *testing.T) {
	current := newTurn("localhost")
	for round, want := range []int{1, 2, 0} {
		current.Begin(edgetest.Snapshot())
		o := current.Outcome(turn.Presume(turn.Limit{Key: "a"}, func(turn.Result) *turn.Response {
			return turn.AwaitAll([]turn.Effect{turn.Relay{}, turn.Sign{}}, func([]turn.Result) *turn.Response { return &turn.Response{Status: 200} })
		}))
		if len(o.Effects) != want || (o.Response != nil) != (want == 0) {
			t.Errorf("round %d: %+v", round, o)
		}
		current.Journal = append(current.Journal, make([]turn.Result, want)...)
	}
}

// A prepared response is sent where its effect goes as presumed, and nowhere else.
func TestPresume(t *testing.T) {
	signature := make([]byte, turn.SignatureSize)
	for i := range signature {
		signature[i] = byte(i)
	}
	for _, c := range []struct {
		name   string
		effect turn.Effect
		result turn.Result
		rounds int
		body   string
	}{
		{"stored", turn.Exec{}, turn.Result{}, 1, "ok"},
		{"refused", turn.Exec{}, turn.Result{Failure: turn.Refused}, 2, "refused"},
		{"verified", turn.Verify{}, turn.Result{OK: true}, 1, "ok"},
		{"not verified", turn.Verify{}, turn.Result{}, 2, "not ok"},
		{"not known", turn.Verify{}, turn.Result{OK: true, Failure: turn.Timeout}, 2, "timeout"},
		{"signed", turn.Sign{}, turn.Result{Data: signature}, 1, base64.StdEncoding.EncodeToString(signature)},
		{"signed too short", turn.Sign{}, turn.Result{Data: signature[:63]}, 2, "63"},
	} {
		current, rounds := newTurn("localhost"), 0
		next := func(result turn.Result) *turn.Response {
			body := "ok"
			switch _, signs := c.effect.(turn.Sign); {
			case result.Failure != turn.None:
				body = string(result.Failure)
			case signs && len(result.Data) != turn.SignatureSize:
				body = "63"
			case signs:
				body = base64.StdEncoding.EncodeToString(result.Data)
			case c.name == "not verified" && !result.OK:
				body = "not ok"
			}
			return &turn.Response{Status: 200, Body: []byte(body)}
		}
		r := turn.Run(current, func(current *turn.Turn) turn.Outcome {
			rounds++
			current.Begin(edgetest.Snapshot())
			return current.Outcome(turn.Presume(c.effect, next))
		}, func([]turn.Effect) []turn.Result { return []turn.Result{c.result} })
		if r == nil || string(r.Body) != c.body || rounds != c.rounds {
			t.Errorf("%s: %+v after %d rounds, want %s after %d", c.name, r, rounds, c.body, c.rounds)
		}
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
		first := current.NewID()
		current.Begin(current.Snapshot)
		if again := current.NewID(); !seen[again] || seen[first] {
			t.Error("a turn that begins again gives other identifiers")
		}
	}
}

func TestRunIsBounded(t *testing.T) {
	rounds := 0
	endless := func(current *turn.Turn) turn.Outcome {
		rounds++
		return turn.Outcome{Effects: []turn.Effect{turn.Limit{}}}
	}
	answer := func(e []turn.Effect) []turn.Result { return make([]turn.Result, len(e)) }
	if r := turn.Run(&turn.Turn{}, endless, answer); r != nil || rounds != turn.MaxRounds {
		t.Errorf("%v after %d rounds", r, rounds)
	}
	greedy := func(current *turn.Turn) turn.Outcome {
		return turn.Outcome{Effects: make([]turn.Effect, turn.MaxEffects+1)}
	}
	if r := turn.Run(&turn.Turn{}, greedy, answer); r != nil {
		t.Errorf("%v for too many effects", r)
	}
	if r := turn.Run(&turn.Turn{}, func(*turn.Turn) turn.Outcome { return turn.Outcome{} }, answer); r != nil {
		t.Errorf("%v for nothing at all", r)
	}
}
