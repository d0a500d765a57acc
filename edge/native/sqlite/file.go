package sqlite

import (
	"fmt"
	"net/url"
	"path/filepath"

	"anteroom/edge/turn"

	sqlite3 "modernc.org/sqlite/lib"
)

// File is a database file that this process alone uses, with no log beside it. All that is done to
// it is one transaction.
type File struct{ connection }

// OpenFile takes the file at path, which may be empty, from all other processes until Commit or
// Close. It is an error where another process uses the file.
func OpenFile(path string) (*File, error) {
	f := &File{}
	err := f.open(path)
	if code(err) == sqlite3.SQLITE_BUSY {
		err = errBusy
	}
	if err != nil {
		f.disconnect()
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	return f, nil
}

func (f *File) open(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	// Only the one process that uses a database can put its log away. A locking mode of EXCLUSIVE
	// keeps the lock that this takes.
	settings := []string{"busy_timeout(1000)", "locking_mode(EXCLUSIVE)", "journal_mode(DELETE)", "secure_delete(1)"}
	if err := f.connect(path, url.Values{"mode": {"rw"}, "_pragma": settings}); err != nil {
		return err
	}
	if err := f.control("BEGIN EXCLUSIVE"); err != nil {
		return err
	}
	mode, err := f.run(turn.Exec{Statements: []turn.Statement{{SQL: "PRAGMA journal_mode"}}})
	if err == nil && mode.Rows[0][0][0] != "delete" { // another process took the file in between
		err = errBusy
	}
	return err
}

// Migrate applies the migrations that the database lacks, to an empty file all of them.
func (f *File) Migrate() error {
	_, err := f.migrate(true)
	return err
}

// Run runs statements in their order, and gives the rows of each.
func (f *File) Run(statements ...turn.Statement) ([][][]any, error) {
	result, err := f.run(turn.Exec{Statements: statements})
	return result.Rows, err
}

// Commit keeps what was done, and closes the file.
func (f *File) Commit() error {
	err := f.control("COMMIT")
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// Close closes the file, and undoes what was not committed. A second Close does nothing.
func (f *File) Close() error {
	err := f.disconnect()
	f.conn = nil
	return err
}
