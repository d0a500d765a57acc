package wire_test

import (
	"bytes"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/turn"
	"anteroom/edge/worker/wire"
)

// FuzzDecodeTurn: a frame is either read as a whole and written back as it was, or refused. The
// seeds are whole frames, each of their beginnings, and frames with a fault.
func FuzzDecodeTurn(f *testing.F) {
	whole := wire.AppendTurn(nil, &turn.Turn{
		Now: -1 << 40, Entropy: [16]byte{1, 15: 255},
		Request: turn.Request{Method: "POST", Target: "/api/x?é", Host: "::1", Header: []turn.Header{{Name: "a", Value: ""}, {Name: "b", Value: "c: d"}}, Body: []byte("\x00\xff")},
		Host:    turn.HostInfo{Extra: []string{"", "x.example"}, Client: "192.0.2.1", PublicKey: edgetest.PublicKey(edgetest.Key), KeyFault: true, Limiter: true},
		Journal: []turn.Result{
			{Failure: turn.Refused},
			{Failure: turn.Timeout, OK: true},
			{Failure: turn.Unavailable},
			{Status: 599, Data: []byte("x"), Rows: [][][]any{nil, {{}, {nil, int64(-1 << 63), "text", ""}}}, Remaining: 1 << 62, Reset: 60},
		},
	})
	for n := range whole {
		f.Add(whole[:n:n])
	}
	small := wire.AppendTurn(nil, &turn.Turn{Journal: []turn.Result{{}}})
	const result = 38 // bytes of its last item
	small[len(small)-result] = 4
	f.Add(small)                                                           // no such failure
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
