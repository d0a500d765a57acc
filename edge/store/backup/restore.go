package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/turn"
)

// Restore makes the database of a data folder from a backup, and says what is in it. It makes the
// folder where that is missing, and touches nothing else in it. A backup of an older program gets
// the migrations that it lacks.
//
// Restore refuses a folder whose database holds records or is in use. The database is checked and
// on the disk before it is there: whenever Restore is killed, the folder has all of it or none.
func Restore(ctx context.Context, file, folder string) (*Content, error) {
	c, err := Check(ctx, file)
	if err != nil {
		return nil, err
	}
	if c, err = restore(ctx, file, c, folder); err != nil {
		return nil, fmt.Errorf("restore into %s: %w", folder, err)
	}
	return c, nil
}

func restore(ctx context.Context, file string, want *Content, folder string) (*Content, error) {
	path := filepath.Join(folder, sqlite.FileName)
	if err := vacant(ctx, path); err != nil {
		return nil, err
	}
	if err := disk.MakeFolder(folder); err != nil {
		return nil, fmt.Errorf("%w (name a folder that this user may write to)", err)
	}
	d, err := begin(folder)
	if err != nil {
		return nil, err
	}
	defer d.end()
	if err := copyFile(file, d.path); err != nil {
		return nil, err
	}
	if want.older {
		if err := migrate(d.path); err != nil {
			return nil, err
		}
	}
	c, err := check(ctx, d.path)
	if err != nil {
		return nil, fmt.Errorf("the copy is faulty: %w", err)
	}
	if c.older || c.Store == "" || c.Records() != want.Records() {
		return nil, fmt.Errorf("the copy is faulty: it holds %v of %v (try again; if that does not help, look at the disk)", c.Tables, want.Tables)
	}
	// A server that starts now must find the old database or the new one, and wait meanwhile.
	seized, err := seize(path)
	if err != nil {
		return nil, err
	}
	defer seized.Close()
	if err := hasNoRecords(seized.Run); err != nil {
		return nil, err
	}
	return c, d.rename(path)
}

// vacant says why nothing may be restored to a path. It leaves everything there as it is.
func vacant(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(path + "-wal"); err == nil {
			return fmt.Errorf("%s is there without its database (move it away)", path+"-wal")
		}
		return nil
	}
	if err != nil || info.Size() == 0 {
		return err
	}
	r, err := sqlite.OpenReader(path)
	if err != nil {
		return fmt.Errorf("%w (name an empty folder)", err)
	}
	defer r.Close()
	return hasNoRecords(func(statements ...turn.Statement) ([][][]any, error) { return r.Read(ctx, statements...) })
}

// hasNoRecords is an error where a database holds records.
func hasNoRecords(read func(...turn.Statement) ([][][]any, error)) error {
	present, err := read(turn.Statement{SQL: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"})
	if err != nil {
		return err
	}
	c := Content{}
	for _, row := range present[0] {
		name := row[0].(string)
		n, err := read(turn.Statement{SQL: `SELECT count(*) FROM "` + name + `"`})
		if err != nil {
			return err
		}
		c.Tables = append(c.Tables, Table{name, n[0][0][0].(int64)})
	}
	if c.Records() > 0 {
		return errors.New("its database holds records (name an empty folder)")
	}
	return nil
}

// seize takes the database at path from all other processes, and makes an empty file where there is
// none. A server takes an empty file for no database.
func seize(path string) (*sqlite.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return sqlite.OpenFile(path)
}

// migrate applies the migrations that the database in a file lacks.
func migrate(path string) error {
	f, err := sqlite.OpenFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Migrate(); err != nil {
		return err
	}
	return f.Commit()
}

// copyFile writes the content of a file into another one that exists.
func copyFile(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}
