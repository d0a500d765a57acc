package prerender_test

import (
	"encoding/json"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
	"anteroom/edge/worker/prerender"
)

// The text holds the answers of all operations with a constant document, and of no others. Each is
// byte for byte the answer of the core.
func TestAnswers(t *testing.T) {
	s := edgetest.Snapshot()
	e := edgetest.Load(t, s)
	text, err := prerender.Answers(s)
	if err != nil {
		t.Fatal(err)
	}
	var constants struct {
		Host, Common string
		Answers      map[string]struct{ Fields, Document, Rest string }
	}
	if err := json.Unmarshal(text, &constants); err != nil {
		t.Fatal(err)
	}
	if constants.Host != s.CanonicalHost || constants.Common != string(turn.AppendFields(nil, respond.CommonHeaders)) {
		t.Errorf("%s, %s", constants.Host, constants.Common)
	}
	there := 0
	for _, route := range api.Routes {
		given, known := constants.Answers[route.Path]
		constant := false
		for _, op := range route.Operations {
			constant = constant || op.Document != nil && op.Document.Tail == nil
		}
		if known != constant {
			t.Errorf("%s is given without the core: %v, want %v", route.Path, known, constant)
		}
		if !known {
			continue
		}
		there++
		r := e.Handle(&turn.Turn{Request: turn.Request{Method: "GET", Target: route.Path, Host: s.CanonicalHost}}).Response
		document := s.Documents[given.Document]
		if body := string(document[:len(document)-1]) + given.Rest; r.Status != 200 || body != string(r.Body) || given.Fields != string(turn.AppendFields(nil, r.Header)) {
			t.Errorf("%s: given %s%s\nanswered %v %s", route.Path, given.Fields, body, r.Header, r.Body)
		}
	}
	if there == 0 {
		t.Error("nothing is given without the core")
	}
}
