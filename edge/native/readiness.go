package native

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"anteroom/edge/endpoint/health"
	"anteroom/edge/kernel"
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
	answer *kernel.Response
}

// share gives the answer that is kept for a turn, or has it made: one at a time. Every other turn
// than a check of readiness is handled at once.
func (r *readiness) share(t *kernel.Turn, on *site, now func() time.Time, handle func() *kernel.Response) *kernel.Response {
	method := t.Request.Method
	path, _, _ := strings.Cut(t.Request.Target, "?")
	if path != health.Ready || method != http.MethodGet && method != http.MethodHead {
		return handle()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.kept[method]; k.about == on && now().Before(k.until) {
		return k.answer
	}
	answer := handle()
	if answer != nil {
		if r.kept == nil {
			r.kept = map[string]keptAnswer{}
		}
		r.kept[method] = keptAnswer{on, now().Add(health.KeepSeconds * time.Second), answer}
	}
	return answer
}
