// Package edge is the dynamic half of the service: the one entry that both hosts call.
package edge

import (
	"anteroom/edge/api"
	"anteroom/edge/endpoint/mcp"
	"anteroom/edge/kernel"
	"anteroom/edge/outbox"
	"anteroom/edge/snapshot"
)

// Edge answers requests from one snapshot. It is made once, and no request changes it.
type Edge struct {
	snapshot *snapshot.Snapshot
	api      *api.API
}

// Load makes what every turn shares. It returns an error where the snapshot lacks a document.
func Load(s *snapshot.Snapshot) (*Edge, error) {
	a, err := api.Load(s)
	if err != nil {
		return nil, err
	}
	m, err := mcp.Load(s, a)
	if err != nil {
		return nil, err
	}
	a.ServeProtocol(m.Handle)
	return &Edge{s, a}, nil
}

// Prerender makes the documents that are the same for everybody ahead of the requests for them. A
// host whose process lives long calls it once; on the edge it would only make a start slower.
func (e *Edge) Prerender() { e.api.Prerender() }

// Handle gives the outcome of a request's turn. See package core for the duties of a host.
func (e *Edge) Handle(t *kernel.Turn) kernel.Outcome {
	t.Begin(e.snapshot)
	r := e.api.Finish(t, e.api.Handle(t))
	if prepared := t.Prepared(); r == nil && prepared != nil {
		e.api.Finish(t, prepared)
	}
	return t.Outcome(r)
}

// Deliver sends one digest from the outbox. Its response is 200 where one was delivered (call
// again: there may be more), 204 where none is due, 502 where the relay did not take it, 503
// where the store fails.
func (e *Edge) Deliver(t *kernel.Turn) kernel.Outcome {
	t.Begin(e.snapshot)
	return t.Outcome(outbox.Deliver(t))
}
