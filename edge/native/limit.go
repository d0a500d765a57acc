package native

import (
	"sync"
	"time"

	"anteroom/edge/turn"
)

const (
	limitWindow = time.Minute // of a limit in writes per minute
	limitKeys   = 1 << 16     // callers remembered at once, in about 4 MB
)

// limiter counts writes in windows that all callers share. A window begins with the first write
// after the previous one; after limitKeys callers it ends early. A restart resets the counts. The
// zero value is ready.
type limiter struct {
	mu   sync.Mutex
	end  time.Time        // of the window
	used map[string]int64 // by caller
}

func (l *limiter) take(key string, limit int64, now time.Time) turn.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.end) || len(l.used) == limitKeys {
		l.end, l.used = now.Add(limitWindow), map[string]int64{}
	}
	ok := l.used[key] < limit
	if ok {
		l.used[key]++
	}
	reset := int64((l.end.Sub(now) + time.Second - 1) / time.Second)
	return turn.Result{OK: ok, Remaining: max(limit-l.used[key], 0), Reset: reset}
}
