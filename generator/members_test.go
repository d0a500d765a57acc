package generator_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"anteroom/edge"
	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/jsondoc"
	"anteroom/edge/native"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// TestMembers compares real answers of every operation with their descriptions. A member is named
// in two places: in the type that describes it, and where it is written. The test fails where the
// two differ in a name, a type, the order or the required members, and where a member is described
// and never answered.
func TestMembers(t *testing.T) {
	// The newest board has a correction, which most boards lack.
	output := generate(t, overlay(t, map[string]func(string) string{"scoreboard/2026-11-20.yaml": func(board string) string {
		return board + "correction:\n  - {number: suggestions.shipped, was: 0, board: 2026-09-22, reason: None.}\n"
	}}))
	d := &describedAnswers{description: ordered(t, document(t, output, "/openapi.json")), seen: map[string]bool{}}
	recorded := recordAnswers(t, output.Snapshot)
	checked := map[string]bool{}
	for _, a := range recorded {
		path, _, _ := strings.Cut(a.request.Target, "?")
		if len(a.response.Body) == 0 || health.IsPath(path) || path == "/api/mcp" && a.request.Method == http.MethodPost {
			continue // checks are described to nobody, and package mcp has tests for the messages of its protocol
		}
		responses := d.description.at("paths", path, strings.ToLower(a.request.Method), "responses", strconv.Itoa(a.response.Status))
		if responses.value == nil { // the refusal of a method that the path lacks may be described at its GET
			responses = d.description.at("paths", path, "get", "responses", strconv.Itoa(a.response.Status))
		}
		schema := d.description.at("components", "schemas", "Problem") // for a path that is no route
		if responses.value != nil {
			schema = d.resolve(responses).at("content").members()[0].at("schema")
		} else if a.response.Status < 400 {
			t.Errorf("%s %s %d is not described", a.request.Method, a.request.Target, a.response.Status)
		}
		if faults := d.faults(schema, ordered(t, a.response.Body), ""); len(faults) > 0 {
			t.Errorf("%s %s %d: %s\n%s", a.request.Method, a.request.Target, a.response.Status, strings.Join(faults, "; "), a.response.Body)
		}
		checked[a.request.Method+" "+path+" "+strconv.Itoa(a.response.Status)] = true
	}
	for _, route := range api.Routes {
		for _, op := range route.Operations {
			for _, method := range op.Methods {
				if (op.Document != nil || len(op.Answers) > 0) && !checked[method+" "+route.Path+" 200"] {
					t.Errorf("%s %s: no answer of %s was seen", method, route.Path, op.ID)
				}
			}
		}
	}
	// Every member that is described must be in some answer.
	for _, component := range d.description.at("components", "schemas").members() {
		prefix := component.name + "."
		if !slices.ContainsFunc(slices.Collect(maps.Keys(d.seen)), func(name string) bool { return strings.HasPrefix(name, prefix) }) {
			continue // a component of requests or of documents, and of no answer
		}
		properties := component.at("properties").members()
		parts, _ := component.at("allOf").value.([]any)
		for _, part := range parts {
			properties = append(properties, node{"", part}.at("properties").members()...)
		}
		for _, property := range properties {
			if !d.seen[prefix+property.name] {
				t.Errorf("%s is described, and no answer has it", prefix+property.name)
			}
		}
	}
}

// recordedAnswer is a request and what the core answered.
type recordedAnswer struct {
	request  turn.Request
	response *turn.Response
}

// recordAnswers runs the transcripts on the native host, and records what the core would have
// answered with the documents of the content.
func recordAnswers(t *testing.T, content *snapshot.Snapshot) (recorded []recordedAnswer) {
	var mu sync.Mutex
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
		server := httptest.NewServer(host)
		t.Cleanup(func() {
			server.Close()
			if err := host.Close(); err != nil {
				t.Error(err)
			}
		})
		return server.URL
	}
	edgetest.RunTranscripts(t, serve)
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
	for _, route := range api.Routes { // requests without a query and without fields
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
	same := *t
	if o := r.shadow.Handle(&same); o.Response != nil {
		r.record(recordedAnswer{t.Request, o.Response})
	}
	return r.Edge.Handle(t)
}

// node is a JSON value with its name in the object around it. An object is a []node, so that its
// members keep their order.
type node struct {
	name  string
	value any
}

// ordered reads a JSON text and keeps the order of its members.
func ordered(t *testing.T, text []byte) node {
	t.Helper()
	v, err := jsondoc.Parse(text)
	if err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	return node{"", plain(&v)}
}

// plain is a JSON value as an object, a list, a text, a number, a boolean or nil.
func plain(v *jsondoc.Value) any {
	switch v.Kind {
	case jsondoc.Object:
		members := object{}
		for i := range v.Members {
			members = append(members, node{v.Members[i].Name, plain(&v.Members[i].Value)})
		}
		return members
	case jsondoc.Array:
		items := []any{}
		for i := range v.Items {
			items = append(items, plain(&v.Items[i]))
		}
		return items
	case jsondoc.String:
		return v.Text
	case jsondoc.Number:
		return json.Number(v.Text)
	case jsondoc.Bool:
		return v.True
	}
	return nil
}

