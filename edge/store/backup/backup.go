// Package backup copies the SQLite database of a service into one file while a server uses it, and
// restores it. SQLite makes the copies (VACUUM INTO), without freed pages and the erased addresses
// in them.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/migrations"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

// Content describes a backup.
type Content struct {
	Store  string  // its identifier; "" if the schema is older than these
	Tables []Table // in the order of their creation
	Newest string  // time of the newest registration, charter or suggestion in RFC 3339, or ""
	Bytes  int64
	Erased int64 // records whose addresses Restore has erased again
}

// Table is the name of a table and the number of its rows.
type Table struct {
	Name string
	Rows int64
}

// Write copies the database at path into file, and the list of erasures next to it, and returns the
// contents. If Write is killed, file is the old backup or the new one. It replaces only a backup
// whose records the database has: after the restore of an older one, file may be the only copy of
// the others.
func Write(ctx context.Context, path, file string) (c *Content, err error) {
	defer wrap(&err, "back up to", file)
	if partOf(path, file) {
		return nil, errors.New("file belongs to the database (name another file)")
	}
	from, err := sqlite.OpenReadOnly(path)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	folder := filepath.Dir(file)
	removeDrafts(folder, abandoned)
	made, err := draft(ctx, from, folder)
	if err != nil {
		return nil, err
	}
	defer removeDraft(made)
	if c, err = Check(ctx, made); err != nil {
		return nil, fmt.Errorf("check the copy: %w (try again; if that does not help, check the disk)", err)
	}
	if err := replaceable(ctx, from, file); err != nil {
		return nil, err
	}
	erased, err := ReadErased(filepath.Dir(path))
	if err == nil {
		err = NoteErased(folder, time.Now(), erased)
	}
	if err != nil {
		return nil, err
	}
	if err := os.Rename(made, file); err != nil {
		return nil, err
	}
	return c, disk.SyncFolder(folder)
}

func wrap(err *error, what, name string) {
	if *err != nil {
		*err = fmt.Errorf("%s %s: %w", what, name, *err)
	}
}

func partOf(database, file string) bool {
	folder, err := os.Stat(filepath.Dir(database))
	other, otherErr := os.Stat(filepath.Dir(file))
	return errors.Join(err, otherErr) == nil && os.SameFile(folder, other) &&
		strings.HasPrefix(filepath.Base(file), filepath.Base(database))
}

func replaceable(ctx context.Context, from *sqlite.Reader, file string) error {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0:
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("file exists and is no backup (name another file)")
	}
	r, err := sqlite.OpenBackup(file)
	if err != nil {
		return fmt.Errorf("file exists and is no backup (name another file): %w", err)
	}
	defer r.Close()
	for _, kind := range records.Kinds {
		last, err := r.Read(ctx, turn.SQL("SELECT seq, record_id FROM "+kind.Table+" ORDER BY seq DESC LIMIT 1"))
		if err != nil || len(last[0]) == 0 {
			continue // a damaged backup is replaced
		}
		same, err := from.Read(ctx, turn.SQL("SELECT 1 FROM "+kind.Table+" WHERE seq = ? AND record_id = ?", last[0][0]...))
		if err != nil {
			return err
		} else if len(same[0]) == 0 {
			return fmt.Errorf("backup has a %s that the database lacks, number %v: another store, "+
				"or was an older backup restored? (name another file)", kind.Name, last[0][0][0])
		}
	}
	return nil
}

