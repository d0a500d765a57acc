package generator_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"anteroom/edge"
	"anteroom/edge/api"
	"anteroom/edge/bizday"
	"anteroom/edge/core"
	"anteroom/edge/jsondoc"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// openapi is the published description, and a compiler of the schemas in it.
type openapi struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
}

func readOpenAPI(t *testing.T, text []byte) *openapi {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return &openapi{doc.(map[string]any), c}
}

// schema compiles the schema at a JSON pointer.
func (o *openapi) schema(t *testing.T, pointer ...string) *jsonschema.Schema {
	t.Helper()
	for i := range pointer {
		pointer[i] = strings.NewReplacer("~", "~0", "/", "~1").Replace(pointer[i])
	}
	s, err := o.compiler.Compile("openapi.json#/" + strings.Join(pointer, "/"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// member follows names into an object; nil where there is nothing.
func member(v any, names ...string) any {
	for _, name := range names {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

func value(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// Every route and method is described, with its answers and all problems that it may give.
func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	o := readOpenAPI(t, document(t, generate(t, shippedContent), "/openapi.json"))
	if servers := member(o.doc, "servers").([]any); len(servers) != 1 || member(servers[0], "url") != "https://www.anteroom.example" {
		t.Errorf("servers: %v", servers)
	}
	if security, ok := member(o.doc, "security").([]any); !ok || len(security) != 0 {
		t.Errorf("security: %v", security)
	}
	if n := len(member(o.doc, "paths").(map[string]any)); n != len(api.Routes) {
		t.Errorf("%d paths, want %d", n, len(api.Routes))
	}
	ids := []string{}
	for _, route := range api.Routes {
		for _, method := range route.Methods() {
			op := member(o.doc, "paths", route.Path, strings.ToLower(method))
			if op == nil {
				t.Errorf("%s %s is not described", method, route.Path)
				continue
			}
			ids = append(ids, member(op, "operationId").(string))
			want := []string{"200", "400", "405", "414", "421", "500"}
			switch {
			case method == "DELETE":
				want[0] = "204"
			case method == "POST":
				want = append(want, "413", "415")
			}
			for _, o := range route.Operations {
				if o.Protocol && method == "POST" {
					want = append(want, "202")
				} else if slices.Contains(o.Methods, method) && o.Writes {
					want = append(want, "429")
				}
			}
			for _, status := range want {
				if member(op, "responses", status) == nil {
					t.Errorf("%s %s does not describe %s", method, route.Path, status)
				}
			}
		}
	}
	want := []string{"getPresence", "getQuest", "getRoster", "getAup", "getOrg", "postOrg", "getWaitlist", "postWaitlist", "getReceipt", "postReceipt", "postSuggest", "getSignal", "getSelftest", "getBusinessDays", "postBusinessDays", "postMcp", "deleteMcp"}
	if !slices.Equal(ids, want) {
		t.Errorf("operations %q, want %q", ids, want)
	}
}

// The shipped content, on a host without a key, passes its own self-test, and its key file lets the signal fire. The
// examples are what the service answers.
func TestShippedContentPasses(t *testing.T) {
	o := readOpenAPI(t, document(t, generate(t, shippedContent), "/openapi.json"))
	example := func(path, id string) any {
		return member(o.doc, "paths", path, "get", "responses", "200", "content", "application/json", "examples", id, "value")
	}
	test := example("/api/selftest", "runSelftest")
	if member(test, "pass") != true || len(member(test, "steps").([]any)) < len(api.Routes)-1 {
		t.Errorf("the self-test: %v", member(test, "verdict"))
	}
	if signal := member(example("/api/signal", "readSignal"), "signal"); signal != "ready" {
		t.Errorf("the report: %v", signal)
	}
	if signal := member(example("/api/signal", "fireSignal"), "signal"); signal != "fired" {
		t.Errorf("the firing: %v", signal)
	}
}

// Every example is one that its schema takes.
func TestOpenAPIExamples(t *testing.T) {
	o := readOpenAPI(t, document(t, generate(t, shippedContent), "/openapi.json"))
	checked := 0
	check := func(where string, s *jsonschema.Schema, example any) {
		checked++
		if err := s.Validate(example); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
	content := func(pointer ...string) {
		media := member(o.doc, pointer...)
		s := func() *jsonschema.Schema { return o.schema(t, append(slices.Clone(pointer), "schema")...) }
		if example := member(media, "example"); example != nil {
			check(strings.Join(pointer, " "), s(), example)
		}
		examples, _ := member(media, "examples").(map[string]any)
		for name, example := range examples {
			check(strings.Join(pointer, " ")+" "+name, s(), member(example, "value"))
		}
	}
	for path, item := range member(o.doc, "paths").(map[string]any) {
		for method, op := range item.(map[string]any) {
			parameters, _ := member(op, "parameters").([]any)
			for i, p := range parameters {
				index := string(rune('0' + i))
				check(path+" "+member(p, "name").(string), o.schema(t, "paths", path, method, "parameters", index, "schema"), member(p, "example"))
			}
			if member(op, "requestBody") != nil {
				content("paths", path, method, "requestBody", "content", "application/json")
			}
			if member(op, "responses") != nil {
				content("paths", path, method, "responses", "200", "content", "application/json")
			}
		}
	}
	for name := range member(o.doc, "components", "responses").(map[string]any) {
		content("components", "responses", name, "content", "application/problem+json")
	}
	if checked < 40 {
		t.Errorf("only %d examples", checked)
	}
}

// No body that is published, and no query that is made of published examples, registers, files or relays anything as it is.
func TestPublishedTemplatesAreRefused(t *testing.T) {
	output := generate(t, shippedContent)
	o := readOpenAPI(t, document(t, output, "/openapi.json"))
	e, err := edge.Load(output.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(method, target string, body any) {
		text := []byte(nil)
		if body != nil {
			text, _ = json.Marshal(body)
		}
		outcome := e.Handle(&core.Turn{Request: core.Request{Method: method, Target: target, Host: output.Snapshot.CanonicalHost, Body: text}})
		if len(outcome.Effects) > 0 || outcome.Response == nil || outcome.Response.Status != 400 || !strings.Contains(string(outcome.Response.Body), `"code":"placeholder"`) {
			t.Errorf("%s %s %s: %+v", method, target, text, outcome)
		}
	}
	checked := 0
	for _, route := range api.Routes {
		for _, op := range route.Operations {
			if !op.DryRun {
				continue
			}
			checked++
			examples := member(o.doc, "paths", route.Path, "post", "requestBody", "content", "application/json", "examples").(map[string]any)
			refused("POST", route.Path, member(examples[op.ID], "value"))
			if !slices.Contains(op.Methods, "GET") {
				continue
			}
			query := url.Values{}
			for _, p := range member(o.doc, "paths", route.Path, "get", "parameters").([]any) {
				if name := member(p, "name").(string); name != api.DryRun.Name {
					query.Set(name, member(p, "example").(string))
				}
			}
			refused("GET", route.Path+"?"+query.Encode(), nil)
		}
	}
	org, board := value(t, string(output.Snapshot.Documents["org"])), value(t, string(output.Snapshot.Documents["roster"]))
	refused("POST", "/api/org", member(org, "post_template"))
	refused("POST", "/api/waitlist", member(board, "pilot_waitlist", "convert", "post_body"))
	_, query, _ := strings.Cut(member(board, "pilot_waitlist", "convert", "get").(string), "?")
	refused("GET", "/api/waitlist?"+query, nil)
	if checked != 3 {
		t.Errorf("%d operations", checked)
	}
}

// What the edge answers from the snapshot is as the schema of the answer says, and has no member besides.
func TestOpenAPIAnswers(t *testing.T) {
	output := generate(t, shippedContent)
	o := readOpenAPI(t, document(t, output, "/openapi.json"))
	for _, key := range []string{"", "MCowBQYDK2VwAyEAMCowBQYDK2VwAyEAMCowBQYDK2U="} {
		turn := &core.Turn{Snapshot: output.Snapshot, Now: 1_800_000_000, Host: core.Host{PublicKey: key}}
		turn.Request.Host = output.Snapshot.CanonicalHost
		for _, route := range api.Routes {
			for _, op := range route.Operations {
				if op.Document == nil {
					continue
				}
				w := jsondoc.Writer{Buf: slices.Clone(output.Snapshot.Documents[op.Document.ID])}
				w.Buf = w.Buf[:len(w.Buf)-1]
				if op.Document.Tail != nil {
					op.Document.Tail(turn, &w)
				}
				turn.Trailer(&w)
				w.Close('}')
				answer := value(t, string(w.Buf))
				s := o.schema(t, "paths", route.Path, "get", "responses", "200", "content", "application/json", "schema")
				if err := s.Validate(answer); err != nil {
					t.Errorf("%s: %v", op.ID, err)
				}
				known := properties(s)
				for name := range answer.(map[string]any) {
					if !known[name] {
						t.Errorf("%s answers %s, which no schema names", op.ID, name)
					}
				}
			}
		}
	}
}

// properties are the names that a schema gives to members, at its own level.
func properties(s *jsonschema.Schema) map[string]bool {
	names := map[string]bool{}
	var walk func(s *jsonschema.Schema)
	walk = func(s *jsonschema.Schema) {
		if s == nil {
			return
		}
		for name := range s.Properties {
			names[name] = true
		}
		walk(s.Ref)
		for _, part := range slices.Concat(s.AllOf, s.AnyOf) {
			walk(part)
		}
	}
	walk(s)
	return names
}

// The schemas of bodies take and refuse what the specification says.
func TestOpenAPIBodies(t *testing.T) {
	o := readOpenAPI(t, document(t, generate(t, shippedContent), "/openapi.json"))
	seat := func(position, allocation string) string {
		return `{"position":"` + position + `","agent_name":"a","allocation":` + allocation + `}`
	}
	four := seat("rainmaker", "20") + "," + seat("operator", "20") + "," + seat("verifier", "20") + "," + seat("scout", "20")
	name := func(n int) string { return `{"agent_name":"` + strings.Repeat("😀", n) + `"}` }
	for _, test := range []struct {
		path, body string
		ok         bool
	}{
		{"/api/waitlist", `{"agent_name":"a"}`, true},
		{"/api/waitlist", `{"pubkey":"k"}`, true},
		{"/api/waitlist", `{"agent_name":"a","surprise":1}`, true},
		{"/api/waitlist", `{}`, false},
		{"/api/waitlist", `{"owner_email":"owner@example.org"}`, false},
		{"/api/waitlist", `{"agent_name":1}`, false},
		{"/api/waitlist", `{"agent_name":"a\u0000"}`, false},
		{"/api/waitlist", name(80), true},
		{"/api/waitlist", name(81), false},
		{"/api/waitlist", `{"pubkey":"` + strings.Repeat("k", 513) + `"}`, false},
		{"/api/org", `{"org_name":"abc","roster":[` + four + `,` + seat("treasurer", "20") + `]}`, true},
		{"/api/org", `{"org_name":"abc","roster":[` + four + `]}`, false},
		{"/api/org", `{"org_name":"abc","roster":[` + four + `,` + seat("treasurer", "4") + `]}`, false},
		{"/api/org", `{"org_name":"abc","roster":[` + four + `,` + seat("jester", "20") + `]}`, false},
		{"/api/org", `{"org_name":"ab","roster":[` + four + `,` + seat("treasurer", "20") + `]}`, false},
		{"/api/receipt", `{}`, true},
		{"/api/receipt", `{"note":"` + strings.Repeat("n", 140) + `"}`, true},
		{"/api/receipt", `{"note":"` + strings.Repeat("n", 141) + `"}`, false},
		{"/api/receipt", `{"surprise":1}`, false},
		{"/api/receipt", `{"verify":{}}`, true},
		{"/api/receipt", `{"verify":null}`, false},
		{"/api/suggest", `{"suggestion":"0123456789"}`, true},
		{"/api/suggest", `{"message":"0123456789","email":"owner@example.org"}`, true},
		{"/api/suggest", `{"message":"012345678"}`, false},
		{"/api/suggest", `{"suggestion":"` + strings.Repeat("s", 4001) + `"}`, false},
		{"/api/suggest", `{"contact":"owner@example.org"}`, false},
		{"/api/business-days", `{"op":"is","calendar":"de, fr","date":"2026-11-20"}`, true},
		{"/api/business-days", `{"op":"add","calendar":["de","fr"],"start":"2026-11-20","days":-1}`, true},
		{"/api/business-days", `{"op":"is","calendar":["mars"],"date":"2026-11-20"}`, false},
		{"/api/business-days", `{"op":"is","calendar":[],"date":"2026-11-20"}`, false},
		{"/api/business-days", `{"op":"is","calendar":"de","date":"2026-02-30"}`, false},
		{"/api/business-days", `{"op":"leap","calendar":"de"}`, false},
		{"/api/business-days", `{"op":"holidays","calendar":"de","year":2051}`, false},
		{"/api/business-days", `{"op":"roll","calendar":"de","date":"2026-11-20","convention":"sideways"}`, false},
		{"/api/business-days", `{"date":"2026-11-20"}`, false},
	} {
		s := o.schema(t, "paths", test.path, "post", "requestBody", "content", "application/json", "schema")
		if err := s.Validate(value(t, test.body)); (err == nil) != test.ok {
			t.Errorf("%s %.80s: %v", test.path, test.body, err)
		}
	}
	for path, required := range map[string]bool{"/api/waitlist": true, "/api/org": true, "/api/receipt": false, "/api/suggest": true, "/api/business-days": true} {
		if got := member(o.doc, "paths", path, "post", "requestBody", "required"); got != required {
			t.Errorf("the body of %s is required: %v, want %v", path, got, required)
		}
	}
}

// The problem that the edge answers is as its schema says.
func TestOpenAPIProblem(t *testing.T) {
	output := generate(t, shippedContent)
	o := readOpenAPI(t, document(t, output, "/openapi.json"))
	for status, test := range map[string]struct {
		name    string
		problem *core.ProblemType
		faults  bool
	}{
		"400": {"InvalidInput", core.InvalidInput, true}, "405": {"MethodNotAllowed", core.MethodNotAllowed, false},
		"429": {"TooManyWrites", core.TooManyWrites, true}, "503": {"StoreUnavailable", core.StoreUnavailable, false},
	} {
		turn := &core.Turn{Snapshot: output.Snapshot}
		turn.Request.Host = "localhost"
		turn.Contract = func(w *jsondoc.Writer) {
			doc := output.Snapshot.Documents["waitlist"]
			w.Buf = append(w.Buf, doc[1:len(doc)-1]...)
		}
		var faults *core.Faults
		if test.faults {
			faults = new(core.Faults)
			faults.Add("agent_name", core.TooLong, "has 81 code points, and 80 is the most")
		}
		body := turn.Problem(test.problem, "what is wrong", faults, nil).Body
		s := o.schema(t, "components", "responses", test.name, "content", "application/problem+json", "schema")
		if err := s.Validate(value(t, string(body))); err != nil {
			t.Errorf("%s: %v", status, err)
		}
		if err := s.Validate(value(t, `{"status":400}`)); err == nil {
			t.Errorf("%s takes anything", status)
		}
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(document(t, output, "/openapi.json"), &doc); err != nil {
		t.Fatal(err)
	}
}

// The result of a computation has a type for each operation; its schema takes them all.
func TestOpenAPIComputations(t *testing.T) {
	output := generate(t, shippedContent)
	o := readOpenAPI(t, document(t, output, "/openapi.json"))
	s := o.schema(t, "paths", "/api/business-days", "post", "responses", "200", "content", "application/json", "schema")
	known := properties(s)
	for _, body := range []string{
		`{"op":"is","calendar":"de","date":"2026-12-25"}`, `{"op":"add","calendar":"de","start":"2026-12-25","days":0}`,
		`{"op":"count","calendar":["de","fr"],"start":"2000-01-01","end":"2050-12-31","x":1}`, `{"op":"next","calendar":"de","date":"2026-12-25"}`,
		`{"op":"previous","calendar":"de","date":"2026-12-25"}`, `{"op":"roll","calendar":"de","date":"2026-12-25","convention":"nearest"}`,
		`{"op":"holidays","calendar":"de","year":2026}`,
	} {
		turn := &core.Turn{Snapshot: output.Snapshot}
		turn.Request.Host = output.Snapshot.CanonicalHost
		answer := value(t, string(bizday.Compute(turn, core.ParseBody([]byte(body))).Body))
		if err := s.Validate(answer); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		for name := range answer.(map[string]any) {
			if !known[name] {
				t.Errorf("%s: answers %s, which no schema names", body, name)
			}
		}
	}
}
