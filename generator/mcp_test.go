package generator_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/turn"
	"anteroom/generator"
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

func TestTools(t *testing.T) {
	tools := toolsOf(t, generate(t, shippedContent))
	if len(tools) != len(api.Tools) {
		t.Fatalf("%d tools", len(tools))
	}
	for i, tool := range tools {
		_, op := api.Find(api.Tools[i].Operation)
		if tool.Name != "service_"+api.Tools[i].Name || tool.Title == "" || tool.Description == "" {
			t.Errorf("tool %d is %s: %q %q", i, tool.Name, tool.Title, tool.Description)
		}
		hints := map[string]any{
			"title": tool.Title, "readOnlyHint": !op.Writes, "destructiveHint": false, "idempotentHint": !op.Writes, "openWorldHint": true,
		}
		for name, value := range hints {
			if got, there := tool.Annotations[name]; !there || got != value {
				t.Errorf("%s: %s is %v, want %v", tool.Name, name, got, value)
			}
		}
		if len(tool.Annotations) != len(hints) {
			t.Errorf("%s: annotations %v", tool.Name, tool.Annotations)
		}
		for _, schema := range []json.RawMessage{tool.InputSchema, tool.OutputSchema} {
			checkPortable(t, tool.Name, schema)
		}
		if want := " In openapi.json: " + op.ID + "."; !strings.HasSuffix(tool.Description, want) {
			t.Errorf("%s does not end with %q: %q", tool.Name, want, tool.Description)
		}
		checkArguments(t, &tool)
	}
}

// checkPortable reports the parts of a schema for which some clients drop a tool.
func checkPortable(t *testing.T, name string, text json.RawMessage) {
	t.Helper()
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	properties, ok := schema["properties"].(map[string]any)
	if schema["type"] != "object" || !ok {
		t.Errorf("%s: type %v, properties %v", name, schema["type"], schema["properties"])
	}
	for property, s := range properties {
		if s, ok := s.(map[string]any); !ok || s["type"] == nil {
			t.Errorf("%s: property %s is %v", name, property, s)
		}
	}
	for _, keyword := range []string{`"$schema"`, `"$id"`, `"$ref"`, `"oneOf"`, `"anyOf"`, `"allOf"`} {
		if bytes.Contains(text, []byte(keyword)) {
			t.Errorf("%s: a schema holds %s", name, keyword)
		}
	}
}

// checkArguments reports an argument without words or of two types, and words that call an argument
// optional that the tool requires. It reports words in an output schema, which openapi.json has.
func checkArguments(t *testing.T, tool *tool) {
	t.Helper()
	var in struct {
		Required   []string
		Properties map[string]struct {
			Type        any
			Description string
		}
	}
	if err := json.Unmarshal(tool.InputSchema, &in); err != nil {
		t.Fatal(err)
	}
	for name, p := range in.Properties {
		if _, one := p.Type.(string); !one || p.Description == "" {
			t.Errorf("%s: %s is %v, described as %q", tool.Name, name, p.Type, p.Description)
		}
		if slices.Contains(in.Required, name) && strings.Contains(strings.ToLower(p.Description), "optional") {
			t.Errorf("%s requires %s, and says: %s", tool.Name, name, p.Description)
		}
	}
	for _, keyword := range []string{`"description"`, `"notice"`} {
		if bytes.Contains(tool.OutputSchema, []byte(keyword)) {
			t.Errorf("%s: its output schema holds %s", tool.Name, keyword)
		}
	}
}

