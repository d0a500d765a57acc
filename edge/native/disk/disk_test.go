package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// failSyncs has all syncs fail until the end of the test.
func failSyncs(t *testing.T) {
	before := Sync
	t.Cleanup(func() { Sync = before })
	Sync = func(*os.File) error { return syscall.EIO }
}

// TestMakeFolder: MakeFolder takes a folder that exists as it is, and refuses anything else in its
// place.
func TestMakeFolder(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	must(t, errors.Join(os.Mkdir(filepath.Join(dir, "open"), 0o755), os.Symlink("open", filepath.Join(dir, "link"))))
	for name, ok := range map[string]bool{"a": true, "a/b/c/": true, "open": true, "link": true, "link/d": true, "file": false, "file/e": false, "": true} {
		if err := MakeFolder(filepath.Join(dir, name)); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestSynced: MakeFolder syncs the folder above each folder that it makes, and WriteNew its file.
func TestSynced(t *testing.T) {
	dir := t.TempDir()
	var synced []string
	before := Sync
	t.Cleanup(func() { Sync = before })
	Sync = func(f *os.File) error {
		synced = append(synced, f.Name())
		return before(f)
	}
	expect := func(names ...string) {
		t.Helper()
		for i, name := range names {
			names[i] = filepath.Join(dir, name)
		}
		if !slices.Equal(synced, names) {
			t.Errorf("synced %q, want %q", synced, names)
		}
		synced = nil
	}
	must(t, MakeFolder(filepath.Join(dir, "a", "b")))
	expect("", "a")
	must(t, MakeFolder(filepath.Join(dir, "a", "b")))
	expect()
	must(t, WriteNew(filepath.Join(dir, "file"), []byte("text")))
	expect("file")
	must(t, WriteKey(filepath.Join(dir, "key"), "text"))
	expect("key", "")
}

// TestFailedSync: a folder or a file that is not surely on the disk is not told as made.
func TestFailedSync(t *testing.T) {
	dir := t.TempDir()
	failSyncs(t)
	if err := MakeFolder(filepath.Join(dir, "folder")); !errors.Is(err, syscall.EIO) {
		t.Errorf("a folder: %v", err)
	}
	path := filepath.Join(dir, "file")
	if err := WriteNew(path, []byte("text")); !errors.Is(err, syscall.EIO) {
		t.Errorf("a file: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
}

// TestReplace: a file is replaced as a whole or not at all, and keeps its permissions.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	must(t, errors.Join(os.WriteFile(path, []byte("old and long"), 0o640), os.Chmod(path, 0o640), os.Symlink("file", link)))
	holds := func(want string) {
		t.Helper()
		text, err := os.ReadFile(path)
		info, statErr := os.Lstat(path)
		entries, _ := os.ReadDir(dir)
		if err := errors.Join(err, statErr); err != nil || string(text) != want || info.Mode() != 0o640 || len(entries) != 2 {
			t.Errorf("the file holds %q, with mode %v, among %d: %v", text, info.Mode(), len(entries), err)
		}
	}
	must(t, Replace(path, []byte("new")))
	holds("new")
	must(t, Replace(link, []byte("newer")))
	holds("newer")
	if err := Replace(filepath.Join(dir, "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is missing: %v", err)
	}
	failSyncs(t)
	if err := Replace(path, []byte("lost")); !errors.Is(err, syscall.EIO) {
		t.Errorf("a text that is not surely on the disk: %v", err)
	}
	holds("newer")
}

// TestCreate: a file has its name once it is whole and on the disk, and one that exists stays.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	before := Sync
	t.Cleanup(func() { Sync = before })
	failed := errors.New("no more rows")
	for _, c := range []struct {
		sync, write, want error
	}{{syscall.EIO, nil, syscall.EIO}, {nil, failed, failed}, {nil, nil, nil}, {nil, nil, fs.ErrExist}} {
		Sync = func(*os.File) error { return c.sync }
		err := Create(path, func(w io.Writer) error {
			_, err := io.WriteString(w, "whole")
			return errors.Join(err, c.write)
		})
		entries, _ := os.ReadDir(dir)
		text, _ := os.ReadFile(path)
		there := c.want == nil || c.want == fs.ErrExist
		if !errors.Is(err, c.want) || (len(entries) == 1) != there || (string(text) == "whole") != there {
			t.Errorf("%v: %v, among %d files the file holds %q", c, err, len(entries), text)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestPrivate: what others have access to is refused with the chmod that mends it, through a link
// too. A pipe and a missing file are not.
func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	must(t, errors.Join(os.WriteFile(path("file"), nil, 0o600), os.Mkdir(path("folder"), 0o700),
		os.Symlink("file", path("link")), syscall.Mkfifo(path("pipe"), 0o600)))
	for _, c := range []struct {
		name string
		mode fs.FileMode
		want string
	}{
		{"file", 0o600, ""},
		{"file", 0o410, "got mode 0410, want 0400 (run chmod 0400 "},
		{"link", 0o644, "got mode 0644, want 0600 (run chmod 0600 "},
		{"folder", 0o700 | fs.ModeSetgid, ""},
		{"folder", 0o701, "got mode 0701, want 0700 (run chmod 0700 "},
		{"pipe", 0o644, ""},
	} {
		must(t, os.Chmod(path(c.name), c.mode))
		err := Private(path(c.name))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want+path(c.name)) {
			t.Errorf("%s %v: %v, want %s", c.name, c.mode, err, c.want)
		}
	}
	if err := Private(path("none")); err != nil {
		t.Errorf("what is not there: %v", err)
	}
}

// TestLentByRoot: a file of root's may be read by its group, by others than root. Nothing else of
// it is let be, and no file of another owner.
func TestLentByRoot(t *testing.T) {
	for _, c := range []struct {
		mode        fs.FileMode
		owner, self int
		want        fs.FileMode
	}{
		{0o440, 0, 998, 0o037}, {0o440, 0, 0, 0o077}, {0o440, 998, 998, 0o077}, {0o440, 997, 998, 0o077}, {fs.ModeDir | 0o750, 0, 998, 0o077},
	} {
		if got := othersOf(c.mode, c.owner, c.self); got != c.want {
			t.Errorf("%v of %d, seen by %d: %o, want %o", c.mode, c.owner, c.self, got, c.want)
		}
	}
}

// TestLock: a folder that is locked is not locked again until that is closed, and nobody waits for
// it. Then the lock is gone, also while a child process has a copy of its file, as each child has
// from its fork until its exec.
func TestLock(t *testing.T) {
	folder := t.TempDir()
	first, err := LockFolder(folder)
	must(t, err)
	child := exec.Command("cat")
	child.ExtraFiles = []*os.File{first.file}
	input, err := child.StdinPipe()
	must(t, err)
	must(t, child.Start())
	if _, err := LockFolder(folder); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	must(t, first.Close())
	second, err := LockFolder(folder)
	if err != nil {
		t.Error(err)
	} else {
		second.Close()
	}
	must(t, errors.Join(input.Close(), child.Wait()))
}
