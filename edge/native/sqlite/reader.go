package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"anteroom/edge/kernel"
	"anteroom/edge/migrations"

	sqlite3 "modernc.org/sqlite/lib"
)

// Reader is an open database that is only read: no file is made, and no byte written. A server may
// use the database meanwhile. Several goroutines may call the methods at once.
type Reader struct {
	connection
	mutex sync.Mutex
}

// OpenReader opens the database file at path, and makes none. The file may be a copy in a folder
// that this user cannot write to. OpenReader refuses a file without the schema of this program: a
// copy that was made beside a running server, without the log of that, may lack all there is.
func OpenReader(path string) (*Reader, error) {
	r := &Reader{}
	if err := r.open(path); err != nil {
		r.disconnect()
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	return r, nil
}

func (r *Reader) open(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return errors.New("there is none (anteroom serve makes it; name its folder with --data)")
	} else if err != nil {
		return fmt.Errorf("%w (give this user access to the data folder)", err)
	}
	settings := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)"}}
	if err = errors.Join(r.connect(path, settings), r.check()); err == nil {
		return nil
	}
	// Without an index of its log, SQLite wants to make one, which a folder that is read-only does
	// not let it. Where there is no log either, the file is all there is.
	if _, statErr := os.Stat(path + "-wal"); cannotOpen(err) && errors.Is(statErr, fs.ErrNotExist) {
		r.disconnect()
		settings.Set("immutable", "1")
		err = errors.Join(r.connect(path, settings), r.check())
	}
	return err
}

func cannotOpen(err error) bool {
	return code(err) == sqlite3.SQLITE_CANTOPEN || code(err) == sqlite3.SQLITE_READONLY
}

// check compares the migrations of the database with those of this program.
func (r *Reader) check() error {
	if r.conn == nil {
		return nil // the error of the connection says why
	}
	tables, err := r.moment([]kernel.Statement{{SQL: "SELECT name FROM sqlite_schema WHERE name = ?", Args: []any{migrations.Table}}})
	if err != nil {
		return err
	}
	if len(tables.Rows[0]) == 0 {
		return errors.New("it holds nothing of this program " +
			"(where it is a copy of a running server's file, the log is missing: make copies with anteroom backup)")
	}
	applied, err := r.moment([]kernel.Statement{{SQL: migrations.Select}})
	if err != nil {
		return err
	}
	lacking, err := migrations.Missing(applied.Rows[0])
	if err == nil && len(lacking) > 0 {
		err = fmt.Errorf("it lacks migration %s (start anteroom serve with it once, which applies it)", lacking[0])
	}
	return err
}

// Read runs statements that only read, all of one moment, and gives the rows of each.
func (r *Reader) Read(_ context.Context, statements ...kernel.Statement) ([][][]any, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	result, err := r.moment(statements)
	return result.Rows, err
}

// Close closes the database.
func (r *Reader) Close() error { return r.disconnect() }
