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
	"anteroom/edge/turn"
	"anteroom/generator"

	"github.com/santhosh-tekuri/jsonschema/v6"
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
	for _, tool := range toolsOf(t, shipped()) {
		checkDialect(t, tool.Name, value(t, string(tool.InputSchema)))
		for _, keyword := range []string{`"$schema"`, `"$id"`, `"$ref"`, `"oneOf"`, `"anyOf"`, `"allOf"`} {
			if bytes.Contains(tool.OutputSchema, []byte(keyword)) {
				t.Errorf("%s: the output schema holds %s", tool.Name, keyword)
			}
		}
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
	o := shipped()
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
		described := description.schema(t, "paths", route.Path, strings.ToLower(op.Methods[len(op.Methods)-1]), "responses", "200", "content", "application/json", "schema")
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
			for _, name := range undescribed([]*jsonschema.Schema{described}, answer, map[string]bool{}) {
				t.Errorf("%s gives %s, which no schema of %s names", tool.Name, name, op.ID)
			}
			for name := range answer.(map[string]any) {
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
