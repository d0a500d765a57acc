//go:build linux

package sqlite

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"anteroom/edge/turn"
)

// A database that nobody uses is read, and nothing is left beside it.
func TestOpenStill(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	s, err := Create(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	read := func() error {
		r, err := OpenStill(path)
		if err != nil {
			return err
		}
		rows, err := r.Read(t.Context(), turn.Statement{SQL: "SELECT count(*) FROM store"})
		if err == nil && rows[0][0][0] != int64(1) {
			t.Errorf("read %v", rows)
		}
		return errors.Join(err, r.Close())
	}
	if err := read(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside the database: %v, %v", entries, err)
	}
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Run(turn.Statement{SQL: "DELETE FROM d1_migrations WHERE name LIKE '0003%'"}); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := read(); !errors.Is(err, ErrLacking) {
		t.Errorf("without a migration: %v", err)
	}
	if err := os.WriteFile(path, []byte("no database at all, but a text of some length"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := read(); err == nil || errors.Is(err, ErrLacking) {
		t.Errorf("a text: %v", err)
	}
	if _, err := OpenStill(path + "x"); err == nil {
		t.Error("a file that is not there was opened")
	}
}
