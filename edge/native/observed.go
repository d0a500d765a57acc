package native

import (
	"context"
	"fmt"
	"sync"
	"time"

	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

const (
	tallyPause = time.Minute            // between two writes of the tally
	tallyRows  = 4 * records.DayClients // of the tally: callers choose the names in them
)

// seen is the key of a row of the table observed.
type seen struct{ day, client, kind string }

// tally counts observations in memory until they are written to the store, so that no request waits
// for that. A process that is killed loses up to a minute of them. The zero value is ready.
type tally struct {
	mu     sync.Mutex
	counts map[seen]int64
}

func (h *Host) observe(observed []turn.Observation) {
	if len(observed) == 0 {
		return
	}
	day := h.now().UTC().Format(time.DateOnly)
	h.tally.mu.Lock()
	defer h.tally.mu.Unlock()
	if h.tally.counts == nil {
		h.tally.counts = map[seen]int64{}
	}
	for _, o := range observed {
		s := seen{day, o.Client, o.Kind}
		if h.tally.counts[s] == 0 && o.Client != "" && len(h.tally.counts) >= tallyRows {
			s.client = records.OtherClients
		}
		h.tally.counts[s]++
	}
}

func (h *Host) keepTally(ctx context.Context) { repeat(ctx, h.tallyPause, nil, h.writeTally) }

// addObserved adds to a count. Once a day has records.DayClients clients, new ones share a row.
var addObserved = fmt.Sprintf(`INSERT INTO observed (day, client, kind, n)
	SELECT seen.day, CASE WHEN seen.client IN ('', '%[1]s')
		OR EXISTS (SELECT 1 FROM observed WHERE day = seen.day AND client = seen.client)
		OR (SELECT count(DISTINCT client) FROM observed WHERE day = seen.day AND client NOT IN ('', '%[1]s')) < %[2]d
		THEN seen.client ELSE '%[1]s' END, seen.kind, seen.n
	FROM (SELECT ? AS day, ? AS client, ? AS kind, ? AS n) AS seen WHERE true
	ON CONFLICT (day, client, kind) DO UPDATE SET n = n + excluded.n`, records.OtherClients, records.DayClients)

// writeTally moves the tally to the store in one transaction. If that fails the counts are lost, as
// nothing may be counted twice.
func (h *Host) writeTally() {
	h.tally.mu.Lock()
	counts := h.tally.counts
	h.tally.counts = nil
	h.tally.mu.Unlock()
	var add []turn.Statement
	for s, n := range counts {
		add = append(add, turn.Statement{SQL: addObserved, Args: []any{s.day, s.client, s.kind, n}})
	}
	if len(add) == 0 {
		return
	}
	if _, err := h.store.Write(context.Background(), add...); err != nil {
		h.log.Warn("observations of clients are lost", "error", err)
	}
}
