// Package disk makes files and folders that only this user may read and that survive a loss of
// power.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Sync brings the content of a file, or the names in a folder, to the disk. It is a variable so
// that tests can watch what is synced, and have a sync fail.
var Sync = (*os.File).Sync

// SyncFolder brings the names in the folder at path to the disk.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(Sync(folder), folder.Close())
}

// Ways to lock a folder.
const (
	Shared = unix.LOCK_SH // others may lock it Shared too
	Alone  = unix.LOCK_EX // nobody else may lock it
)

// LockFolder waits until others have unlocked the folder at path as far as needed, and locks it. To
// close the folder, or the end of the process, unlocks it.
func LockFolder(path string, how int) (*os.File, error) {
	folder, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(folder.Fd()), how); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		folder.Close()
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return folder, nil
}

// MakeFolder makes the folder at path, and the missing folders above it, for this user alone. When
// MakeFolder returns, the name of each new folder is on the disk: a loss of power that takes a
// folder takes everything in it. A folder that exists keeps its permissions.
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
		if info, wrong := os.Stat(path); wrong != nil || info.IsDir() {
			return wrong
		}
	}
	if err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// WriteNew writes text to a new file at path, for this user alone, and syncs the file. SyncFolder
// brings its name to the disk. A file that exists is an error that is fs.ErrExist. An error leaves
// no new file behind.
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

// Replace replaces the text of the file at path in one step: whatever happens, the file holds the
// old text or the new one, and it holds the new one when Replace returns. The permissions stay. Of
// a link the file that it leads to is replaced.
func Replace(path string, text []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(info.Mode().Perm()), Sync(f), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return SyncFolder(filepath.Dir(path))
}
