// Package edge answers the requests of the service: it is the one entry that both hosts call,
// edge/native and edge/worker.
package edge

import (
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/endpoint/mcp"
	"anteroom/edge/signing"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/outbox"
	"anteroom/edge/turn"
)

// Edge answers requests from one snapshot. It is made once, and no request changes it.
type Edge struct {
	snapshot *snapshot.Snapshot
	api      *api.API
}

// Load makes the state that all turns share. It returns an error where the snapshot lacks a
// document.
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

// Prerender makes the documents that are the same for everybody, ahead of the requests for them. A
// host whose process lives long calls it once. The worker does not: it would only start more
// slowly.
func (e *Edge) Prerender() { e.api.Prerender() }

// Handle gives the outcome of a request's turn. Package turn says what a host does with it.
func (e *Edge) Handle(t *turn.Turn) turn.Outcome {
	t.Begin(e.snapshot)
	path, _, _ := strings.Cut(t.Request.Target, "?")
	if health.IsPath(path) && t.Request.Method != "OPTIONS" {
		return t.Outcome(health.Answer(t, path, signing.KeyStateOf(&t.Host, e.snapshot).OK()))
	}
	if !api.IsDynamic(path) {
		return e.api.Undocumented(t, path)
	}
	return e.api.Finish(t, t.Outcome(e.api.Handle(t)))
}

// Deliver sends one digest from the outbox. Its response is 200 where more may be due: the host
// calls again, outbox.MaxDigests times at most before it pauses. See outbox.Deliver.
func (e *Edge) Deliver(t *turn.Turn) turn.Outcome {
	t.Begin(e.snapshot)
	return t.Outcome(outbox.Deliver(t))
}
