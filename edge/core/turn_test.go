package core_test

import (
	"encoding/base64"
	"reflect"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/core"
	"anteroom/edge/edgetest"
	"anteroom/edge/jsondoc"
)

// turn is one to the named host.
func turn(host string) *core.Turn {
	return &core.Turn{Snapshot: edgetest.Snapshot(), Now: edgetest.Now, Request: core.Request{Method: "GET", Target: "/api/x", Host: host}}
}

// Only a host that may be named is, and an address is as others reach it.
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
		turn.Host = core.Host{Extra: []string{"other.internal", "box.internal"}, Port: c.port}
		if got := turn.Origin(); turn.Serves() != c.serves || got != c.origin {
			t.Errorf("%q, port %d: serves %v from %s, want %v, %s", c.host, c.port, turn.Serves(), got, c.serves, c.origin)
		}
	}
}

// A header field is found by its name, and set once.
func TestHeaders(t *testing.T) {
	r := core.Request{Header: []core.Header{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}}
	if r.Get("a") != "1" || r.Get("b") != "2" || r.Get("c") != "" {
		t.Errorf("%v", r.Header)
	}
	answer := core.JSON(200, core.MediaJSON, "no-store", nil)
	answer.Set("cache-control", "public")
	answer.Set("etag", "x")
	answer.Set("etag", "y")
	want := []core.Header{{Name: "content-type", Value: core.MediaJSON}, {Name: "cache-control", Value: "public"}, {Name: "etag", Value: "y"}}
	if !slices.Equal(answer.Header, want) {
		t.Errorf("%v", answer.Header)
	}
	turn := turn("localhost")
	turn.SetHeader("a", "1")
	turn.SetHeader("b", "2")
	turn.SetHeader("a", "3")
	if got := turn.Outcome(core.Empty(204, "no-store")).Response.Header; !slices.Equal(got, []core.Header{{Name: "cache-control", Value: "no-store"}, {Name: "a", Value: "3"}, {Name: "b", Value: "2"}}) {
		t.Errorf("%v", got)
	}
}

// A message names the records it is about, as many as its header field has room for: a mail system refuses one that is too long.
func TestAddRecord(t *testing.T) {
	id := strings.Repeat("0", 32)
	var m core.Message
	for range core.MaxRecords + 5 {
		m.AddRecord(id)
	}
	if n, size := len(m.Records), len(strings.Join(m.Records, ", ")); n != core.MaxRecords || size > 2048 || size+len(", ")+len(id) <= 2048 {
		t.Errorf("%d records in %d bytes, and there are said to be %d", n, size, core.MaxRecords)
	}
	for length, want := range map[int]int{2048: 1, 2049: 0} {
		var m core.Message
		if m.AddRecord(strings.Repeat("0", length)); len(m.Records) != want {
			t.Errorf("%d records of %d bytes", len(m.Records), length)
		}
	}
	m = core.Message{Records: []string{strings.Repeat("0", 1000)}}
	if m.AddRecord(strings.Repeat("1", 1047)); len(m.Records) != 1 {
		t.Error("a separator is not counted")
	}
	if m.AddRecord(strings.Repeat("1", 1046)); len(m.Records) != 2 {
		t.Error("there is room")
	}
}

// A turn goes on with the results in the order asked, however many rounds that takes, and asks for nothing twice.
func TestDo(t *testing.T) {
	rounds, asked := 0, 0
	handle := func(turn *core.Turn) core.Outcome {
		rounds++
		turn.Begin(edgetest.Snapshot())
		two, ok := turn.Do(core.Limit{Key: "a"}, core.Limit{Key: "b"})
		if !ok {
			return turn.Outcome(nil)
		}
		one, ok := turn.One(core.Limit{Key: "c"})
		if !ok {
			return turn.Outcome(nil)
		}
		return turn.Outcome(&core.Response{Status: int(two[0].Remaining*100 + two[1].Remaining*10 + one.Remaining)})
	}
	r := core.Run(&core.Turn{}, handle, func(effects []core.Effect) (results []core.Result) {
		for _, e := range effects {
			asked++
			results = append(results, core.Result{Remaining: int64(e.(core.Limit).Key[0] - 'a' + 1)})
		}
		return results
	})
	if r == nil || r.Status != 123 || rounds != 3 || asked != 3 {
		t.Errorf("%+v after %d rounds with %d effects", r, rounds, asked)
	}
}

