package edge_test

import (
	"encoding/json"
	"testing"

	"anteroom/edge"
	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/kernel"
	"anteroom/edge/respond"
)

// Constants holds the answers of all operations with a constant document, and of no others. Each is
// byte for byte the answer of the core.
func TestConstants(t *testing.T) {
	s := edgetest.Snapshot()
	e := edgetest.Load(t, s)
	var constants struct {
		Host, Common string
		Answers      map[string]struct{ Fields, Document, Rest string }
	}
	if err := json.Unmarshal(e.Constants(), &constants); err != nil {
		t.Fatal(err)
	}
	if constants.Host != s.CanonicalHost || constants.Common != string(kernel.AppendFields(nil, respond.CommonHeaders)) {
		t.Errorf("%s, %s", constants.Host, constants.Common)
	}
	there := 0
	for _, route := range api.Routes {
		given, known := constants.Answers[route.Path]
		constant := false
		for _, op := range route.Operations {
			constant = constant || op.Document != nil && op.Cache == api.Constant
		}
		if known != constant {
			t.Errorf("%s is given without the core: %v, want %v", route.Path, known, constant)
		}
		if !known {
			continue
		}
		there++
		r := e.Handle(&kernel.Turn{Request: kernel.Request{Method: "GET", Target: route.Path, Host: s.CanonicalHost}}).Response
		document := s.Documents[given.Document]
		if body := string(document[:len(document)-1]) + given.Rest; r.Status != 200 || body != string(r.Body) || given.Fields != string(kernel.AppendFields(nil, r.Header)) {
			t.Errorf("%s: given %s%s\nanswered %v %s", route.Path, given.Fields, body, r.Header, r.Body)
		}
	}
	if there == 0 {
		t.Error("nothing is given without the core")
	}
}

// A prepared response is what a host sends where no effect fails. So it equals the response that a
// further call gives once the effects are performed.
func TestPreparedResponseIsWhole(t *testing.T) {
	h := edgetest.NewFake(t)
	h.Core.Limiter = false
	turn := &kernel.Turn{Now: edgetest.Now, Host: h.Core, Request: kernel.Request{Method: "GET", Target: "/api/waitlist?agent_name=ada", Host: "www.example.org"}}
	ahead := h.Edge.Handle(turn)
	if ahead.Response == nil || len(ahead.Effects) != 1 {
		t.Fatalf("%+v", ahead)
	}
	turn.Journal = []kernel.Result{{}}
	after := h.Edge.Handle(turn)
	if after.Response == nil || len(after.Effects) != 0 {
		t.Fatalf("%+v", after)
	}
	if got, want := string(kernel.AppendFields(nil, ahead.Response.Header)), string(kernel.AppendFields(nil, after.Response.Header)); got != want || edgetest.Header(ahead.Response, "link") == "" {
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
