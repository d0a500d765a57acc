package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"anteroom/edge/kernel"
)

// databaseFile is the name of the database in the data folder.
const databaseFile = "anteroom.db"

const (
	// BurstSeconds is how far apart two registrations of one name are at most to be of one burst.
	BurstSeconds = 600
	// listPage is how many rows a list reads at once. Between two pages it holds nothing open, so that a
	// reader who pauses keeps no server from emptying its log.
	listPage = 500
)

// OpenRecords opens the database of a data folder that a server has made. It makes none.
func OpenRecords(data string, log *slog.Logger) (*Store, error) {
	path := filepath.Join(data, databaseFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no database %s (anteroom serve makes it; name its folder with --data)", path)
	} else if err != nil {
		return nil, fmt.Errorf("open database: %w (give this user access to the data folder)", err)
	}
	return OpenStore(path, log)
}

// Days are calendar days in UTC, YYYY-MM-DD, both included; "" leaves an end open.
type Days struct{ Since, Through string }

// bounds are the days as arguments for BETWEEN.
func (d Days) bounds() (since, through any) {
	since, through = "0001-01-01", "9999-12-31"
	if d.Since != "" {
		since = d.Since
	}
	if d.Through != "" {
		through = d.Through
	}
	return since, through
}

// Counts is what was recorded. It says nothing about who stands behind it.
type Counts struct {
	Registrations int64 // all rows
	Names         int64 // distinct agent names
	Nameless      int64 // registrations with a public key alone
	Bursts        int64
	InBursts      int64   // registrations that belong to a burst
	Largest       []Burst // the largest bursts, the first registered first among equals
	Charters      int64
	Suggestions   map[string]int64 // by kind
	Contacts      int64
	Outbox        map[string]int64 // by state
	OutboxError   string           // of the newest row that is not delivered and has one
}

// Burst is a run of at least two registrations of one name, each at most BurstSeconds after the one before.
type Burst struct {
	Name          string `json:"agent_name"`
	Registrations int64  `json:"registrations"`
	First         string `json:"first"` // RFC 3339
	Last          string `json:"last"`
}

// day is the calendar day of a row in a table, as SQL.
func day(table string) string { return "substr(" + recordedAt[table] + ", 1, 10)" }

// recordedAt is when a row was recorded, as SQL that gives RFC 3339.
var recordedAt = map[string]string{
	"registrations": "recorded_at", "charters": "recorded_at", "suggestions": "filed_at",
	"contacts": "created_at", "outbox": instant("created_at"),
}

// instant is SQL that gives a column of Unix seconds as RFC 3339.
func instant(column string) string {
	return "strftime('%Y-%m-%dT%H:%M:%SZ', " + column + ", 'unixepoch')"
}

