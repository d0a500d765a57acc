package wire_test

import (
	"fmt"

	"anteroom/edge"
	"anteroom/edge/edgetest"
	"anteroom/edge/turn"
	"anteroom/edge/worker/wire"
)

// A turn that has ended is written down, and answered again from what was written: the outcome is
// the same. A frame that was logged as hexadecimal is read by hex.DecodeString first.
func Example_replay() {
	service, err := edge.Load(edgetest.Snapshot())
	if err != nil {
		fmt.Println(err)
		return
	}
	current := &turn.Turn{Now: edgetest.Now, Request: turn.Request{
		Method: "POST", Target: "/api/waitlist", Host: "www.example.org", Body: []byte(`{"agent_name":"ada"}`),
	}}
	turn.Run(current, service.Handle, func([]turn.Effect) []turn.Result {
		return []turn.Result{{Failure: turn.Refused}} // by the store
	})
	frame := wire.AppendTurn(nil, current)

	again, err := wire.DecodeTurn(frame)
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome := service.Handle(again)
	fmt.Printf("%d results: status %d\n", len(again.Journal), outcome.Response.Status)
	// Output:
	// 1 results: status 503
}
