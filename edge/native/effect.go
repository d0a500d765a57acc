package native

import (
	"crypto/ed25519"
	"sync"
	"time"

	"anteroom/edge/kernel"
)

// perform performs the effects of one round side by side, and gives their results in order. relay
// sends a message.
func (h *Host) perform(on *site, effects []kernel.Effect, relay relayer) []kernel.Result {
	results := make([]kernel.Result, len(effects))
	if len(effects) == 1 {
		results[0] = h.performOne(on, effects[0], relay)
		return results
	}
	var all sync.WaitGroup
	for i, effect := range effects {
		all.Go(func() {
			defer h.recovered("effect", func() { results[i] = kernel.Result{Failure: kernel.Timeout} })
			results[i] = h.performOne(on, effect, relay)
		})
	}
	all.Wait()
	return results
}

func (h *Host) performOne(on *site, effect kernel.Effect, relay relayer) kernel.Result {
	switch e := effect.(type) {
	case kernel.Exec:
		return h.store.Exec(e)
	case kernel.Relay:
		return relay(on, e.Message)
	case kernel.Sign:
		if h.config.Key == nil {
			return kernel.Result{Failure: kernel.Unavailable}
		}
		return kernel.Result{Data: ed25519.Sign(h.config.Key, e.Message)}
	case kernel.Verify:
		return kernel.Result{OK: len(e.PublicKey) == ed25519.PublicKeySize && ed25519.Verify(e.PublicKey, e.Message, e.Signature)}
	case kernel.Limit:
		limit := on.snapshot.WritesPerMinute
		if limit <= 0 {
			return kernel.Result{Failure: kernel.Unavailable}
		}
		return h.limiter.take(e.Key, limit)
	case kernel.Fetch:
		return h.fetches.do(e, h.now, func() kernel.Result {
			began := time.Now()
			result := h.fetch(e)
			result.Millis = time.Since(began).Milliseconds()
			return result
		})
	}
	return kernel.Result{Failure: kernel.Unavailable}
}