// The queries of Count. Each takes the last day.
var (
	countRegistrations = "SELECT count(*), count(DISTINCT agent_name), count(*) - count(agent_name) FROM registrations WHERE " + day("registrations") + " <= ?"

	// A row starts a run where its name has none before it, or one that is too long ago. In the order of names
	// the number of starts so far tells one run from another.
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

// Count counts what was recorded up to the end of a day, all of it where through is "", with at most
// the given number of bursts. All numbers are of one moment.
func (s *Store) Count(through string, bursts int) (*Counts, error) {
	_, last := Days{Through: through}.bounds()
	one := []any{last}
	result, err := s.read(kernel.Exec{Statements: []kernel.Statement{
		{SQL: countRegistrations, Args: one},
		{SQL: countBursts, Args: []any{last, int64(max(bursts, 1))}},
		{SQL: countCharters, Args: one},
		{SQL: countSuggestions, Args: one},
		{SQL: countContacts, Args: one},
		{SQL: countOutbox, Args: one},
		{SQL: newestError, Args: one},
	}})
	if err != nil {
		return nil, fmt.Errorf("count records: %w", err)
	}
	rows := result.Rows
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

// byName makes rows of a name and a number a map.
func byName(rows [][]any) map[string]int64 {
	m := map[string]int64{}
	for _, row := range rows {
		m[row[0].(string)] = row[1].(int64)
	}
	return m
}

// failed is the error of an Exec that failed.
func failed(f kernel.Failure) error {
	return fmt.Errorf("the database did not do it: %s (the log says why)", f)
}

// List is a table whose rows can be listed.
type List struct {
	Name    string
	Columns []Column
}

// Column is a column of a List.
type Column struct {
	Name string
	JSON bool   // its text is JSON
	sql  string // what it is made of; "" is the name
}

// Lists are the lists there are. The payload of the outbox is left out: its address stands in contacts.
var Lists = []List{
	{"registrations", []Column{{Name: "seq"}, {Name: "record_id"}, {Name: "recorded_at"}, {Name: "agent_name"}, {Name: "pubkey"}, {Name: "payload_sha256"}}},
	{"charters", []Column{{Name: "seq"}, {Name: "record_id"}, {Name: "recorded_at"}, {Name: "org_name"}, {Name: "commissioner"}, {Name: "roster", JSON: true}, {Name: "payload_sha256"}}},
	{"suggestions", []Column{{Name: "record_id"}, {Name: "filed_at"}, {Name: "filed_as"}, {Name: "kind"}, {Name: "text_sha256"}}},
	{"contacts", []Column{{Name: "record_id"}, {Name: "created_at"}, {Name: "address"}}},
	{"outbox", []Column{
		{Name: "id"},
		{Name: "record_id"},
		{Name: "kind"},
		{Name: "state"},
		{Name: "tries"},
		{Name: "created_at", sql: instant("created_at")},
		{Name: "next_try_at", sql: instant("next_try_at")},
		{Name: "delivered_at", sql: instant("delivered_at")},
		{Name: "last_error"},
	}},
}

// Rows gives the rows of a list that were recorded on the given days, in order of recording. A row has
// an element for each column: a string, an int64, or nil. It reads page by page, so rows that are recorded
// meanwhile may be among them. An error is the last element.
func (s *Store) Rows(ctx context.Context, list List, days Days) iter.Seq2[[]any, error] {
	columns := make([]string, len(list.Columns))
	for i, c := range list.Columns {
		if columns[i] = c.sql; c.sql == "" {
			columns[i] = c.Name
		}
	}
	query := "SELECT rowid, " + strings.Join(columns, ", ") + " FROM " + list.Name +
		" WHERE rowid > ? AND " + day(list.Name) + " BETWEEN ? AND ? ORDER BY rowid LIMIT " + strconv.Itoa(listPage)
	since, through := days.bounds()
	return func(yield func([]any, error) bool) {
		for after := int64(0); ; {
			if err := ctx.Err(); err != nil {
				yield(nil, fmt.Errorf("list %s: %w", list.Name, err))
				return
			}
			page, err := s.read(kernel.Exec{Statements: []kernel.Statement{{SQL: query, Args: []any{after, since, through}}}})
			if err != nil {
				yield(nil, fmt.Errorf("list %s: %w", list.Name, err))
				return
			}
			for _, row := range page.Rows[0] {
				after = row[0].(int64)
				if !yield(row[1:], nil) {
					return
				}
			}
			if len(page.Rows[0]) < listPage {
				return
			}
		}
	}
}

// Erased is what was erased of a record.
type Erased struct {
	Contacts int64 // rows of the contacts, 0 or 1
	Messages int64 // rows of the outbox
}

// Erase erases the e-mail addresses that were given with records, from the contacts and from the
// outbox, all in one transaction, and says for each record what there was. A registration or a charter itself
// stays: its commitment is public. A message that is being sent at this moment is not called back. It ends
// with Cleanse, even where there was nothing: a former call may have failed at that.
func (s *Store) Erase(recordIDs ...string) ([]Erased, error) {
	erase := kernel.Exec{}
	for _, id := range recordIDs {
		erase.Statements = append(erase.Statements,
			kernel.Statement{SQL: "DELETE FROM contacts WHERE record_id = ?", Args: []any{id}},
			kernel.Statement{SQL: "DELETE FROM outbox WHERE record_id = ?", Args: []any{id}})
	}
	result := s.Exec(erase)
	if result.Failure != kernel.None {
		return nil, fmt.Errorf("erase records: %w", failed(result.Failure))
	}
	erased := make([]Erased, len(recordIDs))
	for i := range erased {
		erased[i] = Erased{result.Changes[2*i], result.Changes[2*i+1]}
	}
	return erased, s.Cleanse()
}

const revive = "UPDATE outbox SET state = 'pending', tries = 0, next_try_at = unixepoch(), lease = NULL, lease_until = 0, digest = NULL WHERE state = 'dead'"

// Revive makes dead rows of the outbox pending again, due at once and with no tries: those of the given
// records, in one transaction, and says how many there were of each.
func (s *Store) Revive(recordIDs ...string) ([]int64, error) {
	all := kernel.Exec{}
	for _, id := range recordIDs {
		all.Statements = append(all.Statements, kernel.Statement{SQL: revive + " AND record_id = ?", Args: []any{id}})
	}
	return s.revive(all)
}

// ReviveAll is Revive for every dead row.
func (s *Store) ReviveAll() (int64, error) {
	revived, err := s.revive(kernel.Exec{Statements: []kernel.Statement{{SQL: revive}}})
	if err != nil {
		return 0, err
	}
	return revived[0], nil
}

func (s *Store) revive(exec kernel.Exec) ([]int64, error) {
	result := s.Exec(exec)
	if result.Failure != kernel.None {
		return nil, fmt.Errorf("revive messages: %w", failed(result.Failure))
	}
	return result.Changes, nil
}
