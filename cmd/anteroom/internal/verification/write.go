package verification

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"anteroom/cmd/anteroom/internal/project"
	"anteroom/edge/native/disk"
	"anteroom/generator/site"
)

// Lock keeps other processes from verifying the same content until unlock is called, or the process
// ends. It removes a part of a verification that a killed process has left.
func Lock(content string) (unlock func(), err error) {
	folder, err := disk.LockFolder(content)
	if errors.Is(err, disk.ErrLocked) {
		return nil, fmt.Errorf("lock %s: another anteroom publish is running (end that one first)", content)
	}
	var probe string
	if err == nil {
		probe, err = os.MkdirTemp(content, ".verification-probe")
	}
	if err == nil {
		err = os.Remove(probe)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the content: %w (the folder must be writable)", err)
	}
	if err := finish(content); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return func() { folder.Close() }, nil
}

type file struct {
	name string // with slashes, relative to the folder
	text []byte
}

func inside(folder, name string) string { return filepath.Join(folder, filepath.FromSlash(name)) }

// write puts the files of a verification into a content folder: all of them or, if it fails or is
// killed, none once finish was called. The caller holds the lock.
func write(folder, name string, files []file) (err error) {
	state := "nothing was written"
	defer func() {
		if err != nil {
			err = fmt.Errorf("write verification: %w (%s)", err, state)
		}
	}()
	for _, file := range files {
		path := inside(folder, file.name)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s exists (move it away)", path)
		}
	}
	if err := begin(folder, name); err != nil {
		return err
	}
	for _, file := range files {
		path := inside(folder, file.name)
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if err == nil {
			err = disk.WriteNew(path, file.text)
		}
		if err == nil {
			err = errors.Join(os.Chmod(path, 0o644), disk.SyncFolder(filepath.Dir(path)))
		}
		if err != nil {
			return errors.Join(err, finish(folder))
		}
	}
	if err := os.Remove(inside(folder, project.Unfinished)); err != nil {
		return errors.Join(err, finish(folder))
	}
	state = "it is written"
	return disk.SyncFolder(folder)
}

func begin(folder, name string) error {
	note := inside(folder, project.Unfinished)
	if err := disk.WriteNew(note, []byte(name+"\n")); err != nil {
		return err
	}
	return disk.SyncFolder(folder)
}

// finish removes the files of a verification whose writing or undoing did not end. The caller holds
// the lock.
func finish(folder string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("remove a part of a verification: %w", err)
		}
	}()
	note := inside(folder, project.Unfinished)
	text, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if name, whole := strings.CutSuffix(string(text), "\n"); whole { // otherwise no file was written
		for _, file := range filesOf(name) {
			path := inside(folder, file)
			if failed := os.Remove(path); failed == nil {
				err = errors.Join(err, disk.SyncFolder(filepath.Dir(path)))
			} else if !errors.Is(failed, fs.ErrNotExist) {
				err = errors.Join(err, failed)
			}
		}
	}
	if err == nil {
		err = os.Remove(note)
	}
	if err != nil {
		return err
	}
	return disk.SyncFolder(folder)
}

func filesOf(name string) []string {
	lines, checkpoint := site.LogFiles(name)
	return []string{verificationFile(name), boardFile(name), lines, checkpoint}
}