// object is a JSON object whose members keep their order.
type object []node

func (n node) members() object {
	members, _ := n.value.(object)
	return members
}

// at follows names into objects. The value of the result is nil where there is no such member.
func (n node) at(names ...string) node {
	for _, name := range names {
		members := n.members()
		i := slices.IndexFunc(members, func(m node) bool { return m.name == name })
		if i < 0 {
			return node{name, nil}
		}
		n = members[i]
	}
	return n
}

// texts are the strings of a value that is a string or an array of strings.
func (n node) texts() (texts []string) {
	switch v := n.value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			texts = append(texts, item.(string))
		}
	}
	return texts
}

// describedAnswers compares answers with an OpenAPI description. seen are the members that answers
// had, as COMPONENT.NAME.
type describedAnswers struct {
	description node
	seen        map[string]bool
}

// resolve follows a reference.
func (d *describedAnswers) resolve(n node) node {
	for {
		ref, _ := n.at("$ref").value.(string)
		if ref == "" {
			return n
		}
		n = d.description.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
}

// described is what the schemas of one object say together.
type described struct {
	properties object            // in the order in which an answer must have them
	component  map[string]string // the component that each property is from
	required   []string
	patterns   bool
	other      *node // the schema of members that are not named
}

// gather adds to o what a schema, and the schemas that it is made of, say of an object.
func (d *describedAnswers) gather(schema node, o *described) {
	schema = d.resolve(schema)
	for _, p := range schema.at("properties").members() {
		if i := slices.IndexFunc(o.properties, func(known node) bool { return known.name == p.name }); i >= 0 {
			o.properties[i] = p // says more of the same member
			continue
		}
		o.properties = append(o.properties, p)
		o.component[p.name] = schema.name
	}
	o.required = append(o.required, schema.at("required").texts()...)
	o.patterns = o.patterns || schema.at("patternProperties").value != nil
	if other := schema.at("additionalProperties"); other.members() != nil {
		o.other = &other
	}
	parts, _ := schema.at("allOf").value.([]any)
	for _, part := range parts {
		d.gather(node{schema.name, part}, o) // a reference brings a name of its own
	}
	// Every answer ends with the trailer, whichever schemas it is made of.
	trailer := d.description.at("components", "schemas", "Trailer", "properties")
	slices.SortStableFunc(o.properties, func(a, b node) int {
		return strings.Compare(strconv.FormatBool(trailer.at(a.name).value != nil), strconv.FormatBool(trailer.at(b.name).value != nil))
	})
}

// faults says where a value differs from its schema. at is the dotted name of the value.
func (d *describedAnswers) faults(schema, value node, at string) (faults []string) {
	schema = d.resolve(schema)
	if choices, ok := schema.at("anyOf").value.([]any); ok && schema.at("properties").value == nil {
		for i, choice := range choices {
			seen := maps.Clone(d.seen)
			these := d.faults(node{"", choice}, value, at)
			if len(these) == 0 {
				return nil
			}
			d.seen = seen
			if i == 0 || len(these) < len(faults) {
				faults = these
			}
		}
		return faults
	}
	if types := schema.at("type").texts(); types != nil && !slices.Contains(types, typeOf(value)) && (typeOf(value) != "integer" || !slices.Contains(types, "number")) {
		return []string{fmt.Sprintf("%s is of type %s, and is described as %s", at, typeOf(value), types)}
	}
	switch v := value.value.(type) {
	case []any:
		for i, item := range v {
			if items := schema.at("items"); items.value != nil && (typeOf(node{"", item}) == "object" || items.at("type").value != "object") {
				faults = append(faults, d.faults(items, node{"", item}, at+"["+strconv.Itoa(i)+"]")...)
			}
		}
	case object:
		o := described{component: map[string]string{}}
		d.gather(schema, &o)
		if len(o.properties) == 0 && o.other == nil {
			return nil // the schema takes any object
		}
		last := -1
		for _, m := range v {
			i := slices.IndexFunc(o.properties, func(p node) bool { return p.name == m.name })
			switch {
			case i >= 0 && i <= last:
				faults = append(faults, at+"."+m.name+" is out of order, or stands twice")
			case i >= 0:
				last = i
				d.seen[o.component[m.name]+"."+m.name] = true
				faults = append(faults, d.faults(o.properties[i], m, at+"."+m.name)...)
			case o.other != nil:
				faults = append(faults, d.faults(*o.other, m, at+"."+m.name)...)
			case !o.patterns && at != ".contract": // the contract in a problem may have further members of its endpoint
				faults = append(faults, at+"."+m.name+" is not described")
			}
		}
		for _, name := range o.required {
			if !slices.ContainsFunc(v, func(m node) bool { return m.name == name }) {
				faults = append(faults, at+"."+name+" is missing")
			}
		}
	}
	return faults
}

// typeOf is the JSON Schema type of a value.
func typeOf(n node) string {
	switch v := n.value.(type) {
	case object:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	}
	return "null"
}
