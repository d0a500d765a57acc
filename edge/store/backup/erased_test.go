package backup

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/records"
)

// What was erased after a backup is erased again when that is restored: by a newer backup next to
// it where the data folder is gone, and by the list in the folder where only its database is.
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
	restored := func(file, folder string, again int64, left ...string) *Content {
		t.Helper()
		c, err := Restore(t.Context(), file, folder)
		if err != nil || c.Erased != again {
			t.Fatalf("%+v, %v", c, err)
		}
		text, err := os.ReadFile(filepath.Join(folder, sqlite.FileName))
		must(t, err)
		for _, letter := range []string{"a", "b", "c"} {
			if there := strings.Contains(string(text), address(letter)); there != slices.Contains(left, letter) {
				t.Errorf("%s in %s: %t", address(letter), file, there)
			}
		}
		return c
	}
	first, second := filepath.Join(backups, "first.db"), filepath.Join(backups, "second.db")
	s.backUp(first)
	synced := map[string]bool{}
	watch(t, func(f *os.File) { synced[f.Name()] = true })
	erase("a")
	if !synced[filepath.Join(data, ErasedName)] || !synced[data] {
		t.Errorf("not all of the list is on the disk: %v", synced)
	}
	s.backUp(second)
	s.backUp(filepath.Join(data, "inside"))
	restored(first, t.TempDir(), 1, "b", "c")
	copied := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(first)
		file := filepath.Join(t.TempDir(), name)
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		must(t, err)
		return file
	}
	// Alone, a backup knows of no later erasure, unless another file does or an older version has
	// put a list next to it.
	alone := copied("first.db")
	if c := restored(alone, t.TempDir(), 0, "a", "b", "c"); c.ErasedBy != alone {
		t.Errorf("erasures are known by %s", c.ErasedBy)
	}
	for _, newer := range []string{second, s.path, filepath.Join(data, ErasedName)} {
		c, err := Restore(t.Context(), alone, t.TempDir(), newer)
		if err != nil || c.Erased != 1 || c.ErasedBy != newer {
			t.Errorf("by %s: %+v, %v", newer, c, err)
		}
	}
	if _, err := Restore(t.Context(), alone, t.TempDir(), alone+"x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("by a missing file: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(filepath.Dir(alone), ErasedName), []byte("1970-01-01T00:00:00Z "+id("c")+"\n"), 0o600))
	restored(alone, t.TempDir(), 1, "a", "b")

	// A line that broke off does no harm.
	must(t, os.WriteFile(filepath.Join(data, ErasedName), []byte("1970-01-01T00:00:00Z "+id("a")+"\n1970-01"), 0o600))
	erase("b")
	s.Close()
	must(t, os.Remove(s.path))
	restored(second, data, 1, "c")
	if ids, err := ReadErased(data); err != nil || len(ids) != 2 {
		t.Errorf("%q, %v", ids, err)
	}
	if entries, _ := os.ReadDir(backups); len(entries) != 2 {
		t.Errorf("beside the backups: %v", entries)
	}

	// A file that --erasures names is a list or a database, of this store.
	list := filepath.Join(t.TempDir(), "list")
	other, err := sqlite.Create(filepath.Join(t.TempDir(), "other.db"), slog.New(slog.DiscardHandler))
	must(t, err)
	defer other.Close()
	for text, want := range map[string]string{
		"\ufeff2026-01-01T00:00:00Z " + strings.Repeat("c", 32) + "\r\n": "",
		"":                 "",
		"no identifier\n":  "neither a database nor a list",
		other.Name():       "wrong store: got ",
		filepath.Dir(list): "is a directory",
	} {
		file := list
		if filepath.IsAbs(text) {
			file = text
		} else if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Restore(t.Context(), first, t.TempDir(), file)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
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
