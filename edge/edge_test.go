package edge_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"testing"

	"anteroom/edge"
	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/turn"
)

// A prepared response is what a host sends where no effect fails. So it equals the response that a
// further call gives once the effects are performed.
func TestPreparedResponseIsWhole(t *testing.T) {
	h := edgetest.NewFake(t)
	h.Host.Limiter = false
	current := &turn.Turn{Now: edgetest.Now, Host: h.Host, Request: turn.Request{Method: "GET", Target: "/api/waitlist?agent_name=ada", Host: "www.example.org"}}
	ahead := h.Edge.Handle(current)
	if ahead.Response == nil || len(ahead.Effects) != 2 {
		t.Fatalf("%+v", ahead)
	}
	signature := ed25519.Sign(h.Key, ahead.Effects[1].(turn.Sign).Message)
	base64.StdEncoding.Encode(ahead.Response.Body[ahead.Response.SignatureAt:], signature) // as a host does
	current.Journal = []turn.Result{{}, {Data: signature}}
	after := h.Edge.Handle(current)
	if after.Response == nil || len(after.Effects) != 0 {
		t.Fatalf("%+v", after)
	}
	if got, want := string(turn.AppendFields(nil, ahead.Response.Header)), string(turn.AppendFields(nil, after.Response.Header)); got != want || edgetest.Header(ahead.Response, "link") == "" {
		t.Errorf("header fields ahead\n%s\nand after\n%s", got, want)
	}
	if string(ahead.Response.Body) != string(after.Response.Body) {
		t.Errorf("ahead %s\nand after %s", ahead.Response.Body, after.Response.Body)
	}
}

// Load refuses a snapshot that lacks a document of the API or of the MCP server.
func TestLoad(t *testing.T) {
	for _, id := range []string{"endpoints", api.MCPTools} {
		s := edgetest.Snapshot()
		delete(s.Documents, id)
		if e, err := edge.Load(s); e != nil || err == nil {
			t.Errorf("without %s: %v", id, err)
		}
	}
}
