package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"anteroom/edge/jsondoc"
)

// A batch may have so many messages, which stay in order. Params that are null are none.
func TestBatch(t *testing.T) {
	message := `{"jsonrpc":"2.0","id":7,"method":"ping","params":null}`
	for n := 1; n <= 4; n++ {
		messages, batch, fault := parse([]byte("["+strings.Repeat(message+",", n-1)+message+"]"), 3)
		if n == 4 && (fault == nil || fault.Message != "Invalid request: the batch has 4 messages, more than the limit of 3") ||
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
