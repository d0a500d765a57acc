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

// Sync brings the content of a file, or the names in a folder, to the disk. It is a variable so
// that tests can watch what is synced, and have a sync fail.
var Sync = (*os.File).Sync

// ErrLocked is the error of LockFolder if another process has the lock.
var ErrLocked = errors.New("it is locked by another process")

// Lock is the lock of a folder.
type Lock struct{ file *os.File }

// Close ends the lock at once. To close the file alone would leave the lock to a child process that
// is being started, which has a copy of the open file until its exec.
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

// MakePrivate takes all permissions on the file or folder at path from everybody but its owner. It
// reports whether others had any. It is an error where this user may not do so, and where the
// folder is one that many users share, such as /tmp. A link is never followed to change something:
// of one to a file or folder that others have access to, the error is ErrLink. What is neither a
// file nor a folder stays as it is, and so does what root lends to the group of this user to read.
func MakePrivate(path string) (changed bool, err error) {
	info, err := os.Lstat(path)
	linked := err == nil && info.Mode()&fs.ModeSymlink != 0
	if linked {
		info, err = os.Stat(path)
	}
	if err != nil {
		return false, err
	}
	switch mode := info.Mode(); {
	case !IsOpen(info) || !mode.IsRegular() && !mode.IsDir():
		return false, nil
	case linked:
		return false, fmt.Errorf("%s is %w (run chmod go= on what it leads to)", path, ErrLink)
	case mode.IsDir() && mode&fs.ModeSticky != 0:
		return false, fmt.Errorf("%s is a folder that all users share (name a folder of its own)", path)
	}
	// Whoever may write to the folder could replace the file by a link now.
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err == nil {
		if info, err = f.Stat(); err == nil {
			err = f.Chmod(info.Mode() &^ othersMay(info))
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return false, fmt.Errorf("others have access to what is private, and this user cannot change that: %w (run chmod go= on it as its owner, or name another one)", err)
	}
	return true, nil
}

// noFollow has an opening fail if there is a link, and not wait if there is a pipe.
const noFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK

// ErrLink is the error of a link to what others have access to. Its maker could have this user
// change the permissions of any file, as one in the folder of a service that root runs.
var ErrLink = errors.New("a link to what others have access to")

// IsOpen reports whether a file or folder is open to users who are not to have access to it: to
// anybody but its owner. It is not where root lends a file to the group of this user to read.
func IsOpen(info fs.FileInfo) bool { return info.Mode()&othersMay(info) != 0 }

// othersMay are the permissions that nobody but the owner of a file or folder is to have. A file
// that root lends to the group of this user may be read by that group, as the credentials of
// systemd are.
func othersMay(info fs.FileInfo) fs.FileMode { return othersOf(info.Mode(), owner(info), os.Geteuid()) }

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

func othersOf(mode fs.FileMode, owner, self int) fs.FileMode {
	if owner == root && self != root && mode.IsRegular() {
		return 0o037
	}
	return 0o077
}

const root = 0

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
	return whole(path, info.Mode().Perm(), os.Rename, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Create makes a file at path, for this user alone, of what write writes. The file gets its name
// once it is whole and on the disk. A file that exists is an error that is fs.ErrExist, and stays.
func Create(path string, write func(io.Writer) error) error {
	return whole(path, 0o600, os.Link, write)
}

// whole writes a draft next to path and, once that is on the disk, gives it its name.
func whole(path string, mode fs.FileMode, name func(draft, path string) error, write func(io.Writer) error) error {
	draft, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
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

// SyncFolder brings the names in the folder at path to the disk.
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
