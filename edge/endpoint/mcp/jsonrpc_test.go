package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/jsondoc"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		body string
		kind kind
		id   string // "" for none
	}{
		{`{"jsonrpc":"2.0","id":0,"method":"ping"}`, request, "0"},
		{`{"jsonrpc":"2.0","id":-0.0e+7,"method":"ping"}`, request, "-0.0e+7"},
		{`{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping","params":[]}`, request, "12345678901234567890"},
		{`{"jsonrpc":"2.0","id":"\u0041\/","method":"ping","extra":1}`, request, `"\u0041\/"`},
		{`{"jsonrpc":"2.0","method":"ping"}`, notification, ""},
		{`{"jsonrpc":"2.0","id":1,"result":null}`, response, "1"},
		{`{"jsonrpc":"2.0","id":1,"error":{}}`, response, "1"},
		{`{"jsonrpc":"2.0","id":1,"error":{},"result":{}}`, notAMessage, "1"},
		{`{"jsonrpc":"2.0","id":1}`, notAMessage, "1"},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, notAMessage, ""},
		{`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, notAMessage, ""},
		{`{"jsonrpc":2.0,"id":1,"method":"ping"}`, notAMessage, "1"},
		{`"ping"`, notAMessage, ""},
	} {
		messages, batch, fault := parse([]byte(c.body), 50)
		if fault != nil || batch || len(messages) != 1 {
			t.Errorf("%s: %v, %v, %v", c.body, messages, batch, fault)
			continue
		}
		if m := messages[0]; m.Kind != c.kind || string(m.ID) != c.id || (m.Kind == notAMessage) != (m.Fault != "") {
			t.Errorf("%s: kind %d, id %s, %q", c.body, m.Kind, m.ID, m.Fault)
		}
	}
	for body, code := range map[string]int{
		``: protocol.ParseError, ` `: protocol.ParseError, `{`: protocol.ParseError, `{} {}`: protocol.ParseError, "\ufeff{}": protocol.ParseError, "\xff": protocol.ParseError,
		`{"a":1,"a":2}`: protocol.ParseError, `{"a":"\ud800"}`: protocol.ParseError, strings.Repeat("[", 50_000): protocol.ParseError,
		strings.Repeat("[", 33) + strings.Repeat("]", 33): protocol.ParseError,
		`[]`: protocol.InvalidRequest, `[` + strings.Repeat(`1,`, 50) + `1]`: protocol.InvalidRequest,
	} {
		if messages, _, fault := parse([]byte(body), 50); fault == nil || fault.Code != code || messages != nil {
			t.Errorf("%.40q: %v", body, fault)
		}
	}
}

// A batch may have so many messages, which stay in order. Params that are null are none.
func TestBatch(t *testing.T) {
	message := `{"jsonrpc":"2.0","id":7,"method":"ping","params":null}`
	for n := 1; n <= 4; n++ {
		messages, batch, fault := parse([]byte("["+strings.Repeat(message+",", n-1)+message+"]"), 3)
		if n == 4 && (fault == nil || fault.Message != "Invalid request: the batch has 4 messages, and at most 3 are read") ||
			n < 4 && (len(messages) != n || fault != nil || messages[0].Params.Kind != jsondoc.Absent) || !batch {
			t.Errorf("%d: %+v, %v, %+v", n, messages, batch, fault)
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
		messages, batch, fault := parse(body, 50)
		if (fault == nil) == (messages == nil) || !batch && len(messages) > 1 || len(messages) > 50 {
			t.Fatalf("%q: %d messages, %v, %v", body, len(messages), batch, fault)
		}
		for _, m := range messages {
			if m.Kind == request && (m.ID == nil || m.Params == nil) || m.Kind == notification && m.ID != nil {
				t.Fatalf("%q: %+v", body, m)
			}
			var w jsondoc.Writer
			writeResult(&w, m.ID, func(w *jsondoc.Writer) { w.Str("method", m.Method) })
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
