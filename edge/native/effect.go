package native

import (
	"crypto/ed25519"
	"fmt"
	"sync"
	"time"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/turn"
)

// perform runs the effects of one round concurrently and returns their results in order.
func (h *Host) perform(on *site, effects []turn.Effect, class sqlite.Class) []turn.Result {
	results := make([]turn.Result, len(effects))
	if len(effects) == 1 {
		results[0] = h.performOne(on, effects[0], class)
		return results
	}
	var all sync.WaitGroup
	for i, effect := range effects {
		all.Go(func() {
			defer h.recovered("effect", func() { results[i] = turn.Result{Failure: turn.Timeout} })
			results[i] = h.performOne(on, effect, class)
		})
	}
	all.Wait()
	return results
}

func (h *Host) performOne(on *site, effect turn.Effect, class sqlite.Class) turn.Result {
	switch e := effect.(type) {
	case turn.Exec:
		return h.store.ExecAs(class, e)
	case turn.Relay:
		if class == sqlite.Housekeeping {
			return h.sendMail(on, e.Message)
		}
		return h.sendSoon(on, e.Message)
	case turn.Sign:
		if h.config.Key == nil {
			return turn.Result{Failure: turn.Unavailable}
		}
		return turn.Result{Data: ed25519.Sign(h.config.Key, e.Message)}
	case turn.Verify:
		return turn.Result{OK: len(e.PublicKey) == ed25519.PublicKeySize && ed25519.Verify(e.PublicKey, e.Message, e.Signature)}
	case turn.Limit:
		limit := on.snapshot.WritesPerMinute
		if limit <= 0 {
			return turn.Result{Failure: turn.Unavailable}
		}
		return h.limiter.take(e.Key, limit)
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
		return h.fetches.do(asked, now, now.Add(time.Duration(e.ShareSeconds)*time.Second), turn.Result{Failure: turn.Timeout}, fetch)
	}
	return turn.Result{Failure: turn.Unavailable}
}
