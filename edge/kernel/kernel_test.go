package kernel_test

import (
	"encoding/base64"
	"reflect"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/kernel"
	"anteroom/edge/respond"
)

// turn is the turn of a request to the named host.
func turn(host string) *kernel.Turn {
	return &kernel.Turn{Snapshot: edgetest.Snapshot(), Now: edgetest.Now, Request: kernel.Request{Method: "GET", Target: "/api/x", Host: host}}
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
		turn := turn(c.host)
		turn.Host = kernel.HostInfo{Extra: []string{"other.internal", "box.internal"}, Port: c.port}
		if got := turn.Origin(); turn.Serves() != c.serves || got != c.origin {
			t.Errorf("%q, port %d: serves %v from %s, want %v, %s", c.host, c.port, turn.Serves(), got, c.serves, c.origin)
		}
	}
}

// Get finds a header field by its name, and Set leaves one field of a name.
func TestHeaders(t *testing.T) {
	r := kernel.Request{Header: []kernel.Header{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}}
	if r.Get("a") != "1" || r.Get("b") != "2" || r.Get("c") != "" {
		t.Errorf("%v", r.Header)
	}
	answer := respond.JSON(200, respond.MediaJSON, "no-store", nil)
	answer.Set("cache-control", "public")
	answer.Set("etag", "x")
	answer.Set("etag", "y")
	want := []kernel.Header{{Name: "content-type", Value: respond.MediaJSON}, {Name: "cache-control", Value: "public"}, {Name: "etag", Value: "y"}}
	if !slices.Equal(answer.Header, want) {
		t.Errorf("%v", answer.Header)
	}
	turn := turn("localhost")
	turn.SetHeader("a", "1")
	turn.SetHeader("b", "2")
	turn.SetHeader("a", "3")
	if got := turn.Outcome(respond.Empty(204, "no-store")).Response.Header; !slices.Equal(got, []kernel.Header{{Name: "cache-control", Value: "no-store"}, {Name: "a", Value: "3"}, {Name: "b", Value: "2"}}) {
		t.Errorf("%v", got)
	}
}

// Do gives each effect its own result, over any number of rounds, and asks for no effect twice.
func TestDo(t *testing.T) {
	rounds, asked := 0, 0
	handle := func(turn *kernel.Turn) kernel.Outcome {
		rounds++
		turn.Begin(edgetest.Snapshot())
		two, ok := turn.Do(kernel.Limit{Key: "a"}, kernel.Limit{Key: "b"})
		if !ok {
			return turn.Outcome(nil)
		}
		one, ok := turn.One(kernel.Limit{Key: "c"})
		if !ok {
			return turn.Outcome(nil)
		}
		return turn.Outcome(&kernel.Response{Status: int(two[0].Remaining*100 + two[1].Remaining*10 + one.Remaining)})
	}
	r := kernel.Run(&kernel.Turn{}, handle, func(effects []kernel.Effect) (results []kernel.Result) {
		for _, e := range effects {
			asked++
			results = append(results, kernel.Result{Remaining: int64(e.(kernel.Limit).Key[0] - 'a' + 1)})
		}
		return results
	})
	if r == nil || r.Status != 123 || rounds != 3 || asked != 3 {
		t.Errorf("%+v after %d rounds with %d effects", r, rounds, asked)
	}
}

