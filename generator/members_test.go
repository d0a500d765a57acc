package generator_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"anteroom/edge"
	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/signal"
	"anteroom/edge/native"
	"anteroom/edge/respond"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
	"anteroom/generator/contract"
	"anteroom/generator/output"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestMembers compares real answers of every operation with their descriptions. Each has a status,
// a media type and header fields that are described. A member is named
// in two places: in the type that describes it, and where it is written. The test fails where the
// two differ in a name, a type or the required members, and where a member is described and never
// answered.
func TestMembers(t *testing.T) {
	// The newest board has a correction, and a key was revoked, which few services have.
	output := generate(t, overlay(t, edits{
		"scoreboard/2026-11-20.yaml": func(board string) string {
			return board + "correction:\n  - {number: suggestions.shipped, was: 0, board: 2026-09-22, reason: None.}\n"
		},
		"service.yaml": withRevoked,
	}))
	o := readOpenAPI(t, document(t, output, "/openapi.json"))
	seen, checked := map[string]bool{}, map[string]*jsonschema.Schema{}
	for _, a := range recordAnswers(t, output.Snapshot, o) {
		path, _, _ := strings.Cut(a.request.Target, "?")
		if len(a.response.Body) == 0 || !api.IsDynamic(path) || path == "/api/mcp" && a.request.Method == http.MethodPost {
			continue // only endpoints are described, and package mcp has tests for the messages of its protocol
		}
		as := describedAs(a.request.Method, a.request.Target, a.request.Get)
		if as == "" && strings.Contains(string(a.response.Body), `"signal":"blocked"`) {
			as = a.request.Method // a host that does not fire answers the report
		}
		what := strings.Join([]string{a.request.Method, path, "as", as, strconv.Itoa(a.response.Status)}, " ")
		s := checked[what]
		if s == nil {
			if as == "" {
				s = firing(t, o, a.response.Status)
			} else if response := o.described(path, as, a.response.Status); response != nil {
				for _, media := range member(response, "content").(map[string]any) { // there is one
					s = o.compile(t, member(media, "schema"))
				}
			} else if s = o.schema(t, "components", "schemas", "Problem"); a.response.Status < 400 { // for a path that is not of a route
				t.Errorf("%s is not described", what)
			}
		}
		answer := value(t, string(a.response.Body))
		if err := s.Validate(answer); err != nil {
			t.Errorf("%s: %v\n%s", what, err, a.response.Body)
		}
		for _, name := range undescribed([]*jsonschema.Schema{s}, answer, seen) {
			t.Errorf("%s: %s is not described", what, name)
		}
		checked[what] = s
	}
	for _, route := range api.Routes {
		for _, op := range route.Operations {
			for _, method := range op.Methods {
				as := operationAs(route, op, method)
				status := "200"
				if as == "" { // these hosts reach no search engine
					status = strconv.Itoa(respond.SignalFailed.Status)
				}
				if !op.Protocol && method != http.MethodDelete && checked[method+" "+route.Path+" as "+as+" "+status] == nil {
					t.Errorf("%s %s: no answer of %s was seen", method, route.Path, op.ID)
				}
			}
		}
	}
	if len(seen) < 150 {
		t.Errorf("only %d members were seen", len(seen))
	}
	// Every member of a component of answers must be in some answer.
	for name := range member(o.doc, "components", "schemas").(map[string]any) {
		prefix := o.schema(t, "components", "schemas", name).Location + " "
		if !slices.ContainsFunc(slices.Collect(maps.Keys(seen)), func(member string) bool { return strings.HasPrefix(member, prefix) }) {
			continue // a component of requests or of documents
		}
		for member := range o.schema(t, "components", "schemas", name).Properties {
			if !seen[prefix+member] {
				t.Errorf("%s.%s is described, and no answer has it", name, member)
			}
		}
	}
}

// firing is the schema of an answer to a GET that fires the signal, which only the contract
// describes.
func firing(t *testing.T, o *openapi, status int) *jsonschema.Schema {
	t.Helper()
	own, common := reflect.TypeFor[signal.Fired](), "Trailer"
	if status >= 400 {
		own, common = contract.ExtensionMembers[respond.SignalFailed], "Problem"
	}
	parts := []any{map[string]any{"$ref": "#/components/schemas/" + common}}
	if status < 400 || status == respond.SignalFailed.Status {
		parts = append(parts, value(t, string(output.Compact(contract.Inline(own)))))
	}
	return o.compile(t, map[string]any{"allOf": parts})
}

// compile compiles a schema that refers to components.
func (o *openapi) compile(t *testing.T, schema any) *jsonschema.Schema {
	t.Helper()
	document := maps.Clone(o.doc)
	document["answer"] = schema
	return compiled(t, "openapi.json", document, "#/answer")
}

