package kernel_test

import (
	"fmt"

	"anteroom/edge/kernel"
	"anteroom/edge/snapshot"
)

// greet is a core with one answer, for which it needs one effect.
func greet(t *kernel.Turn) kernel.Outcome {
	t.Begin(&snapshot.Snapshot{})
	return t.Outcome(t.Presume(kernel.Limit{Key: t.Host.Client, Policy: "greetings"}, func(left kernel.Result) *kernel.Response {
		if !left.OK {
			return &kernel.Response{Status: 429, Body: []byte("too many")}
		}
		return &kernel.Response{Status: 200, Body: []byte("hello")}
	}))
}

// A host gives Run a function that performs effects, and gets the answer.
func ExampleRun() {
	limit := func(effects []kernel.Effect) []kernel.Result {
		fmt.Printf("asked for %+v\n", effects)
		return []kernel.Result{{OK: true, Remaining: 7, Reset: 30}}
	}
	turn := &kernel.Turn{Host: kernel.HostInfo{Client: "192.0.2.1"}}
	answer := kernel.Run(turn, greet, limit)
	fmt.Printf("%d %s %v\n", answer.Status, answer.Body, answer.Header)
	// Output:
	// asked for [{Key:192.0.2.1 Policy:greetings}]
	// 200 hello [{ratelimit "greetings";r=7;t=30}]
}

// The loop of a host in longhand. This one does without prepared responses.
func Example_loop() {
	turn := &kernel.Turn{Host: kernel.HostInfo{Client: "192.0.2.1"}}
	for round := range kernel.MaxRounds {
		outcome := greet(turn)
		if len(outcome.Effects) == 0 {
			fmt.Printf("round %d: %d %s\n", round, outcome.Response.Status, outcome.Response.Body)
			return
		}
		effects := outcome.Effects
		if outcome.Response != nil {
			effects = effects[:1]
		}
		for _, effect := range effects {
			fmt.Printf("round %d: perform %T\n", round, effect)
			turn.Journal = append(turn.Journal, kernel.Result{OK: false})
		}
	}
	fmt.Println("not finished")
	// Output:
	// round 0: perform kernel.Limit
	// round 1: 429 too many
}
