package wire_test

import (
	"fmt"

	"anteroom/edge"
	"anteroom/edge/edgetest"
	"anteroom/edge/turn"
	"anteroom/edge/worker/wire"
)

// A turn is written down before each of its rounds, and answered again from what was written: the
// outcome is the same. A frame that was logged as hexadecimal is read by hex.DecodeString first.
func Example_replay() {
	service, err := edge.Load(edgetest.Snapshot())
	if err != nil {
		fmt.Println(err)
		return
	}
	current := &turn.Turn{Now: edgetest.Now, Request: turn.Request{
		Method: "POST", Target: "/api/waitlist", Host: "www.example.org", Body: []byte(`{"agent_name":"ada"}`),
	}}
	var frames [][]byte
	record := func(t *turn.Turn) turn.Outcome {
		frames = append(frames, wire.AppendTurn(nil, t))
		return service.Handle(t)
	}
	turn.Run(current, record, func([]turn.Effect) []turn.Result {
		return []turn.Result{{Failure: turn.Refused}} // by the store
	})

	for _, frame := range frames {
		again, err := wire.DecodeTurn(frame)
		if err != nil {
			fmt.Println(err)
			return
		}
		outcome := service.Handle(again)
		if outcome.Response == nil {
			fmt.Printf("%d results so far: %d effects to perform\n", len(again.Journal), len(outcome.Effects))
			continue
		}
		fmt.Printf("%d results so far: status %d\n", len(again.Journal), outcome.Response.Status)
	}
	// Output:
	// 0 results so far: 1 effects to perform
	// 1 results so far: status 503
}
