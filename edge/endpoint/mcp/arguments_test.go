package mcp_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/input"
)

// argument is an argument of a tool.
type argument struct {
	tool, name string
	kind       input.Type
}

// arguments returns every argument of every tool, and calls of the tools as JSON texts by argument.
func arguments(t *testing.T) (all []argument, calls map[string]map[string]json.RawMessage) {
	t.Helper()
	calls = map[string]map[string]json.RawMessage{}
	for i := range api.Tools {
		tool := &api.Tools[i]
		example := edgetest.Example(tool)
		if tool.Name == "verify_receipt" {
			example = `{"receipt":{"note":"[1]"}}`
		}
		var call map[string]json.RawMessage
		if err := json.Unmarshal([]byte(example), &call); err != nil {
			t.Fatalf("%s %q: %v", tool.Name, example, err)
		}
		calls[tool.Name] = call
		_, op := api.Find(tool.Operation)
		for _, f := range op.Fields {
			if f.Name == tool.Renames {
				f.Name = tool.As
			}
			if f.Name != tool.Omits && !f.QueryOnly {
				all = append(all, argument{tool.Name, f.Name, f.Type})
			}
		}
		if op.DryRun {
			all = append(all, argument{tool.Name, api.DryRun.Name, input.Switch}, argument{tool.Name, api.KeyArgument, input.Name})
		}
	}
	return all, calls
}

// with returns a call with one more argument, or without one where the value is "".
func with(call map[string]json.RawMessage, name, value string) string {
	call = maps.Clone(call)
	if delete(call, name); value != "" {
		call[name] = json.RawMessage(value)
	}
	text, _ := json.Marshal(call)
	return string(text)
}

// result calls a tool of a new host and returns the answer. effects is how many effects a write
// had.
func result(t *testing.T, tool, arguments string) (body string, effects int) {
	t.Helper()
	h := edgetest.NewFake(t)
	r := h.Do("POST", "/api/mcp", call(1, tool, arguments))
	if r.Status != 200 {
		t.Fatalf("%s %s: %d %s", tool, arguments, r.Status, r.Body)
	}
	return string(r.Body), len(h.Statements) + len(h.Messages) + len(h.Signed)
}

// An argument that is an array or an object may be its JSON text, which some clients quote twice.
func TestArgumentsAsText(t *testing.T) {
	all, calls := arguments(t)
	taken := 0
	for _, a := range all {
		if a.kind != input.Array && a.kind != input.Object {
			continue
		}
		taken++
		want, _ := result(t, a.tool, with(calls[a.tool], a.name, string(calls[a.tool][a.name])))
		if strings.Contains(want, `"isError":true`) {
			t.Fatalf("%s: %s", a.tool, want)
		}
		text := calls[a.tool][a.name]
		for range 2 {
			text, _ = json.Marshal(string(text))
			if got, _ := result(t, a.tool, with(calls[a.tool], a.name, string(text))); got != want {
				t.Errorf("%s with %s %s\n got %s\nwant %s", a.tool, a.name, text, got, want)
			}
		}
		for _, other := range []string{`"7"`, `"{\"a\":"`, `"null"`, `"[[]]"`, `"{\"content\":[]}"`} {
			if a.kind == input.Object && other == `"{\"content\":[]}"` {
				continue // an object as any
			}
			if got, effects := result(t, a.tool, with(calls[a.tool], a.name, other)); !strings.Contains(got, `"isError":true`) || effects != 0 {
				t.Errorf("%s with %s %s: %d effects, %s", a.tool, a.name, other, effects, got)
			}
		}
	}
	if taken != 3 {
		t.Errorf("%d arguments are arrays or objects", taken)
	}
}

// An argument that is null is absent.
func TestNullArguments(t *testing.T) {
	all, calls := arguments(t)
	for _, a := range append(all, argument{tool: "scoreboard", name: "random_string"}) {
		want, wanted := result(t, a.tool, with(calls[a.tool], a.name, ""))
		if got, effects := result(t, a.tool, with(calls[a.tool], a.name, "null")); got != want || effects != wanted {
			t.Errorf("%s with %s null: %d effects, %s\nwant %d, %s", a.tool, a.name, effects, got, wanted, want)
		}
	}
}

// Clients add arguments of their own. No tool refuses a call for them, and each result lists them.
func TestUnknownArguments(t *testing.T) {
	_, calls := arguments(t)
	for tool, example := range calls {
		_, wanted := result(t, tool, with(example, "", ""))
		arguments := with(example, "sessionId", `"s"`)
		for name, value := range map[string]string{"toolCallId": `"t"`, "action": `"a"`, "chatInput": `{"a":1}`, "canonical": `1`, "nothing": "null"} {
			var sent map[string]json.RawMessage
			if err := json.Unmarshal([]byte(arguments), &sent); err != nil {
				t.Fatal(err)
			}
			arguments = with(sent, name, value)
		}
		body, effects := result(t, tool, arguments)
		var answer struct {
			Result struct {
				IsError           bool
				StructuredContent struct {
					Ignored []string `json:"ignored_fields"`
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		ignored := slices.Sorted(slices.Values(answer.Result.StructuredContent.Ignored))
		if answer.Result.IsError || effects != wanted || strings.Join(ignored, " ") != "action canonical chatInput sessionId toolCallId" {
			t.Errorf("%s %s: %d effects, want %d: %s", tool, arguments, effects, wanted, body)
		}
	}
}

// What asks in a wrong way for a dry run, or for a call that is done once, writes nothing.
func TestMisspelledArguments(t *testing.T) {
	_, calls := arguments(t)
	dryRun := []string{"dryRun", "dryrun", "dry-run", "DRY_RUN", "Dry_Run"}
	key := []string{"idempotencyKey", "idempotencykey", "Idempotency-Key", "idempotency-key", "IDEMPOTENCY_KEY"}
	checked := 0
	for i := range api.Tools {
		tool := &api.Tools[i]
		_, op := api.Find(tool.Operation)
		var refused []string
		switch {
		case op.DryRun:
			refused = slices.Concat(dryRun, key)
		case op.Writes:
			refused = append(dryRun, api.DryRun.Name)
		}
		for _, name := range refused {
			checked++
			for _, value := range []string{`true`, `false`, `"0123456789abcdef"`} {
				body, effects := result(t, tool.Name, with(calls[tool.Name], name, value))
				if !strings.Contains(body, `"isError":true`) || !strings.Contains(body, `\"field\":\"`+name+`\",\"code\":\"unknown_field\"`) || effects != 0 {
					t.Errorf("%s with %s %s: %d effects, %s", tool.Name, name, value, effects, body)
				}
			}
		}
	}
	if checked != 4*10+6 {
		t.Errorf("%d names", checked)
	}
}