// The effects of a prepared response are performed in order, each once those before it went as
// presumed. After one that did not, the handler goes on with the results so far.
func TestPresumeInOrder(t *testing.T) {
	limit, insert := kernel.Limit{Key: "a", Policy: "p"}, kernel.Exec{Statements: []kernel.Statement{{SQL: "INSERT"}}}
	for _, c := range []struct {
		name    string
		results map[kernel.Limit]kernel.Result
		rounds  int
		want    string // body of the answer
		done    int    // how many effects are performed
		left    string // the RateLimit header field
	}{
		{"both as presumed", map[kernel.Limit]kernel.Result{limit: {OK: true, Remaining: -1}}, 1, "stored", 2, ""},
		{"the limit says what remains", map[kernel.Limit]kernel.Result{limit: {OK: true, Remaining: 7, Reset: 3}}, 1, "stored", 2, `"p";r=7;t=3`},
		{"the limit says that this was the last", map[kernel.Limit]kernel.Result{limit: {OK: true, Reset: 3}}, 1, "stored", 2, `"p";r=0;t=3`},
		{"the first refuses", map[kernel.Limit]kernel.Result{limit: {Remaining: -1}}, 2, "limited", 1, ""},
		{"the first fails", map[kernel.Limit]kernel.Result{limit: {OK: true, Failure: kernel.Unavailable}}, 3, "stored without a limit", 2, ""},
	} {
		turn, rounds, done := turn("localhost"), 0, 0
		r := kernel.Run(turn, func(turn *kernel.Turn) kernel.Outcome {
			rounds++
			turn.Begin(edgetest.Snapshot())
			return turn.Outcome(turn.Presume(limit, func(left kernel.Result) *kernel.Response {
				if len(turn.Journal) == 0 && left.Remaining != -1 {
					t.Errorf("%s: %d are presumed to remain", c.name, left.Remaining)
				}
				if !left.OK {
					return &kernel.Response{Status: 429, Body: []byte("limited")}
				}
				if left.Failure != kernel.None { // this branch is not the presumed one, so it is not prepared
					if _, ok := turn.One(insert); !ok {
						return nil
					}
					return &kernel.Response{Status: 200, Body: []byte("stored without a limit")}
				}
				return turn.Presume(insert, func(kernel.Result) *kernel.Response { return &kernel.Response{Status: 200, Body: []byte("stored")} })
			}))
		}, func(effects []kernel.Effect) []kernel.Result {
			if done++; len(effects) != 1 {
				t.Errorf("%s: %d effects side by side", c.name, len(effects))
			}
			if _, limits := effects[0].(kernel.Limit); limits {
				return []kernel.Result{c.results[limit]}
			}
			return []kernel.Result{{}}
		})
		if r == nil || string(r.Body) != c.want || rounds != c.rounds || done != c.done {
			t.Errorf("%s: %+v after %d rounds and %d effects", c.name, r, rounds, done)
		}
		if r != nil && edgetest.Header(r, "ratelimit") != c.left {
			t.Errorf("%s: %v", c.name, r.Header)
		}
	}
}

// An effect asked for by Do within Presume waits until the presumed effect has gone as presumed.
func TestPresumeBeforeAnother(t *testing.T) {
	turn := turn("localhost")
	handle := func() kernel.Outcome {
		turn.Begin(edgetest.Snapshot())
		return turn.Outcome(turn.Presume(kernel.Limit{Key: "a"}, func(kernel.Result) *kernel.Response {
			if _, ok := turn.Do(kernel.Relay{}, kernel.Sign{}); !ok {
				return nil
			}
			return &kernel.Response{Status: 200}
		}))
	}
	if o := handle(); o.Response != nil || len(o.Effects) != 1 || !reflect.DeepEqual(o.Effects[0], kernel.Limit{Key: "a"}) {
		t.Errorf("%+v", o)
	}
	turn.Journal = []kernel.Result{{OK: true}}
	if o := handle(); o.Response != nil || len(o.Effects) != 2 {
		t.Errorf("%+v", o)
	}
	turn.Journal = append(turn.Journal, kernel.Result{}, kernel.Result{})
	if o := handle(); o.Response == nil || len(o.Effects) != 0 {
		t.Errorf("%+v", o)
	}
}

