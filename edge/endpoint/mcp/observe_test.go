package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/endpoint/selftest"
	"anteroom/edge/turn"
)

// initialize is an initialize of a client that says this of itself.
func initialize(info string) string {
	return request(1, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":`+info+`}`)
}

// modern is a request of the stateless revision, by a client that says this of itself.
func modern(method, members, info string) string {
	return request(1, method, `{`+members+`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":`+info+`}}`)
}

// An observation is made of each message that was not refused, with the name that its client
// gives.
func TestObserved(t *testing.T) {
	const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listing, calling := request(2, "tools/list", "{}"), call(3, "scoreboard", "{}")
	version := []string{"mcp-protocol-version", "2025-06-18"}
	stateless := func(method, name string) []string {
		return []string{"mcp-protocol-version", protocol.Stateless, "mcp-method", method, "mcp-name", name}
	}
	long := strings.Repeat("é", 64)
	for name, c := range map[string]struct {
		body   string
		header []string
		want   string
	}{
		"an initialize":           {initialize(`{"name":"lark","version":"1"}`), nil, `"lark" initialize`},
		"a long name":             {initialize(`{"name":"` + long + `x"}`), nil, fmt.Sprintf("%q initialize", long)},
		"control characters":      {initialize(`{"name":"\u001b[31m\u0000\n"}`), nil, `"\x1b[31m\x00\n" initialize`},
		"blank where it is cut":   {initialize(`{"name":"` + strings.Repeat(" ", 64) + `x"}`), nil, `"" initialize`},
		"no params":               {`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, nil, `"" initialize`},
		"a handshake completed":   {initialized, version, `"" handshake`},
		"without the header":      {initialized, nil, ``},
		"a call with the header":  {calling, version, `"" tools/call, "" handshake`},
		"a batch":                 {"[" + initialize(`{"name":"lark"}`) + "," + listing + "," + calling + "," + calling + "]", version, `"lark" initialize, "" tools/call, "" tools/call`},
		"a batch with the header": {"[" + calling + "," + initialized + "," + listing + "]", version, `"" tools/call, "" handshake`},
		"a batch with a fault":    {"[7," + calling + "," + call(4, "nothing", "{}") + "]", nil, `"" tools/call`},

		"discover":         {modern("server/discover", "", `{"name":"tern"}`), stateless("server/discover", ""), `"tern" discover`},
		"a stateless list": {modern("tools/list", "", `{"name":"tern"}`), stateless("tools/list", ""), `"tern" handshake`},
		"a stateless call": {modern("tools/call", `"name":"service_scoreboard",`, `{"name":"tern"}`), stateless("tools/call", "service_scoreboard"), `"tern" tools/call, "tern" handshake`},

		"a refused header":             {listing, []string{"mcp-protocol-version", "2099-01-01"}, ``},
		"a call that asks for nothing": {`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"service_scoreboard"}}`, nil, ``},
		"an initialize that is new":    {modern("initialize", `"clientInfo":{"name":"tern"},`, `{"name":"tern"}`), stateless("initialize", ""), ``},
		"too many writes":              {"[" + strings.Repeat(call(1, "register", `{"agent_name":"ada"}`)+",", 20) + initialize(`{"name":"lark"}`) + "]", nil, ``},
	} {
		h := edgetest.NewFake(t)
		if got := seen(h.Do("POST", "/api/mcp", c.body, c.header...)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if r := edgetest.NewFake(t).Do("POST", "/api/mcp", c.body, append([]string{selftest.Header, "1"}, c.header...)...); len(r.Observed) > 0 {
			t.Errorf("%s, by a self-test: %s", name, seen(r))
		}
	}
}

// seen writes down what was observed.
func seen(r *turn.Response) string {
	var list []string
	for _, o := range r.Observed {
		list = append(list, fmt.Sprintf("%q %s", o.Client, o.Kind))
	}
	return strings.Join(list, ", ")
}
