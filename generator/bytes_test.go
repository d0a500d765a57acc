package generator_test

import (
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/generator"
	"anteroom/generator/contract"
)

// What an agent reads costs it time and money: these are the most bytes of each body, as the
// canonical host sends it without compression.
var mostBytes = []struct {
	what string
	call call // url is a path
	most int
}{
	{"llms.txt", call{"GET", "/llms.txt", ""}, 5_120},
	{"quest", call{"GET", "/api/quest", ""}, 4_000},
	{"presence", call{"GET", "/api/presence", ""}, 2_800},
	{"policy", call{"GET", "/api/aup", ""}, 2_500},
	{"scoreboard", call{"GET", "/api/roster", ""}, 4_400},
	{"rules of the draft", call{"GET", "/api/org", ""}, 4_500},
	{"business days, calendars and rules", call{"GET", "/api/business-days", ""}, 6_300},
	{"contract of registrations", call{"GET", "/api/waitlist", ""}, 3_100},
	{"receipts", call{"GET", "/api/receipt", ""}, 4_000},
	{"openapi.json", call{"GET", "/openapi.json", ""}, 119_000},
	{"MCP tools/list", message("tools/list", "{}"), contract.MaxTools},
}

// mostBytesOfWalk is the most of all bodies of walk together.
const mostBytesOfWalk = 46_000

// mostBytesOfQuest is the most of the first nine, which are the quest as llms.txt leads to it.
const mostBytesOfQuest, callsOfQuest = 20_000, 9

// walk is what an agent calls that begins at llms.txt, tries everything, and writes nothing but a
// receipt, which is stored nowhere. The calls that llms.txt shows need no contract first.
func walk() []call {
	const initialize = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"reader","version":"1"}}`
	return []call{
		{"GET", "/llms.txt", ""},
		{"GET", "/api/quest", ""},
		{"GET", "/api/presence", ""},
		{"GET", "/api/aup", ""},
		{"GET", "/api/roster", ""},
		{"POST", "/api/receipt", `{"agent_name":"tern"}`},
		{"POST", "/api/receipt", `{"verify":` + answerBefore + `}`},
		{"POST", "/api/suggest?dry_run=1", `{"suggestion":"Say more of the pilot."}`},
		{"POST", "/api/waitlist?dry_run=1", `{"agent_name":"tern"}`},
		{"GET", "/api/org", ""},
		{"POST", "/api/org?dry_run=1", exampleOf("fileCharter")},
		{"GET", "/api/business-days?op=add&calendar=us-nyse&start=2026-12-23&days=2", ""},
		message("initialize", initialize),
		message("tools/list", "{}"),
		message("tools/call", `{"name":"service_business_days","arguments":{"op":"is","calendar":"de","date":"2026-12-25"}}`),
	}
}

// answerBefore is a placeholder in a body: the answer before it replaces it.
const answerBefore = "<the answer before>"

func message(method, params string) call {
	return call{"POST", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`}
}

// exampleOf is a body of an operation, with the examples of its fields.
func exampleOf(operation string) string {
	for i := range api.Tools {
		if tool := &api.Tools[i]; tool.Operation == operation {
			return edgetest.Example(tool)
		}
	}
	panic("no tool calls " + operation)
}

// body is the body of what answers a call.
func body(t *testing.T, o *generator.Output, h *edgetest.Fake, c call) (status int, body []byte) {
	t.Helper()
	if !strings.HasPrefix(c.url, "/api/") {
		return 200, document(t, o, c.url)
	}
	c.url = o.Snapshot.BaseURL() + c.url
	r := send(t, h, o, c)
	return r.Status, r.Body
}

func TestMostBytes(t *testing.T) {
	o := shipped()
	for _, budget := range mostBytes {
		status, body := body(t, o, keyedHost(t, o), budget.call)
		if status != 200 || len(body) > budget.most {
			t.Errorf("%s: status %d, %d bytes, and at most %d are due", budget.what, status, len(body), budget.most)
		}
	}
	sum, before := 0, ""
	for i, c := range walk() {
		c.body = strings.ReplaceAll(c.body, answerBefore, before)
		status, body := body(t, o, keyedHost(t, o), c)
		sum, before = sum+len(body), string(body)
		if i == callsOfQuest-1 && sum > mostBytesOfQuest {
			t.Errorf("the quest takes %d bytes, and at most %d are due", sum, mostBytesOfQuest)
		}
		if status != 200 || strings.Contains(before, `"isError":true`) {
			t.Errorf("%s %s %s: %d %s", c.method, c.url, c.body, status, body)
		}
	}
	if sum > mostBytesOfWalk {
		t.Errorf("the walk takes %d bytes, and at most %d are due", sum, mostBytesOfWalk)
	}
}
