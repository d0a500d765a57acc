package generator_test

import (
	"fmt"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/generator"
)

// What an agent reads costs it time and money: these are the most bytes of each body, as the
// canonical host sends it without compression.
var mostBytes = []struct {
	what string
	call call // url is a path
	most int
}{
	{"llms.txt", call{"GET", "/llms.txt", ""}, 5_120},
	{"quest", call{"GET", "/api/quest", ""}, 3_800},
	{"presence", call{"GET", "/api/presence", ""}, 2_600},
	{"policy", call{"GET", "/api/aup", ""}, 2_300},
	{"scoreboard", call{"GET", "/api/roster", ""}, 4_200},
	{"MCP tools/list", message("tools/list", "{}"), 16_384},
}

func message(method, params string) call {
	return call{"POST", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`}
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
	o := generate(t, shippedContent)
	var table strings.Builder
	for _, budget := range mostBytes {
		status, body := body(t, o, keyedHost(t, o), budget.call)
		fmt.Fprintf(&table, "\n%8d of %8d  %s", len(body), budget.most, budget.what)
		if status != 200 || len(body) > budget.most {
			t.Errorf("%s: status %d, %d bytes, and at most %d are due", budget.what, status, len(body), budget.most)
		}
	}
	t.Log(table.String())
}
