package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"anteroom/edge/jsondoc"
	"anteroom/edge/jsonrpc"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		body string
		kind jsonrpc.Kind
		id   string // "" for none
	}{
		{`{"jsonrpc":"2.0","id":0,"method":"ping"}`, jsonrpc.Request, "0"},
		{`{"jsonrpc":"2.0","id":-0.0e+7,"method":"ping"}`, jsonrpc.Request, "-0.0e+7"},
		{`{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping","params":[]}`, jsonrpc.Request, "12345678901234567890"},
		{`{"jsonrpc":"2.0","id":"\u0041\/","method":"ping","extra":1}`, jsonrpc.Request, `"\u0041\/"`},
		{`{"jsonrpc":"2.0","id":"","method":""}`, jsonrpc.Request, `""`},
		{`{"jsonrpc":"2.0","method":"ping"}`, jsonrpc.Notification, ""},
		{`{"jsonrpc":"2.0","id":1,"result":null}`, jsonrpc.Response, "1"},
		{`{"jsonrpc":"2.0","id":1,"error":{}}`, jsonrpc.Response, "1"},
		{`{"jsonrpc":"2.0","id":1,"error":{},"result":{}}`, jsonrpc.Invalid, "1"},
		{`{"jsonrpc":"2.0","result":{}}`, jsonrpc.Invalid, ""},
		{`{"jsonrpc":"2.0","id":1}`, jsonrpc.Invalid, "1"},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, jsonrpc.Invalid, ""},
		{`{"jsonrpc":"2.0","id":true,"method":"ping"}`, jsonrpc.Invalid, ""},
		{`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, jsonrpc.Invalid, ""},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, jsonrpc.Invalid, "1"},
		{`{"jsonrpc":2.0,"id":1,"method":"ping"}`, jsonrpc.Invalid, "1"},
		{`{"JSONRPC":"2.0","id":1,"method":"ping"}`, jsonrpc.Invalid, "1"},
		{`"ping"`, jsonrpc.Invalid, ""},
		{`null`, jsonrpc.Invalid, ""},
	} {
		messages, batch, fault := jsonrpc.Parse([]byte(c.body), 50)
		if fault != nil || batch || len(messages) != 1 {
			t.Errorf("%s: %v, %v, %v", c.body, messages, batch, fault)
			continue
		}
		if m := messages[0]; m.Kind != c.kind || string(m.ID) != c.id || (m.Kind == jsonrpc.Invalid) != (m.Fault != "") {
			t.Errorf("%s: kind %d, id %s, %q", c.body, m.Kind, m.ID, m.Fault)
		}
	}
	for body, code := range map[string]int{
		``: jsonrpc.ParseError, ` `: jsonrpc.ParseError, `{`: jsonrpc.ParseError, `{} {}`: jsonrpc.ParseError, "\ufeff{}": jsonrpc.ParseError, "\xff": jsonrpc.ParseError,
		`{"a":1,"a":2}`: jsonrpc.ParseError, `{"a":"\ud800"}`: jsonrpc.ParseError, strings.Repeat("[", 50_000): jsonrpc.ParseError,
		strings.Repeat("[", 33) + strings.Repeat("]", 33): jsonrpc.ParseError,
		`[]`: jsonrpc.InvalidRequest, `[` + strings.Repeat(`1,`, 50) + `1]`: jsonrpc.InvalidRequest,
	} {
		if messages, _, fault := jsonrpc.Parse([]byte(body), 50); fault == nil || fault.Code != code || messages != nil {
			t.Errorf("%.40q: %v", body, fault)
		}
	}
}

// A batch of more messages than are allowed is refused as a whole. The messages of any other stay
// in order.
func TestBatch(t *testing.T) {
	message := `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	for n, want := range map[int]int{1: 1, 2: 2, 3: 3, 4: 0} {
		messages, batch, fault := jsonrpc.Parse([]byte("["+strings.Repeat(message+",", n-1)+message+"]"), 3)
		if len(messages) != want || !batch || (fault == nil) != (want > 0) {
			t.Errorf("%d: %d messages, %v, %v", n, len(messages), batch, fault)
		}
		if fault != nil && fault.Message != "Invalid request: the batch has 4 messages, and at most 3 are read" {
			t.Error(fault.Message)
		}
	}
}

// Params that are null are none; any others are kept as they are.
func TestParams(t *testing.T) {
	for params, want := range map[string]jsondoc.Kind{``: jsondoc.Absent, `,"params":null`: jsondoc.Absent, `,"params":{"a":1}`: jsondoc.Object, `,"params":[1]`: jsondoc.Array} {
		messages, _, _ := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"`+params+`}`), 1)
		if got := messages[0].Params; got.Kind != want || want == jsondoc.Object && got.Get("a").Text != "1" {
			t.Errorf("%s: %+v", params, got)
		}
	}
}

// Whatever is read, an answer to it is JSON, and repeats the id as it was written.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`[{"jsonrpc":"2.0","id":"a\u0000","method":"ping"},{"jsonrpc":"2.0","id":1e5,"result":{}},7]`, `[[]]`, `{"id":-1.5E-3}`, `[`, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		messages, batch, fault := jsonrpc.Parse(body, 50)
		if (fault == nil) == (messages == nil) || !batch && len(messages) > 1 || len(messages) > 50 {
			t.Fatalf("%q: %d messages, %v, %v", body, len(messages), batch, fault)
		}
		for _, m := range messages {
			if m.Kind == jsonrpc.Request && (m.ID == nil || m.Params == nil) || m.Kind == jsonrpc.Notification && m.ID != nil {
				t.Fatalf("%q: %+v", body, m)
			}
			var w jsondoc.Writer
			jsonrpc.WriteResult(&w, m.ID, func(w *jsondoc.Writer) { w.Str("method", m.Method) })
			id := m.ID
			if id == nil {
				id = []byte("null")
			}
			if !json.Valid(w.Buf) || !bytes.HasPrefix(w.Buf, []byte(`{"jsonrpc":"2.0","id":`+string(id)+`,`)) {
				t.Fatalf("%q is answered by %q", body, w.Buf)
			}
		}
	})
}
