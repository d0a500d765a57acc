package wire_test

import (
	"bytes"
	"encoding/hex"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/turn"
	"anteroom/edge/worker/wire"
)

// example is the turn in the package comment.
func example() *turn.Turn {
	return &turn.Turn{
		Now: 1, Request: turn.Request{Method: "GET", Target: "/a", Host: "h"},
		Journal: []turn.Result{{OK: true, Remaining: -1}},
	}
}

// The examples of the package comment are what is written.
func TestPackageComment(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "wire.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(file.Doc.Text(), "hexadecimal:")
	first, rest, _ := strings.Cut(rest, "\n\nand the response")
	_, second, _ := strings.Cut(rest, ":\n\n")
	outcome := turn.Outcome{Response: &turn.Response{Status: 204, Header: []turn.Header{{Name: "a", Value: "b"}}}}
	for digits, got := range map[string][]byte{first: wire.AppendTurn(nil, example()), second: wire.AppendOutcome(nil, outcome)} {
		want, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		if err != nil || len(want) == 0 || !bytes.Equal(got, want) {
			t.Errorf("%x, the comment says %x, %v", got, want, err)
		}
	}
}

// FuzzDecodeTurn: a frame is either read as a whole and written back as it was, or refused. The
// seeds are whole frames, each of their beginnings, and frames with a fault.
func FuzzDecodeTurn(f *testing.F) {
	whole := wire.AppendTurn(nil, &turn.Turn{
		Now: -1 << 40, Entropy: [16]byte{1, 15: 255},
		Request: turn.Request{Method: "POST", Target: "/api/x?é", Host: "::1", Header: []turn.Header{{Name: "a", Value: ""}, {Name: "b", Value: "c: d"}}, Body: []byte("\x00\xff")},
		Host:    turn.HostInfo{Extra: []string{"", "x.example"}, Client: "192.0.2.1", PublicKey: edgetest.PublicKey(edgetest.Key), KeyFault: true, Limiter: true},
		Journal: []turn.Result{
			{Failure: turn.Refused}, {Failure: turn.Timeout, OK: true}, {Failure: turn.Unavailable},
			{Status: 599, Data: []byte("x"), Rows: [][][]any{nil, {{}, {nil, int64(-1 << 63), "text", ""}}}, Remaining: 1 << 62, Reset: 60},
		},
	})
	for n := range whole {
		f.Add(whole[:n:n])
	}
	small := wire.AppendTurn(nil, example())
	const result = 38 // bytes of its last item
	small[len(small)-result] = 4
	f.Add(small) // no such failure
	f.Add(append(bytes.Clone(small[:len(small)-result-4]), 0, 0, 0, 0x40)) // no room for so many results
	for _, lines := range []string{"b: c: d\n", "b:c: d :", ": c: d \n", "b: c\nd \n"} {
		f.Add(bytes.Replace(whole, []byte("b: c: d\n"), []byte(lines), 1))
	}
	f.Add(append(whole, 0))
	f.Fuzz(func(t *testing.T, frame []byte) {
		kept := bytes.Clone(frame)
		v, err := wire.DecodeTurn(frame)
		switch {
		case err != nil && (v != nil || err != wire.ErrFrame):
			t.Errorf("%x: %+v beside the error %v", kept, v, err)
		case err == nil && !bytes.Equal(wire.AppendTurn(nil, v), kept):
			t.Errorf("%x comes back as %x", kept, wire.AppendTurn(nil, v))
		case err == nil && v.Request.Has(""):
			t.Errorf("%x has a field without a name", kept)
		}
	})
}
