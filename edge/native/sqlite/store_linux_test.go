package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"anteroom/edge/turn"

	"golang.org/x/sys/unix"
)

// TestUnsyncedCommit: a commit whose sync fails may be found again after a crash. So its failure is
// not the one that says that certainly nothing was written.
func TestUnsyncedCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := openStore(t, path)
	s.Exec(insert("first"))
	// The file of the log is replaced by one that takes what is written and cannot be synced.
	void, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	must(t, err)
	defer void.Close()
	replaced := 0
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, entry := range entries {
		if to, _ := os.Readlink(filepath.Join("/proc/self/fd", entry.Name())); to == path+"-wal" {
			var fd int
			fmt.Sscan(entry.Name(), &fd)
			must(t, unix.Dup3(int(void.Fd()), fd, unix.O_CLOEXEC))
			replaced++
		}
	}
	if replaced != 1 {
		t.Fatalf("the log is open %d times", replaced)
	}
	if r := s.Exec(insert("r")); r.Failure != turn.Timeout {
		t.Errorf("told %q, want %q", r.Failure, turn.Timeout)
	}
}

// Where a folder is read-only, a log beside the database cannot be read, and the newest records are
// in it: that is an error.
func TestReaderOfALog(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, FileName)
	openStore(t, path).Close()
	openStore(t, path).Exec(insert("a")) // into the log alone
	for _, name := range []string{path, path + "-wal"} {
		text, err := os.ReadFile(name)
		must(t, errors.Join(err, os.WriteFile(name+".copy", text, 0o644)))
	}
	copied := filepath.Join(folder, "copied", FileName)
	err := errors.Join(os.Mkdir(filepath.Dir(copied), 0o755), os.Rename(path+".copy", copied), os.Rename(path+"-wal.copy", copied+"-wal"),
		os.Chmod(filepath.Dir(copied), 0o555), os.Chmod(filepath.Dir(folder), 0o755))
	must(t, err)
	defer os.Chmod(filepath.Dir(copied), 0o755)
	if os.Geteuid() == 0 { // who may write everywhere
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		unix.SetfsuidRetUid(65534)
		defer unix.SetfsuidRetUid(0)
	}
	r, err := OpenReadOnly(copied)
	if err == nil {
		rows, err := r.Read(t.Context(), countAll)
		r.Close()
		t.Errorf("read %v, %v", rows, err)
	} else if !cannotOpen(err) {
		t.Error(err)
	}
}
