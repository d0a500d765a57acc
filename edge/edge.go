// Package edge is the entry to the core, for both hosts: edge/native and edge/worker.
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

// Edge responds to requests from one snapshot. No request changes it.
type Edge struct {
	snapshot *snapshot.Snapshot
	api      *api.API
}

// Load returns the state that all turns share, or an error if the snapshot lacks a document.
func Load(s *snapshot.Snapshot) (*Edge, error) {
	a, err := api.Load(s)
	if err != nil {
		return nil, err
	}
	m, err := mcp.Load(s, a)
	if err != nil {
		return nil, err
	}
	a.Protocol = m.Handle
	return &Edge{s, a}, nil
}

// Prerender makes the documents that do not depend on the request, for a long-lived process.
func (e *Edge) Prerender() { e.api.Prerender() }

func (e *Edge) Handle(t *turn.Turn) turn.Outcome {
	t.Begin(e.snapshot)
	path, _, _ := strings.Cut(t.Request.Target, "?")
	if health.IsPath(path) && t.Request.Method != "OPTIONS" {
		return t.Outcome(health.Answer(t, path, signing.KeyStateOf(&t.Host, e.snapshot).OK()))
	}
	if !api.IsDynamic(path) {
		return e.api.Undocumented(t, path)
	}
	if t.Request.Method == "HEAD" {
		t.Refrain()
	}
	return e.api.Finish(t, t.Outcome(e.api.Handle(t)))
}

// Deliver sends one digest from the outbox. Its response is 200 if more may be due: the host then
// calls again, at most outbox.MaxDigests times.
func (e *Edge) Deliver(t *turn.Turn) turn.Outcome {
	t.Begin(e.snapshot)
	return t.Outcome(outbox.Deliver(t))
}
