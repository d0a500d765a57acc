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

	"anteroom/edge/store/migrations"
	"anteroom/edge/turn"

	sqlite3 "modernc.org/sqlite/lib"
)

// Reader is an open database that is only read: no file is made, and no byte written. A server may
// use the database meanwhile. Several goroutines may call the methods at once.
type Reader struct {
	connection
	mutex sync.Mutex
	held  bool // whether a transaction is open until Close
}

// ErrLacking is the error of OpenReader where the database lacks a migration, which Open applies.
var ErrLacking = errors.New("it lacks migration")

// OpenReader opens the database file at path, and makes none. The file may be a copy in a folder
// that this user cannot write to. OpenReader refuses a file without the schema of this program: a
// copy that was made beside a running server, without the log of that, may lack all there is.
func OpenReader(path string) (*Reader, error) {
	r := &Reader{}
	if err := r.open(path); err != nil {
		r.disconnect()
		return nil, fmt.Errorf("open database %s: %w", path, withHint(err))
	}
	return r, nil
}

// OpenMoment is OpenReader for one moment: each Read sees the database as it was when OpenMoment
// returned. Until Close, Store.Rewrite fails in other processes, and the log of a server grows.
func OpenMoment(path string) (*Reader, error) {
	r, err := OpenReader(path)
	if err != nil {
		return nil, err
	}
	// BEGIN alone does not choose the moment: the first statement that reads does.
	if err := r.script("BEGIN; SELECT 1 FROM sqlite_schema"); err != nil {
		r.disconnect()
		return nil, fmt.Errorf("read database %s: %w", path, err)
	}
	r.held = true
	return r, nil
}

// OpenCopy opens a file that no process writes to, and that need not be a database of this program.
// It neither makes nor reads any other file: a log beside the copy is an error.
func OpenCopy(path string) (*Reader, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	for _, suffix := range besides {
		if info, err := os.Stat(path + suffix); err == nil && info.Size() > 0 {
			return nil, fmt.Errorf("%s lies beside it: it is the database of a server, or a part of its copy (make a backup of it with anteroom backup)", path+suffix)
		}
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	r := &Reader{}
	if err := r.connect(path, url.Values{"mode": {"ro"}, "immutable": {"1"}}); err != nil {
		return nil, err
	}
	return r, nil
}

// besides are the suffixes of the files in which SQLite keeps a part of a database.
var besides = []string{"-wal", "-journal"}

func (r *Reader) open(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (anteroom serve makes it; name its folder with --data)", ErrNone)
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
	tables, err := r.moment([]turn.Statement{{SQL: "SELECT name FROM sqlite_schema WHERE name = ?", Args: []any{migrations.Table}}})
	if err != nil {
		return err
	}
	if len(tables.Rows[0]) == 0 {
		return errors.New("it holds nothing of this program " +
			"(where it is a copy of a running server's file, the log is missing: make copies with anteroom backup)")
	}
	applied, err := r.moment([]turn.Statement{{SQL: migrations.Select}})
	if err != nil {
		return err
	}
	lacking, err := migrations.Missing(applied.Rows[0])
	if err == nil && len(lacking) > 0 {
		err = fmt.Errorf("%w %s (start anteroom serve with it once, which applies it)", ErrLacking, lacking[0])
	}
	return err
}

// Read runs statements that only read, all of one moment, and gives the rows of each.
func (r *Reader) Read(_ context.Context, statements ...turn.Statement) ([][][]any, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.held {
		result, err := r.run(turn.Exec{Statements: statements})
		return result.Rows, err
	}
	result, err := r.moment(statements)
	return result.Rows, err
}

// Close closes the database.
func (r *Reader) Close() error { return r.disconnect() }
