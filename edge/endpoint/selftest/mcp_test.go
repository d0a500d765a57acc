package selftest_test

import (
	"encoding/json"
	"fmt"
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
func runMCP(t *testing.T, r turn.Result) (map[string]any, *edgetest.Fake) {
	t.Helper()
	h := host(t, func(_ string, answer *turn.Result) { *answer = r })
	answer := h.Do("GET", path+"?suite=mcp", "")
	if answer.Status != 200 {
		t.Fatalf("%d %s", answer.Status, answer.Body)
	}
	return edgetest.Decode(t, answer), h
}

func batch(answers ...string) turn.Result {
	return turn.Result{Status: 200, Data: []byte("[" + strings.Join(answers, ",") + "]")}
}

func TestMCPPasses(t *testing.T) {
	got, h := runMCP(t, batch(called, prompts, initialize, tools)) // in any order
	want := object{
		"selftest": "mcp", "tested_url": "https://www.example.org/api/mcp", "upstream_status": 200.0, "upstream_ok": true, "protocol_version": "2025-06-18",
		"server_info": object{"name": "n", "title": "t", "version": "0.1.0"}, "tool_count": 2.0, "annotated_count": 2.0, "read_only_count": 1.0, "writes_count": 1.0,
		"annotations_complete": true, "prompt_count": 2.0, "prompts_declared": true, "prompts_capability_coherent": true, "output_schema_count": 2.0, "schemas_complete": true,
		"structured_content_probe": "service_scoreboard", "structured_content_present": true, "structured_content_conforms": true,
		"declared_required_keys": []any{"board", "n"}, "missing_required_keys": []any{}, "pass": true, "verdict": "The MCP endpoint passes.",
		"tools": []any{
			object{"name": "service_scoreboard", "title": "Scoreboard", "annotations": object{"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true}},
			object{"name": "service_suggest", "title": "Suggest", "annotations": object{"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": true}},
		},
		"prompts": []any{
			object{"name": "service_onboard", "title": "Onboard", "arguments": []any{}},
			object{"name": "service_draft_org", "title": "Draft", "arguments": []any{"org_name", "mission?"}},
		},
	}
	for name, value := range want {
		if fmt.Sprint(got[name]) != fmt.Sprint(value) {
			t.Errorf("%s\n got %v\nwant %v", name, got[name], value)
		}
	}
	// Every member of MCP without a value to compare is there.
	for _, name := range []string{"transport_note", "annotations_note", "prompts_note", "upstream_body_head", "notice", "served_from", "canonical_host", "host_note"} {
		if text, _ := got[name].(string); text == "" {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	if head := got["upstream_body_head"].(string); !strings.HasPrefix(head, `[{"jsonrpc":"2.0","id":4`) || len(head) > 200 {
		t.Errorf("%q", head)
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

// Each thing that the suite checks is broken in turn. The test fails and names it.
func TestMCPFails(t *testing.T) {
	replace := func(text, old, new string) string {
		t.Helper()
		if !strings.Contains(text, old) {
			t.Fatalf("no %s in %s", old, text)
		}
		return strings.Replace(text, old, new, 1)
	}
	failed := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"m"}}`, id)
	}
	for _, c := range []struct {
		name    string
		answer  turn.Result
		verdict string // a part of the verdict
		members object // members that the answer has
	}{
		{"no answer", turn.Result{Failure: turn.Timeout}, "timed out", object{"upstream_status": nil, "upstream_ok": false, "server_info": nil, "protocol_version": nil}},
		{"status", turn.Result{Status: 500, Data: batch(initialize, tools, prompts, called).Data}, "got status 500, want 200", object{"upstream_status": 500.0, "upstream_ok": false, "tool_count": 2.0}},
		{"not live", turn.Result{Status: 404, Data: []byte(`{"title":"Not found"}`)}, "the answer is not a JSON array", object{"upstream_body_head": `{"title":"Not found"}`}},
		{"no JSON", turn.Result{Status: 200, Data: []byte("\xff<html>")}, "the answer is not a JSON array", object{"upstream_body_head": "<html>"}},
		{"initialize", batch(failed(1), tools, prompts, called), "initialize has no result", object{"upstream_ok": false}},
		{"tools/list", batch(initialize, failed(2), prompts, called), "tools/list has no result", object{"tool_count": 0.0, "annotations_complete": false, "schemas_complete": false}},
		{"tools/call", batch(initialize, tools, prompts, failed(4)), "tools/call has no result", object{"structured_content_present": false}},
		{"version", batch(replace(initialize, "2025-06-18", "2024-11-05"), tools, prompts, called), "initialize did not negotiate 2025-06-18", object{"protocol_version": "2024-11-05", "upstream_ok": true}},
		{"tools not declared", batch(replace(initialize, `"tools"`, `"x"`), tools, prompts, called), "tools are not declared", nil},
		{"prompts not declared", batch(replace(initialize, `"prompts"`, `"x"`), tools, prompts, called), "listed and not declared", object{"prompts_declared": false, "prompts_capability_coherent": false}},
		{"no tools", batch(initialize, `{"id":2,"result":{"tools":[]}}`, prompts, called), "service_scoreboard is not among the tools", object{"tool_count": 0.0}},
		{"a hint is missing", batch(initialize, replace(tools, `"idempotentHint":true,`, ``), prompts, called), "annotations are not complete", object{"annotated_count": 1.0}},
		{"destructive", batch(initialize, replace(tools, `"destructiveHint":false`, `"destructiveHint":true`), prompts, called), "annotations are not complete", object{"annotated_count": 2.0, "annotations_complete": false}},
		{"no output schema", batch(initialize, replace(tools, `,"outputSchema":{"type":"object"}}`, `}`), prompts, called), "schemas are not complete", object{"output_schema_count": 1.0, "schemas_complete": false}},
		{"no structured content", batch(initialize, tools, prompts, replace(called, `"structuredContent"`, `"x"`)), "service_scoreboard has no structured content", object{"structured_content_present": false, "missing_required_keys": []any{"board", "n"}}},
		{"a key is missing", batch(initialize, tools, prompts, replace(called, `"n":1,`, ``)), "content lacks n", object{"structured_content_conforms": false, "missing_required_keys": []any{"n"}}},
		{"a type is wrong", batch(initialize, tools, prompts, replace(called, `"board":"b"`, `"board":1`)), "does not conform", object{"structured_content_conforms": false, "missing_required_keys": []any{}}},
		{"deep inside", batch(initialize, tools, prompts, replace(called, `{"x":true}`, `{"x":0}`)), "does not conform", nil},
		{"missing deep inside", batch(initialize, tools, prompts, replace(called, `{"x":true}`, `{}`)), "does not conform", object{"missing_required_keys": []any{}}},
	} {
		got, _ := runMCP(t, c.answer)
		if verdict := got["verdict"].(string); got["pass"] != false || !strings.HasPrefix(verdict, "Failed: ") || !strings.Contains(verdict, c.verdict) {
			t.Errorf("%s: pass %v, %s", c.name, got["pass"], verdict)
		}
		for name, value := range c.members {
			if fmt.Sprint(got[name]) != fmt.Sprint(value) {
				t.Errorf("%s: %s is %v, want %v", c.name, name, got[name], value)
			}
		}
	}
	for value, want := range map[string]bool{"1.5": true, "1": true, `"1"`: false, "null": false} {
		number := replace(tools, `"type":["integer","null"]`, `"type":"number"`)
		if got, _ := runMCP(t, batch(initialize, number, prompts, replace(called, `"n":1`, `"n":`+value))); got["pass"] != want {
			t.Errorf("%s as a number: %v", value, got["verdict"])
		}
	}
	if got, _ := runMCP(t, batch(initialize, tools, prompts, replace(called, `"n":1`, `"n":null`))); got["pass"] != true {
		t.Errorf("either of two types: %v", got["verdict"])
	}
}
