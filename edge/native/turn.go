package native

import (
	"crypto/rand"
	"runtime/debug"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/turn"
)

func (h *Host) turn(on *site, request turn.Request) *turn.Turn {
	t := &turn.Turn{
		Request: request, Snapshot: on.snapshot, Now: h.now().Unix(),
		Host: turn.HostInfo{
			Extra: h.config.Hosts, PublicKey: h.public,
			Limiter: on.snapshot.WritesPerMinute > 0, Port: int(h.port.Load()),
		},
	}
	rand.Read(t.Entropy[:]) // never fails
	return t
}

// run runs a turn to its end, and returns nil if that failed. Effects are not bound to the request:
// a caller that goes away leaves no half turn.
func (h *Host) run(on *site, t *turn.Turn, handle func(*turn.Turn) turn.Outcome, class sqlite.Class) (answer *turn.Response) {
	defer h.recovered("turn", func() { answer = nil })
	answer = turn.Run(t, handle, func(effects []turn.Effect) []turn.Result {
		results := h.perform(on, effects, class)
		h.config.Metrics.Effects(effects, results)
		return results
	})
	if answer == nil {
		return nil
	}
	if answer.Log != "" {
		h.log.Warn(answer.Log)
	}
	h.observe(answer.Observed)
	if answer.Deliver {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
	return answer
}

// recovered is deferred. It logs a panic and calls then.
func (h *Host) recovered(where string, then func()) {
	if r := recover(); r != nil {
		h.log.Error("panic", "in", where, "value", r, "stack", string(debug.Stack()))
		then()
	}
}
