// Package records counts and lists the records in a store, erases e-mail addresses, and retries
// messages that were given up. The store is SQLite (package sqlite) or D1 (package cloudflare).
package records

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strconv"

	"anteroom/edge/turn"
)

// Reader is a store open for reading.
type Reader interface {
	// Read runs statements that only read, in one transaction, and returns the rows of each. A value
	// is a string, an int64 or nil.
	Read(ctx context.Context, statements ...turn.Statement) ([][][]any, error)
	// Name names the store in messages to the operator.
	Name() string
	// Room returns the size of the store in bytes, and how large it can become.
	Room() (used, most int64, err error)
	Close() error
}

// Store is a store open for reading and writing.
type Store interface {
	Reader
	// Write runs statements in one transaction, and returns the number of changed rows of each.
	Write(ctx context.Context, statements ...turn.Statement) ([]int64, error)
	// Forget removes traces of deleted addresses from the files of the store.
	Forget(ctx context.Context) error
	// RetentionNote names where the store keeps an erased address longer, or returns "".
	RetentionNote() string
}

// Days is a range of calendar days in UTC, YYYY-MM-DD, both included. "" leaves an end open.
type Days struct{ Since, Through string }

func (d Days) bounds() (since, through any) {
	return cmp.Or(d.Since, "0001-01-01"), cmp.Or(d.Through, "9999-12-31")
}

func day(table string) string { return "substr(" + recordedAt[table] + ", 1, 10)" }

// recordedAt is SQL for the time of a table's row in RFC 3339.
var recordedAt = map[string]string{
	"registrations": "recorded_at", "charters": "recorded_at", "suggestions": "filed_at",
	"contacts": "created_at", "outbox": instant("created_at"),
}

func instant(column string) string {
	return "strftime('%Y-%m-%dT%H:%M:%SZ', " + column + ", 'unixepoch')"
}

const pageRows = 5000 // of a page of eachRow

// beforeAll is less than the key of any row, and the least number that D1 takes.
const beforeAll = -(1 << 53)

// eachRow returns the rows of a table whose key is greater than after, ordered by the key, which is
// the first column of each. Between two pages no transaction is open, so that a reader who pauses
// does not keep a server from emptying its log; new rows may be among them. An error ends the rows.
func eachRow(
	ctx context.Context, r Reader, after int64, table, key, columns, condition string, args ...any,
) iter.Seq2[[]any, error] {
	query := "SELECT " + key + ", " + columns + " FROM " + table + " WHERE " + key + " > ? AND " + condition +
		" ORDER BY " + key + " LIMIT " + strconv.Itoa(pageRows)
	return func(yield func([]any, error) bool) {
		for n := pageRows; n == pageRows; {
			err := ctx.Err()
			var page [][][]any
			if err == nil {
				page, err = r.Read(ctx, turn.SQL(query, append([]any{after}, args...)...))
			}
			if err != nil {
				yield(nil, fmt.Errorf("read %s: %w", table, err))
				return
			}
			n = len(page[0])
			for _, row := range page[0] {
				if after = turn.Integer(row[0]); !yield(row, nil) {
					return
				}
			}
		}
	}
}
