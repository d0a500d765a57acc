package verification

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"anteroom/cmd/anteroom/internal/content"
	"anteroom/edge/native/disk"
)

// staging begins the name of a folder with a verification that is being written, in the content
// folder. The loader does not read names that begin with a dot.
const staging = ".verification-new"

// Lock keeps others from verifying the same content until unlock is called, or the process ends.
func Lock(content string) (unlock func(), err error) {
	folder, err := disk.LockFolder(content)
	if errors.Is(err, disk.ErrLocked) {
		return nil, fmt.Errorf("lock %s: another verification of it is running (end that one first)", content)
	}
	var probe string
	if err == nil {
		probe, err = os.MkdirTemp(content, staging)
	}
	if err == nil {
		err = os.Remove(probe)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the content: %w (the folder must be writable)", err)
	}
	return func() { folder.Close() }, nil
}

// Resume finishes a verification that is decided and not in its place.
func Resume(folder string) error {
	if _, err := os.Lstat(filepath.Join(folder, content.Decided)); err != nil {
		return nil // content.Load says what is wrong
	}
	unlock, err := Lock(folder)
	if err != nil {
		return err
	}
	defer unlock()
	return Finish(folder)
}

// File is a file of a content folder.
type File struct {
	Name string // with slashes, relative to the folder
	Text []byte
}

// Write puts the files of a verification into a content folder: all of them or, if it fails or is
// killed before they are complete on the disk, none. If it is killed after that, Finish does the
// rest. The caller holds the lock.
func Write(folder string, files []File) (err error) {
	state := "nothing was written"
	defer func() {
		if err != nil {
			err = fmt.Errorf("write verification: %w (%s)", err, state)
		}
	}()
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries { // of processes that were killed
		if strings.HasPrefix(entry.Name(), staging) {
			if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
				return err
			}
		}
	}
	next, err := os.MkdirTemp(folder, staging+"*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(next) // unless it has become content.Decided
	for _, file := range files {
		path := filepath.Join(next, strings.ReplaceAll(file.Name, "/", "_"))
		if err := errors.Join(disk.WriteNew(path, file.Text), os.Chmod(path, 0o644)); err != nil {
			return err
		}
	}
	if err := disk.SyncFolder(next); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(folder, content.Decided)); err != nil {
		return err
	}
	state = "it is decided: run anteroom verify to finish it"
	if err := disk.SyncFolder(folder); err != nil {
		return err
	}
	return Finish(folder)
}

// Finish moves the files of a decided verification to their places, if a process was killed before
// it did so. The caller holds the lock.
func Finish(folder string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("finish a verification: %w", err)
		}
	}()
	decided := filepath.Join(folder, content.Decided)
	entries, err := os.ReadDir(decided)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		sub, base, _ := strings.Cut(entry.Name(), "_")
		if err := move(filepath.Join(decided, entry.Name()), filepath.Join(folder, sub, base)); err != nil {
			return err
		}
	}
	if err := os.Remove(decided); err != nil {
		return err
	}
	return disk.SyncFolder(folder)
}

// takeBack removes files of a verification, and gives the paths of those that were there. If it
// fails or is killed before all are out of their places, Finish puts them back. The caller holds
// the lock.
func takeBack(folder string, names ...string) (gone []string, err error) {
	decided, undone := filepath.Join(folder, content.Decided), filepath.Join(folder, staging+"-undone")
	err = os.RemoveAll(undone)
	for _, name := range names {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if _, missing := os.Lstat(path); err == nil && missing == nil {
			gone = append(gone, path)
			err = move(path, filepath.Join(decided, strings.ReplaceAll(name, "/", "_")))
		}
	}
	if err == nil && len(gone) > 0 {
		err = os.Rename(decided, undone)
	}
	if err != nil {
		return nil, errors.Join(err, Finish(folder))
	}
	return gone, errors.Join(disk.SyncFolder(folder), os.RemoveAll(undone))
}

// move moves a file to a free name and syncs its new folder.
func move(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if there, err := os.ReadFile(to); err == nil {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if !bytes.Equal(there, text) {
			return fmt.Errorf("%s exists and differs (move it away, and put %s there)", to, from)
		}
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return disk.SyncFolder(filepath.Dir(to))
}
