package wire_test

import (
	"bytes"
	"encoding/hex"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"anteroom/edge/core"
	"anteroom/edge/edgetest"
	"anteroom/edge/worker/wire"
)

// The turn and the answer of the package comment.
func exampleTurn() *core.Turn {
	return &core.Turn{
		Now: 1, Request: core.Request{Method: "GET", Target: "/a", Host: "h"},
		Journal: []core.Result{{OK: true, Remaining: -1}},
	}
}

func exampleOutcome() core.Outcome {
	return core.Outcome{Response: &core.Response{Status: 204, Header: []core.Header{{Name: "a", Value: "b"}}}}
}

// TestSpecification reads the examples of the package comment.
func TestSpecification(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "wire.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(file.Doc.Text(), "in hexadecimal:")
	first, second, too := strings.Cut(rest, "\n\nand the answer")
	_, second, three := strings.Cut(second, ":\n\n")
	if !found || !too || !three {
		t.Fatalf("the package comment has no examples:\n%s", rest)
	}
	decode := func(digits string) []byte {
		b, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if got, want := wire.AppendTurn(nil, exampleTurn()), decode(first); !bytes.Equal(got, want) {
		t.Errorf("the turn is %x, the comment says %x", got, want)
	}
	if turn, err := wire.DecodeTurn(decode(first)); err != nil || turn.Request.Target != "/a" || turn.Request.Host != "h" || turn.Journal[0].Remaining != -1 {
		t.Errorf("the turn of the comment is read as %+v, %v", turn, err)
	}
	if got, want := wire.AppendOutcome(nil, exampleOutcome()), decode(second); !bytes.Equal(got, want) {
		t.Errorf("the answer is %x, the comment says %x", got, want)
	}
	if o, err := wire.DecodeOutcome(decode(second)); err != nil || o.Response.Status != 204 || o.Response.Header[0] != (core.Header{Name: "a", Value: "b"}) {
		t.Errorf("the answer of the comment is read as %+v, %v", o, err)
	}
}

// turns are the seeds of turns.
func turns() (frames [][]byte) {
	for _, t := range []*core.Turn{
		exampleTurn(),
		{},
		{
			Now: -1 << 40, Entropy: [16]byte{1, 15: 255},
			Request: core.Request{Method: "POST", Target: "/api/x?é", Host: "::1", Header: []core.Header{{Name: "a", Value: ""}, {Name: "b", Value: "c: d"}}, Body: []byte("\x00\xff")},
			Host:    core.Host{Extra: []string{"", "x.example"}, Client: "192.0.2.1", PublicKey: edgetest.PublicKey(edgetest.Key), KeyFault: true, Limiter: true},
			Journal: []core.Result{
				{Failure: core.Refused},
				{Failure: core.Timeout, OK: true},
				{Failure: core.Unavailable},
				{Status: 599, Data: []byte("x"), Rows: [][][]any{nil, {{}, {nil, int64(-1 << 63), "text", ""}}}, Changes: []int64{1, -1}, Remaining: 1 << 62, Reset: 60},
			},
		},
	} {
		frames = append(frames, wire.AppendTurn(nil, t))
	}
	return frames
}

// outcomes are the seeds of outcomes.
func outcomes() (frames [][]byte) {
	for _, o := range []core.Outcome{
		exampleOutcome(),
		{},
		{Response: &core.Response{Status: 200, Body: []byte(`{"a":"é"}`), Log: "x"}},
		{Effects: []core.Effect{core.Limit{Key: "k"}}, Waits: true},
		{Effects: []core.Effect{
			core.Exec{Statements: []core.Statement{{SQL: "SELECT ?", Args: []any{nil, int64(7), "é"}}, {}}},
			core.Relay{Message: core.Message{ID: "1", Subject: "s", Text: "t\n", Records: []string{"a", ""}}},
			core.Fetch{Self: true, Method: "GET", URL: "https://h/", Header: []core.Header{{Name: "a", Value: "b"}}, Body: []byte{0}, MaxBytes: 9, TimeoutMillis: 1000},
			core.Sign{Message: []byte("m")},
			core.Verify{Message: []byte("m"), PublicKey: []byte("k"), Signature: []byte("s")},
			core.Limit{Key: "k"},
		}},
	} {
		frames = append(frames, wire.AppendOutcome(nil, o))
	}
	return frames
}

// FuzzDecodeTurn: a frame is read whole and written back as it was, or there is no turn.
func FuzzDecodeTurn(f *testing.F) {
	for _, frame := range turns() {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		kept := bytes.Clone(frame)
		turn, err := wire.DecodeTurn(frame)
		switch {
		case err != nil && (turn != nil || err != wire.ErrFrame):
			t.Errorf("%x: %+v beside the error %v", kept, turn, err)
		case err == nil && !bytes.Equal(wire.AppendTurn(nil, turn), kept):
			t.Errorf("%x comes back as %x", kept, wire.AppendTurn(nil, turn))
		}
	})
}

