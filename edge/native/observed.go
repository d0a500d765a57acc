package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

const tallyPause = time.Minute // between two writes of the tally

// seen is what the table observed counts.
type seen struct{ day, client, kind string }

// tally counts what was observed of clients, in memory until it is written to the store. So no
// request waits for it, and a process that is killed loses up to a minute of it. The zero value is
// ready.
type tally struct {
	mu      sync.Mutex
	counts  map[seen]int64
	clients clients // of counts, which they keep small whatever callers call themselves
}

// clients are the names that have rows of their own, by day.
type clients map[string]map[string]bool

// row is the name under which a client of a day is counted. A new client gets a row of its own as
// long as the day has few.
func (c clients) row(day, client string) string {
	if client == "" || client == records.OtherClients || c[day][client] {
		return client
	}
	if len(c[day]) >= records.DayClients {
		return records.OtherClients
	}
	if c[day] == nil {
		c[day] = map[string]bool{}
	}
	c[day][client] = true
	return client
}

// observe counts what a request has shown.
func (h *Host) observe(observed []turn.Observation) {
	if len(observed) == 0 {
		return
	}
	day := h.now().UTC().Format(time.DateOnly)
	h.tally.mu.Lock()
	defer h.tally.mu.Unlock()
	for _, o := range observed {
		h.tally.add(seen{day, o.Client, o.Kind}, 1)
	}
}

// add adds to a count. Its caller holds the lock.
func (t *tally) add(s seen, n int64) {
	if t.counts == nil {
		t.counts, t.clients = map[seen]int64{}, clients{}
	}
	s.client = t.clients.row(s.day, s.client)
	t.counts[s] += n
}

// take empties the tally.
func (t *tally) take() map[seen]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := t.counts
	t.counts, t.clients = nil, nil
	return counts
}

// keepTally writes the tally from time to time, until ctx is done.
func (h *Host) keepTally(ctx context.Context) {
	ticker := time.NewTicker(h.tallyPause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := h.writeTally(); err != nil {
				h.log.Warn("what was observed of clients is not written yet", "error", err)
			}
		}
	}
}

// writeTally adds the tally to the store in one transaction. If that fails, the tally stays; if it
// is not known whether that failed, the tally goes, as nothing may be counted twice.
func (h *Host) writeTally() error { return h.tally.write(h.addToStore) }

func (t *tally) write(add func(map[seen]int64) error) error {
	counts := t.take()
	if len(counts) == 0 {
		return nil
	}
	err := add(counts)
	if err == nil {
		return nil
	}
	if !errors.Is(err, sqlite.ErrUncertain) {
		t.mu.Lock()
		defer t.mu.Unlock()
		for s, n := range counts {
			t.add(s, n)
		}
	}
	return fmt.Errorf("write what was observed: %w", err)
}

const (
	selectClients = "SELECT DISTINCT client FROM observed WHERE day = ? AND client NOT IN ('', '" + records.OtherClients + "')"
	addObserved   = "INSERT INTO observed (day, client, kind, n) VALUES (?, ?, ?, ?) ON CONFLICT (day, client, kind) DO UPDATE SET n = n + excluded.n"
)

// addToStore adds counts to those of the store. The store says which clients have rows on a day, so
// that there are no more of them after a restart.
func (h *Host) addToStore(counts map[seen]int64) error {
	rows := slices.SortedFunc(maps.Keys(counts), func(a, b seen) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.client, b.client), cmp.Compare(a.kind, b.kind))
	})
	known := clients{}
	for _, s := range rows {
		if known[s.day] != nil {
			continue
		}
		known[s.day] = map[string]bool{}
		stored, err := h.store.Read(context.Background(), turn.Statement{SQL: selectClients, Args: []any{s.day}})
		if err != nil {
			return err
		}
		for _, row := range stored[0] {
			known[s.day][row[0].(string)] = true
		}
	}
	var add []turn.Statement
	for _, s := range rows {
		add = append(add, turn.Statement{SQL: addObserved, Args: []any{s.day, known.row(s.day, s.client), s.kind, counts[s]}})
	}
	_, err := h.store.Write(context.Background(), add...)
	return err
}
