package generator_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/input"
	"anteroom/edge/native/static"
	"anteroom/edge/turn"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// openapi is the published description, and a compiler of the schemas in it.
type openapi struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
}

func readOpenAPI(t *testing.T, text []byte) *openapi {
	t.Helper()
	doc := value(t, string(text))
	return &openapi{doc.(map[string]any), compiler(t, "openapi.json", doc)}
}

// compiler compiles schemas in a document.
func compiler(t *testing.T, url string, doc any) *jsonschema.Compiler {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(url, doc); err != nil {
		t.Fatal(err)
	}
	return c
}

// compiled is the schema at a fragment of a document.
func compiled(t *testing.T, url string, doc any, fragment string) *jsonschema.Schema {
	t.Helper()
	s, err := compiler(t, url, doc).Compile(url + fragment)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// resolve follows a reference.
func (o *openapi) resolve(v any) any {
	if ref, ok := member(v, "$ref").(string); ok {
		return member(o.doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return v
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

// describedAs is the method under which the description has what a request does. It has a GET that
// writes as the POST of its path, and a HEAD as a GET. It is "" for what only a contract describes:
// a GET that writes where there is no such POST, and OPTIONS.
func describedAs(method, target string, header func(name string) string) string {
	path, query, _ := strings.Cut(target, "?")
	switch method {
	case "OPTIONS":
		return ""
	case "HEAD":
		return "GET"
	case "GET":
		isSet := func(name string) bool { return header(name) != "" }
		previews := func(agent string) bool {
			return strings.Contains(strings.ToLower(header("user-agent")), strings.ToLower(agent+"/"))
		}
		purposes := []string{"sec-fetch-mode", "purpose", "sec-purpose", "x-purpose", "x-moz"}
		if slices.ContainsFunc(purposes, isSet) || slices.ContainsFunc(api.PreviewAgents, previews) {
			return "GET" // speculative: it does not write
		}
		for _, route := range api.Routes {
			for _, op := range route.Operations {
				chosen := op.Chosen == nil || op.Chosen(input.ParseQuery(query))
				if route.Path == path && slices.Contains(op.Methods, method) && chosen {
					return operationAs(route, op, method)
				}
			}
		}
	}
	return method
}

// operationAs is describedAs for the requests of an operation.
func operationAs(route *api.Route, op *api.Operation, method string) string {
	switch {
	case method != "GET" || !op.Writes:
		return method
	case route.Answers("POST"):
		return "POST"
	}
	return ""
}

// described is what the description says about an answer to a method, and nil where it says
// nothing. It looks a method that the path does not have up as the 405 of the path.
func (o *openapi) described(path, method string, status int) any {
	item, _ := member(o.doc, "paths", path).(map[string]any)
	op := item[strings.ToLower(method)]
	if op == nil && status == http.StatusMethodNotAllowed {
		for _, method := range []string{"post", "get"} { // the refusal at a GET may say more
			if other := item[method]; member(other, "responses", "405") != nil {
				op = other
			}
		}
	}
	return o.resolve(member(op, "responses", strconv.Itoa(status)))
}

// checkDescribed checks that an answer is one that the description has: its status, its media type,
// and those of its header fields that an agent reads.
func (o *openapi) checkDescribed(t *testing.T, path, method string, status int, header http.Header) {
	t.Helper()
	response := o.described(path, method, status)
	if response == nil {
		t.Errorf("%s %s answers %d, which is not described", method, path, status)
		return
	}
	content, _ := member(response, "content").(map[string]any)
	if mediaType, _, _ := strings.Cut(header.Get("Content-Type"), ";"); mediaType != "" && content[mediaType] == nil {
		t.Errorf("%s %s: the answer %d is of type %s, which is not described", method, path, status, mediaType)
	}
	headers, _ := member(response, "headers").(map[string]any)
	for _, name := range []string{
		"Allow", "Cache-Control", "ETag", "Link", "RateLimit", "RateLimit-Policy", "Retry-After",
	} {
		if header.Get(name) != "" && headers[name] == nil {
			t.Errorf("%s %s: the answer %d has the header field %s, which is not described", method, path, status, name)
		}
	}
}

// Each described document matches its schema and has no other member. The answers of a server to
// requests for it are described too.
func TestOpenAPIDescribesDocuments(t *testing.T) {
	output := generate(t, withLists(t))
	o := readOpenAPI(t, document(t, output, "/openapi.json"))
	host, err := static.New(output.Documents)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, etag string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		r.Header.Set("If-None-Match", etag)
		answer := httptest.NewRecorder()
		host.ServeHTTP(answer, r)
		return answer
	}
	described := slices.DeleteFunc(slices.Sorted(maps.Keys(member(o.doc, "paths").(map[string]any))), func(path string) bool {
		return strings.HasPrefix(path, "/api/")
	})
	for _, path := range described {
		got := ask("GET", path, "")
		o.checkDescribed(t, path, "GET", got.Code, got.Header())
		unchanged := ask("GET", path, got.Header().Get("ETag"))
		o.checkDescribed(t, path, "GET", unchanged.Code, unchanged.Header())
		refused := edgetest.NewFake(t).Do("POST", path, "", api.Published.Name, api.Published.Value)
		o.checkDescribed(t, path, "POST", refused.Status, http.Header{"Allow": {refused.Get("allow")}})
		if got.Code != 200 || unchanged.Code != 304 || refused.Status != 405 {
			t.Errorf("%s: %d, %d where it is known, %d for a POST", path, got.Code, unchanged.Code, refused.Status)
		}
		if !strings.HasSuffix(path, ".json") {
			continue
		}
		s := o.schema(t, "paths", path, "get", "responses", "200", "content", "application/json", "schema")
		doc := value(t, got.Body.String())
		if err := s.Validate(doc); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, name := range undescribed([]*jsonschema.Schema{s}, doc, map[string]bool{}) {
			t.Errorf("%s holds %s, which no schema names", path, name)
		}
	}
}

// Nothing in the description stops the common generators of clients: they follow no reference into
// properties, make no type of several or of an anyOf, and call components of all sections by one
// set of names.
func TestOpenAPIFitsGenerators(t *testing.T) {
	o := readOpenAPI(t, document(t, shipped(), "/openapi.json"))
	var walk func(where string, v any)
	walk = func(where string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, _ := v["$ref"].(string); strings.Contains(ref, "/properties/") {
				t.Errorf("%s refers to %s", where, ref)
			}
			if v["anyOf"] != nil {
				t.Errorf("%s has an anyOf", where)
			}
			if types, _ := v["type"].([]any); len(types) > 2 || len(types) == 2 && !slices.Contains(types, any("null")) {
				t.Errorf("%s has the types %v", where, types)
			}
			for name, inner := range v {
				walk(where+" "+name, inner)
			}
		case []any:
			for i, inner := range v {
				walk(where+" "+strconv.Itoa(i), inner)
			}
		}
	}
	walk("", o.doc)
	sections := map[string]string{}
	for section, components := range member(o.doc, "components").(map[string]any) {
		for name := range components.(map[string]any) {
			same := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
			if other := sections[same]; other != "" {
				t.Errorf("%s is a name in %s and in %s", name, other, section)
			}
			sections[same] = section
		}
	}
}

// The pattern of an Idempotency-Key takes what the service takes.
func TestKeyPattern(t *testing.T) {
	output := shipped()
	o := readOpenAPI(t, document(t, output, "/openapi.json"))
	pattern := regexp.MustCompile(member(o.doc, "components", "parameters", api.Key.Name, "schema", "pattern").(string))
	h := &edgetest.Fake{Edge: edgetest.Load(t, output.Snapshot)}
	const text = "0b1c9d7e-0000-4000-8000-0000000000010b1c9d7e-0000-4000-8000-00000000000" // 71 characters
	for key, taken := range map[string]bool{
		text[:15]: false, text[:16]: true, text[:64]: true, text[:65]: false, `"` + text[:15] + `"`: false, `"` + text[:64] + `"`: true, `"` + text[:65] + `"`: false,
		`"` + text[:15] + `\""`: true, `"` + text[:14] + `\""`: false, `"` + text[:15] + `\x"`: false, `"` + text[:16]: false, text[:16] + `\`: true,
		text[:8] + " " + text[:8]: true, text[:16] + "é": false, text[:16] + "\x7f": false, "!~" + text[:14]: true, text[:16] + ",x": false, `"` + text[:16] + `,x"`: true,
	} {
		r := h.Do("POST", "/api/waitlist", `{"agent_name":"ada"}`, "host", output.Snapshot.CanonicalHost, "idempotency-key", key)
		if (r.Status == 200) != taken || pattern.MatchString(key) != taken {
			t.Errorf("%q: %d, the pattern takes it: %v", key, r.Status, pattern.MatchString(key))
		}
	}
}

// On a host without a key the shipped content passes its own self-test, and its key file lets the
// signal fire.
func TestShippedContentPasses(t *testing.T) {
	o := shipped()
	host := o.Snapshot.CanonicalHost
	h := &edgetest.Fake{Edge: edgetest.Load(t, o.Snapshot)}
	h.Exec = func(e turn.Exec) turn.Result {
		result := turn.Result{Rows: make([][][]any, len(e.Statements))}
		result.Rows[0] = [][]any{{int64(1)}}
		return result
	}
	h.Fetch = func(e turn.Fetch) turn.Result {
		target := strings.TrimPrefix(e.URL, "https://"+host)
		if e.Self {
			r := (&edgetest.Fake{Edge: h.Edge}).Do(e.Method, target, string(e.Body), "host", host)
			return turn.Result{Status: r.Status, Data: r.Body}
		}
		result := turn.Result{Status: 200}
		if target == "/"+o.Snapshot.IndexNowKey+".txt" {
			result.Data = []byte(o.Snapshot.IndexNowKey)
		}
		return result
	}
	ask := func(target string) map[string]any { return edgetest.Decode(t, h.Do("GET", target, "", "host", host)) }
	for _, suite := range []string{"funnel", "mcp"} {
		if test := ask("/api/selftest?suite=" + suite); test["pass"] != true {
			t.Errorf("the self-test %s: %v", suite, test["verdict"])
		}
	}
	if steps := ask("/api/selftest")["steps"].([]any); len(steps) < len(api.Routes)-1 {
		t.Errorf("the self-test has %d steps", len(steps))
	}
	if signal := ask("/api/signal")["signal"]; signal != "ready" {
		t.Errorf("the report: %v", signal)
	}
	fired := ask("/api/signal?fire=1")
	if err := firing(t, readOpenAPI(t, document(t, o, "/openapi.json")), 200).Validate(fired); err != nil || fired["signal"] != "fired" {
		t.Errorf("the firing: %v, %v", fired, err)
	}
}

// Every example is one that its schema takes.
func TestOpenAPIExamples(t *testing.T) {
	o := readOpenAPI(t, document(t, shipped(), "/openapi.json"))
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
				if member(p, "$ref") == nil {
					check(path+" "+member(p, "name").(string), o.schema(t, "paths", path, method, "parameters", strconv.Itoa(i), "schema"), member(p, "example"))
				}
			}
			if member(op, "requestBody") != nil {
				content("paths", path, method, "requestBody", "content", "application/json")
			}
			if member(op, "responses") != nil {
				content("paths", path, method, "responses", "200", "content", "application/json")
			}
		}
	}
	for name, p := range member(o.doc, "components", "parameters").(map[string]any) {
		check(name, o.schema(t, "components", "parameters", name, "schema"), member(p, "example"))
	}
	for name := range member(o.doc, "components", "responses").(map[string]any) {
		content("components", "responses", name, "content", "application/problem+json")
		content("components", "responses", name, "content", "application/json")
	}
	if checked < 25 {
		t.Errorf("only %d examples", checked)
	}
}

// No published body registers, files or relays anything as it is.
func TestPublishedTemplatesAreRefused(t *testing.T) {
	output := shipped()
	o := readOpenAPI(t, document(t, output, "/openapi.json"))
	refused := func(method, path string, body any) {
		text := ""
		if body != nil {
			encoded, _ := json.Marshal(body)
			text = string(encoded)
		}
		h := keyedHost(t, output)
		refusedAsTemplate(t, h, path+" "+text, send(t, h, output, call{method, output.Snapshot.BaseURL() + path, text}))
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

// The schemas of bodies take every valid body, and refuse what a schema can tell to be invalid.
func TestOpenAPIBodies(t *testing.T) {
	o := readOpenAPI(t, document(t, shipped(), "/openapi.json"))
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
		{"/api/waitlist", `{"agent_name":"a\u0000"}`, false},
		{"/api/waitlist", name(80), true},
		{"/api/waitlist", name(81), false},
		{"/api/org", `{"org_name":"abc","roster":[` + four + `,` + seat("treasurer", "20") + `]}`, true},
		{"/api/org", `{"org_name":"abc","roster":[` + four + `]}`, false},
		{"/api/org", `{"org_name":"abc","roster":[` + four + `,` + seat("treasurer", "4") + `]}`, false},
		{"/api/receipt", `{"note":"` + strings.Repeat("n", 141) + `"}`, false},
		{"/api/suggest", `{"message":"0123456789","email":"owner@example.org"}`, true},
		{"/api/suggest", `{"contact":"owner@example.org"}`, false},
		{"/api/business-days", `{"op":"is","calendar":"de, fr","date":"2026-11-20"}`, true},
		{"/api/business-days", `{"op":"add","calendar":["de","fr"],"start":"2026-11-20","days":-1}`, true},
		{"/api/business-days", `{"op":"is","calendar":["mars"],"date":"2026-11-20"}`, false},
		{"/api/business-days", `{"op":"is","calendar":"de","date":"2026-02-30"}`, false},
		{"/api/business-days", `{"op":"holidays","calendar":"de","year":2051}`, false},
	} {
		s := o.schema(t, "paths", test.path, "post", "requestBody", "content", "application/json", "schema")
		if err := s.Validate(value(t, test.body)); (err == nil) != test.ok {
			t.Errorf("%s %.80s: %v", test.path, test.body, err)
		}
	}
}