// A prepared response depends on effects in order: each is performed where those before it went as presumed, and where one
// did not, the handler goes on with the results so far.
func TestPresumeInOrder(t *testing.T) {
	limit, insert := core.Limit{Key: "a", Policy: "p"}, core.Exec{Statements: []core.Statement{{SQL: "INSERT"}}}
	for _, c := range []struct {
		name    string
		results map[core.Limit]core.Result
		rounds  int
		want    string // of the answer
		done    int    // effects
		left    string // header field
	}{
		{"both as presumed", map[core.Limit]core.Result{limit: {OK: true, Remaining: -1}}, 1, "stored", 2, ""},
		{"the limit says what remains", map[core.Limit]core.Result{limit: {OK: true, Remaining: 7, Reset: 3}}, 1, "stored", 2, `"p";r=7;t=3`},
		{"the limit says that this was the last", map[core.Limit]core.Result{limit: {OK: true, Reset: 3}}, 1, "stored", 2, `"p";r=0;t=3`},
		{"the first refuses", map[core.Limit]core.Result{limit: {Remaining: -1}}, 2, "limited", 1, ""},
		{"the first fails", map[core.Limit]core.Result{limit: {OK: true, Failure: core.Unavailable}}, 3, "stored without a limit", 2, ""},
	} {
		turn, rounds, done := turn("localhost"), 0, 0
		r := core.Run(turn, func(turn *core.Turn) core.Outcome {
			rounds++
			turn.Begin(edgetest.Snapshot())
			return turn.Outcome(turn.Presume(limit, func(left core.Result) *core.Response {
				if len(turn.Journal) == 0 && left.Remaining != -1 {
					t.Errorf("%s: %d are presumed to remain", c.name, left.Remaining)
				}
				if !left.OK {
					return &core.Response{Status: 429, Body: []byte("limited")}
				}
				if left.Failure != core.None { // what follows is another way, and is not prepared
					if _, ok := turn.One(insert); !ok {
						return nil
					}
					return &core.Response{Status: 200, Body: []byte("stored without a limit")}
				}
				return turn.Presume(insert, func(core.Result) *core.Response { return &core.Response{Status: 200, Body: []byte("stored")} })
			}))
		}, func(effects []core.Effect) []core.Result {
			if done++; len(effects) != 1 {
				t.Errorf("%s: %d effects side by side", c.name, len(effects))
			}
			if _, limits := effects[0].(core.Limit); limits {
				return []core.Result{c.results[limit]}
			}
			return []core.Result{{}}
		})
		if r == nil || string(r.Body) != c.want || rounds != c.rounds || done != c.done {
			t.Errorf("%s: %+v after %d rounds and %d effects", c.name, r, rounds, done)
		}
		if r != nil && edgetest.Header(r, "ratelimit") != c.left {
			t.Errorf("%s: %v", c.name, r.Header)
		}
	}
}

// What follows a presumption and is not presumed itself is asked for once the presumption holds.
func TestPresumeBeforeAnother(t *testing.T) {
	turn := turn("localhost")
	handle := func() core.Outcome {
		turn.Begin(edgetest.Snapshot())
		return turn.Outcome(turn.Presume(core.Limit{Key: "a"}, func(core.Result) *core.Response {
			if _, ok := turn.Do(core.Relay{}, core.Sign{}); !ok {
				return nil
			}
			return &core.Response{Status: 200}
		}))
	}
	if o := handle(); o.Response != nil || len(o.Effects) != 1 || !reflect.DeepEqual(o.Effects[0], core.Limit{Key: "a"}) {
		t.Errorf("%+v", o)
	}
	turn.Journal = []core.Result{{OK: true}}
	if o := handle(); o.Response != nil || len(o.Effects) != 2 {
		t.Errorf("%+v", o)
	}
	turn.Journal = append(turn.Journal, core.Result{}, core.Result{})
	if o := handle(); o.Response == nil || len(o.Effects) != 0 {
		t.Errorf("%+v", o)
	}
}

