package wire_test

import (
	"bytes"
	"encoding/hex"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/turn"
	"anteroom/edge/worker/wire"
)

// exampleTurn and exampleOutcome are the examples of the package comment.
func exampleTurn() *turn.Turn {
	return &turn.Turn{
		Now: 1, Request: turn.Request{Method: "GET", Target: "/a", Host: "h"},
		Journal: []turn.Result{{OK: true, Remaining: -1}},
	}
}

func exampleOutcome() turn.Outcome {
	return turn.Outcome{Response: &turn.Response{Status: 204, Header: []turn.Header{{Name: "a", Value: "b"}}}}
}

// TestPackageComment reads the examples of the package comment.
func TestPackageComment(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "wire.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(file.Doc.Text(), "hexadecimal:")
	first, second, too := strings.Cut(rest, "\n\nand the response")
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
	if current, err := wire.DecodeTurn(decode(first)); err != nil || current.Request.Target != "/a" || current.Request.Host != "h" || current.Journal[0].Remaining != -1 {
		t.Errorf("the turn of the comment is read as %+v, %v", current, err)
	}
	if got, want := wire.AppendOutcome(nil, exampleOutcome()), decode(second); !bytes.Equal(got, want) {
		t.Errorf("the answer is %x, the comment says %x", got, want)
	}
	if o, err := wire.DecodeOutcome(decode(second)); err != nil || o.Response.Status != 204 || o.Response.Header[0] != (turn.Header{Name: "a", Value: "b"}) {
		t.Errorf("the answer of the comment is read as %+v, %v", o, err)
	}
}

// turns are the seeds of FuzzDecodeTurn.
func turns() (frames [][]byte) {
	for _, t := range []*turn.Turn{
		exampleTurn(),
		{},
		{
			Now: -1 << 40, Entropy: [16]byte{1, 15: 255},
			Request: turn.Request{Method: "POST", Target: "/api/x?é", Host: "::1", Header: []turn.Header{{Name: "a", Value: ""}, {Name: "b", Value: "c: d"}}, Body: []byte("\x00\xff")},
			Host:    turn.HostInfo{Extra: []string{"", "x.example"}, Client: "192.0.2.1", PublicKey: edgetest.PublicKey(edgetest.Key), KeyFault: true, Limiter: true},
			Journal: []turn.Result{
				{Failure: turn.Refused},
				{Failure: turn.Timeout, OK: true},
				{Failure: turn.Unavailable},
				{Status: 599, Data: []byte("x"), Rows: [][][]any{nil, {{}, {nil, int64(-1 << 63), "text", ""}}}, Remaining: 1 << 62, Reset: 60},
			},
		},
	} {
		frames = append(frames, wire.AppendTurn(nil, t))
	}
	return frames
}

// outcomes are the seeds of FuzzDecodeOutcome.
func outcomes() (frames [][]byte) {
	for _, o := range []turn.Outcome{
		exampleOutcome(),
		{},
		{Response: &turn.Response{Status: 200, Body: []byte(`{"a":"é"}`), Log: "x", Deliver: true, Observed: []turn.Observation{{Kind: "handshake"}, {Client: "é\x00", Kind: "tools/call"}}}},
		{Effects: []turn.Effect{
			turn.Exec{Statements: []turn.Statement{{SQL: "SELECT ?", Args: []any{nil, int64(7), "é"}}, {}}},
			turn.Relay{Message: turn.Message{ID: "1", List: turn.Contacts, Subject: "s", Text: "t\n", After: "0"}},
			turn.Fetch{Self: true, Method: "GET", URL: "https://h/", Header: []turn.Header{{Name: "a", Value: "b"}}, Body: []byte{0}, MaxBytes: 9, TimeoutMillis: 1000},
			turn.Sign{Message: []byte("m")},
			turn.Verify{Message: []byte("m"), PublicKey: []byte("k"), Signature: []byte("s")},
			turn.Limit{Key: "k"},
		}},
	} {
		frames = append(frames, wire.AppendOutcome(nil, o))
	}
	return frames
}

// FuzzDecodeTurn: a frame is either read as a whole and written back as it was, or refused.
func FuzzDecodeTurn(f *testing.F) { fuzz(f, turns(), wire.DecodeTurn, wire.AppendTurn) }

// FuzzDecodeOutcome is the same for outcomes.
func FuzzDecodeOutcome(f *testing.F) { fuzz(f, outcomes(), wire.DecodeOutcome, wire.AppendOutcome) }

func fuzz[T any](f *testing.F, seeds [][]byte, read func([]byte) (T, error), write func([]byte, T) []byte) {
	for _, frame := range seeds {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		kept := bytes.Clone(frame)
		v, err := read(frame)
		switch {
		case err != nil && (!reflect.ValueOf(&v).Elem().IsZero() || err != wire.ErrFrame):
			t.Errorf("%x: %+v beside the error %v", kept, v, err)
		case err == nil && !bytes.Equal(write(nil, v), kept):
			t.Errorf("%x comes back as %x", kept, write(nil, v))
		}
	})
}

// TestTruncated: a frame that lacks its end is refused, and so is one with a byte more.
func TestTruncated(t *testing.T) {
	for _, kind := range []struct {
		name   string
		frames [][]byte
		read   func([]byte) error
	}{
		{"turn", turns(), func(b []byte) error { _, err := wire.DecodeTurn(b); return err }},
		{"outcome", outcomes(), func(b []byte) error { _, err := wire.DecodeOutcome(b); return err }},
	} {
		for _, frame := range kind.frames {
			for n := range frame {
				if kind.read(frame[:n:n]) == nil {
					t.Errorf("the first %d bytes of the %s %x are read", n, kind.name, frame)
				}
			}
			if kind.read(append(frame, 0)) == nil {
				t.Errorf("the %s %x is read with a byte more", kind.name, frame)
			}
		}
	}
}
