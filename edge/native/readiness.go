package native

import (
	"sync"
	"time"

	"anteroom/edge/endpoint/health"
	"anteroom/edge/turn"
)

// readiness keeps the answers to the check of readiness, so that the store is not written to
// whenever anybody asks. The zero value is ready.
type readiness struct {
	mu   sync.Mutex
	kept map[string]keptAnswer // by method
}

// keptAnswer is an answer about a content, until a time.
type keptAnswer struct {
	about  *site
	until  time.Time
	answer *turn.Response
}

// share gives the answer to a check by a method that is kept, or has it made: one at a time.
func (r *readiness) share(method string, on *site, now func() time.Time, run func() *turn.Response) *turn.Response {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.kept[method]; k.about == on && now().Before(k.until) {
		return k.answer
	}
	answer := run()
	if answer != nil {
		if r.kept == nil {
			r.kept = map[string]keptAnswer{}
		}
		r.kept[method] = keptAnswer{on, now().Add(health.KeepSeconds * time.Second), answer}
	}
	return answer
}
