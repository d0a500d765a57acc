// Package records is what the operator asks of the records in a store: it counts and lists them,
// erases the e-mail addresses given with them, and revives messages that were given up.
package records

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"anteroom/edge/native/sqlite"
)

// Open opens the store in a data folder that a server has made. Open makes none: the counts of an
// empty store in a mistyped folder would look true.
func Open(data string, log *slog.Logger) (*sqlite.Store, error) {
	path := filepath.Join(data, sqlite.FileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no database %s (anteroom serve makes it; name its folder with --data)", path)
	} else if err != nil {
		return nil, fmt.Errorf("open database: %w (give this user access to the data folder)", err)
	}
	return sqlite.Open(path, log)
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
