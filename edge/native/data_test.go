//go:build unix

package native

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/native/disk"
	"anteroom/edge/turn"

	"golang.org/x/sys/unix"
)

// TestSynced: a new data folder, the folders above it and a message are on the disk with their
// names.
func TestSynced(t *testing.T) {
	dir := t.TempDir()
	var synced []string
	before := disk.Sync
	t.Cleanup(func() { disk.Sync = before })
	disk.Sync = func(f *os.File) error {
		synced = append(synced, f.Name())
		return before(f)
	}
	expect := func(what string, patterns ...string) {
		t.Helper()
		for _, pattern := range patterns {
			if !slices.ContainsFunc(synced, func(name string) bool {
				ok, _ := filepath.Match(filepath.Join(dir, pattern), name)
				return ok
			}) {
				t.Errorf("%s: %q is not synced, but %q", what, pattern, synced)
			}
		}
		synced = nil
	}
	data := filepath.Join(dir, "var", "data")
	h, err := Open(Config{Data: data, Create: true, Snapshot: edgetest.Snapshot(), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	expect("a new data folder", "", "var", "var/data", "var/data/mail")
	if r := h.sendMail(h.site.Load(), turn.Message{ID: "id", Subject: "s", Text: "t"}); r.Failure != turn.None {
		t.Error(r.Failure)
	}
	expect("a message", "var/data/mail/tmp/*", "var/data/mail/new")
	again, err := Open(Config{Data: data, Create: true, Snapshot: edgetest.Snapshot(), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if slices.Contains(synced, dir) {
		t.Errorf("synced again: %q", synced)
	}
}

// TestPrivate: only this user can read addresses, whatever the umask lets through.
func TestPrivate(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	data := filepath.Join(t.TempDir(), "var", "data")
	h, err := Open(Config{Data: data, Create: true, Snapshot: edgetest.Snapshot(), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	register(t, h, "ada")
	if !h.deliverOne() {
		t.Error("not delivered")
	}
	seen := map[string]bool{}
	err = filepath.WalkDir(filepath.Dir(data), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, info.Mode())
		}
		seen[filepath.Base(filepath.Dir(path))+"/"+strings.Repeat("*", min(1, strings.Count(filepath.Base(path), ".")))] = true
		return err
	})
	if err != nil || !seen["new/*"] || !seen["data/*"] {
		t.Errorf("%v, %v", seen, err)
	}
}
