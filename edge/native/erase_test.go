package native

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/backup"
	"anteroom/edge/store/records"
)

// An address that was erased and that a copy of the database has brought back is erased again, by
// the list in the folder. It leaves the files once nobody reads an earlier state.
func TestErasedAgain(t *testing.T) {
	before := sqlite.ForgetPatience
	t.Cleanup(func() { sqlite.ForgetPatience = before })
	sqlite.ForgetPatience = 0
	const id = "0123456789abcdef0123456789abcdef"
	folder := t.TempDir()
	path := filepath.Join(folder, sqlite.FileName)
	s, err := sqlite.Create(path, quiet)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "INSERT INTO contacts VALUES ('"+id+"', 'owl@example.org', ''), ('kept', 'lark@example.org', '')")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := backup.NoteErased(folder, time.Now(), []string{id}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	reading, err := db.Begin()
	if err == nil {
		_, err = reading.Exec("SELECT count(*) FROM contacts")
	}
	if err != nil {
		t.Fatal(err)
	}
	h, log := open(t, Config{Data: folder, Relay: "none"}, fake{})
	if left := query(t, h, "SELECT record_id FROM contacts"); len(left) != 1 || left[0] != "kept" {
		t.Errorf("addresses of %q", left)
	}
	h.deliveryPause = time.Millisecond
	_, stop := serve(t, h)
	waitFor := func(text string) {
		t.Helper()
		for !strings.Contains(log.String(), text) {
			time.Sleep(time.Millisecond)
		}
	}
	waitFor("an erased address stays in the database file")
	if reader, err := records.Finish(t.Context(), h.store); !strings.Contains(reader, "process") || err != nil {
		t.Errorf("%q reads, %v", reader, err)
	}
	reading.Rollback()
	waitFor("erased addresses have left the database file")
	for _, file := range []string{path, path + "-wal"} {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "owl@example.org") {
			t.Errorf("%s holds the address, or %v", file, err)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if text := log.String(); strings.Count(text, "erased again") != 1 {
		t.Error(text)
	}
}
