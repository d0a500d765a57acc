package static

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/native/sqlite"
)

// Publishing may move one folder away before it moves the other in. In that short while ReadFolder
// looks for the folder again: folderTries times, folderPause apart.
const (
	folderTries = 25
	folderPause = 20 * time.Millisecond
)

// ReadFolder reads a folder of published documents from the disk. Publishing exchanges the whole
// folder for another. ReadFolder reads one of the two folders alone: the newer one where they were
// exchanged meanwhile.
func ReadFolder(path string) (d *Documents, err error) {
	for range folderTries {
		var current bool
		if d, current, err = readFolder(path); current {
			return d, err
		}
		if errors.Is(err, fs.ErrNotExist) { // between two renames
			time.Sleep(folderPause)
		}
	}
	if err == nil {
		err = fmt.Errorf("read documents: %s is exchanged again and again (stop what does that)", path)
	}
	return nil, err
}

// readFolder reads the folder that has this name at first, even if the folder loses the name
// meanwhile. current reports whether it has kept the name.
func readFolder(path string) (d *Documents, current bool, err error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, !errors.Is(err, fs.ErrNotExist), fmt.Errorf("read documents: %w", err)
	}
	defer root.Close()
	d, err = Read(root.FS())
	read, wrong := root.Stat(".")
	named, gone := os.Stat(path)
	if wrong != nil || gone != nil {
		return nil, false, errors.Join(err, wrong, gone)
	}
	return d, os.SameFile(read, named), err
}

// private says what a file is that nobody may publish, "" for any other.
func private(text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte(sqlite.Magic)):
		return "a database"
	case bytes.Contains(text, []byte(receipt.SecretPrefix)):
		return "a secret key"
	}
	return ""
}

// Read reads a tree of published documents, such as public/.
func Read(tree fs.FS) (*Documents, error) {
	var files []File
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		if what := private(text); what != "" {
			return fmt.Errorf("%s is %s, and everything in this folder is served (move it away)", name, what)
		}
		files = append(files, File{Path: "/" + name, Bytes: text})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read documents: %w (run anteroom generate to make them)", err)
	}
	return New(files)
}
