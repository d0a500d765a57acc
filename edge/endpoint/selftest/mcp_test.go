package selftest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/turn"
)

// The answers of an MCP endpoint to the four requests of the batch.
const (
	initialize = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":false},"prompts":{"listChanged":false}},
		"serverInfo":{"name":"n","title":"t","version":"0.1.0"}}}`
	tools = `{"jsonrpc":"2.0","id":2,"result":{"tools":[
		{"name":"service_scoreboard","title":"Scoreboard","annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":true},
		 "inputSchema":{"type":"object","properties":{}},
		 "outputSchema":{"type":"object","required":["board","n"],"properties":{"board":{"type":"string"},"n":{"type":["integer","null"]},
		  "deep":{"type":"array","items":{"type":"object","required":["x"],"properties":{"x":{"type":"boolean"}}}}}}},
		{"name":"service_suggest","title":"Suggest","annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":true},
		 "inputSchema":{"type":"object","properties":{}},"outputSchema":{"type":"object"}}]}}`
	prompts = `{"jsonrpc":"2.0","id":3,"result":{"prompts":[{"name":"service_onboard","title":"Onboard"},
		{"name":"service_draft_org","title":"Draft","arguments":[{"name":"org_name","required":true},{"name":"mission"}]}]}}`
	called = `{"jsonrpc":"2.0","id":4,"result":{"content":[],"structuredContent":{"board":"b","n":1,"deep":[{"x":true}],"more":1}}}`
)

// runMCP runs the suite against an endpoint that answers r.
func runMCP(t *testing.T, r turn.Result) (string, *edgetest.Fake) {
	t.Helper()
	h := host(t, func(_ string, answer *turn.Result) { *answer = r })
	return run(t, h, "?suite=mcp"), h
}

func batch(answers ...string) turn.Result {
	return turn.Result{Status: 200, Data: []byte("[" + strings.Join(answers, ",") + "]")}
}

func TestMCPPasses(t *testing.T) {
	got, h := runMCP(t, batch(called, prompts, initialize, tools)) // in any order
	for _, part := range []string{
		`{"selftest":"mcp","tested_url":"https://www.example.org/api/mcp","upstream_status":200,"upstream_ok":true,"transport_note":"One POST of a batch`,
		`,"protocol_version":"2025-06-18","server_info":{"name":"n","title":"t","version":"0.1.0"},"tool_count":2,"annotated_count":2,"read_only_count":1,"writes_count":1,` +
			`"annotations_complete":true,"prompt_count":2,"prompts_declared":true,"prompts_capability_coherent":true,"output_schema_count":2,"schemas_complete":true,` +
			`"structured_content_probe":"service_scoreboard","structured_content_present":true,"structured_content_conforms":true,` +
			`"declared_required_keys":["board","n"],"missing_required_keys":[],"pass":true,"verdict":"The MCP endpoint passes.","tools":[` +
			`{"name":"service_scoreboard","title":"Scoreboard","annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":true}},` +
			`{"name":"service_suggest","title":"Suggest","annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":true}}],"annotations_note":"A tool's`,
		`,"prompts":[{"name":"service_onboard","title":"Onboard","arguments":[]},{"name":"service_draft_org","title":"Draft","arguments":["org_name","mission?"]}],"prompts_note":"An argument`,
		`,"upstream_body_head":"[{\"jsonrpc\":\"2.0\",\"id\":4`,
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%s\nwant %s", got, part)
		}
	}
	var sent []struct {
		JSONRPC string
		ID      int
		Method  string
		Params  struct{ Name, ProtocolVersion string }
	}
	f := h.Fetches[0]
	if err := json.Unmarshal(f.Body, &sent); err != nil || !f.Self || len(h.Fetches) != 1 {
		t.Fatalf("%v %+v", err, f)
	}
	var methods []string
	for i, m := range sent {
		if m.JSONRPC != "2.0" || m.ID != i+1 {
			t.Errorf("%+v", m)
		}
		methods = append(methods, strings.TrimSpace(m.Method+" "+m.Params.Name+m.Params.ProtocolVersion))
	}
	if !slices.Equal(methods, []string{"initialize 2025-06-18", "tools/list", "prompts/list", "tools/call service_scoreboard"}) {
		t.Errorf("%q", methods)
	}
}

