//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// hasModes says whether the permissions of a file tell who may read it.
const hasModes = true

// noFollow has an opening fail if there is a link, and not wait if there is a pipe.
const noFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

func inode(info fs.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Ino) }

// SyncFolder brings the names in the folder at path to the disk.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(Sync(folder), folder.Close())
}

// Free is how many bytes the disk of a file has left for this user.
func Free(path string) (int64, error) {
	var fs unix.Statfs_t
	err := unix.Statfs(path, &fs)
	return int64(fs.Bavail) * int64(fs.Bsize), err
}

// openToLock opens what is locked for a folder: the folder itself.
func openToLock(path string) (*os.File, error) { return os.Open(path) }

func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		err = ErrLocked
	}
	return err
}

func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