// The names have the prefix of the content everywhere.
func TestToolPrefix(t *testing.T) {
	o := generate(t, overlay(t, map[string]func(string) string{"service.yaml": replace("tool_prefix: service_", "tool_prefix: lobby_")}))
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
		"mint_receipt":   {[]string{`{}`, `{"agent_name":"a","note":"n","owner_email":"a@example.org"}`}, []string{`{"dry_run":true}`}},
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
			if err := in.Validate(value(t, arguments)); err != nil {
				t.Errorf("%s %s: %v", tool.Name, arguments, err)
			}
			answer := value(t, string(structured(t, h, o, tool.Name, arguments)))
			if err := out.Validate(answer); err != nil {
				t.Errorf("%s %s: %v", tool.Name, arguments, err)
			}
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

// Every prompt is listed with its arguments and has a text in which nothing is left to put in.
func TestPrompts(t *testing.T) {
	o := generate(t, shippedContent)
	var list struct {
		Prompts []struct {
			Name, Title, Description string
			Arguments                []struct {
				Name, Description string
				Required          bool
			}
		}
	}
	if err := json.Unmarshal(o.Snapshot.Documents[api.MCPPrompts], &list); err != nil {
		t.Fatal(err)
	}
	h := &edgetest.Fake{Edge: edgetest.Load(t, o.Snapshot)}
	var got []string
	for _, p := range list.Prompts {
		signature, arguments := p.Name, map[string]string{}
		for _, a := range p.Arguments {
			signature += " " + a.Name
			if arguments[a.Name] = `{"mark":"QED"}`; !a.Required {
				signature += "?"
			}
			if a.Description == "" {
				t.Errorf("%s: no words for %s", p.Name, a.Name)
			}
		}
		got = append(got, signature)
		params, _ := json.Marshal(map[string]any{"name": p.Name, "arguments": arguments})
		r := h.Do("POST", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":`+string(params)+`}`, "host", o.Snapshot.CanonicalHost)
		var answer struct {
			Result struct {
				Description string
				Messages    []struct {
					Role    string
					Content struct{ Type, Text string }
				}
			}
		}
		if err := json.Unmarshal(r.Body, &answer); err != nil || len(answer.Result.Messages) != 1 {
			t.Fatalf("%s: %s", p.Name, r.Body)
		}
		m := answer.Result.Messages[0]
		if p.Title == "" || answer.Result.Description != p.Description || m.Role != "user" || m.Content.Type != "text" || len(m.Content.Text) < 400 ||
			strings.Contains(m.Content.Text, "[[") || strings.Contains(m.Content.Text, "{org_name}") || strings.Count(m.Content.Text, "QED") != len(arguments) {
			t.Errorf("%s: %+v", p.Name, answer.Result)
		}
	}
	want := []string{"service_onboard", "service_audit_this_server", "service_verify_receipt receipt", "service_draft_org org_name mission?"}
	if !slices.Equal(got, want) {
		t.Errorf("prompts %q, want %q", got, want)
	}
}

// The links of the page that add the server at one click hold the configuration of the page.
func TestInstallLinks(t *testing.T) {
	o := generate(t, shippedContent)
	html := string(document(t, o, "/mcp.html"))
	link := func(pattern string) string {
		t.Helper()
		m := regexp.MustCompile(`href="` + pattern + `"`).FindStringSubmatch(html)
		if m == nil {
			t.Fatalf("no link matches %s", pattern)
		}
		text, err := url.PathUnescape(m[1])
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	endpoint := o.Snapshot.BaseURL() + "/api/mcp"
	cursor, err := base64.StdEncoding.DecodeString(link(`cursor://anysphere\.cursor-deeplink/mcp/install\?name=anteroom&amp;config=([^"]*)`))
	if want := `{"url":"` + endpoint + `"}`; err != nil || string(cursor) != want {
		t.Errorf("Cursor adds %s (%v), want %s", cursor, err, want)
	}
	if got, want := link(`vscode:mcp/install\?([^"]*)`), `{"name":"anteroom","type":"http","url":"`+endpoint+`"}`; got != want {
		t.Errorf("Visual Studio Code adds %s, want %s", got, want)
	}
	if strings.Contains(html, `<h3 id="install-`) || !strings.Contains(html, `<div id="install-curl">`) {
		t.Error("the clients are not sections that open")
	}
}

// A client of an SDK begins with a GET for a stream, whose answer it does not read: it is short,
// and says what a person needs who looks at it.
func TestNoStream(t *testing.T) {
	o := generate(t, shippedContent)
	h := &edgetest.Fake{Edge: edgetest.Load(t, o.Snapshot)}
	r := h.Do("GET", "/api/mcp", "", "accept", "text/event-stream", "host", "localhost")
	var got struct {
		Install map[string]struct{ Config any }
		Tools   []string
	}
	if err := json.Unmarshal(r.Body, &got); err != nil || r.Status != 405 || len(r.Body) > 1200 {
		t.Errorf("%d, %d bytes: %s", r.Status, len(r.Body), r.Body)
	}
	if len(got.Install) != 1 || got.Install["generic"].Config == nil || len(got.Tools) != len(api.Tools) {
		t.Errorf("%s", r.Body)
	}
}
