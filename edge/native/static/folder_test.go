package static

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestReadFolderExchanged exchanges the folder as publishing does, when half of it has been read.
// ReadFolder gives the documents of one tree alone.
func TestReadFolderExchanged(t *testing.T) {
	if _, err := ReadFolder(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	swap := func(a, b string) error {
		return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	}
	for name, exchange := range map[string]func(public, next, aside string, goOn func() error) error{
		"in one step": func(public, next, _ string, goOn func() error) error {
			return errors.Join(swap(public, next), os.RemoveAll(next), goOn())
		},
		"in one step, the old tree kept": func(public, next, _ string, goOn func() error) error {
			return errors.Join(swap(public, next), goOn())
		},
		"in two renames": func(public, next, aside string, goOn func() error) error {
			return errors.Join(os.Rename(public, aside), os.Rename(next, public), os.RemoveAll(aside), goOn())
		},
		"in two renames, looked at between": func(public, next, aside string, goOn func() error) error {
			return errors.Join(os.Rename(public, aside), goOn(), os.Rename(next, public), os.RemoveAll(aside))
		},
		"and back": func(public, next, _ string, goOn func() error) error {
			if err := errors.Join(unix.Mkfifo(filepath.Join(next, "y", "m"), 0o600), swap(public, next), os.Remove(filepath.Join(next, "b", "m")), goOn()); err != nil {
				return err
			}
			goOn, err := pauseAt(filepath.Join(public, "y", "m"))
			if err != nil {
				return err
			}
			return errors.Join(swap(public, next), goOn())
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			public, next, aside := filepath.Join(dir, "public"), filepath.Join(dir, "next"), filepath.Join(dir, "aside")
			for folder, version := range map[string]string{public: "old", next: "new"} {
				for _, file := range []string{"a.txt", "b/a.txt", "b/z.txt", "y/only-" + version + ".txt", "z.txt"} {
					if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(folder, file)), 0o700), os.WriteFile(filepath.Join(folder, file), []byte(version), 0o600)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := unix.Mkfifo(filepath.Join(public, "b", "m"), 0o600); err != nil {
				t.Fatal(err)
			}
			exchanged := make(chan error, 1)
			go func() {
				goOn, err := pauseAt(filepath.Join(public, "b", "m"))
				if err == nil {
					err = exchange(public, next, aside, goOn)
				}
				exchanged <- err
			}()
			s, err := ReadFolder(public)
			if err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-exchanged:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("what was exchanged meanwhile is not read")
			}
			want := string(s.pages["/a.txt"].body)
			for path, page := range s.pages {
				if string(page.body) != want && path != "/b/m" && path != "/y/m" {
					t.Errorf("%s is %s beside a %s /a.txt", path, page.body, want)
				}
			}
			if s.pages["/z.txt"] == nil || s.pages["/y/only-"+want+".txt"] == nil {
				t.Errorf("of the %s tree there are only %d documents", want, len(s.pages))
			}
		})
	}
}

// pauseAt waits until somebody reads a named pipe. The reader then waits until goOn is called.
func pauseAt(pipe string) (goOn func() error, err error) {
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}
