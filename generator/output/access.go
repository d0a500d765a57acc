package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ForAll are the permissions of a file that all users may read.
const ForAll fs.FileMode = 0o644

// MakeFolder makes the folder at path, and its missing parents, for all users.
func MakeFolder(path string) error {
	err := os.Mkdir(path, 0o777)
	if errors.Is(err, fs.ErrNotExist) {
		if err = MakeFolder(filepath.Dir(path)); err == nil {
			err = os.Mkdir(path, 0o777)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil // writing to a file in its place fails
	} else if err != nil {
		return err
	}
	return Permit(path, ForAll)
}

// Permit adds the permissions of mode to the file or folder at path, whatever the umask of its
// maker.
func Permit(path string, mode fs.FileMode) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		mode |= mode >> 2 & 0o111
	}
	if mode |= info.Mode(); mode == info.Mode() {
		return nil // also on a disk without permissions
	}
	return os.Chmod(path, mode)
}
