package disk

import (
	"errors"
	"path/filepath"
)

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

// realPath returns the absolute path without symbolic links of a file that need not exist.
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