// An answer that was made ahead is sent where the effect goes as presumed, and only there.
func TestPresume(t *testing.T) {
	signature := make([]byte, core.SignatureSize)
	for i := range signature {
		signature[i] = byte(i)
	}
	for _, c := range []struct {
		name   string
		effect core.Effect
		result core.Result
		rounds int
		body   string
	}{
		{"stored", core.Exec{}, core.Result{}, 1, "ok"},
		{"refused", core.Exec{}, core.Result{Failure: core.Refused}, 2, "refused"},
		{"verified", core.Verify{}, core.Result{OK: true}, 1, "ok"},
		{"not verified", core.Verify{}, core.Result{}, 2, "not ok"},
		{"not known", core.Verify{}, core.Result{OK: true, Failure: core.Timeout}, 2, "timeout"},
		{"signed", core.Sign{}, core.Result{Data: signature}, 1, base64.StdEncoding.EncodeToString(signature)},
		{"signed too short", core.Sign{}, core.Result{Data: signature[:63]}, 2, "63"},
	} {
		turn, rounds := turn("localhost"), 0
		next := func(result core.Result) *core.Response {
			body := "ok"
			switch _, signs := c.effect.(core.Sign); {
			case result.Failure != core.None:
				body = string(result.Failure)
			case signs && len(result.Data) != core.SignatureSize:
				body = "63"
			case signs:
				body = base64.StdEncoding.EncodeToString(result.Data)
			case c.name == "not verified" && !result.OK:
				body = "not ok"
			}
			return &core.Response{Status: 200, Body: []byte(body)}
		}
		r := core.Run(turn, func(turn *core.Turn) core.Outcome {
			rounds++
			turn.Begin(edgetest.Snapshot())
			return turn.Outcome(turn.Presume(c.effect, next))
		}, func([]core.Effect) []core.Result { return []core.Result{c.result} })
		if r == nil || string(r.Body) != c.body || rounds != c.rounds {
			t.Errorf("%s: %+v after %d rounds, want %s after %d", c.name, r, rounds, c.body, c.rounds)
		}
	}
}

// A round may ask for as many effects as there may be, and a turn for as many rounds.
func TestMostEffects(t *testing.T) {
	rounds := 0
	r := core.Run(&core.Turn{}, func(turn *core.Turn) core.Outcome {
		if rounds++; rounds == core.MaxRounds {
			return core.Outcome{Response: &core.Response{Status: 204}}
		}
		return core.Outcome{Effects: make([]core.Effect, core.MaxEffects)}
	}, func(effects []core.Effect) []core.Result { return make([]core.Result, len(effects)) })
	if r == nil || r.Status != 204 {
		t.Errorf("%+v", r)
	}
}

// A problem says what is wrong and where the contract stands, and shows that where it helps: on 400 and 405.
func TestProblem(t *testing.T) {
	for _, c := range []struct {
		problem *core.ProblemType
		url     string
		shown   bool // the contract
		faults  bool
	}{
		{core.InvalidInput, "/api/x", true, true},
		{core.MethodNotAllowed, "/api/x", true, false},
		{core.NotFound, "", false, false},
		{core.TooManyWrites, "/api/x", false, true},
		{core.Internal, "/api/x", false, false},
	} {
		turn := turn("www.example.org")
		var faults *core.Faults
		if c.faults {
			faults = &core.Faults{}
			faults.Add("f", "code", "detail")
		}
		wantURL := "https://www.example.org/openapi.json"
		if turn.ContractURL = c.url; c.url != "" {
			wantURL = "https://www.example.org" + c.url
			turn.Contract = func(w *jsondoc.Writer) { w.Str("endpoint", "x") }
		}
		r := turn.Problem(c.problem, "d", faults, func(w *jsondoc.Writer) { w.Bool("own", true) })
		v, err := jsondoc.Parse(r.Body)
		if err != nil || r.Status != c.problem.Status || edgetest.Header(r, "content-type") != core.MediaProblem || edgetest.Header(r, "cache-control") != "no-store" {
			t.Fatalf("%s: %d %v %s", c.problem.Slug, r.Status, r.Header, r.Body)
		}
		if v.Get("type").Text != "https://www.example.org/field-guide.html#"+c.problem.Slug || v.Get("title").Text != c.problem.Title || v.Get("detail").Text != "d" ||
			v.Get("contract_url").Text != wantURL || !v.Get("own").True || (v.Get("contract").Get("endpoint").Text == "x") != c.shown || (len(v.Get("errors").Items) == 1) != c.faults {
			t.Errorf("%s: %s", c.problem.Slug, r.Body)
		}
		if r := turn.Problem(c.problem, "d", nil, nil); strings.Contains(string(r.Body), `"own"`) || strings.Contains(string(r.Body), `"errors"`) {
			t.Errorf("%s: %s", c.problem.Slug, r.Body)
		}
	}
	if turn := turn("localhost"); turn.Problem(core.InvalidInput, "d", nil, nil).Status != 400 {
		t.Error("a problem that has no contract")
	}
}

