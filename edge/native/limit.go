package native

import (
	"sync"
	"time"

	"anteroom/edge/turn"
)

const (
	limitWindow = time.Minute // of a limit in writes per minute
	limitKeys   = 1 << 16     // callers remembered at once, in about 8 MB
)

// limiter counts writes in windows that begin with a key's first write. Beyond limitKeys keys it
// forgets the oldest windows. A restart forgives. The zero value is ready.
type limiter struct {
	mu      sync.Mutex
	windows map[string]*window
	oldest  []string // the keys of windows, in the order of their ends
}

type window struct {
	end  time.Time
	used int64
}

func (l *limiter) take(key string, limit int64, now time.Time) turn.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.windows == nil {
		l.windows = map[string]*window{}
	}
	for len(l.oldest) > 0 && !now.Before(l.windows[l.oldest[0]].end) {
		l.drop()
	}
	w := l.windows[key]
	if w == nil {
		if len(l.oldest) == limitKeys {
			l.drop()
		}
		w = &window{end: now.Add(limitWindow)}
		l.windows[key] = w
		l.oldest = append(l.oldest, key)
	}
	ok := w.used < limit
	if ok {
		w.used++
	}
	reset := int64((w.end.Sub(now) + time.Second - 1) / time.Second)
	return turn.Result{OK: ok, Remaining: max(limit-w.used, 0), Reset: reset}
}

func (l *limiter) drop() {
	delete(l.windows, l.oldest[0])
	l.oldest = l.oldest[1:]
}
