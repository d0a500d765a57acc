package backup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/records"
)

// What was erased after a backup is erased again when that is restored: by the list in the data
// folder, by the one that a later backup put next to the earlier one, or by one that is named.
func TestErasedStaysErased(t *testing.T) {
	s, backups := newStore(t), t.TempDir()
	data := filepath.Dir(s.path)
	address := func(letter string) string { return "owner-" + letter + "@example.org" }
	id := func(letter string) string { return strings.Repeat(letter, 32) }
	for _, letter := range []string{"a", "b", "c"} {
		s.put(register, id(letter))
		s.put("INSERT INTO contacts VALUES (?, ?, '')", id(letter), address(letter))
		s.put("INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) VALUES (?, 'registration', json_object('address', ?), 0, 0)", id(letter), address(letter))
	}
	erase := func(letter string) {
		t.Helper()
		must(t, NoteErased(data, time.Unix(0, 0), []string{id(letter)}))
		if _, _, err := records.Erase(t.Context(), s, "", id(letter)); err != nil {
			t.Fatal(err)
		}
	}
	restoring := ""
	restored := func(file, folder string, lists []string, left ...string) {
		t.Helper()
		restoring = folder
		c, err := Restore(t.Context(), file, folder, lists...)
		if err != nil || c.Erased != int64(3-len(left)) {
			t.Fatalf("%+v, %v", c, err)
		}
		text, err := os.ReadFile(filepath.Join(folder, sqlite.FileName))
		must(t, err)
		for _, letter := range []string{"a", "b", "c"} {
			if there := strings.Contains(string(text), address(letter)); there != slices.Contains(left, letter) {
				t.Errorf("%s in %s: %t", address(letter), file, there)
			}
		}
	}
	first := filepath.Join(backups, "first.db")
	s.backUp(first)
	synced := map[string]bool{}
	watch(t, func(f *os.File) {
		synced[f.Name()] = true
		_, err := os.Stat(filepath.Join(restoring, sqlite.FileName))
		if f.Name() == filepath.Join(restoring, ErasedName) && err == nil {
			t.Error("the database is in place before the list of erasures")
		}
	})
	erase("a")
	if !synced[filepath.Join(data, ErasedName)] || !synced[data] {
		t.Errorf("not all of the list is on the disk: %v", synced)
	}
	restored(first, t.TempDir(), nil, "a", "b", "c")
	restored(first, t.TempDir(), []string{filepath.Join(data, ErasedName)}, "b", "c")
	s.backUp(filepath.Join(backups, "second.db"))
	restored(first, t.TempDir(), nil, "b", "c")

	// A line that broke off does no harm.
	must(t, os.WriteFile(filepath.Join(data, ErasedName), []byte("1970-01-01T00:00:00Z "+id("a")+"\n1970-01"), 0o600))
	erase("b")
	s.Close()
	must(t, os.Remove(s.path))
	restored(first, data, nil, "c")
	if ids, err := ReadErased(data); err != nil || len(ids) != 2 || disk.Private(filepath.Join(data, ErasedName)) != nil {
		t.Errorf("%q, %v, or others can read the list", ids, err)
	}
	if entries, _ := os.ReadDir(backups); len(entries) != 3 {
		t.Errorf("beside the backups: %v", entries)
	}

	list := filepath.Join(t.TempDir(), "list")
	must(t, os.WriteFile(list, []byte("\ufeff2026-01-01T00:00:00Z "+id("c")+"\r\n"), 0o600))
	restored(first, t.TempDir(), []string{list}, "b")
	for file, want := range map[string]string{first: "found no record identifier", backups: "is a directory", list + "x": "no such file"} {
		if _, err := Restore(t.Context(), first, t.TempDir(), file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("by %s: %v, want %s", file, err, want)
		}
	}
	unreadable := t.TempDir()
	must(t, os.Mkdir(filepath.Join(unreadable, ErasedName), 0o700))
	if _, err := Restore(t.Context(), first, unreadable); err == nil || !strings.Contains(err.Error(), "read the list of erasures") {
		t.Errorf("a list that cannot be read: %v", err)
	}
	if entries, _ := os.ReadDir(unreadable); len(entries) != 1 {
		t.Errorf("left %v", entries)
	}
}
