package publish

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// lock waits until nobody else holds the lock file called name, and takes it. A lock ends with its
// process; the file that a killed one leaves is of no account.
func lock(name string) (unlock func(), err error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		for {
			if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
				break
			}
		}
		if err != nil {
			f.Close()
			return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
		}
		// The holder before has removed the file that this is a lock of: take the new one.
		mine, err := f.Stat()
		if at, e := os.Stat(name); err == nil && e == nil && os.SameFile(mine, at) {
			return func() { os.Remove(name); f.Close() }, nil
		}
		f.Close()
	}
}
