package native

import (
	"maps"
	"sync"
	"time"
)

// shared returns the same value to all callers who ask for it within some time. The zero value is
// ready.
type shared[T any] struct {
	mu    sync.Mutex
	known map[string]*sharedValue[T] // by question
}

type sharedValue[T any] struct {
	until time.Time
	done  chan struct{} // closed when value is set
	value T
}

// do returns the known value, or finds one and keeps it until a time. Callers who ask meanwhile
// wait for it. If find panics, they get failed.
func (s *shared[T]) do(asked string, now, until time.Time, failed T, find func() T) T {
	s.mu.Lock()
	maps.DeleteFunc(s.known, func(_ string, v *sharedValue[T]) bool { return !now.Before(v.until) })
	if v := s.known[asked]; v != nil {
		s.mu.Unlock()
		<-v.done
		return v.value
	}
	v := &sharedValue[T]{until: until, done: make(chan struct{}), value: failed}
	if s.known == nil {
		s.known = map[string]*sharedValue[T]{}
	}
	s.known[asked] = v
	s.mu.Unlock()
	defer close(v.done)
	v.value = find()
	return v.value
}

func (s *shared[T]) forget() {
	s.mu.Lock()
	s.known = nil
	s.mu.Unlock()
}
