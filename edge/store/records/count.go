package records

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"anteroom/edge/civil"
	"anteroom/edge/turn"
)

// BurstSeconds is the longest time between a registration of a burst and the one before it.
const BurstSeconds = 600

// Counts counts records. A member that scoreboard.json has too has the same name.
type Counts struct {
	Through       *string          `json:"through"`                    // last day; nil is no bound
	Registrations int64            `json:"registrations_recorded"`     // all rows
	Names         int64            `json:"distinct_agent_names"`       // of registrations
	Nameless      int64            `json:"registrations_without_name"` // with only a public key
	Bursts        int64            `json:"bursts"`
	InBursts      int64            `json:"registrations_in_bursts"`
	BurstSeconds  int              `json:"burst_seconds"`
	Largest       []Burst          `json:"largest_bursts"` // of equal size the earliest first
	Charters      int64            `json:"charters_filed"`
	Suggestions   map[string]int64 `json:"suggestions_by_kind"`
	Contacts      int64            `json:"contacts_on_file"`
	Outbox        map[string]int64 `json:"outbox_by_state"`
	OutboxError   *string          `json:"outbox_newest_error"` // of an undelivered message
}

// Burst is at least two registrations of one name, each at most BurstSeconds after the previous one.
type Burst struct {
	Name          string `json:"agent_name"`
	Registrations int64  `json:"registrations"`
	First         string `json:"first"` // RFC 3339
	Last          string `json:"last"`
}

// Count counts the records up to the end of a day, or all if through is "", at one moment. It lists
// at most the given number of bursts.
func Count(ctx context.Context, r Reader, through string, bursts int) (*Counts, error) {
	_, last := Days{Through: through}.bounds()
	counted := func(columns, table, rest string) turn.Statement {
		return turn.Statement{SQL: "SELECT " + columns + " FROM " + table + " WHERE " + day(table) + " <= ?" + rest, Args: []any{last}}
	}
	rows, err := r.Read(ctx,
		turn.Statement{SQL: "SELECT coalesce(max(seq), 0) FROM registrations"},
		counted("count(*)", "charters", ""),
		counted("kind, count(*)", "suggestions", " GROUP BY kind"),
		counted("count(*)", "contacts", ""),
		counted("state, count(*)", "outbox", " GROUP BY state"),
		counted("last_error", "outbox", " AND state <> 'delivered' AND last_error IS NOT NULL ORDER BY id DESC LIMIT 1"),
	)
	if err != nil {
		return nil, fmt.Errorf("count records: %w", err)
	}
	c := &Counts{
		BurstSeconds: BurstSeconds, Largest: []Burst{}, Charters: rows[1][0][0].(int64),
		Suggestions: byName(rows[2]), Contacts: rows[3][0][0].(int64), Outbox: byName(rows[4]),
	}
	if through != "" {
		c.Through = &through
	}
	for _, row := range rows[5] {
		failed := row[0].(string)
		c.OutboxError = &failed
	}
	// Registrations are never changed: those up to the last one are the same as at that moment.
	if err := c.registrations(ctx, r, rows[0][0][0].(int64), last, bursts); err != nil {
		return nil, fmt.Errorf("count records: %w", err)
	}
	return c, nil
}

// run is the registrations of a name since its last long pause.
type run struct {
	name        string
	n           int64
	place       int64 // sequence number of the first
	last        int64 // Unix time of the newest
	first, most int64 // earliest and latest time
}

// registrations counts the registrations up to a sequence number. Sorting them by name in the database
// would take longer.
func (c *Counts) registrations(ctx context.Context, r Reader, last int64, through any, bursts int) error {
	runs, ended := map[string]*run{}, []*run(nil)
	end := func(r *run) {
		if r != nil && r.n > 1 {
			c.Bursts++
			c.InBursts += r.n
			ended = append(ended, r)
		}
	}
	for row, err := range eachRow(ctx, r, beforeAll, countRows, "registrations", "seq", "agent_name, unixepoch(recorded_at)",
		"seq <= ? AND "+day("registrations")+" <= ?", last, through) {
		if err != nil {
			return err
		}
		c.Registrations++
		name, named := row[1].(string)
		if !named {
			c.Nameless++
			continue
		}
		at, _ := row[2].(int64)
		of := runs[name]
		if of != nil && at-of.last <= BurstSeconds {
			of.n, of.last, of.first, of.most = of.n+1, at, min(of.first, at), max(of.most, at)
			continue
		}
		end(of)
		runs[name] = &run{name, 1, row[0].(int64), at, at, at}
	}
	c.Names = int64(len(runs))
	for _, r := range runs {
		end(r)
	}
	slices.SortFunc(ended, func(a, b *run) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.place, b.place)) })
	for _, l := range ended[:min(max(bursts, 0), len(ended))] {
		c.Largest = append(c.Largest, Burst{l.name, l.n, civil.FormatTime(l.first), civil.FormatTime(l.most)})
	}
	return nil
}

func byName(rows [][]any) map[string]int64 {
	m := map[string]int64{}
	for _, row := range rows {
		m[row[0].(string)] = row[1].(int64)
	}
	return m
}
