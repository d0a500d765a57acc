package publish

import (
	"io/fs"
	"os"
)

// lock waits until nobody else holds the lock file called name, and takes it. The kernel releases a
// lock when its process ends, so the file that a killed process leaves does no harm.
func lock(name string) (unlock func(), err error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		if err := lockFile(f); err != nil {
			f.Close()
			return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
		}
		// The holder before may have removed the file that is locked here. Then the lock must be
		// taken on the new file of that name.
		locked, err := f.Stat()
		if current, statErr := os.Stat(name); err == nil && statErr == nil && os.SameFile(locked, current) {
			return func() { os.Remove(name); f.Close() }, nil
		}
		f.Close()
	}
}
