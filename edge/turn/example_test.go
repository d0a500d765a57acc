package turn_test

import (
	"fmt"

	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// greet is a core with one answer, for which it needs one effect.
func greet(t *turn.Turn) turn.Outcome {
	t.Begin(&snapshot.Snapshot{})
	left, ok := t.Do(turn.Limit{Key: t.Host.Client})
	switch {
	case !ok:
		return t.Outcome(nil)
	case !left.OK:
		return t.Outcome(&turn.Response{Status: 429, Body: []byte("too many")})
	}
	return t.Outcome(&turn.Response{Status: 200, Body: []byte("hello")})
}

// A host gives Run a function that performs effects, and gets the answer.
func ExampleRun() {
	limit := func(effects []turn.Effect) []turn.Result {
		fmt.Printf("asked for %+v\n", effects)
		return []turn.Result{{OK: true, Remaining: 7, Reset: 30}}
	}
	current := &turn.Turn{Host: turn.HostInfo{Client: "192.0.2.1"}}
	answer := turn.Run(current, greet, limit)
	fmt.Printf("%d %s\n", answer.Status, answer.Body)
	// Output:
	// asked for [{Key:192.0.2.1}]
	// 200 hello
}
