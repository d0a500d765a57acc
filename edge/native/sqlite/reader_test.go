package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/store/migrations"
	"anteroom/edge/turn"
)

var countAll = turn.SQL("SELECT count(*) FROM registrations")

// A reader sees what a running server writes, writes nothing itself, and makes no file.
func TestReader(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	if _, err := OpenReadOnly(path); err == nil || !strings.Contains(err.Error(), "anteroom serve --create makes it") {
		t.Errorf("no database: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("made %v", entries)
	}
	server := openStore(t, path)
	r, err := OpenReadOnly(path)
	must(t, err)
	defer r.Close()
	if r.Name() != path || server.Name() != path {
		t.Errorf("names %q and %q", r.Name(), server.Name())
	}
	server.Exec(insert("a"))
	if rows, err := r.Read(t.Context(), countAll, countAll); err != nil || len(rows) != 2 || rows[1][0][0] != int64(1) {
		t.Errorf("beside a server: %v, %v", rows, err)
	}
	if _, err := r.Read(t.Context(), turn.SQL("DELETE FROM registrations")); err == nil {
		t.Error("a reader deleted")
	}
	if rows, err := r.Read(t.Context(), countAll); err != nil || rows[0][0][0] != int64(1) {
		t.Errorf("after an error: %v, %v", rows, err)
	}
}

// A copy that lies in a folder which nobody may write to can be read, and one without its log is
// told from an empty store.
func TestReaderOfCopies(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	server := openStore(t, path)
	server.Exec(insert("a"))
	copied := filepath.Join(t.TempDir(), FileName)
	beside, err := os.ReadFile(path)
	must(t, err)
	server.Close()
	whole, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(copied, beside, 0o600))
	if _, err := OpenReadOnly(copied); err == nil || !strings.Contains(err.Error(), "anteroom backup") {
		t.Errorf("a copy without its log: %v", err)
	}
	copied = filepath.Join(t.TempDir(), FileName)
	must(t, os.WriteFile(copied, whole, 0o400))
	must(t, os.Chmod(filepath.Dir(copied), 0o500))
	defer os.Chmod(filepath.Dir(copied), 0o700)
	r, err := OpenReadOnly(copied)
	must(t, err)
	defer r.Close()
	if rows, err := r.Read(t.Context(), countAll); err != nil || rows[0][0][0] != int64(1) {
		t.Errorf("a read-only copy: %v, %v", rows, err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(copied)); len(entries) != 1 && os.Getuid() != 0 {
		t.Errorf("beside the copy: %v", entries)
	}
}

// A copy has the rows of its moment, while a server writes. A database beside its log is not a
// backup. A backup is read without another file beside it.
func TestCopies(t *testing.T) {
	path, copied := filepath.Join(t.TempDir(), FileName), filepath.Join(t.TempDir(), "copy")
	server := openStore(t, path)
	server.Exec(insert("a"))
	r, err := OpenReadOnly(path)
	must(t, err)
	defer r.Close()
	must(t, r.CopyTo(t.Context(), copied))
	server.Exec(insert("b"))
	if _, err := OpenBackup(path); err == nil || !strings.Contains(err.Error(), "found "+path+"-wal: the database is in use, or an incomplete copy (use anteroom backup)") {
		t.Errorf("a database with its log: %v", err)
	}
	r.Close()
	server.Close()
	for file, want := range map[string]int64{path: 2, copied: 1} {
		r, err := OpenBackup(file)
		must(t, err)
		if rows, err := r.Read(t.Context(), countAll); err != nil || rows[0][0][0] != want {
			t.Errorf("%s: %v, %v, want %d rows", file, rows, err, want)
		}
		r.Close()
		if _, err := OpenBackup(file + "x"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing file: %v", err)
		}
		if entries, _ := os.ReadDir(filepath.Dir(file)); len(entries) != 1 {
			t.Errorf("beside %s: %v", file, entries)
		}
	}
}

// What a database of an older schema has can be read. One of a newer schema is refused.
func TestReaderOfOtherSchemas(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s := openStore(t, path)
	s.Exec(one("DELETE FROM " + migrations.Table + " WHERE name = '0003_verify.sql'"))
	s.Exec(one("DROP TABLE store"))
	r, err := OpenReadOnly(path)
	must(t, err)
	defer r.Close()
	if rows, err := r.Read(t.Context(), countAll); err != nil || rows[0][0][0] != int64(0) {
		t.Errorf("what an old schema has: %v, %v", rows, err)
	}
	if _, err := r.Read(t.Context(), turn.SQL("SELECT id FROM store")); err == nil || !strings.Contains(err.Error(), "no such table: store (1): the database lacks migration 0003_verify.sql") {
		t.Errorf("what an old schema lacks: %v", err)
	}
	s.Exec(one("INSERT INTO " + migrations.Table + " (name) VALUES ('0003_verify.sql'), ('9999_new.sql')"))
	if _, err := OpenReadOnly(path); err == nil || !strings.Contains(err.Error(), "9999_new.sql") {
		t.Errorf("a new schema: %v", err)
	}
}