// undescribed are the members of a value that none of the schemas for it names, and no part of
// these. It keeps the named ones in seen, as "LOCATION NAME".
func undescribed(schemas []*jsonschema.Schema, v any, seen map[string]bool) (names []string) {
	var parts []*jsonschema.Schema
	var add func(s *jsonschema.Schema)
	add = func(s *jsonschema.Schema) {
		if s == nil || slices.Contains(parts, s) {
			return
		}
		parts = append(parts, s)
		add(s.Ref)
		for _, part := range s.AllOf {
			add(part)
		}
		for _, choice := range slices.Concat(s.AnyOf, s.OneOf) {
			if choice.Validate(v) == nil {
				add(choice)
			}
		}
	}
	for _, s := range schemas {
		add(s)
	}
	switch v := v.(type) {
	case []any:
		var items []*jsonschema.Schema
		for _, s := range parts {
			if s.Items2020 != nil {
				items = append(items, s.Items2020)
			}
		}
		for _, item := range v {
			names = append(names, undescribed(items, item, seen)...)
		}
	case map[string]any:
		anything := !slices.ContainsFunc(parts, func(s *jsonschema.Schema) bool { return len(s.Properties) > 0 || s.AdditionalProperties != nil })
		for name, inner := range v {
			var of []*jsonschema.Schema
			open := anything
			for _, s := range parts {
				if p := s.Properties[name]; p != nil {
					of = append(of, p)
					seen[s.Location+" "+name] = true
				} else if other, is := s.AdditionalProperties.(*jsonschema.Schema); is {
					of = append(of, other)
				}
				open = open || len(s.PatternProperties) > 0 || s.AdditionalProperties == true
			}
			if len(of) > 0 {
				inner := undescribed(of, inner, seen)
				if name != "contract" { // that in a problem may have further members of its endpoint
					names = append(names, inner...)
				}
			} else if !open {
				names = append(names, name)
			}
		}
	}
	return names
}

// recordedAnswer is a request and what the core answered.
type recordedAnswer struct {
	request  turn.Request
	response *turn.Response
}

// recordAnswers runs the transcripts on the native host, and records what the core would have
// answered with the documents of the content. What the host itself answers must be described.
func recordAnswers(t *testing.T, content *snapshot.Snapshot, o *openapi) (recorded []recordedAnswer) {
	var mu sync.Mutex
	answered := 0
	serve := func(t *testing.T, s *snapshot.Snapshot) string {
		host, err := native.Open(native.Config{
			Data: t.TempDir(), Create: true, Key: edgetest.Key, Snapshot: s, Log: slog.New(slog.DiscardHandler),
			Load: func(s *snapshot.Snapshot) (native.Edge, error) {
				full := *s
				full.Documents = content.Documents
				shadow, err := edge.Load(&full)
				if err != nil {
					return nil, err
				}
				e, err := edge.Load(s)
				return recorder{e, shadow, func(a recordedAnswer) {
					mu.Lock()
					recorded = append(recorded, a)
					mu.Unlock()
				}}, err
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			host.ServeHTTP(answer, r)
			if known := slices.ContainsFunc(api.Routes, func(route *api.Route) bool { return route.Path == r.URL.Path }); known && r.Host != s.ApexHost && r.URL.RawPath == "" {
				mu.Lock()
				answered++
				mu.Unlock()
				as, header := describedAs(r.Method, r.URL.RequestURI(), r.Header.Get), answer.Header().Clone()
				if as != r.Method {
					header.Del("Link") // every answer to a GET has it
				}
				if as != "" {
					o.checkDescribed(t, r.URL.Path, as, answer.Code, header)
				}
			}
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			w.Write(answer.Body.Bytes())
		}))
		t.Cleanup(func() {
			server.Close()
			if err := host.Close(); err != nil {
				t.Error(err)
			}
		})
		return server.URL
	}
	edgetest.RunTranscripts(t, serve)
	if answered < 150 {
		t.Errorf("only %d answers", answered)
	}
	full := edgetest.Snapshot()
	full.Documents = content.Documents
	base, host := serve(t, full), full.CanonicalHost
	ask := func(method, target, body string) {
		r, err := http.NewRequest(method, base+target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	for _, route := range api.Routes {
		for _, method := range route.Methods() {
			ask(method, route.Path, "")
		}
	}
	var parameters, members string // more unknown fields than an answer lists
	for i := range 60 {
		parameters += fmt.Sprintf("&x%d=1", i)
		members += fmt.Sprintf(`,"x%d":1`, i)
	}
	ask("GET", "/api/nowhere", "")
	ask("POST", "/api/waitlist", `{"agent_name":"ada"`+members+`}`)
	ask("POST", "/api/waitlist", `{"agent_name":7`+members+`}`)
	ask("GET", "/api/org?org_name=Tern&rainmaker=a:30&operator=b:25&verifier=c:20&scout=d:15&treasurer=e:10"+parameters, "")
	ask("POST", "/api/suggest", `{"message":"More than ten letters."`+members+`}`)
	ask("POST", "/api/receipt?x="+parameters, `{"agent_name":"ada"}`)
	ask("POST", "/api/receipt", `{"agent_name":"ada"`+members+`}`)
	ask("POST", "/api/receipt", `{"verify":{"canonical":"{}"`+members+`}`+members+`}`)
	ask("GET", "/api/selftest?suite=mcp", "")
	ask("GET", "/api/business-days?op=next&calendar=de&date=2026-12-24"+parameters, "")
	ask("POST", "/api/business-days?"+parameters, `{"requests":[{"op":"is","calendar":"de","date":"2026-12-24"}]}`)
	host = full.PreviewHosts[0]
	ask("GET", "/api/signal?fire=1"+parameters, "")
	return recorded
}

// recorder is a core beside which a second one, the shadow, answers every request too. Only answers
// of the shadow are recorded.
type recorder struct {
	native.Edge
	shadow *edge.Edge
	record func(recordedAnswer)
}

func (r recorder) Handle(t *turn.Turn) turn.Outcome {
	outcome := r.Edge.Handle(t)
	same := turn.Turn{Request: t.Request, Now: t.Now, Entropy: t.Entropy, Host: t.Host, Journal: t.Journal}
	if o := r.shadow.Handle(&same); o.Response != nil {
		r.record(recordedAnswer{t.Request, o.Response})
	}
	return outcome
}