// A prepared response is sent where its effect goes as presumed, and nowhere else.
func TestPresume(t *testing.T) {
	signature := make([]byte, kernel.SignatureSize)
	for i := range signature {
		signature[i] = byte(i)
	}
	for _, c := range []struct {
		name   string
		effect kernel.Effect
		result kernel.Result
		rounds int
		body   string
	}{
		{"stored", kernel.Exec{}, kernel.Result{}, 1, "ok"},
		{"refused", kernel.Exec{}, kernel.Result{Failure: kernel.Refused}, 2, "refused"},
		{"verified", kernel.Verify{}, kernel.Result{OK: true}, 1, "ok"},
		{"not verified", kernel.Verify{}, kernel.Result{}, 2, "not ok"},
		{"not known", kernel.Verify{}, kernel.Result{OK: true, Failure: kernel.Timeout}, 2, "timeout"},
		{"signed", kernel.Sign{}, kernel.Result{Data: signature}, 1, base64.StdEncoding.EncodeToString(signature)},
		{"signed too short", kernel.Sign{}, kernel.Result{Data: signature[:63]}, 2, "63"},
	} {
		turn, rounds := turn("localhost"), 0
		next := func(result kernel.Result) *kernel.Response {
			body := "ok"
			switch _, signs := c.effect.(kernel.Sign); {
			case result.Failure != kernel.None:
				body = string(result.Failure)
			case signs && len(result.Data) != kernel.SignatureSize:
				body = "63"
			case signs:
				body = base64.StdEncoding.EncodeToString(result.Data)
			case c.name == "not verified" && !result.OK:
				body = "not ok"
			}
			return &kernel.Response{Status: 200, Body: []byte(body)}
		}
		r := kernel.Run(turn, func(turn *kernel.Turn) kernel.Outcome {
			rounds++
			turn.Begin(edgetest.Snapshot())
			return turn.Outcome(turn.Presume(c.effect, next))
		}, func([]kernel.Effect) []kernel.Result { return []kernel.Result{c.result} })
		if r == nil || string(r.Body) != c.body || rounds != c.rounds {
			t.Errorf("%s: %+v after %d rounds, want %s after %d", c.name, r, rounds, c.body, c.rounds)
		}
	}
}

// A round of MaxEffects effects and a turn of MaxRounds rounds are within the bounds.
func TestMostEffects(t *testing.T) {
	rounds := 0
	r := kernel.Run(&kernel.Turn{}, func(turn *kernel.Turn) kernel.Outcome {
		if rounds++; rounds == kernel.MaxRounds {
			return kernel.Outcome{Response: &kernel.Response{Status: 204}}
		}
		return kernel.Outcome{Effects: make([]kernel.Effect, kernel.MaxEffects)}
	}, func(effects []kernel.Effect) []kernel.Result { return make([]kernel.Result, len(effects)) })
	if r == nil || r.Status != 204 {
		t.Errorf("%+v", r)
	}
}

// Identifiers are 32 hexadecimal digits that depend on the turn's entropy. No two are alike.
func TestNewID(t *testing.T) {
	seen := map[string]bool{}
	for entropy := range byte(2) {
		turn := turn("localhost")
		turn.Entropy[15] = entropy
		for range 20 {
			id := turn.NewID()
			if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" || seen[id] {
				t.Errorf("%q, given before: %v", id, seen[id])
			}
			seen[id] = true
		}
		first := turn.NewID()
		turn.Begin(turn.Snapshot)
		if again := turn.NewID(); !seen[again] || seen[first] {
			t.Error("a turn that begins again gives other identifiers")
		}
	}
}

func TestRunIsBounded(t *testing.T) {
	rounds := 0
	endless := func(turn *kernel.Turn) kernel.Outcome {
		rounds++
		return kernel.Outcome{Effects: []kernel.Effect{kernel.Limit{}}}
	}
	answer := func(e []kernel.Effect) []kernel.Result { return make([]kernel.Result, len(e)) }
	if r := kernel.Run(&kernel.Turn{}, endless, answer); r != nil || rounds != kernel.MaxRounds {
		t.Errorf("%v after %d rounds", r, rounds)
	}
	greedy := func(turn *kernel.Turn) kernel.Outcome {
		return kernel.Outcome{Effects: make([]kernel.Effect, kernel.MaxEffects+1)}
	}
	if r := kernel.Run(&kernel.Turn{}, greedy, answer); r != nil {
		t.Errorf("%v for too many effects", r)
	}
	if r := kernel.Run(&kernel.Turn{}, func(*kernel.Turn) kernel.Outcome { return kernel.Outcome{} }, answer); r != nil {
		t.Errorf("%v for nothing at all", r)
	}
}

func TestTextOrNull(t *testing.T) {
	if kernel.TextOrNull("") != nil || kernel.TextOrNull("a") != any("a") {
		t.Error("only a text that is empty is null")
	}
}
