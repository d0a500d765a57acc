package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/kernel"

	"golang.org/x/sys/unix"
)

// watchSyncs records what is synced, and has the sync of what fails is true of fail.
func watchSyncs(t *testing.T, fails func(name string) bool) *[]string {
	t.Helper()
	synced := new([]string)
	before := syncFile
	t.Cleanup(func() { syncFile = before })
	syncFile = func(f *os.File) error {
		*synced = append(*synced, f.Name())
		if fails != nil && fails(f.Name()) {
			return &fs.PathError{Op: "sync", Path: f.Name(), Err: unix.EIO}
		}
		return before(f)
	}
	return synced
}

// TestSynced: what must survive a loss of power is on disk with its name, and with the names of the folders that were made for it.
func TestSynced(t *testing.T) {
	dir := t.TempDir()
	synced := watchSyncs(t, nil)
	expect := func(what string, patterns ...string) {
		t.Helper()
		for _, pattern := range patterns {
			if !slices.ContainsFunc(*synced, func(name string) bool {
				ok, _ := filepath.Match(filepath.Join(dir, pattern), name)
				return ok
			}) {
				t.Errorf("%s: %q is not synced, but %q", what, pattern, *synced)
			}
		}
		*synced = nil
	}
	data := filepath.Join(dir, "var", "data")
	h, err := Open(Config{Data: data, Snapshot: edgetest.Snapshot(), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	expect("a new data folder", "", "var", "var/data", "var/data/mail")
	if r := h.sendMail(h.site.Load(), kernel.Message{ID: "id", Subject: "s", Text: "t"}); r.Failure != kernel.None {
		t.Error(r.Failure)
	}
	expect("a message", "var/data/mail/tmp/*", "var/data/mail/new")
	if _, err := GenerateKeyFile(filepath.Join(dir, "receipt.key")); err != nil {
		t.Error(err)
	}
	expect("a key", "receipt.key", "")
	again, err := Open(Config{Data: data, Snapshot: edgetest.Snapshot(), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if slices.Contains(*synced, dir) {
		t.Errorf("synced again: %q", *synced)
	}
}

// TestFailedSync: what is not surely on disk is not told as done, and what is not told as done is not left behind.
func TestFailedSync(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mail")
	send, err := openRelay("maildir:" + path)
	if err != nil {
		t.Fatal(err)
	}
	var failing string
	watchSyncs(t, func(name string) bool { return strings.HasPrefix(name, failing) })
	files := func(folder string) int {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	failing = filepath.Join(path, "tmp")
	if got := sent(t, send); got != "mail folder: input/output error" || files(failing) != 0 {
		t.Errorf("a message: %q, %d files", got, files(failing))
	}
	failing = filepath.Join(path, "new")
	if got := sent(t, send); got != "unknown: mail folder: input/output error" {
		t.Errorf("the name of a message: %q", got)
	}
	failing = filepath.Join(dir, "receipt.key")
	if _, err := GenerateKeyFile(failing); err == nil {
		t.Error("a key that is not on disk was made")
	} else if _, err := os.Stat(failing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the key is left: %v", err)
	}
	failing = dir
	if _, err := OpenStore(filepath.Join(dir, databaseFile), quiet); err == nil {
		t.Error("a database whose name is not on disk was opened")
	}
	if err := makeFolder(filepath.Join(dir, "data")); err == nil {
		t.Error("a folder whose name is not on disk was made")
	}
}

// TestMakeFolder: a folder that is there is taken as it is, anything else is an error.
func TestMakeFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "open"), 0o755), os.Symlink("open", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{"a": true, "a/b/c/": true, "open": true, "link": true, "link/d": true, "file": false, "file/e": false, "": true} {
		if err := makeFolder(filepath.Join(dir, name)); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	t.Chdir(dir)
	if err := makeFolder("relative/folder/"); err != nil {
		t.Error(err)
	}
}

// TestPrivate: nobody else can read addresses, whatever the umask lets through.
func TestPrivate(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	data := filepath.Join(t.TempDir(), "var", "data")
	h, err := Open(Config{Data: data, Snapshot: edgetest.Snapshot(), Log: quiet})
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

// TestUnsyncedCommit: a commit whose sync fails may be found again after a crash, so it is not told as certainly not written.
func TestUnsyncedCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openStore(t, path)
	put(t, s, "INSERT INTO contacts VALUES ('a', 'a@example.org', '2026-11-20T12:00:00Z')")
	// In the place of its log the database gets a file that takes what is written and cannot be synced.
	void, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer void.Close()
	replaced := 0
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if to, _ := os.Readlink(filepath.Join("/proc/self/fd", entry.Name())); to == path+"-wal" {
			var fd int
			fmt.Sscan(entry.Name(), &fd)
			if err := unix.Dup3(int(void.Fd()), fd, unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			replaced++
		}
	}
	if replaced != 1 {
		t.Fatalf("the log is open %d times", replaced)
	}
	if r := s.Exec(insert("r")); r.Failure != kernel.Timeout {
		t.Errorf("told %q, want %q", r.Failure, kernel.Timeout)
	}
}

// TestDeliveryComesBack: what waits in the outbox is looked after from time to time, in less than the minute that records
// revive promises.
func TestDeliveryComesBack(t *testing.T) {
	looks := make(chan bool)
	h, _ := open(t, Config{}, fake{
		handle: func(*kernel.Turn) kernel.Outcome { return text(200, "") },
		deliver: func(*kernel.Turn) kernel.Outcome {
			looks <- true
			return text(204, "")
		},
	})
	if h.deliveryPause <= 0 || h.deliveryPause >= time.Minute {
		t.Errorf("it looks every %v", h.deliveryPause)
	}
	h.deliveryPause = time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { h.deliver(ctx); close(ended) }()
	for range 3 {
		select {
		case <-looks:
		case <-time.After(10 * time.Second):
			t.Fatal("it does not look again")
		}
	}
	stop()
	for {
		select {
		case <-looks:
			continue
		case <-ended:
		}
		break
	}
}
