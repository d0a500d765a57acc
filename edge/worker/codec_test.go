//go:build full

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"testing"

	"anteroom/edge/turn"
	"anteroom/edge/worker/wire"
)

// object is a JavaScript object as the driver writes it.
type object = map[string]any

// turnObject is a turn as the JavaScript host makes it; see wire.mjs.
func turnObject(t *turn.Turn) object {
	journal := []object{}
	for _, r := range t.Journal {
		rows := []any{}
		for _, list := range r.Rows {
			lists := []any{}
			for _, row := range list {
				lists = append(lists, append([]any{}, row...))
			}
			rows = append(rows, lists)
		}
		result := object{
			"failure": map[turn.Failure]int{turn.Refused: 1, turn.Timeout: 2, turn.Unavailable: 3}[r.Failure], "ok": r.OK, "status": r.Status,
			"data": frame{r.Data}, "rows": rows, "remaining": r.Remaining, "reset": r.Reset, "millis": r.Millis,
		}
		maps.DeleteFunc(result, func(_ string, value any) bool { return fmt.Sprint(value) == "0" }) // as the host may
		journal = append(journal, result)
	}
	return object{
		"now": t.Now, "entropy": frame{t.Entropy[:]}, "method": t.Request.Method, "target": t.Request.Target, "host": t.Request.Host,
		"fields": string(turn.AppendFields(nil, t.Request.Header)), "body": frame{t.Request.Body}, "incomplete": t.Request.Incomplete, "client": t.Host.Client, "publicKey": t.Host.PublicKey,
		"keyFault": t.Host.KeyFault, "limiter": t.Host.Limiter, "queries": t.Host.Queries, "journal": journal,
	}
}

// whole is a frame that is not null in JSON.
func whole(b []byte) frame { return frame{append([]byte{}, b...)} }

// outcomeObject is an outcome as the JavaScript host has to read it.
func outcomeObject(o turn.Outcome) object {
	effects := []object{}
	all := object{"effects": &effects}
	if r := o.Response; r != nil {
		observed := []object{}
		for _, o := range r.Observed {
			observed = append(observed, object{"client": o.Client, "kind": o.Kind})
		}
		all["answer"] = object{
			"status": r.Status, "fields": string(turn.AppendFields(nil, r.Header)), "body": whole(r.Body), "log": r.Log, "deliver": r.Deliver, "observed": observed,
		}
	}
	for _, effect := range o.Effects {
		switch e := effect.(type) {
		case turn.Exec:
			statements := []object{}
			for _, s := range e.Statements {
				statements = append(statements, object{"sql": s.SQL, "args": append([]any{}, s.Args...)})
			}
			effects = append(effects, object{"kind": "exec", "statements": statements})
		case turn.Relay:
			m := e.Message
			effects = append(effects, object{"kind": "relay", "id": m.ID, "list": m.List, "subject": m.Subject, "text": m.Text, "after": m.After})
		case turn.Fetch:
			effects = append(effects, object{
				"kind": "fetch", "self": e.Self, "method": e.Method, "url": e.URL, "fields": string(turn.AppendFields(nil, e.Header)), "body": whole(e.Body),
				"maxBytes": e.MaxBytes, "timeout": e.TimeoutMillis, "share": e.ShareSeconds,
			})
		case turn.Sign:
			effects = append(effects, object{"kind": "sign", "message": whole(e.Message)})
		case turn.Verify:
			effects = append(effects, object{"kind": "verify", "message": whole(e.Message), "publicKey": whole(e.PublicKey), "signature": whole(e.Signature)})
		case turn.Limit:
			effects = append(effects, object{"kind": "limit", "key": e.Key})
		}
	}
	return all
}

// codec checks that Go reads the turn that JavaScript writes, and JavaScript the outcome that Go
// writes. JavaScript reads no truncated outcome.
func (d *driver) codec(current *turn.Turn, outcome turn.Outcome) {
	d.t.Helper()
	var written struct {
		Frame frame `json:"frame"`
	}
	d.do(object{"encode": turnObject(current)}, &written)
	if want := wire.AppendTurn(nil, current); !bytes.Equal(written.Frame.Bytes, want) {
		d.t.Fatalf("JavaScript writes\n%x\nGo writes\n%x\nof %+v", written.Frame.Bytes, want, current)
	}
	var got struct {
		Value   any   `json:"value"`
		Misread []int `json:"misread"`
	}
	d.do(object{"outcome": frame{wire.AppendOutcome(nil, outcome)}}, &got)
	text, err := json.Marshal(outcomeObject(outcome))
	var want any
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil || !reflect.DeepEqual(got.Value, want) || len(got.Misread) != 0 {
		d.t.Fatalf("JavaScript reads\n%v\nof what Go wrote of\n%v %v; of its beginnings it reads %v", got.Value, want, err, got.Misread)
	}
}

// TestCodec has the values at the ends of their ranges. TestBothCoresAgree has the turns of the
// transcripts.
func TestCodec(t *testing.T) {
	t.Parallel()
	d := startDriver(t)
	for _, text := range []string{"", "\x00\\\"é\u2028\ufeff\U0001d518", string(bytes.Repeat([]byte("aé"), 200))} {
		for _, number := range []int64{0, 1<<53 - 1, 1 - 1<<53, -1, 1 << 32, -1 << 32, 1<<31 - 1} {
			values, header := []any{nil, number, text}, []turn.Header{{Name: "a", Value: "b: c"}, {Name: "d"}}
			d.codec(&turn.Turn{
				Now: number, Entropy: [16]byte{15: 0xff}, Request: turn.Request{Method: text, Target: text, Host: text, Header: header, Body: []byte(text), Incomplete: true},
				Host: turn.HostInfo{Client: text, PublicKey: text, KeyFault: true, Limiter: true, Queries: 50},
				Journal: []turn.Result{{}, {
					Failure: turn.Unavailable, OK: true, Status: 599, Data: []byte(text), Rows: [][][]any{{}, {values}}, Remaining: number, Reset: number, Millis: number,
				}},
			}, turn.Outcome{Effects: []turn.Effect{
				turn.Exec{Statements: []turn.Statement{{SQL: text, Args: values}}},
				turn.Relay{Message: turn.Message{ID: text, List: turn.Contacts, Subject: text, Text: text, After: text}},
				turn.Fetch{Self: true, Method: text, URL: text, Header: header, Body: []byte(text), MaxBytes: 1 << 30, TimeoutMillis: 1, ShareSeconds: 2},
				turn.Sign{Message: []byte(text)},
				turn.Verify{Message: []byte(text), PublicKey: []byte{1}, Signature: []byte{2}},
				turn.Limit{Key: text},
			}})
			d.codec(&turn.Turn{}, turn.Outcome{Response: &turn.Response{
				Status: 599, Header: header, Body: []byte(text), Log: text, Deliver: true, Observed: []turn.Observation{{Client: text, Kind: text}},
			}})
		}
	}
}
