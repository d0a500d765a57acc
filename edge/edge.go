// Package edge is the dynamic half of the service: the one entry that both hosts call.
package edge

import (
	"anteroom/edge/core"
	"anteroom/edge/snapshot"
)

// Edge answers requests from one snapshot. It is made once, and no request changes it.
type Edge struct {
	snapshot *snapshot.Snapshot
}

// Load makes what every turn shares.
func Load(s *snapshot.Snapshot) *Edge { return &Edge{snapshot: s} }

// Handle gives the outcome of a turn. See package core for the duties of a host.
func (e *Edge) Handle(t *core.Turn) core.Outcome {
	t.Snapshot = e.snapshot
	t.Rewind()
	return t.Outcome(&core.Response{Status: 404})
}

// Deliver sends one digest from the outbox. Its response is 200 where one was delivered (call
// again: there may be more), 204 where none is due, 502 where the relay refused it.
func (e *Edge) Deliver(t *core.Turn) core.Outcome {
	t.Snapshot = e.snapshot
	t.Rewind()
	return t.Outcome(&core.Response{Status: 204})
}
