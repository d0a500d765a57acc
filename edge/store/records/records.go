// Package records is what the operator asks of the records in a store: it counts and lists them,
// erases the e-mail addresses given with them, and revives messages that were given up. The store
// is SQLite on a machine (package sqlite) or D1 on Cloudflare (package remote).
package records

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strconv"

	"anteroom/edge/turn"
)

// Reader is a store of records that is read.
type Reader interface {
	// Read runs statements that only read, all of one moment, and gives the rows of each. A value
	// is a string, an int64 or nil.
	Read(ctx context.Context, statements ...turn.Statement) ([][][]any, error)
	// Name names the store in messages to the operator.
	Name() string
	// Room gives how many bytes the store takes, and how many it can take at most.
	Room() (used, most int64, err error)
	Close() error
}

// Store is a store of records that is read and changed.
type Store interface {
	Reader
	// Write runs statements as one atomic unit. It gives the number of changed rows of each.
	Write(ctx context.Context, statements ...turn.Statement) ([]int64, error)
	// Forget removes deleted addresses from the files of the store, if it has files. While another
	// process reads an earlier state it cannot, and returns who reads.
	Forget(ctx context.Context) (reader string, err error)
	// RetentionNote says where the store keeps an erased address longer; "" says nowhere.
	RetentionNote() string
}

// Days is a range of calendar days in UTC, YYYY-MM-DD, both included. "" leaves an end open.
type Days struct{ Since, Through string }

func (d Days) bounds() (since, through any) {
	return cmp.Or(d.Since, "0001-01-01"), cmp.Or(d.Through, "9999-12-31")
}

func day(table string) string { return "substr(" + recordedAt[table] + ", 1, 10)" }

// recordedAt is SQL for the time at which a row of a table was recorded, in RFC 3339.
var recordedAt = map[string]string{
	"registrations": "recorded_at", "charters": "recorded_at", "suggestions": "filed_at",
	"contacts": "created_at", "outbox": instant("created_at"),
}

// instant is SQL for a column of Unix seconds in RFC 3339.
func instant(column string) string {
	return "strftime('%Y-%m-%dT%H:%M:%SZ', " + column + ", 'unixepoch')"
}

// How many rows are read at once.
const (
	pageRows  = 5000
	countRows = 20_000 // if a row is short
)

// beforeAll is a key before those of all rows, also of rows that were put into the store by hand.
// It is the least number that D1 takes.
const beforeAll = -(1 << 53)

// eachRow gives the rows of a table whose key is greater than after, in the order of the key, some
// rows at once. Each begins with its key, and then has the columns. Between two pages nothing is
// open, so that a reader who pauses does not keep a server from emptying its log; rows that are
// recorded meanwhile may be among them. An error ends the rows.
func eachRow(ctx context.Context, r Reader, after int64, rows int, table, key, columns, condition string, args ...any) iter.Seq2[[]any, error] {
	query := "SELECT " + key + ", " + columns + " FROM " + table + " WHERE " + key + " > ? AND " + condition +
		" ORDER BY " + key + " LIMIT " + strconv.Itoa(rows)
	return func(yield func([]any, error) bool) {
		for n := rows; n == rows; {
			err := ctx.Err()
			var page [][][]any
			if err == nil {
				page, err = r.Read(ctx, turn.Statement{SQL: query, Args: append([]any{after}, args...)})
			}
			if err != nil {
				yield(nil, fmt.Errorf("read %s: %w", table, err))
				return
			}
			n = len(page[0])
			for _, row := range page[0] {
				next, is := row[0].(int64)
				if !is || next <= after {
					yield(nil, fmt.Errorf("read %s after %d: the store gave number %v", table, after, row[0]))
					return
				}
				if after = next; !yield(row, nil) {
					return
				}
			}
		}
	}
}
