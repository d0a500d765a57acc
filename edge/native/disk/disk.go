// Package disk makes files and folders that only this user may read and that survive a loss of
// power.
package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Sync syncs the content of a file, or the names in a folder, to the disk. Tests replace it.
var Sync = (*os.File).Sync

// ErrLocked is the error of LockFolder if another process has the lock.
var ErrLocked = errors.New("locked by another process")

// Lock is the lock of a folder.
type Lock struct{ file *os.File }

// Close ends the lock at once. Only closing the file would leave the lock to a child process that
// is starting: it has a copy of the open file until its exec.
func (l *Lock) Close() error {
	return errors.Join(unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close())
}

// LockFolder locks the folder at path until the lock is closed or the process ends.
func LockFolder(path string) (*Lock, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		return &Lock{file}, nil
	}
	file.Close()
	if err == unix.EWOULDBLOCK {
		return nil, fmt.Errorf("folder %s: %w, such as anteroom serve (stop that first)", path, ErrLocked)
	}
	return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
}

// MakeFolder makes the folder at path, and its missing parents, private to this user. It syncs the
// name of each new folder. A folder that exists keeps its permissions.
func MakeFolder(path string) error {
	path = filepath.Clean(path)
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := MakeFolder(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Mkdir(path, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		if info, statErr := os.Stat(path); statErr != nil || info.IsDir() {
			return statErr
		}
	}
	if err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// WriteNew writes text to a new file at path, private to this user, and syncs the file; SyncFolder
// syncs its name. If the file exists, the error is fs.ErrExist. An error leaves no new file.
func WriteNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, Sync(f), f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// Private returns an error if users other than its owner have access to the file or folder at path.
// A file of root may be readable for this user's group, as systemd's credentials are. A missing
// file is no error.
func Private(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return nil // opening it explains the fault
	}
	got := info.Mode().Perm()
	if want := got &^ othersOf(info.Mode(), Owner(info), os.Geteuid()); got != want {
		return fmt.Errorf("%s is accessible to others: got mode %04o, want %04o (run chmod %04o %s, or name another)",
			path, got, want, want, path)
	}
	return nil
}

// Owner returns the identifier of the user whom a file or folder belongs to.
func Owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

func othersOf(mode fs.FileMode, owner, self int) fs.FileMode {
	if owner == root && self != root && mode.IsRegular() {
		return 0o037
	}
	return 0o077
}

const root = 0

// Replace replaces the text of the file at path atomically, and syncs it. The permissions stay. A
// link stays, and its target is replaced.
func Replace(path string, text []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return whole(path, info.Mode().Perm(), os.Rename, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Create makes the file at path, private to this user, once all its content is written and synced.
// If the file exists, the error is fs.ErrExist.
func Create(path string, write func(io.Writer) error) error {
	return whole(path, 0o600, os.Link, write)
}

// CreateTemp is os.CreateTemp, but its error names the folder.
func CreateTemp(folder, pattern string) (*os.File, error) {
	f, err := os.CreateTemp(folder, pattern)
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		failed.Path = folder
	}
	return f, err
}

func whole(path string, mode fs.FileMode, name func(draft, path string) error, write func(io.Writer) error) error {
	draft, err := CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name()) // which a rename has moved away
	w := bufio.NewWriter(draft)
	err = errors.Join(write(w), w.Flush(), draft.Chmod(mode), Sync(draft), draft.Close())
	if err == nil {
		err = name(draft.Name(), path)
	}
	if err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder syncs the names in the folder at path.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(Sync(folder), folder.Close())
}

// Free returns how many bytes the disk of a file has left for this user.
func Free(path string) (int64, error) {
	var fs unix.Statfs_t
	err := unix.Statfs(path, &fs)
	return int64(fs.Bavail) * int64(fs.Bsize), err
}

// Inside reports whether name is a folder or lies in it, with or without symbolic links followed.
func Inside(folder, name string) bool {
	for _, path := range []func(string) (string, error){filepath.Abs, realPath} {
		folder, folderErr := path(folder)
		name, nameErr := path(name)
		relative, relErr := filepath.Rel(folder, name)
		if errors.Join(folderErr, nameErr, relErr) == nil && filepath.IsLocal(relative) {
			return true
		}
	}
	return false
}

func realPath(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(name)
	if err == nil || filepath.Dir(name) == name {
		return resolved, err
	}
	folder, err := realPath(filepath.Dir(name))
	return filepath.Join(folder, filepath.Base(name)), err
}