// An input with faults is told how many there are, and what was ignored besides.
func TestInvalid(t *testing.T) {
	for _, c := range []struct {
		faults  int
		body    string
		detail  string
		ignored int
	}{{1, `{"x":1}`, "1 fault found; nothing was recorded.", 1}, {2, `{}`, "2 faults found; nothing was recorded.", 0}} {
		in := core.ParseBody([]byte(c.body))
		for range c.faults {
			in.Add("f", "code", "detail")
		}
		v, err := jsondoc.Parse(turn("localhost").Invalid(in).Body)
		if err != nil || !strings.HasPrefix(v.Get("detail").Text, c.detail) || len(v.Get("ignored_fields").Items) != c.ignored || (v.Get("ignored_fields").Kind == jsondoc.Absent) != (c.ignored == 0) {
			t.Errorf("%s, %v, want %s", v.Raw, err, c.detail)
		}
	}
}

// What could not be stored is told as not recorded where that is certain, and as not known where it is not.
func TestUnstored(t *testing.T) {
	for failure, want := range map[core.Failure]string{core.Refused: "nothing was recorded", core.Unavailable: "nothing was recorded", core.Timeout: "is not known"} {
		if r := turn("localhost").Unstored(failure); r.Status != 503 || edgetest.Header(r, "retry-after") != "30" || !strings.Contains(string(r.Body), want) {
			t.Errorf("%s: %d %v %s", failure, r.Status, r.Header, r.Body)
		}
	}
	own := &core.Response{Status: 502}
	turn := turn("localhost")
	if r := turn.Unfinished(); r.Status != 500 || !strings.Contains(string(r.Body), "is not known") {
		t.Errorf("%+v", r)
	}
	if turn.Failed = own; turn.Unfinished() != own {
		t.Error("the turn has an answer of its own for that")
	}
}

// Identifiers are 32 digits of the turn's entropy, no two alike.
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
	if got := core.SHA256("abc"); got != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Error(got)
	}
}

// A record is stored with its address and the message about it, or alone; what is told of it is so.
func TestRecord(t *testing.T) {
	insert := core.Statement{SQL: "INSERT", Args: []any{"1"}}
	for _, c := range []struct {
		address string
		failure core.Failure
		tables  int
		status  int
	}{{"", core.None, 1, 200}, {"a@example.org", core.None, 3, 200}, {"a@example.org", core.Refused, 3, 503}} {
		turn := turn("localhost")
		var stored []core.Statement
		r := core.Run(turn, func(turn *core.Turn) core.Outcome {
			turn.Begin(edgetest.Snapshot())
			return turn.Outcome(turn.Record("registration", "id", insert, c.address, "ada", func() *core.Response { return core.Empty(200, "no-store") }))
		}, func(effects []core.Effect) []core.Result {
			stored = effects[0].(core.Exec).Statements
			return []core.Result{{Failure: c.failure}}
		})
		if r == nil || r.Status != c.status || len(stored) != c.tables || !reflect.DeepEqual(stored[0], insert) {
			t.Errorf("%+v: %+v, %v", c, r, stored)
		}
	}
	for _, c := range []struct {
		id    string
		email bool
		want  string
	}{
		{"7", true, `{"record_id":"7","recorded":true,"recorded_at":"now","email_on_file":true,"ignored_fields":["x"]}`},
		{"7", false, `{"record_id":"7","recorded":true,"recorded_at":"now","email_on_file":false,"ignored_fields":["x"]}`},
		{"", true, `{"record_id":null,"recorded":false,"recorded_at":null,"email_on_file":false,"ignored_fields":["x"]}`},
	} {
		w := jsondoc.Writer{}
		w.Open('{')
		core.WriteRecord(&w, core.ParseBody([]byte(`{"x":1}`)), c.id, "now", c.email)
		w.Close('}')
		if string(w.Buf) != c.want {
			t.Errorf("%s, want %s", w.Buf, c.want)
		}
	}
	if core.OrNull("") != nil || core.OrNull("a") != any("a") {
		t.Error("only a text that is empty is null")
	}
	w := jsondoc.Writer{}
	w.Open('{')
	turn("localhost").WriteActions(&w, "a", "/1", "b", "/2")
	w.Close('}')
	if want := `{"next_actions":[{"rel":"a","href":"https://www.example.org/1"},{"rel":"b","href":"https://www.example.org/2"}]}`; string(w.Buf) != want {
		t.Errorf("%s, want %s", w.Buf, want)
	}
}
