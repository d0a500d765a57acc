package edge_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/turn"
)

// Every request gets a well-formed answer that is not a 5xx, and only an answer of 200 has effects.
func FuzzHandle(f *testing.F) {
	for _, seed := range [][4]string{
		{"POST", "/api/waitlist?dry_run=1", `{"agent_name":"ada","owner_email":"a@example.org"}`, "application/json"},
		{"POST", "/api/waitlist", `{"agent_name":"ada","pubkey":null,"x":{"y":[1]}}`, ""},
		{"GET", "/api/waitlist?agent_name=a%20b&pubkey=+", "", ""},
		{"GET", "/api/org?org_name=Tern&rainmaker=a:30&operator=b:25&verifier=c:20&scout=d:15&treasurer=e:10", "", ""},
		{"POST", "/api/org", `{"org_name":"Tern","roster":[{"position":"scout","agent_name":"a","allocation":5.0}]}`, ""},
		{"POST", "/api/receipt", `{"note":"x"}`, "application/json"},
		{"POST", "/api/receipt", `{"verify":{"canonical":"{}","signature":"AAAA","public_key_b64":"x","signed":true}}`, ""},
		{"POST", "/api/suggest", `{"message":"PIN: ten letters","email":"a@example.org"}`, "text/plain"},
		{"GET", "/api/business-days?op=add&calendar=us-nyse,+gb-eng&start=2026-12-18&days=-10", "", ""},
		{"HEAD", "/api/roster?%", "", ""},
		{"POST", "/api/mcp", `[{"jsonrpc":"2.0","id":0,"method":"initialize"},{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"service_register","arguments":{"agent_name":"a"}}}]`, ""},
		{"POST", "/api/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"\u001b\ud83d\ude00 x"}}}`, ""},
		{"DELETE", "/api/mcp", "", ""},
		{"OPTIONS", "/v1/x", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, method, target, body, contentType string) {
		h := edgetest.NewFake(t)
		r := h.Do(method, target, body, "content-type", contentType)
		if r == nil || r.Status < 200 || r.Status >= 500 {
			t.Fatalf("%s %s %q: %+v", method, target, body, r)
		}
		if r.Status != 200 && len(h.Statements)+len(h.Messages) > 0 {
			t.Fatalf("%s %s %q: status %d, and it had effects", method, target, body, r.Status)
		}
		if len(r.Body) > 0 && (!json.Valid(r.Body) || !utf8.Valid(r.Body)) {
			t.Fatalf("%s %s %q: body %q", method, target, body, r.Body)
		}
		for _, o := range r.Observed {
			kinds := []string{protocol.SeenInitialize, protocol.SeenDiscover, protocol.SeenHandshake, protocol.SeenCall}
			if !slices.Contains(kinds, o.Kind) || !utf8.ValidString(o.Client) || utf8.RuneCountInString(o.Client) > 64 {
				t.Fatalf("%s %s %q: observed %+v", method, target, body, o)
			}
		}
		names := map[string]bool{}
		for _, header := range r.Header {
			if names[header.Name] || header.Name != strings.ToLower(header.Name) {
				t.Fatalf("%s %s %q: header %s is repeated or not lower-case", method, target, body, header.Name)
			}
			names[header.Name] = true
			for i := range len(header.Value) {
				if c := header.Value[i]; c < ' ' || c > '~' {
					t.Fatalf("%s %s %q: header %s is %q", method, target, body, header.Name, header.Value)
				}
			}
		}
	})
}

// FuzzHeader: a header field may have any value, on any request that reads it. The seeds are those
// of every field that the core declares.
func FuzzHeader(f *testing.F) {
	for _, name := range api.RequestHeaders {
		for _, value := range edgetest.HeaderValues {
			f.Add(name, strings.ReplaceAll(value, "\n", ", ")) // as hosts join lines
		}
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		h := edgetest.NewFake(t)
		for _, request := range [][3]string{
			{"GET", "/api/quest", ""},
			{"HEAD", "/api/roster", ""},
			{"GET", "/page.html", ""},
			{"POST", "/llms.txt", ""},
			{"GET", "/healthz", ""},
			{"GET", "/api/waitlist?agent_name=ada", ""},
			{"POST", "/api/waitlist", `{"agent_name":"ada"}`},
			{"GET", "/api/org?org_name=Tern&rainmaker=a:30&operator=b:25&verifier=c:20&scout=d:15&treasurer=e:10", ""},
			{"POST", "/api/receipt", `{"note":"x"}`},
			{"POST", "/api/suggest", `{"message":"PIN: ten letters"}`},
			{"GET", "/api/signal?fire=1", ""},
			{"GET", "/api/mcp", ""},
			{"POST", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_register","arguments":{"agent_name":"ada"},` +
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`},
		} {
			r := h.Do(request[0], request[1], request[2], name, value)
			if r == nil || r.Status < 200 || r.Status >= 500 && !strings.Contains(request[1], "fire") || len(r.Body) > 0 && !json.Valid(r.Body) {
				t.Fatalf("%s %s with %s %q: %+v", request[0], request[1], name, value, r)
			}
		}
	})
}

// BenchmarkTurn measures what the core itself costs: whole turns whose effects take no time, as
// their results are made up.
func BenchmarkTurn(b *testing.B) {
	h := edgetest.NewFake(b)
	h.Host.Limiter = false
	minted := string(h.Do("POST", "/api/receipt", `{"agent_name":"ledger-lark"}`).Body)
	for _, c := range []struct{ name, method, target, body string }{
		{"aup", "GET", "/api/aup", ""},
		{"roster", "GET", "/api/roster", ""},
		{"mint", "POST", "/api/receipt", `{"agent_name":"ledger-lark","note":"first visit"}`},
		{"verify", "POST", "/api/receipt", `{"verify":` + minted + `}`},
		{"waitlist", "POST", "/api/waitlist", `{"agent_name":"ledger-lark","pubkey":"MCowBQYDK2VwAyEA"}`},
		{"org", "GET", "/api/org?org_name=Tern&rainmaker=a:30&operator=b:25&verifier=c:20&scout=d:15&treasurer=e:10", ""},
		{"business days", "GET", "/api/business-days?op=add&calendar=us-nyse&start=2026-12-18&days=10", ""},
		{"faulty", "POST", "/api/waitlist", `{"agent_name":7}`},
		{"mcp ping", "POST", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		{"mcp register", "POST", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_register","arguments":{"agent_name":"ledger-lark"}}}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			answered := turn.Result{OK: true, Data: make([]byte, 64), Rows: make([][][]any, 3)}
			b.ReportAllocs()
			for b.Loop() {
				t := &turn.Turn{Request: turn.Request{Method: c.method, Target: c.target, Host: "www.example.org", Body: []byte(c.body)}, Now: edgetest.Now, Host: h.Host}
				turn.Run(t, h.Edge.Handle, func(effects []turn.Effect) []turn.Result {
					results := make([]turn.Result, len(effects))
					for i := range results {
						results[i] = answered
					}
					return results
				})
			}
		})
	}
}

// Every operation answers with a document, a handler or a protocol, and every route has a contract.
func TestRouteTable(t *testing.T) {
	ids := map[string]bool{}
	for _, route := range api.Routes {
		if route.Contract == nil || len(route.Operations) == 0 || ids[route.ID] {
			t.Errorf("route %s", route.ID)
		}
		ids[route.ID] = true
		for _, op := range route.Operations {
			ways := 0
			for _, way := range []bool{op.Document != nil, op.Handle != nil, op.Protocol} {
				if way {
					ways++
				}
			}
			if ways != 1 || ids[op.ID] {
				t.Errorf("operation %s", op.ID)
			}
			ids[op.ID] = true
		}
	}
}