// results are the seeds of results.
func results() (frames [][]byte) {
	for _, frame := range turns() {
		t, err := wire.DecodeTurn(frame)
		if err != nil {
			panic(err)
		}
		frames = append(frames, wire.AppendResults(nil, t.Journal))
	}
	return frames
}

// FuzzDecodeResults is the same for results.
func FuzzDecodeResults(f *testing.F) {
	for _, frame := range results() {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		kept := bytes.Clone(frame)
		read, err := wire.DecodeResults(frame)
		switch {
		case err != nil && (read != nil || err != wire.ErrFrame):
			t.Errorf("%x: %+v beside the error %v", kept, read, err)
		case err == nil && !bytes.Equal(wire.AppendResults(nil, read), kept):
			t.Errorf("%x comes back as %x", kept, wire.AppendResults(nil, read))
		}
	})
}

// FuzzDecodeOutcome is the same for outcomes.
func FuzzDecodeOutcome(f *testing.F) {
	for _, frame := range outcomes() {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		kept := bytes.Clone(frame)
		o, err := wire.DecodeOutcome(frame)
		switch {
		case err != nil && (!reflect.DeepEqual(o, core.Outcome{}) || err != wire.ErrFrame):
			t.Errorf("%x: %+v beside the error %v", kept, o, err)
		case err == nil && !bytes.Equal(wire.AppendOutcome(nil, o), kept):
			t.Errorf("%x comes back as %x", kept, wire.AppendOutcome(nil, o))
		}
	})
}

// TestTruncated: no beginning of a frame is one, and neither is one with a byte more.
func TestTruncated(t *testing.T) {
	for _, frame := range turns() {
		for n := range frame {
			if _, err := wire.DecodeTurn(frame[:n:n]); err == nil {
				t.Errorf("the first %d bytes of the turn %x are read", n, frame)
			}
		}
		if _, err := wire.DecodeTurn(append(frame, 0)); err == nil {
			t.Errorf("the turn %x is read with a byte more", frame)
		}
	}
	for _, frame := range results() {
		for n := range frame {
			if _, err := wire.DecodeResults(frame[:n:n]); err == nil {
				t.Errorf("the first %d bytes of the results %x are read", n, frame)
			}
		}
		if _, err := wire.DecodeResults(append(frame, 0)); err == nil {
			t.Errorf("the results %x are read with a byte more", frame)
		}
	}
	for _, frame := range outcomes() {
		for n := range frame {
			if _, err := wire.DecodeOutcome(frame[:n:n]); err == nil {
				t.Errorf("the first %d bytes of the outcome %x are read", n, frame)
			}
		}
		if _, err := wire.DecodeOutcome(append(frame, 0)); err == nil {
			t.Errorf("the outcome %x is read with a byte more", frame)
		}
	}
}
