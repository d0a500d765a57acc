// Package records is what the operator asks of the records in a store: it counts and lists them,
// erases the e-mail addresses given with them, and revives messages that were given up. The store
// is SQLite on a machine (package sqlite) or D1 on Cloudflare (package remote).
package records

import (
	"context"

	"anteroom/edge/turn"
)

// Reader is a store of records that is read.
type Reader interface {
	// Read runs statements that only read, all of one moment, and gives the rows of each. A value
	// is a string, an int64 or nil.
	Read(ctx context.Context, statements ...turn.Statement) ([][][]any, error)
	// Name names the store in messages to the operator.
	Name() string
	Close() error
}

// Store is a store of records that is read and changed.
type Store interface {
	Reader
	// Write runs statements as one atomic unit. It gives the number of changed rows of each.
	Write(ctx context.Context, statements ...turn.Statement) ([]int64, error)
	// Vacuum makes the store forget what was deleted, if the store can.
	Vacuum(ctx context.Context) error
	// RetentionNote says where the store keeps an erased address longer; "" says nowhere.
	RetentionNote() string
}

// Days is a range of calendar days in UTC, YYYY-MM-DD, both included. "" leaves an end open.
type Days struct{ Since, Through string }

// bounds gives the days as arguments for BETWEEN.
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

// day is SQL for the calendar day on which a row of a table was recorded.
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
