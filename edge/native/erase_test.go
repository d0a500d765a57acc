package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/backup"
)

// An address that was erased and that a copy of the database has brought back is erased again, by
// the list in the folder, and leaves the files.
func TestErasedAgain(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	folder := t.TempDir()
	path := filepath.Join(folder, sqlite.FileName)
	s, err := sqlite.Create(path, quiet)
	must(t, err)
	put(t, s, "INSERT INTO contacts VALUES ('"+id+"', 'owl@example.org', ''), ('kept', 'lark@example.org', '')")
	must(t, s.Close())
	must(t, backup.NoteErased(folder, time.Now(), []string{id}))
	h, log := open(t, Config{Data: folder, Relay: "none"}, fake{})
	if left := query(t, h, "SELECT record_id FROM contacts"); len(left) != 1 || left[0] != "kept" {
		t.Errorf("addresses of %q", left)
	}
	for _, file := range []string{path, path + "-wal"} {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "owl@example.org") {
			t.Errorf("%s holds the address, or %v", file, err)
		}
	}
	must(t, h.Close())
	if text := log.String(); strings.Count(text, "erased again") != 1 {
		t.Error(text)
	}
}
