package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"anteroom/edge/native/disk"
)

// Names of what stands in a content folder beside the content. The loader does not read names that
// begin with a dot.
const (
	decidedFolder  = ".verification"      // a verification that is decided, and not yet in its place
	stagingPattern = ".verification-new*" // one that is being written
	lockName       = ".verification-lock"
	draftName      = ".verification-draft.yaml" // answers that were begun
)

// lockContent keeps others from verifying the same content until unlock is called, or the process
// ends.
func lockContent(content string) (unlock func(), err error) {
	f, err := disk.LockFile(filepath.Join(content, lockName))
	switch {
	case errors.Is(err, disk.ErrLocked):
		return nil, fmt.Errorf("lock %s: another verification of it is under way (end that one first)", content)
	case err != nil:
		return nil, fmt.Errorf("lock the content: %w (the folder must be writable)", err)
	}
	// The file stays: another process may be about to lock it.
	return func() { f.Close() }, nil
}

// contentFile is a file of a content folder.
type contentFile struct {
	name string
	text []byte
}

// writeVerification puts the files of a verification into a content folder: all or, where it fails
// or is killed before they are decided, none. Once they are decided, whoever is killed in
// between leaves the rest to finishVerification. The caller holds the lock.
func writeVerification(content, name string, files []contentFile) (err error) {
	state := "nothing was written"
	defer func() {
		if err != nil {
			err = fmt.Errorf("write verification %s: %w (%s)", name, err, state)
		}
	}()
	old, err := filepath.Glob(filepath.Join(content, stagingPattern))
	if err != nil {
		return err
	}
	for _, folder := range old { // of processes that were killed
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	staging, err := os.MkdirTemp(content, stagingPattern)
	if err != nil {
		return err
	}
	defer os.RemoveAll(staging) // where it has not become decidedFolder
	for _, file := range files {
		path := filepath.Join(staging, staged(file.name))
		if err := disk.WriteNew(path, file.text); err != nil {
			return err
		}
		if err := os.Chmod(path, 0o644); err != nil {
			return err
		}
	}
	if err := disk.SyncFolder(staging); err != nil {
		return err
	}
	if err := os.Rename(staging, filepath.Join(content, decidedFolder)); err != nil {
		return err
	}
	state = "it is decided: the next command that reads the content goes on with it"
	if err := disk.SyncFolder(content); err != nil {
		return err
	}
	return finishVerification(content)
}

// staged is the name of a file while it is not in its place.
func staged(file string) string { return strings.ReplaceAll(file, "/", "_") }

// finishVerification puts the files of a verification that was decided into their places, where a
// process was killed before it did so. It does nothing where there is none.
func finishVerification(content string) error {
	decided := filepath.Join(content, decidedFolder)
	entries, err := os.ReadDir(decided)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("finish a verification: %w", err)
	}
	for _, entry := range entries {
		folder, base, _ := strings.Cut(entry.Name(), "_")
		from, to := filepath.Join(decided, entry.Name()), filepath.Join(content, folder, base)
		if err := move(from, to); err != nil {
			return fmt.Errorf("finish a verification: %w", err)
		}
	}
	if err := os.Remove(decided); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("finish a verification: %w", err)
	}
	if err := disk.SyncFolder(content); err != nil {
		return fmt.Errorf("finish a verification: %w", err)
	}
	return nil
}

// move moves a file to a name that is free, and brings that to the disk. Another process may have
// done so.
func move(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if there, err := os.ReadFile(to); err == nil {
		text, err := os.ReadFile(from)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(there, text) {
			return fmt.Errorf("%s is another one already (put it away, and the one of %s in its place)", to, from)
		}
	}
	if err := os.Rename(from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return disk.SyncFolder(filepath.Dir(to))
}
