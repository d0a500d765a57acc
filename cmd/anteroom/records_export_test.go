package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/backup"
)

// A backup that begins in the folder of an export under way leaves that alone.
func TestExportBesideBackup(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlite.Create(filepath.Join(t.TempDir(), sqlite.FileName), slog.New(slog.DiscardHandler))
	check(t, err)
	defer s.Close()
	path := filepath.Join(dir, "export")
	err = disk.Create(path, func(w io.Writer) error {
		if _, err := backup.Write(t.Context(), s.Name(), filepath.Join(dir, "backup")); err != nil {
			return err
		}
		_, err := io.WriteString(w, "rows")
		return err
	})
	if text, _ := os.ReadFile(path); err != nil || string(text) != "rows" {
		t.Errorf("the export holds %q: %v", text, err)
	}
}

// A spreadsheet takes none of these for a formula, full-width signs included.
func TestDefused(t *testing.T) {
	for _, text := range []string{"=1", "+1", "-1", "@a", "\ta", "\ra", "＝1", "＋1", "－1", "＠a"} {
		if got := defused(text); got != "'"+text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	for _, text := range []string{"", "a=1", "é", " 1"} {
		if got := defused(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
