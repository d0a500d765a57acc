package verification

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"anteroom/edge/native/disk"
	"anteroom/generator/site"
)

// A part of a verification, which a killed process leaves, is refused as content.
func TestPartsAreRefused(t *testing.T) {
	s := newService(t)
	s.list()
	s.register(1, "lark", "", "10:00:00")
	decided, err := s.try(s.take("12:00:00"), "")
	check(t, err)
	for n, file := range decided.files {
		if _, err := site.Load(s.content); n > 0 && err == nil {
			t.Errorf("%d of %d files are loaded", n, len(decided.files))
		}
		s.content[file.name] = &fstest.MapFile{Data: file.text}
	}
	s.site()
}

// A write that fails at any step leaves no file. Whatever the umask, all users may read what is
// written, and the draft is for the user. No file is written over.
func TestWrite(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	sync, folder := disk.Sync, t.TempDir()
	t.Cleanup(func() { disk.Sync = sync })
	files := filesOf(day)
	count := func() (n int) {
		filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
			if info, _ := entry.Info(); !entry.IsDir() && info.Mode().Perm() == 0o644 {
				n++
			}
			return err
		})
		return n
	}
	for at := 1; ; at++ {
		syncs := 0
		disk.Sync = func(f *os.File) error {
			if syncs++; syncs == at {
				return syscall.ENOSPC
			}
			return sync(f)
		}
		err := write(folder, files)
		if syncs < at {
			if err != nil || count() != len(files) || at < len(files) {
				t.Errorf("undisturbed: %v, %d files, %d steps", err, count(), at)
			}
			break
		}
		if !errors.Is(err, syscall.ENOSPC) || count() != 0 {
			t.Errorf("step %d: %v, %d files", at, err, count())
		}
	}
	disk.Sync = sync
	if err := write(folder, files); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "nothing was written") || count() != len(files) {
		t.Errorf("written over: %v, %d files", err, count())
	}
	begun := &editing{open: func(int) error { return errors.New("no editor") }}
	begun.edit(Draft(folder), []byte("x"))
	if info, err := os.Stat(Draft(folder)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the draft: %v, %v", info, err)
	}
	if err := remove(folder, files); err != nil || count() != 0 {
		t.Errorf("removed: %v, %d files", err, count())
	}
	victim := filepath.Join(t.TempDir(), "victim")
	err := errors.Join(os.Remove(Draft(folder)), os.WriteFile(victim, nil, 0o600), os.Symlink(victim, Draft(folder)))
	check(t, err)
	opened := &editing{open: func(int) error { t.Error("an editor was given a link"); return nil }}
	if _, err := opened.edit(Draft(folder), []byte("x")); err == nil || !strings.Contains(err.Error(), "is not a file (remove it)") {
		t.Errorf("a link as a draft: %v", err)
	}
}
