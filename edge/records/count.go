package records

import (
	"context"
	"fmt"
	"strconv"

	"anteroom/edge/kernel"
)

// BurstSeconds is the longest time between a registration of a burst and the one before it.
const BurstSeconds = 600

// Counts is how much was recorded. It says nothing about who stands behind the records.
type Counts struct {
	Registrations int64 // all rows
	Names         int64 // distinct agent names
	Nameless      int64 // registrations with a public key alone
	Bursts        int64
	InBursts      int64   // registrations that belong to a burst
	Largest       []Burst // the largest bursts; of equal ones the first registered stands first
	Charters      int64
	Suggestions   map[string]int64 // by kind
	Contacts      int64
	Outbox        map[string]int64 // by state
	OutboxError   string           // of the newest message that is not delivered and has one
}

// Burst is a run of at least two registrations of one name, each at most BurstSeconds after the one
// before.
type Burst struct {
	Name          string `json:"agent_name"`
	Registrations int64  `json:"registrations"`
	First         string `json:"first"` // RFC 3339
	Last          string `json:"last"`
}

// The queries of Count. Each takes the last day.
var (
	countRegistrations = "SELECT count(*), count(DISTINCT agent_name), count(*) - count(agent_name) FROM registrations WHERE " + day("registrations") + " <= ?"

	// A row starts a run where its name has no row before, or one that is too long ago. In the
	// order of names the number of starts so far tells one run from another.
	countBursts = "WITH timed AS (SELECT seq, agent_name, recorded_at, unixepoch(recorded_at) AS at, lag(unixepoch(recorded_at)) OVER (PARTITION BY agent_name ORDER BY seq) AS before" +
		" FROM registrations WHERE agent_name IS NOT NULL AND " + day("registrations") + " <= ?)," +
		" runs AS (SELECT seq, agent_name, recorded_at, sum(before IS NULL OR at - before > " + strconv.Itoa(BurstSeconds) + ") OVER (ORDER BY agent_name, seq ROWS UNBOUNDED PRECEDING) AS run FROM timed)," +
		" bursts AS (SELECT agent_name, count(*) AS n, min(recorded_at) AS first, max(recorded_at) AS last, min(seq) AS place FROM runs GROUP BY run HAVING n > 1)" +
		" SELECT agent_name, n, first, last, count(*) OVER (), sum(n) OVER () FROM bursts ORDER BY n DESC, place LIMIT ?"

	countCharters    = "SELECT count(*) FROM charters WHERE " + day("charters") + " <= ?"
	countSuggestions = "SELECT kind, count(*) FROM suggestions WHERE " + day("suggestions") + " <= ? GROUP BY kind"
	countContacts    = "SELECT count(*) FROM contacts WHERE " + day("contacts") + " <= ?"
	countOutbox      = "SELECT state, count(*) FROM outbox WHERE " + day("outbox") + " <= ? GROUP BY state"
	newestError      = "SELECT last_error FROM outbox WHERE state <> 'delivered' AND last_error IS NOT NULL AND " + day("outbox") + " <= ? ORDER BY id DESC LIMIT 1"
)

// Count counts what was recorded up to the end of a day, or everything where through is "". The
// counts list at most the given number of bursts. All numbers are of one moment.
func Count(ctx context.Context, s Reader, through string, bursts int) (*Counts, error) {
	_, last := Days{Through: through}.bounds()
	one := []any{last}
	rows, err := s.Read(ctx,
		kernel.Statement{SQL: countRegistrations, Args: one},
		kernel.Statement{SQL: countBursts, Args: []any{last, int64(max(bursts, 1))}},
		kernel.Statement{SQL: countCharters, Args: one},
		kernel.Statement{SQL: countSuggestions, Args: one},
		kernel.Statement{SQL: countContacts, Args: one},
		kernel.Statement{SQL: countOutbox, Args: one},
		kernel.Statement{SQL: newestError, Args: one},
	)
	if err != nil {
		return nil, fmt.Errorf("count records: %w", err)
	}
	c := &Counts{
		Registrations: rows[0][0][0].(int64), Names: rows[0][0][1].(int64), Nameless: rows[0][0][2].(int64),
		Charters: rows[2][0][0].(int64), Suggestions: byName(rows[3]),
		Contacts: rows[4][0][0].(int64), Outbox: byName(rows[5]),
	}
	for i, row := range rows[1] {
		c.Bursts, c.InBursts = row[4].(int64), row[5].(int64)
		if i < bursts {
			c.Largest = append(c.Largest, Burst{row[0].(string), row[1].(int64), row[2].(string), row[3].(string)})
		}
	}
	for _, row := range rows[6] {
		c.OutboxError = row[0].(string)
	}
	return c, nil
}

// byName makes a map of rows that hold a name and a number.
func byName(rows [][]any) map[string]int64 {
	m := map[string]int64{}
	for _, row := range rows {
		m[row[0].(string)] = row[1].(int64)
	}
	return m
}
