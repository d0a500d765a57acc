package native

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestLimiter(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	l := new(limiter)
	for i, want := range []int64{2, 1, 0} {
		if r := l.take("a", 3, now); !r.OK || r.Remaining != want || r.Reset != 60 {
			t.Errorf("write %d: %+v", i, r)
		}
	}
	now = now.Add(59*time.Second + time.Millisecond)
	if r := l.take("a", 3, now); r.OK || r.Remaining != 0 || r.Reset != 1 {
		t.Errorf("one too many: %+v", r)
	}
	if r := l.take("a", 1, now); r.OK || r.Remaining != 0 {
		t.Errorf("a limit that a reload has lowered: %+v", r)
	}
	if r := l.take("b", 3, now); !r.OK || r.Remaining != 2 {
		t.Errorf("another key: %+v", r)
	}
	now = now.Add(time.Second)
	if r := l.take("a", 3, now); !r.OK || r.Remaining != 2 || r.Reset != 60 {
		t.Errorf("the next window: %+v", r)
	}
	for i := range limitKeys + 10 {
		l.take(strconv.Itoa(i), 3, now)
	}
	if len(l.used) > limitKeys {
		t.Errorf("%d keys are remembered, want %d", len(l.used), limitKeys)
	}
	now = now.Add(time.Hour)
	if l.take("z", 3, now); len(l.used) != 1 {
		t.Errorf("%d keys are remembered after an hour", len(l.used))
	}
}

// TestLimiterAtOnce: of many writes at once exactly as many are let through as the limit says.
func TestLimiterAtOnce(t *testing.T) {
	l := new(limiter)
	const callers, each, limit = 8, 5000, 100
	var passed atomic.Int64
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range each {
				l.take(strconv.Itoa(caller*each+i), limit, time.Now()) // the map grows
				if l.take("shared", limit, time.Now()).OK {
					passed.Add(1)
				}
			}
		})
	}
	all.Wait()
	if windows := passed.Load() / limit; passed.Load()%limit != 0 || windows < 1 || windows > 2 {
		t.Errorf("%d writes passed a limit of %d", passed.Load(), limit)
	}
}
