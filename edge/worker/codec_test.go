//go:build full

package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"anteroom/edge/turn"
	"anteroom/edge/worker/wire"
)

// random makes random values of everything that crosses the border of the module.
type random struct{ *rand.Rand }

func (r random) text() string {
	runes := make([]rune, r.IntN(12))
	for i := range runes {
		runes[i] = []rune("aZ0 \n\x00\"\\é\u2028\ufeff\U0001d518")[r.IntN(12)]
	}
	return string(runes)
}

func (r random) bytes() []byte {
	b := make([]byte, r.IntN(70))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// whole is an integer that JavaScript represents exactly.
func (r random) whole() int64 { return (r.Int64N(1<<53) - 1<<52) >> r.IntN(53) }

func (r random) fields() (header []turn.Header) {
	for range r.IntN(4) {
		header = append(header, turn.Header{Name: []string{"a", "content-type", "x-y"}[r.IntN(3)], Value: []string{"", "b", "c: d"}[r.IntN(3)]})
	}
	return header
}

func (r random) values() []any {
	list := make([]any, r.IntN(4))
	for i := range list {
		list[i] = []any{nil, r.whole(), r.text()}[r.IntN(3)]
	}
	return list
}

func many[T any](r random, item func() T) []T {
	list := make([]T, r.IntN(4))
	for i := range list {
		list[i] = item()
	}
	return list
}

func (r random) result() turn.Result {
	return turn.Result{
		Failure: []turn.Failure{turn.None, turn.Refused, turn.Timeout, turn.Unavailable}[r.IntN(4)], OK: r.IntN(2) == 0, Status: r.IntN(600), Data: r.bytes(),
		Rows:      many(r, func() [][]any { return many(r, r.values) }),
		Remaining: r.whole(), Reset: r.whole(), Millis: r.whole(),
	}
}

func (r random) turn() *turn.Turn {
	t := &turn.Turn{
		Now: r.whole(), Request: turn.Request{Method: r.text(), Target: r.text(), Host: r.text(), Header: r.fields(), Body: r.bytes(), Incomplete: r.IntN(2) == 0},
		Host:    turn.HostInfo{Client: r.text(), PublicKey: r.text(), KeyFault: r.IntN(2) == 0, Limiter: r.IntN(2) == 0},
		Journal: many(r, r.result),
	}
	for i := range t.Entropy {
		t.Entropy[i] = byte(r.Uint32())
	}
	return t
}

func (r random) effect() turn.Effect {
	return []turn.Effect{
		turn.Exec{Statements: many(r, func() turn.Statement { return turn.Statement{SQL: r.text(), Args: r.values()} })},
		turn.Relay{Message: turn.Message{ID: r.text(), List: turn.List(r.text()), Subject: r.text(), Text: r.text(), Records: many(r, r.text), After: r.text()}},
		turn.Fetch{Self: r.IntN(2) == 0, Method: r.text(), URL: r.text(), Header: r.fields(), Body: r.bytes(), MaxBytes: r.IntN(1 << 30), TimeoutMillis: r.IntN(1 << 30), ShareSeconds: r.IntN(1 << 30)},
		turn.Sign{Message: r.bytes()},
		turn.Verify{Message: r.bytes(), PublicKey: r.bytes(), Signature: r.bytes()},
		turn.Limit{Key: r.text()},
	}[r.IntN(6)]
}

func (r random) outcome() turn.Outcome {
	if r.IntN(2) == 0 {
		return turn.Outcome{Effects: many(r, r.effect)}
	}
	return turn.Outcome{Response: &turn.Response{
		Status: r.IntN(600), Header: r.fields(), Body: []byte(r.text()), Log: r.text(), Deliver: r.IntN(2) == 1, Observed: many(r, r.observation),
	}}
}

func (r random) observation() turn.Observation {
	return turn.Observation{Client: r.text(), Kind: r.text()}
}

// object is a JavaScript object as the driver writes it.
type object = map[string]any

func linesOf(header []turn.Header) (lines string) {
	for _, h := range header {
		lines += h.Name + ": " + h.Value + "\n"
	}
	return lines
}

// turnObject is a turn as the JavaScript host makes it; see wire.mjs.
func turnObject(t *turn.Turn) object {
	journal := []object{}
	for _, r := range t.Journal {
		result := object{
			"failure": map[turn.Failure]int{turn.Refused: 1, turn.Timeout: 2, turn.Unavailable: 3}[r.Failure], "ok": r.OK, "status": r.Status,
			"data": frame{r.Data}, "rows": r.Rows, "remaining": r.Remaining, "reset": r.Reset, "millis": r.Millis,
		}
		// The JavaScript host may leave out members that are zero.
		for name, value := range result {
			if v := reflect.ValueOf(value); v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
				delete(result, name)
			}
		}
		journal = append(journal, result)
	}
	return object{
		"now": t.Now, "entropy": frame{t.Entropy[:]}, "method": t.Request.Method, "target": t.Request.Target, "host": t.Request.Host,
		"fields": linesOf(t.Request.Header), "body": frame{t.Request.Body}, "incomplete": t.Request.Incomplete, "client": t.Host.Client, "publicKey": t.Host.PublicKey,
		"keyFault": t.Host.KeyFault, "limiter": t.Host.Limiter, "queries": t.Host.Queries, "journal": journal,
	}
}

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
			"status": r.Status, "fields": linesOf(r.Header), "body": frame{r.Body}, "log": r.Log, "deliver": r.Deliver, "observed": observed,
		}
	}
	for _, effect := range o.Effects {
		switch e := effect.(type) {
		case turn.Exec:
			statements := []object{}
			for _, s := range e.Statements {
				statements = append(statements, object{"sql": s.SQL, "args": s.Args})
			}
			effects = append(effects, object{"kind": "exec", "statements": statements})
		case turn.Relay:
			m := e.Message
			effects = append(effects, object{"kind": "relay", "id": m.ID, "list": m.List, "subject": m.Subject, "text": m.Text, "records": m.Records, "after": m.After})
		case turn.Fetch:
			effects = append(effects, object{
				"kind": "fetch", "self": e.Self, "method": e.Method, "url": e.URL, "fields": linesOf(e.Header), "body": frame{e.Body},
				"maxBytes": e.MaxBytes, "timeout": e.TimeoutMillis, "share": e.ShareSeconds,
			})
		case turn.Sign:
			effects = append(effects, object{"kind": "sign", "message": frame{e.Message}})
		case turn.Verify:
			effects = append(effects, object{"kind": "verify", "message": frame{e.Message}, "publicKey": frame{e.PublicKey}, "signature": frame{e.Signature}})
		case turn.Limit:
			effects = append(effects, object{"kind": "limit", "key": e.Key})
		}
	}
	return all
}

