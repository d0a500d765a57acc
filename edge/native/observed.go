package native

import (
	"context"
	"sync"
	"time"

	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

const tallyPause = time.Minute // between two writes of the tally

type seen struct{ day, client, kind string }

// tally counts observations, so that no request waits for the store. A process that is killed loses
// up to a minute of them. The zero value is ready.
type tally struct {
	mu     sync.Mutex
	counts map[seen]int64
	day    string
	named  map[string]bool // clients of the day that are counted by name
}

func (h *Host) observe(observed []turn.Observation) {
	if len(observed) == 0 {
		return
	}
	t, day := &h.tally, h.now().UTC().Format(time.DateOnly)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[seen]int64{}
	}
	if t.day != day {
		t.day, t.named = day, map[string]bool{}
		named := turn.SQL("SELECT DISTINCT client FROM observed WHERE day = ? AND client NOT IN ('', ?)",
			day, records.OtherClients) // before a restart
		if rows, err := h.store.Read(context.Background(), named); err == nil {
			for _, row := range rows[0] {
				t.named[turn.Text(row[0])] = true
			}
		}
	}
	for _, o := range observed {
		switch {
		case o.Client == "" || o.Client == records.OtherClients || t.named[o.Client]:
		case len(t.named) < records.DayClients:
			t.named[o.Client] = true
		default:
			o.Client = records.OtherClients
		}
		t.counts[seen{day, o.Client, o.Kind}]++
	}
}

const addObserved = "INSERT INTO observed (day, client, kind, n) VALUES (?, ?, ?, ?) " +
	"ON CONFLICT (day, client, kind) DO UPDATE SET n = n + excluded.n"

// writeTally moves the tally to the store in one transaction. If that fails the counts are lost, as
// nothing may be counted twice.
func (h *Host) writeTally() {
	h.tally.mu.Lock()
	counts := h.tally.counts
	h.tally.counts = nil
	h.tally.mu.Unlock()
	var add []turn.Statement
	for s, n := range counts {
		add = append(add, turn.SQL(addObserved, s.day, s.client, s.kind, n))
	}
	if len(add) == 0 {
		return
	}
	if _, err := h.store.Write(context.Background(), add...); err != nil {
		h.log.Warn("observations of clients are lost", "error", err)
	}
}
