//go:build linux

package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/turn"
)

// A File belongs to one process: it is refused where another one has the database open, and nobody
// else gets it until Close. What is not committed is undone.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	if _, err := OpenFile(path); err == nil {
		t.Error("made a file")
	}
	server := openStore(t, path)
	server.Exec(insert("a"))
	if _, err := OpenFile(path); err == nil || !strings.Contains(err.Error(), "another process is using it") {
		t.Errorf("beside a server: %v", err)
	}
	server.Close()
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(path); err == nil || !strings.Contains(err.Error(), "another process is using it") {
		t.Errorf("twice: %v", err)
	}
	if _, err := f.Run(insert("b").Statements...); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("beside it: %v", entries)
	}
	if f, err = OpenFile(path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Run(insert("c").Statements...); err != nil {
		t.Error(err)
	}
	if err := f.Commit(); err != nil {
		t.Error(err)
	}
	if n := count(t, openStore(t, path), "registrations"); n != 2 {
		t.Errorf("%d rows, want those of a and c", n)
	}
}

// OpenMoment reads one moment, while a server goes on, and OpenCopy neither a log nor a file that
// is missing.
func TestOtherReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	server := openStore(t, path)
	server.Exec(insert("a"))
	moment, err := OpenMoment(path)
	if err != nil {
		t.Fatal(err)
	}
	defer moment.Close()
	server.Exec(insert("b"))
	for range 2 {
		if rows, err := moment.Read(t.Context(), countAll); err != nil || rows[0][0][0] != int64(1) {
			t.Errorf("at one moment: %v, %v", rows, err)
		}
		if _, err := moment.Read(t.Context(), turn.Statement{SQL: "DELETE FROM registrations"}); err == nil {
			t.Error("a reader deleted")
		}
	}
	if _, err := OpenCopy(path); err == nil || !strings.Contains(err.Error(), "anteroom.db-wal lies beside it") {
		t.Errorf("a database with its log: %v", err)
	}
	moment.Close()
	server.Close()
	r, err := OpenCopy(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if rows, err := r.Read(t.Context(), countAll); err != nil || rows[0][0][0] != int64(2) {
		t.Errorf("alone: %v, %v", rows, err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("beside it: %v", entries)
	}
	if _, err := OpenCopy(path + "x"); !os.IsNotExist(err) {
		t.Errorf("none: %v", err)
	}
}