// Each thing that the suite checks is broken. The verdict names all of them.
func TestMCPFails(t *testing.T) {
	replace := func(text string, pairs ...string) string {
		t.Helper()
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(text, pairs[i]) {
				t.Fatalf("no %s in %s", pairs[i], text)
			}
			text = strings.Replace(text, pairs[i], pairs[i+1], 1)
		}
		return text
	}
	withCall := func(answer string) turn.Result { return batch(initialize, tools, prompts, answer) }
	const nonconforming = "the structured content of service_scoreboard does not conform to its output schema"
	for _, c := range []struct {
		answer  turn.Result
		verdict string
		members []string // members that the answer has
	}{
		{
			turn.Result{Failure: turn.Timeout},
			"timed out; initialize has no result; tools/list has no result; prompts/list has no result; tools/call has no result; " +
				"annotations are not complete; schemas are not complete; tools are not declared; service_scoreboard is not among the tools; service_scoreboard has no structured content.",
			[]string{
				`"upstream_status":null,"upstream_ok":false,`, `"protocol_version":null,"server_info":null,"tool_count":0,`, `"annotations_complete":false,`,
				`"prompts_capability_coherent":true,`, `"schemas_complete":false,`,
			},
		},
		{
			turn.Result{Status: 404, Data: []byte("\xff<html>" + strings.Repeat("é", 200))},
			"got status 404, want 200; the answer is not a JSON array; initialize",
			[]string{`"upstream_status":404,`, `"upstream_body_head":"<html>` + strings.Repeat("é", 96) + `",`},
		},
		{
			batch(replace(initialize, "2025-06-18", "2024-11-05", `"tools"`, `"x"`, `"prompts"`, `"y"`, `"title":"t"`, `"title":""`),
				replace(tools, `"idempotentHint":true,`, "", `,"outputSchema":{"type":"object"}}`, "}"), prompts, replace(called, `"structuredContent"`, `"x"`)),
			"initialize did not negotiate 2025-06-18; server_info lacks title; annotations are not complete; schemas are not complete; " +
				"prompts are declared and not listed, or listed and not declared; tools are not declared; service_scoreboard has no structured content.",
			[]string{
				`"upstream_ok":true,`, `"protocol_version":"2024-11-05",`, `"annotated_count":1,`, `"annotations_complete":false,`, `"prompts_declared":false,"prompts_capability_coherent":false,`,
				`"output_schema_count":1,"schemas_complete":false,`, `"structured_content_present":false,`, `"missing_required_keys":["board","n"],`, `"idempotentHint":null`,
			},
		},
		{
			batch(initialize, replace(tools, `"destructiveHint":false`, `"destructiveHint":true`), prompts, called),
			"annotations are not complete.",
			[]string{`"annotated_count":2,`, `"annotations_complete":false,`},
		},
		{
			withCall(replace(called, `"n":1,`, "")),
			nonconforming + "; the structured content lacks n.",
			[]string{`"structured_content_conforms":false,`, `"missing_required_keys":["n"],`},
		},
		{withCall(replace(called, `"board":"b"`, `"board":1`)), nonconforming + ".", nil},
		{withCall(replace(called, `{"x":true}`, `{}`)), nonconforming + ".", nil},
		{withCall(replace(called, `"structuredContent"`, `"isError":true,"structuredContent"`)), "service_scoreboard has no structured content.", nil},
	} {
		got, _ := runMCP(t, c.answer)
		for _, want := range append(c.members, `"pass":false,"verdict":"Failed: `+c.verdict) {
			if !strings.Contains(got, want) {
				t.Errorf("%s\nwant %s", got, want)
			}
		}
	}
	for _, c := range []struct{ types, value, pass string }{
		{`["integer","null"]`, "null", "true"}, {`["integer","null"]`, "1.5", "false"}, {`"number"`, "1.5", "true"}, {`"number"`, "null", "false"},
	} {
		declared := replace(tools, `["integer","null"]`, c.types)
		if got, _ := runMCP(t, batch(initialize, declared, prompts, replace(called, `"n":1`, `"n":`+c.value))); !strings.Contains(got, `"pass":`+c.pass) {
			t.Errorf("%s as %s: %s", c.value, c.types, got)
		}
	}
}
