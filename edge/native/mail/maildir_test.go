package mail

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"anteroom/edge/native/disk"
	"anteroom/edge/turn"
)

func TestMaildir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mail")
	if _, err := Open("maildir:" + dir); err != nil {
		t.Fatal(err)
	}
	// What a killed process was writing is removed after 36 hours, and not before.
	files := map[string]time.Duration{"new/read": 1000 * time.Hour, "tmp/old": 37 * time.Hour, "tmp/young": 35 * time.Hour}
	for name, age := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, time.Time{}, time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	relay, err := Open("maildir:" + dir)
	if err != nil {
		t.Fatal(err)
	}
	for name := range files {
		if err := os.Remove(filepath.Join(dir, name)); (err == nil) != (name != "tmp/old") {
			t.Errorf("%s: %v", name, err)
		}
	}
	want := message()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if result := relay.Send(t.Context(), want, mailSnapshot, time.Now()); result.Failure != turn.None {
				t.Errorf("%+v", result)
			}
		})
	}
	all.Wait()
	if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) != 0 {
		t.Errorf("%d files are left in tmp", len(left))
	}
	entries, err := os.ReadDir(filepath.Join(dir, "new"))
	if err != nil || len(entries) != 20 {
		t.Fatalf("%d messages in new, want 20 (%v)", len(entries), err)
	}
	for _, entry := range entries[:2] {
		f, err := os.Open(filepath.Join(dir, "new", entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		readMail(t, f, want)
		f.Seek(0, 0)
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if len(lines.Text()) > 998 || strings.Contains(lines.Text(), "\r") {
				t.Errorf("line %q", lines.Text())
			}
		}
	}
	os.RemoveAll(filepath.Join(dir, "new"))
	if got := sent(t, relay); got != "mail folder: no such file or directory" {
		t.Errorf("without the folder new: %q", got)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) != 0 {
		t.Errorf("%d files are left in tmp after a failure", len(left))
	}
}

// TestFailedSync: a message whose file may not be on the disk counts as refused, and leaves no
// file. A message whose name may not be there counts as unknown.
func TestFailedSync(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mail")
	relay, err := Open("maildir:" + dir)
	if err != nil {
		t.Fatal(err)
	}
	before := disk.Sync
	t.Cleanup(func() { disk.Sync = before })
	for _, c := range []struct{ folder, want string }{{"tmp", "mail folder: input/output error"}, {"new", "unknown: mail folder: input/output error"}} {
		failing := filepath.Join(dir, c.folder)
		disk.Sync = func(f *os.File) error {
			if strings.HasPrefix(f.Name(), failing) {
				return &fs.PathError{Op: "sync", Path: f.Name(), Err: syscall.EIO}
			}
			return before(f)
		}
		if got := sent(t, relay); got != c.want {
			t.Errorf("the sync in %s fails: told %q, want %q", c.folder, got, c.want)
		}
		if left, err := os.ReadDir(filepath.Join(dir, "tmp")); err != nil || len(left) > 0 {
			t.Errorf("%d files are left in tmp (%v)", len(left), err)
		}
	}
}
