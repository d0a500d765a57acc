package native

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

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

type relayer func(*site, turn.Message) turn.Result

// run runs a turn to its end, and returns nil if that failed. Effects are not bound to the request:
// a caller that goes away leaves no half turn.
func (h *Host) run(
	on *site, t *turn.Turn, handle func(*turn.Turn) turn.Outcome, relay relayer,
) (answer *turn.Response) {
	defer h.recovered("turn", func() { answer = nil })
	answer = turn.Run(t, handle, func(effects []turn.Effect) []turn.Result {
		results := h.perform(on, effects, relay)
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

func (h *Host) recovered(where string, then func()) {
	if r := recover(); r != nil {
		h.log.Error("panic", "in", where, "value", r, "stack", string(debug.Stack()))
		then()
	}
}

func (h *Host) perform(on *site, effects []turn.Effect, relay relayer) []turn.Result {
	results := make([]turn.Result, len(effects))
	if len(effects) == 1 {
		results[0] = h.performOne(on, effects[0], relay)
		return results
	}
	var all sync.WaitGroup
	for i, effect := range effects {
		all.Go(func() {
			defer h.recovered("effect", func() { results[i] = turn.Result{Failure: turn.Timeout} })
			results[i] = h.performOne(on, effect, relay)
		})
	}
	all.Wait()
	return results
}

func (h *Host) performOne(on *site, effect turn.Effect, relay relayer) turn.Result {
	switch e := effect.(type) {
	case turn.Exec:
		return h.store.Exec(e)
	case turn.Relay:
		return relay(on, e.Message)
	case turn.Sign:
		if h.config.Key == nil {
			return turn.Result{Failure: turn.Unavailable}
		}
		return turn.Result{Data: ed25519.Sign(h.config.Key, e.Message)}
	case turn.Verify:
		valid := len(e.PublicKey) == ed25519.PublicKeySize && ed25519.Verify(e.PublicKey, e.Message, e.Signature)
		return turn.Result{OK: valid}
	case turn.Limit:
		limit := on.snapshot.WritesPerMinute
		if limit <= 0 {
			return turn.Result{Failure: turn.Unavailable}
		}
		if e.Key == "" {
			h.unknownCaller.Do(func() {
				h.log.Warn("a caller has no address: all such callers share one limit of writes "+
					"(check --client-ip-header)", "field", h.config.ClientIPHeader)
			})
		}
		return h.limiter.take(e.Key, limit, h.now())
	case turn.Fetch:
		fetch := func() turn.Result {
			began := time.Now()
			result := h.fetch(e)
			result.Millis = time.Since(began).Milliseconds()
			return result
		}
		if e.ShareSeconds <= 0 {
			return fetch()
		}
		asked, now := fmt.Sprintf("%t %s %s %q %q", e.Self, e.Method, e.URL, e.Header, e.Body), h.now()
		until := now.Add(time.Duration(e.ShareSeconds) * time.Second)
		return h.fetches.do(asked, now, until, turn.Result{Failure: turn.Timeout}, fetch)
	}
	return turn.Result{Failure: turn.Unavailable}
}
