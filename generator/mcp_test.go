package generator_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/turn"
	"anteroom/generator"
	"anteroom/generator/contract"
	"anteroom/generator/site"
)

// tool is an entry of tools/list.
type tool struct {
	Name, Title, Description  string
	InputSchema, OutputSchema json.RawMessage
	Annotations               map[string]any
}

func toolsOf(t testing.TB, o *generator.Output) []tool {
	t.Helper()
	var list struct{ Tools []tool }
	if err := json.Unmarshal(o.Snapshot.Documents[api.MCPTools], &list); err != nil {
		t.Fatal(err)
	}
	return list.Tools
}

// The keywords of the schemas of arguments. Providers of models refuse every tool of a request for
// another one, for a list of types, and for an object without properties.
var argumentKeywords = []string{
	"type", "description", "properties", "required", "items", "enum", "minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength", "pattern",
}

// checkDialect reports what a schema has that is not of the dialect that every provider of models
// takes.
func checkDialect(t *testing.T, where string, v any) {
	t.Helper()
	schema, _ := v.(map[string]any)
	for keyword := range schema {
		if !slices.Contains(argumentKeywords, keyword) {
			t.Errorf("%s has the keyword %s", where, keyword)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	kind, _ := schema["type"].(string)
	switch {
	case !slices.Contains([]string{"object", "array", "string", "integer", "number", "boolean"}, kind):
		t.Errorf("%s is of type %v", where, schema["type"])
	case kind == "object" && len(properties) == 0 && strings.Contains(where, " "):
		t.Errorf("%s is an object without properties", where)
	case kind == "array":
		checkDialect(t, where+" items", schema["items"])
	}
	for name, property := range properties {
		checkDialect(t, where+" "+name, property)
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if properties[name.(string)] == nil {
			t.Errorf("%s requires %s, which is no property", where, name)
		}
	}
	values, _ := schema["enum"].([]any)
	for _, v := range values {
		if _, is := v.(string); !is || kind != "string" {
			t.Errorf("%s has the value %v", where, v)
		}
	}
}

// Every argument has a schema that all providers of models take, and no output schema has a keyword
// for which some clients drop a tool.
func TestToolDialect(t *testing.T) {
	for _, tool := range toolsOf(t, generate(t, shippedContent)) {
		checkDialect(t, tool.Name, value(t, string(tool.InputSchema)))
		for _, keyword := range []string{`"$schema"`, `"$id"`, `"$ref"`, `"oneOf"`, `"anyOf"`, `"allOf"`} {
			if bytes.Contains(tool.OutputSchema, []byte(keyword)) {
				t.Errorf("%s: the output schema holds %s", tool.Name, keyword)
			}
		}
	}
}

// The answer to tools/list is as short in the revision that adds members to it. Content that makes
// it long is refused.
func TestToolsAreShort(t *testing.T) {
	o := generate(t, shippedContent)
	h := &edgetest.Fake{Edge: edgetest.Load(t, o.Snapshot)}
	meta := `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	r := h.Do("POST", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":`+meta+`}`,
		"host", o.Snapshot.CanonicalHost, "mcp-protocol-version", "2026-07-28", "mcp-method", "tools/list")
	if r.Status != 200 || len(r.Body) > contract.MaxTools {
		t.Errorf("%d with %d bytes, want at most %d", r.Status, len(r.Body), contract.MaxTools)
	}
	s, err := site.Load(overlay(t, edits{"mcp.yaml": replace("Read the hand-verified counts", strings.Repeat("Read the counts. ", 100))}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := generator.Generate(s); err == nil || !strings.Contains(err.Error(), "tools/list has ") {
		t.Errorf("long descriptions: %v", err)
	}
}

// The names have the prefix of the content everywhere.
func TestToolPrefix(t *testing.T) {
	generate(t, overlay(t, edits{"service.yaml": replace("tool_prefix: service_", "tool_prefix: "+strings.Repeat("x", 31)+"_")}))
	o := generate(t, overlay(t, edits{"service.yaml": replace("tool_prefix: service_", "tool_prefix: lobby_")}))
	for _, id := range []string{api.MCPServer, api.MCPTools, api.MCPPrompts, api.MCPInstall, api.MCPPrompt + "onboard"} {
		if doc := string(o.Snapshot.Documents[id]); strings.Contains(doc, "service_") || !strings.Contains(doc, "lobby_") {
			t.Errorf("%s: %.200s", id, doc)
		}
	}
	h := &edgetest.Fake{Edge: edgetest.Load(t, o.Snapshot)}
	structured(t, h, o, "lobby_quest", "{}")
}

// structured calls a tool and gives its structured content, which is its text too.
func structured(t testing.TB, h *edgetest.Fake, o *generator.Output, name, arguments string) json.RawMessage {
	t.Helper()
	result := callTool(t, h, o, name, arguments)
	if result.IsError || result.Content[0].Text != string(result.StructuredContent) {
		t.Fatalf("%s %s: %+v", name, arguments, result)
	}
	return result.StructuredContent
}

// What every tool takes and gives is as its schemas say, and has no member besides those of its
// operation in openapi.json, nor one that is omitted. One that says that it only reads stores,
// sends and signs nothing; one that does not say so does. A tool is called with the examples of its
// fields, and with what is here besides.
func TestToolSchemas(t *testing.T) {
	o := generate(t, shippedContent)
	h := &edgetest.Fake{Edge: edgetest.Load(t, o.Snapshot), Key: edgetest.Key, Host: turn.HostInfo{PublicKey: edgetest.PublicKey(edgetest.Key)}}
	minted := string(structured(t, h, o, "service_mint_receipt", `{}`))
	roster := `"roster":[{"position":"rainmaker","agent_name":"a","allocation":20},{"position":"operator","agent_name":"b","allocation":20},` +
		`{"position":"verifier","agent_name":"c","allocation":20},{"position":"scout","agent_name":"d","allocation":20},{"position":"treasurer","agent_name":"e","allocation":20}]`
	more := map[string]struct{ good, bad []string }{
		"draft_org":      {[]string{`{"org_name":"abc","dry_run":true,` + roster + `}`}, []string{`{"org_name":"abc"}`, `{"org_name":"ab",` + roster + `}`}},
		"mint_receipt":   {[]string{`{}`, `{"agent_name":"a","note":"n","owner_email":"a@example.org","toolCallId":"t"}`}, nil},
		"verify_receipt": {[]string{`{"receipt":` + minted + `}`, `{"receipt":{}}`}, []string{`{"receipt":""}`}},
		"register":       {[]string{`{"pubkey":"k","dry_run":true}`}, []string{`{"agent_name":"a","dry_run":"1"}`}},
		"claim_founding_seat": {
			[]string{`{"org_name":"abc","owner_email":"a@example.org",` + roster + `}`},
			[]string{`{"org_name":"abc",` + roster + `}`, `{"owner_email":"a@example.org"}`},
		},
		"suggest": {[]string{`{"suggestion":"ten letters","contact":"a@example.org","dry_run":true}`}, []string{`{"suggestion":"short"}`}},
		"business_days": {
			[]string{
				`{"op":"is","calendar":"de","date":"2026-12-25"}`, `{"op":"add","calendar":"us-nyse, gb-eng","start":"2026-12-23","days":2}`,
				`{"op":"count","calendar":"de,fr","start":"2026-01-01","end":"2026-12-31"}`, `{"op":"holidays","calendar":"de","year":2026}`,
			},
			[]string{`{"op":"leap","calendar":"de"}`},
		},
	}
	description := readOpenAPI(t, document(t, o, "/openapi.json"))
	for i, tool := range toolsOf(t, o) {
		in := compiled(t, "in.json", value(t, string(tool.InputSchema)), "")
		out := compiled(t, "out.json", value(t, string(tool.OutputSchema)), "")
		listed := &api.Tools[i]
		route, op := api.Find(listed.Operation)
		known := properties(description.schema(t, "paths", route.Path, strings.ToLower(op.Methods[len(op.Methods)-1]), "responses", "200", "content", "application/json", "schema"))
		good, bad := more[listed.Name].good, more[listed.Name].bad
		if example := edgetest.Example(listed); example != "" {
			good = append(good, example)
		}
		if len(good) == 0 {
			t.Errorf("%s is not called: a field that it needs has no example", tool.Name)
		}
		var taken struct {
			Required   []string
			Properties map[string]struct{ Type any }
		}
		if err := json.Unmarshal(tool.InputSchema, &taken); err != nil {
			t.Fatal(err)
		}
		if len(taken.Required) > 0 {
			bad = append(bad, `{}`)
		}
		for name, property := range taken.Properties {
			if property.Type == "string" {
				bad = append(bad, `{"`+name+`":1}`)
			}
		}
		h.Statements, h.Messages, h.Signed = nil, nil, nil
		for _, arguments := range good {
			sent := value(t, arguments)
			if receipt, is := member(sent, "receipt").(map[string]any); is { // as the words of its members say
				maps.DeleteFunc(receipt, func(_ string, v any) bool { return v == nil })
				text, _ := json.Marshal(sent)
				arguments = string(text)
			}
			if err := in.Validate(sent); err != nil {
				t.Errorf("%s %s: %v", tool.Name, arguments, err)
			}
			answer := value(t, string(structured(t, h, o, tool.Name, arguments)))
			if err := out.Validate(answer); err != nil {
				t.Errorf("%s %s: %v", tool.Name, arguments, err)
			}
			if strings.Contains(arguments, "canonical") && (member(answer, "valid") != true || len(member(answer, "problems").([]any)) > 0) {
				t.Errorf("%s %s: %v", tool.Name, arguments, answer)
			}
			checkDeclared(t, tool.Name, value(t, string(tool.OutputSchema)), answer)
			for name := range answer.(map[string]any) {
				if !known[name] {
					t.Errorf("%s gives %s, which no schema of %s names", tool.Name, name, op.ID)
				}
				if name == "notice" || slices.Contains(api.Omitted, name) {
					t.Errorf("%s gives %s", tool.Name, name)
				}
			}
		}
		if effects := len(h.Statements) + len(h.Messages) + len(h.Signed); (effects == 0) != (tool.Annotations["readOnlyHint"] == true) {
			t.Errorf("%s: readOnlyHint is %v, and %d calls stored, sent or signed %d times", tool.Name, tool.Annotations["readOnlyHint"], len(good), effects)
		}
		for _, arguments := range bad {
			if err := in.Validate(value(t, arguments)); err == nil {
				t.Errorf("%s takes %s", tool.Name, arguments)
			}
			if result := callTool(t, h, o, tool.Name, arguments); !result.IsError {
				t.Errorf("%s %s: %s", tool.Name, arguments, result.StructuredContent)
			}
		}
	}
}

// Every document that names revisions of the protocol names all of them.
func TestRevisions(t *testing.T) {
	o := generate(t, shippedContent)
	for _, path := range []string{"/openapi.json", "/endpoints/mcp.html.md", "/mcp.html.md", "/manifest.json", "/.well-known/mcp/server-card.json"} {
		for _, revision := range append([]string{protocol.Stateless}, protocol.Versions...) {
			if !bytes.Contains(document(t, o, path), []byte(revision)) {
				t.Errorf("%s lacks %s", path, revision)
			}
		}
	}
}

// open are the objects of results whose members no schema lists.
var open = []string{"enforcement", "prohibited", "steps", "completion", "rules", "post_template", "holidays_skipped", "how_to_call"}

// checkDeclared reports the members of a result that its schema does not declare with their types.
func checkDeclared(t *testing.T, where string, schema, v any) {
	t.Helper()
	properties, _ := member(schema, "properties").(map[string]any)
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			declared := properties[name]
			if strings.HasPrefix(name, "update_") {
				continue // a text under the date of a board
			}
			if member(declared, "type") == nil {
				t.Errorf("%s %s: its type is not declared", where, name)
			} else if !slices.Contains(open, name) {
				checkDeclared(t, where+" "+name, declared, inner)
			}
		}
	case []any:
		for _, item := range v {
			if _, is := item.(map[string]any); is {
				checkDeclared(t, where+" []", member(schema, "items"), item)
			}
		}
	}
}

// Every prompt has a text in which each argument is put in, and no placeholder is left.
func TestPrompts(t *testing.T) {
	o := generate(t, shippedContent)
	var list struct {
		Prompts []struct {
			Name      string
			Arguments []struct{ Name string }
		}
	}
	if err := json.Unmarshal(o.Snapshot.Documents[api.MCPPrompts], &list); err != nil {
		t.Fatal(err)
	}
	h := &edgetest.Fake{Edge: edgetest.Load(t, o.Snapshot)}
	for _, p := range list.Prompts {
		arguments := map[string]string{}
		for _, a := range p.Arguments {
			arguments[a.Name] = `{"mark":"QED"}`
		}
		params, _ := json.Marshal(map[string]any{"name": p.Name, "arguments": arguments})
		r := h.Do("POST", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":`+string(params)+`}`, "host", o.Snapshot.CanonicalHost)
		var answer struct {
			Result struct {
				Messages []struct{ Content struct{ Text string } }
			}
		}
		if err := json.Unmarshal(r.Body, &answer); err != nil || len(answer.Result.Messages) != 1 {
			t.Fatalf("%s: %s", p.Name, r.Body)
		}
		m := answer.Result.Messages[0]
		if strings.Contains(m.Content.Text, "[[") || strings.Contains(m.Content.Text, "{org_name}") || strings.Count(m.Content.Text, "QED") != len(arguments) {
			t.Errorf("%s: %+v", p.Name, answer.Result)
		}
	}
}
