package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// hasModes says whether the permissions of a file tell who may read it.
const hasModes = false

const noFollow = 0

func owner(fs.FileInfo) int { return -1 } // it has no number

func inode(fs.FileInfo) uint64 { return 0 }

// SyncFolder does nothing but look for the folder: Windows has no way to sync the names in one.
func SyncFolder(path string) error {
	_, err := os.Stat(path)
	return err
}

// Free is how many bytes the disk of a file has left for this user.
func Free(path string) (int64, error) {
	folder, err := windows.UTF16PtrFromString(filepath.Dir(path))
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(folder, &free, nil, nil)
	return int64(free), err
}

// openToLock opens what is locked for a folder: Windows locks only files.
func openToLock(path string) (*os.File, error) {
	return os.OpenFile(filepath.Join(path, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
}

func lock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		err = ErrLocked
	}
	return err
}

func unlock(*os.File) error { return nil } // a child process inherits no handle
