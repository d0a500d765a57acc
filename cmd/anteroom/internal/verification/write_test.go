package verification

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"anteroom/cmd/anteroom/internal/project"
	"anteroom/edge/native/disk"
)

type killed struct{}

// disturbed runs work, which is disturbed at its n-th sync: the disk is full, or the process is
// killed. It gives how many syncs there were.
func disturbed(t *testing.T, n int, full bool, work func() error) (syncs int, err error) {
	t.Helper()
	sync := disk.Sync
	defer func() {
		disk.Sync = sync
		if p := recover(); p != nil && p != (killed{}) {
			panic(p)
		}
	}()
	disk.Sync = func(f *os.File) error {
		if syncs++; syncs != n {
			return sync(f)
		}
		if full {
			return syscall.ENOSPC
		}
		panic(killed{})
	}
	return syncs, work()
}

// written are the files of a verification, each of which holds its name.
func written() (list []file) {
	for _, name := range filesOf(day) {
		list = append(list, file{name, []byte(name)})
	}
	return list
}

func left(folder string) (n int) {
	for _, file := range written() {
		if text, err := os.ReadFile(filepath.Join(folder, file.name)); err == nil && string(text) == file.name {
			n++
		}
	}
	return n
}

// A verification that is interrupted at any step is there as a whole or not at all, and the next
// one is written. One that is taken back is gone, unless nothing has happened yet.
func TestKilled(t *testing.T) {
	do := func(folder string) error { return write(folder, day, written()) }
	undo := func(folder string) error { return errors.Join(begin(folder, day), finish(folder)) }
	for name, c := range map[string]struct{ before, work, again func(string) error }{
		"write": {func(string) error { return nil }, do, do},
		"undo":  {do, undo, undo},
	} {
		t.Run(name, func(t *testing.T) {
			whole, none := 0, 0
			for at := 1; ; at++ {
				for _, full := range []bool{true, false} {
					folder := filepath.Join(t.TempDir(), "[a*")
					if err := errors.Join(os.Mkdir(folder, 0o700), c.before(folder)); err != nil {
						t.Fatal(err)
					}
					syncs, err := disturbed(t, at, full, func() error { return c.work(folder) })
					if syncs < at && full {
						if err != nil || whole == 0 || none == 0 || (left(folder) == 0) != (name == "undo") {
							t.Errorf("undisturbed: %v, %d files; %d steps left all, and %d none", err, left(folder), whole, none)
						}
						return
					}
					if full && !errors.Is(err, syscall.ENOSPC) {
						t.Errorf("step %d: %v", at, err)
					}
					if n := left(folder); full && name == "write" && n%len(written()) != 0 {
						t.Errorf("step %d: a failed write left %d files", at, n)
					}
					if err := finish(folder); err != nil {
						t.Fatalf("step %d: %v", at, err)
					}
					switch n := left(folder); n {
					case len(written()):
						whole++
					case 0:
						if none++; write(folder, day, written()) != nil || left(folder) != len(written()) {
							t.Errorf("after step %d it is not written again", at)
						}
					default:
						t.Errorf("step %d left %d files", at, n)
					}
					if _, err := os.Stat(filepath.Join(folder, project.Unfinished)); err == nil {
						t.Errorf("step %d left the note", at)
					}
				}
			}
		})
	}
}

// All users may read what is written. The note and the draft are for the user.
func TestPermissions(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	for above, want := range map[os.FileMode][2]os.FileMode{0o755: {0o644, 0o600}} {
		folder := t.TempDir()
		mode := func(name string) os.FileMode {
			info, err := os.Stat(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			return info.Mode().Perm()
		}
		if err := errors.Join(os.Chmod(folder, above), write(folder, day, written()), begin(folder, "x")); err != nil {
			t.Fatal(err)
		}
		begun := &editing{open: func(int) error { return errors.New("no editor") }}
		begun.edit(Draft(folder), []byte("x"))
		for _, name := range filesOf(day) {
			if got := mode(name); got != want[0] || mode(filepath.Dir(name)) != above {
				t.Errorf("%s below %o: %o in %o", name, above, got, mode(filepath.Dir(name)))
			}
		}
		if note, draft := mode(project.Unfinished), mode(filepath.Base(Draft(folder))); note != want[1] || draft != want[1] {
			t.Errorf("below %o the note is %o, the draft %o", above, note, draft)
		}
	}
}

// The note is on the disk, with its name, before any file is, and no file that is there is written
// over or removed.
func TestWriteSyncs(t *testing.T) {
	sync, folder := disk.Sync, t.TempDir()
	t.Cleanup(func() { disk.Sync = sync })
	var synced []string
	disk.Sync = func(f *os.File) error {
		synced = append(synced, filepath.Base(f.Name()))
		return sync(f)
	}
	if err := write(folder, day, written()); err != nil {
		t.Fatal(err)
	}
	if want := []string{project.Unfinished, filepath.Base(folder), day + ".yaml", "verifications"}; !slices.Equal(synced[:4], want) || synced[len(synced)-1] != want[1] {
		t.Errorf("synced are %q", synced)
	}
	err := write(folder, day, []file{{boardFile(day), []byte("b")}})
	want := "write verification: " + inside(folder, boardFile(day)) + " exists (move it away) (nothing was written)"
	if err == nil || err.Error() != want || left(folder) != len(written()) {
		t.Errorf("written over: %v", err)
	}
	// A note that was not written to its end names no verification.
	if err := errors.Join(os.WriteFile(filepath.Join(folder, project.Unfinished), []byte(day), 0o600), finish(folder)); err != nil || left(folder) != len(written()) {
		t.Errorf("a part of a note: %v, %d files", err, left(folder))
	}
}
