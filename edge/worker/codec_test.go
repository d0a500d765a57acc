//go:build full

package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"anteroom/edge/turn"
	"anteroom/edge/worker/wire"
)

// TestCodec: JavaScript writes the turn that Go reads, and reads the outcome that Go writes. It has
// the values at the ends of their ranges; the transcripts have the usual ones.
func TestCodec(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	d := startDriver(t)
	for _, text := range []string{"", "\x00\\\"é\u2028\ufeff\U0001d518", strings.Repeat("aé", 200)} {
		for _, number := range []int64{0, 1<<53 - 1, 1 - 1<<53, -1, 1 << 32, -1 << 32, 1<<31 - 1} {
			data, raw, values := []byte(text), frame{append([]byte{}, text...)}, []any{nil, number, text}
			const fields = "a: b: c\nd: \n"
			header := []turn.Header{{Name: "a", Value: "b: c"}, {Name: "d"}}
			current := &turn.Turn{
				Now: number, Entropy: [16]byte{15: 0xff}, Request: turn.Request{Method: text, Target: text, Host: text, Header: header, Body: data, Incomplete: true},
				Host: turn.HostInfo{Client: text, PublicKey: text, KeyFault: true, Limiter: true, Queries: 50},
				Journal: []turn.Result{{}, {
					Failure: turn.Unavailable, OK: true, Status: 599, Data: data, Rows: [][][]any{{}, {values}}, Remaining: number, Reset: number, Millis: number,
				}},
			}
			var written struct{ Frame frame }
			d.do(object{"encode": object{
				"now": number, "entropy": frame{current.Entropy[:]}, "method": text, "target": text, "host": text, "fields": fields, "body": raw, "incomplete": true,
				"client": text, "publicKey": text, "keyFault": true, "limiter": true, "queries": 50,
				"journal": []object{{}, {
					"failure": 3, "ok": true, "status": 599, "data": raw, "rows": []any{[]any{}, []any{values}}, "remaining": number, "reset": number, "millis": number,
				}},
			}}, &written)
			if want := wire.AppendTurn(nil, current); !bytes.Equal(written.Frame.Bytes, want) {
				t.Errorf("JavaScript writes\n%x\nGo writes\n%x", written.Frame.Bytes, want)
			}
			for _, c := range []struct {
				outcome turn.Outcome
				read    object
			}{
				{turn.Outcome{Effects: []turn.Effect{
					turn.Exec{Statements: []turn.Statement{{SQL: text, Args: values}}},
					turn.Relay{Message: turn.Message{ID: text, List: "l", Subject: text, Text: "t", After: text}},
					turn.Fetch{Self: true, Method: text, URL: "u", Header: header, Body: data, MaxBytes: 1 << 30, TimeoutMillis: 1, ShareSeconds: 2},
					turn.Sign{Message: data},
					turn.Verify{Message: data, PublicKey: []byte{1}, Signature: []byte{2}},
					turn.Limit{Key: text},
				}}, object{"effects": []object{
					{"kind": "exec", "statements": []object{{"sql": text, "args": values}}},
					{"kind": "relay", "id": text, "list": "l", "subject": text, "text": "t", "after": text},
					{"kind": "fetch", "self": true, "method": text, "url": "u", "fields": fields, "body": raw, "maxBytes": 1 << 30, "timeout": 1, "share": 2},
					{"kind": "sign", "message": raw},
					{"kind": "verify", "message": raw, "publicKey": frame{[]byte{1}}, "signature": frame{[]byte{2}}},
					{"kind": "limit", "key": text},
				}}},
				{turn.Outcome{Response: &turn.Response{
					Status: 599, Header: header, Body: data, Log: text, Deliver: true, Observed: []turn.Observation{{Client: text, Kind: "k"}},
				}}, object{"effects": []any{}, "answer": object{
					"status": 599, "fields": fields, "body": raw, "log": text, "deliver": true, "observed": []object{{"client": text, "kind": "k"}},
				}}},
			} {
				var got struct{ Value any }
				d.do(object{"outcome": frame{wire.AppendOutcome(nil, c.outcome)}}, &got)
				var want any
				text, err := json.Marshal(c.read)
				must(t, err)
				must(t, json.Unmarshal(text, &want))
				if !reflect.DeepEqual(got.Value, want) {
					t.Errorf("JavaScript reads\n%v\nwant\n%v", got.Value, want)
				}
			}
		}
	}
}
