package publish

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile waits until nobody else has locked the file, and locks it.
func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped))
}

// syncFile writes a file through to the disk. Windows has no way to do so for a folder, and wants a
// file that is open for writing.
func syncFile(name string) error {
	if info, err := os.Stat(name); err != nil || info.IsDir() {
		return err
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