// Check returns the contents of a backup. It refuses a damaged file, another database, and one that
// a newer program has migrated.
func Check(ctx context.Context, file string) (c *Content, err error) {
	defer wrap(&err, "check backup", file)
	r, err := sqlite.OpenBackup(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	c = &Content{Bytes: info.Size()}
	return c, c.read(ctx, r)
}

func (c *Content) read(ctx context.Context, r *sqlite.Reader) error {
	rows, err := r.Read(ctx, turn.SQL("PRAGMA integrity_check(1)"))
	if err == nil && rows[0][0][0] != "ok" {
		err = fmt.Errorf("%v", rows[0][0][0])
	}
	if err != nil {
		return fmt.Errorf("damaged: %w (take another backup)", err)
	}
	names, err := tables(ctx, r)
	if err != nil {
		return err
	}
	if !slices.Contains(names, migrations.Table) {
		return errors.New("not an Anteroom database (name a file made by anteroom backup)")
	}
	for _, name := range names {
		at := "NULL"
		for _, kind := range records.Kinds {
			if kind.Table == name {
				at = kind.At
			}
		}
		if rows, err = r.Read(ctx, turn.SQL("SELECT count(*), max("+at+`) FROM "`+name+`"`)); err != nil {
			return err
		}
		c.Newest = max(c.Newest, turn.Text(rows[0][0][1]))
		c.Tables = append(c.Tables, Table{name, rows[0][0][0].(int64)})
	}
	if rows, err = r.Read(ctx, turn.SQL(migrations.Select)); err != nil {
		return err
	}
	lacking, err := migrations.Missing(rows[0])
	if err != nil {
		return err
	}
	if !slices.Contains(names, "store") && len(lacking) > 0 {
		return nil
	}
	if rows, err = r.Read(ctx, turn.SQL("SELECT id FROM store")); err != nil {
		return err
	}
	if len(rows[0]) != 1 {
		return fmt.Errorf("read store identifier: got %d rows, want 1 (take another backup)", len(rows[0]))
	}
	c.Store = rows[0][0][0].(string)
	return nil
}

func tables(ctx context.Context, r *sqlite.Reader) (names []string, err error) {
	rows, err := r.Read(ctx, turn.SQL("SELECT name FROM sqlite_schema "+
		"WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid"))
	if err != nil {
		return nil, err
	}
	for _, row := range rows[0] {
		names = append(names, row[0].(string))
	}
	return names, nil
}

// Restore makes the database of a data folder from a backup, and returns the contents. It makes a
// missing folder, and refuses one that has a database or is in use, and a backup with another
// schema than this program's. It repeats the erasures in the list of the folder, in the list next
// to the backup, and in the lists that erasures names. The server applies missing migrations.
//
// If Restore is killed, the folder has all of the database or none.
func Restore(ctx context.Context, file, folder string, erasures ...string) (c *Content, err error) {
	if c, err = Check(ctx, file); err != nil {
		return nil, err
	}
	defer wrap(&err, "restore into", folder)
	from, err := sqlite.OpenBackup(file)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	if err := from.CheckSchema(); err != nil {
		return nil, err
	}
	if err := disk.MakeFolder(folder); err != nil {
		return nil, fmt.Errorf("%w (name a folder that this user may write to)", err)
	}
	lock, err := disk.LockFolder(folder)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	path := filepath.Join(folder, sqlite.FileName)
	if there, err := sqlite.Exists(path); err != nil {
		return nil, err
	} else if there {
		return nil, errors.New("folder has a database (stop its server and move the database away, or name another folder)")
	}
	removeDrafts(folder, 0)
	made, err := draft(ctx, from, folder)
	if err != nil {
		return nil, err
	}
	defer removeDraft(made)
	ids, err := knownErased([]string{folder, filepath.Dir(file)}, erasures)
	if err != nil {
		return nil, err
	}
	if c.Erased, err = eraseAgain(ctx, made, ids); err != nil {
		return nil, err
	}
	// The schema may be too old for the list: the server takes it into the database.
	if err := NoteErased(folder, time.Now(), ids); err != nil {
		return nil, err
	}
	if err := os.Rename(made, path); err != nil {
		return nil, err
	}
	return c, disk.SyncFolder(folder)
}

const (
	draftPrefix = ".anteroom-draft-"
	abandoned   = time.Hour // without a write to a draft
)

func draft(ctx context.Context, from *sqlite.Reader, folder string) (path string, err error) {
	f, err := disk.CreateTemp(folder, draftPrefix+"*")
	if err != nil {
		return "", fmt.Errorf("%w (name a folder that this user may write to)", err)
	}
	if err := errors.Join(f.Close(), from.CopyTo(ctx, f.Name())); err != nil {
		removeDraft(f.Name())
		return "", err
	}
	return f.Name(), nil
}

func removeDrafts(folder string, age time.Duration) {
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && strings.HasPrefix(entry.Name(), draftPrefix) && time.Since(info.ModTime()) >= age {
			os.Remove(filepath.Join(folder, entry.Name()))
		}
	}
}

func removeDraft(path string) {
	os.Remove(path)
	os.Remove(path + "-journal")
}