// TestCodec: what Go writes JavaScript reads, and the other way round. No truncated frame is read.
func TestCodec(t *testing.T) {
	t.Parallel()
	d := startDriver(t)
	r := random{rand.New(rand.NewPCG(3, 4))}
	for range 500 {
		current := r.turn()
		var written struct {
			Frame frame `json:"frame"`
		}
		d.do(object{"encode": turnObject(current)}, &written)
		if want := wire.AppendTurn(nil, current); !bytes.Equal(written.Frame.Bytes, want) {
			t.Fatalf("JavaScript writes\n%x\nGo writes\n%x\nof %+v", written.Frame.Bytes, want, current)
		}
		if read, err := wire.DecodeTurn(written.Frame.Bytes); err != nil || !bytes.Equal(wire.AppendTurn(nil, read), written.Frame.Bytes) {
			t.Fatalf("Go reads %x as %+v, %v", written.Frame.Bytes, read, err)
		}

		outcome := r.outcome()
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
		if err != nil || !reflect.DeepEqual(got.Value, want) {
			t.Fatalf("JavaScript reads\n%v\nof what Go wrote of\n%v %v", got.Value, want, err)
		}
		if len(got.Misread) != 0 {
			t.Fatalf("JavaScript reads the first %v bytes of %x", got.Misread, wire.AppendOutcome(nil, outcome))
		}
	}
}

// TestTextsAreForgotten: the decoder in JavaScript keeps texts that it expects to meet again. It
// keeps few of them, whatever it reads.
func TestTextsAreForgotten(t *testing.T) {
	const size, times, most = 64 << 10, 500, 100
	frame := wire.AppendOutcome(nil, turn.Outcome{Response: &turn.Response{Header: []turn.Header{{Name: "a", Value: string(make([]byte, size))}}}})
	var got struct {
		Kept int `json:"kept"`
	}
	startDriver(t).do(map[string]any{"vary": map[string]any{"bytes": frame}, "at": size / 2, "times": times}, &got)
	if got.Kept < size || got.Kept > most*size {
		t.Errorf("%d bytes are kept of %d texts of %d bytes, want %d texts at most", got.Kept, times, size, most)
	}
}
