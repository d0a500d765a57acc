// Package backup copies a store of records into one SQLite file, and begins a store from such a
// file. A backup has the schema that the migrations make, whatever store it is of; no log lies
// beside it. It holds no page that was freed: an address that was erased before is not in it.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/migrations"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

// Content is what a backup holds.
type Content struct {
	Store  string  // the id of the store that it is of; "" where the schema is older than these ids
	Tables []Table // in the order in which a person wants them
	Newest string  // when the newest registration, charter or suggestion was recorded, in RFC 3339; "" where there is none
	Bytes  int64
	older  bool // whether it lacks a migration
}

// Table is a table and how many rows it has.
type Table struct {
	Name string
	Rows int64
}

// unrecorded are the tables in which nothing is recorded. Every store has rows in them.
var unrecorded = []string{"health", "store", migrations.Table}

// Records is the number of rows that something was recorded in: those which a store does not have
// from its beginning.
func (c *Content) Records() (n int64) {
	for _, t := range c.Tables {
		if !slices.Contains(unrecorded, t.Name) {
			n += t.Rows
		}
	}
	return n
}

// Write makes a backup of a store at file, and says what is in it. The backup is checked and on the
// disk before it replaces one that is there: whenever Write is killed, file is the old one or the
// new one. Write refuses to replace a file that is not a backup, or one of another store.
func Write(ctx context.Context, from records.Reader, file string) (*Content, error) {
	c, err := write(ctx, from, file)
	if err != nil {
		return nil, fmt.Errorf("back up to %s: %w", file, err)
	}
	return c, nil
}

func write(ctx context.Context, from records.Reader, file string) (*Content, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if err := migrated(ctx, from); err != nil {
		return nil, err
	}
	store, err := from.Read(ctx, storeID)
	if err != nil {
		return nil, err
	}
	if len(store[0]) != 1 {
		return nil, fmt.Errorf("the store has %d ids and not one (it is damaged: restore a backup)", len(store[0]))
	}
	d, err := begin(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer d.end()
	if err := replaceable(ctx, file, store[0][0][0].(string)); err != nil {
		return nil, err
	}
	exported, err := export(ctx, from, d.path)
	if err != nil {
		return nil, err
	}
	made, err := check(ctx, d.path)
	if err != nil {
		return nil, fmt.Errorf("the copy is faulty: %w (try again; if that does not help, look at the disk)", err)
	}
	if made.older || made.Store != store[0][0][0] || !slices.Equal(made.Tables, exported) {
		return nil, fmt.Errorf("the copy is faulty: it holds %v of %v (try again; if that does not help, look at the disk)", made.Tables, exported)
	}
	return made, d.rename(file)
}

// replaceable says why a backup of a store must not replace what is at file.
func replaceable(ctx context.Context, file, store string) error {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	head, err := readHead(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 0 && head != sqlite.Magic {
		return errors.New("there is something that is no backup (name another file)")
	}
	r, err := sqlite.OpenCopy(file)
	if err != nil {
		return fmt.Errorf("what is there is no backup: %w", err)
	}
	defer r.Close()
	// A backup that cannot be read any more is well replaced.
	if rows, err := r.Read(ctx, storeID); err == nil && len(rows[0]) == 1 && rows[0][0][0] != store {
		return fmt.Errorf("it is a backup of another store, %v, and this store is %s (name another file)", rows[0][0][0], store)
	}
	return nil
}

// readHead reads the first bytes of a file, as many as sqlite.Magic has or the file.
func readHead(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, int64(len(sqlite.Magic))))
	return string(head), err
}

var storeID = turn.Statement{SQL: "SELECT id FROM store"}

// Check says what is in a backup. It is an error where file is no whole backup, or one of a newer
// program.
func Check(ctx context.Context, file string) (*Content, error) {
	c, err := check(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("check backup %s: %w", file, err)
	}
	return c, nil
}

func check(ctx context.Context, file string) (*Content, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if head, err := readHead(file); err != nil {
		return nil, err
	} else if head != sqlite.Magic {
		return nil, errors.New("it is no database (name a file that anteroom backup made)")
	}
	r, err := sqlite.OpenCopy(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c := &Content{Bytes: info.Size()}
	read := func(query string) [][]any {
		if err != nil {
			return nil
		}
		var rows [][][]any
		if rows, err = r.Read(ctx, turn.Statement{SQL: query}); err != nil {
			return nil
		}
		return rows[0]
	}
	for _, row := range read("PRAGMA integrity_check(1)") {
		if row[0] != "ok" {
			err = fmt.Errorf("%v", row[0])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("it is damaged: %w (take another backup)", err)
	}
	present := map[any]bool{}
	for _, row := range read("SELECT name FROM sqlite_schema WHERE type = 'table'") {
		present[row[0]] = true
	}
	if err == nil && !present[migrations.Table] {
		err = errors.New("it holds nothing of this program (name a file that anteroom backup made)")
	}
	var lacking []string
	if applied := read(migrations.Select); err == nil {
		lacking, err = migrations.Missing(applied)
	}
	c.older = len(lacking) > 0
	for _, t := range tables {
		if !present[t.name] && c.older {
			continue
		}
		if rows := read("SELECT count(*) FROM " + t.name); err == nil {
			c.Tables = append(c.Tables, Table{t.name, rows[0][0].(int64)})
		}
		if t.recordedAt == "" {
			continue
		}
		for _, row := range read("SELECT max(" + t.recordedAt + ") FROM " + t.name) {
			at, _ := row[0].(string)
			c.Newest = max(c.Newest, at)
		}
	}
	if present["store"] {
		rows := read(storeID.SQL)
		if err == nil && len(rows) != 1 {
			err = fmt.Errorf("it has %d store ids and not one (take another backup)", len(rows))
		}
		if err == nil {
			c.Store = rows[0][0].(string)
		}
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// draft is a file in the making. Until end, no other draft is in its folder, and no process opens a
// database there to write to it.
type draft struct {
	folder *disk.Lock
	path   string
}

// draftPrefix begins the name of each draft, and of what SQLite puts beside it.
const draftPrefix = ".anteroom-draft-"

// begin makes an empty draft in a folder, for this user alone. It removes those that killed
// processes left.
func begin(folder string) (*draft, error) {
	f, err := disk.LockFolder(folder, true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no folder %s (make it first)", folder)
	} else if err != nil {
		return nil, err
	}
	d := &draft{folder: f}
	d.sweep() // no process that is alive has a draft here
	made, err := os.CreateTemp(folder, draftPrefix+"*")
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%w (name a folder that this user may write to)", err)
	}
	d.path = made.Name()
	return d, made.Close()
}

// sweep removes the drafts in the folder. One that cannot be removed does no harm.
func (d *draft) sweep() {
	entries, _ := os.ReadDir(d.folder.Folder())
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), draftPrefix) {
			os.Remove(filepath.Join(d.folder.Folder(), entry.Name()))
		}
	}
}

// rename brings the draft to the disk and puts it in the place of a file in the same folder.
func (d *draft) rename(file string) error {
	f, err := os.OpenFile(d.path, os.O_RDWR, 0) // some systems sync only what may be written to
	if err != nil {
		return err
	}
	if err := errors.Join(disk.Sync(f), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(d.path, file); err != nil {
		return err
	}
	return disk.SyncFolder(d.folder.Folder())
}

// end removes the draft where it was not renamed.
func (d *draft) end() {
	d.sweep()
	d.folder.Close()
}
