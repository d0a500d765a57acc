package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"anteroom/edge/assets"
	"anteroom/edge/native/disk"
	"anteroom/edge/store/migrations"
	"anteroom/edge/turn"

	sqlite3 "modernc.org/sqlite/lib"
)

// Reader is a database open for reading: it makes no file and writes no byte. A server may use the
// database meanwhile. The methods may be called concurrently.
type Reader struct {
	connection
	mutex   sync.Mutex
	lacking []string // migrations
}

// OpenReadOnly opens the database file at path, even in a folder that this user cannot write to,
// and with an older schema. It refuses a file without a schema, such as a copy of a running
// server's file without its log.
func OpenReadOnly(path string) (*Reader, error) {
	r := &Reader{}
	absolute, err := filepath.Abs(path)
	if err == nil {
		err = r.open(absolute)
	}
	if err != nil {
		r.disconnect()
		return nil, fmt.Errorf("open database %s: %w", path, withHint(err))
	}
	return r, nil
}

// Reader opens the database a second time.
func (s *Store) Reader() (*Reader, error) { return OpenReadOnly(s.path) }

// OpenBackup opens a file that no process writes to, of any schema. It neither makes nor reads
// another file, and refuses a database with a log next to it.
func OpenBackup(path string) (*Reader, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	for _, suffix := range []string{logSuffix, "-journal"} { // in which SQLite keeps a part of a database
		if info, err := os.Stat(path + suffix); err == nil && info.Size() > 0 {
			return nil, fmt.Errorf("found %s: the database is in use, or an incomplete copy (use anteroom backup)", path+suffix)
		}
	}
	f, err := assets.Open(path)
	if err != nil {
		return nil, err
	}
	head := make([]byte, len(migrations.Magic))
	io.ReadFull(f, head) // a shorter file does not match
	if f.Close(); string(head) != migrations.Magic {
		return nil, errors.New("not a database (name a file made by anteroom backup)")
	}
	r := &Reader{}
	return r, r.connect(path, immutable)
}

var immutable = url.Values{"mode": {"ro"}, "immutable": {"1"}}

func (r *Reader) open(path string) error {
	there, err := Exists(path)
	if err == nil && !there {
		err = fmt.Errorf("%w (anteroom serve --create makes it; name its folder with --data)", ErrNone)
	}
	if err != nil {
		return err
	}
	err = errors.Join(r.connect(path, url.Values{"mode": {"ro"}, "_pragma": {busyTimeout}}), r.check())
	// SQLite wants to make an index of the log, which a read-only folder does not allow. It needs
	// none if there is no log.
	if _, statErr := os.Stat(path + logSuffix); cannotOpen(err) && errors.Is(statErr, fs.ErrNotExist) {
		r.disconnect()
		err = errors.Join(r.connect(path, immutable), r.check())
	}
	return err
}

func cannotOpen(err error) bool {
	return code(err) == sqlite3.SQLITE_CANTOPEN || code(err) == sqlite3.SQLITE_READONLY
}

func (r *Reader) check() error {
	if r.conn == nil {
		return nil // the error of the connection says why
	}
	made, lacking, err := r.schema()
	if err == nil && !made {
		err = errors.New("not an Anteroom database (if this is a copy of a live file, use anteroom backup)")
	}
	r.lacking = lacking
	return err
}

func (c *connection) schema() (made bool, lacking []string, err error) {
	applied, _, err := c.run(turn.SQL("SELECT name FROM sqlite_schema WHERE name = ?", migrations.Table))
	if err == nil && len(applied[0]) > 0 {
		applied, _, err = c.run(turn.SQL(migrations.Select))
	}
	if err != nil {
		return false, nil, err
	}
	lacking, err = migrations.Missing(applied[0])
	return len(applied[0]) > 0, lacking, err
}

// CheckSchema refuses a database whose schema the applied migrations have not made: a trigger in it
// would change rows. Other tables, such as Litestream's, do nothing.
func (r *Reader) CheckSchema() error {
	const objects = "SELECT type || ' ' || name, replace(sql, '\"', ''), type = 'table' AND rootpage > 0 " +
		"FROM sqlite_schema WHERE sql IS NOT NULL"
	theirs, _, err := r.run(turn.SQL(migrations.Select+" ORDER BY name"), turn.SQL(objects))
	if err != nil {
		return err
	}
	made := new(connection)
	defer made.disconnect()
	err = made.connect("/schema", url.Values{"mode": {"memory"}})
	for _, applied := range theirs[0] {
		text, _ := migrations.Files.ReadFile(turn.Text(applied[0])) // migrations.Missing knows them all
		if err == nil {
			err = made.script(string(text))
		}
	}
	var ours [][][]any
	if err == nil {
		ours, _, err = made.run(turn.SQL(objects))
	}
	if err != nil {
		return err
	}
	wanted := map[any]any{}
	for _, object := range ours[0] {
		wanted[object[0]] = object[1]
	}
	for _, object := range theirs[1] {
		if sql, known := wanted[object[0]]; sql == object[1] {
			delete(wanted, object[0])
		} else if !known && object[2] != int64(1) {
			wanted[object[0]] = nil
		}
	}
	for object := range wanted {
		err = fmt.Errorf("schema: %v differs from this program's (restore another backup)", object)
	}
	return err
}

// Read runs statements that only read, in one transaction, and returns the rows of each.
func (r *Reader) Read(_ context.Context, statements ...turn.Statement) ([][][]any, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.conn == nil {
		return nil, errClosed
	}
	rows, err := r.atOnce(statements)
	if code(err) == sqlite3.SQLITE_ERROR && len(r.lacking) > 0 {
		err = fmt.Errorf("%w: the database lacks migration %s (start anteroom serve once to apply it)", err, r.lacking[0])
	}
	return rows, err
}

// CopyTo copies the database to the file at path, which must be empty or missing. It makes the file
// private to this user, and syncs it. The copy has no freed pages.
func (r *Reader) CopyTo(ctx context.Context, path string) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	p, err := r.prepare("VACUUM INTO ?")
	if err == nil {
		_, err = p.stmt.ExecContext(ctx, []driver.NamedValue{{Ordinal: 1, Value: path}})
	}
	if err == nil {
		err = disk.Sync(f)
	}
	return withHint(errors.Join(err, f.Close()))
}

// Close closes the database. A Read after it is an error.
func (r *Reader) Close() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.disconnect()
}
