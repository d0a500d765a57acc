package verification

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"anteroom/cmd/anteroom/internal/content"
	"anteroom/edge/native/disk"
	"anteroom/generator/site"
)

// Lock keeps others from verifying the same content until unlock is called, or the process ends. It
// removes what a process that was killed has left of a verification.
func Lock(content string) (unlock func(), err error) {
	folder, err := disk.LockFolder(content)
	if errors.Is(err, disk.ErrLocked) {
		return nil, fmt.Errorf("lock %s: another anteroom verify or publish is running (end that one first)", content)
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
	if err := Finish(content); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return func() { folder.Close() }, nil
}

// File is a file of a content folder.
type File struct {
	Name string // with slashes, relative to the folder
	Text []byte
}

func inside(folder, name string) string { return filepath.Join(folder, filepath.FromSlash(name)) }

// Write puts the files of a verification into a content folder: all of them or, if it fails or is
// killed, none once Finish was called. The caller holds the lock.
func Write(folder, name string, files []File) (err error) {
	state := "nothing was written"
	defer func() {
		if err != nil {
			err = fmt.Errorf("write verification: %w (%s)", err, state)
		}
	}()
	for _, file := range files {
		path := inside(folder, file.Name)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s exists (move it away)", path)
		}
	}
	if err := begin(folder, name); err != nil {
		return err
	}
	for _, file := range files {
		path := inside(folder, file.Name)
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if err == nil {
			err = disk.WriteNew(path, file.Text)
		}
		if err == nil {
			err = errors.Join(os.Chmod(path, 0o644), disk.SyncFolder(filepath.Dir(path)))
		}
		if err != nil {
			return errors.Join(err, Finish(folder))
		}
	}
	if err := os.Remove(inside(folder, content.Unfinished)); err != nil {
		return errors.Join(err, Finish(folder))
	}
	state = "it is written"
	return disk.SyncFolder(folder)
}

// begin notes in a content folder, on the disk, that the files of a verification are not all there
// from now on.
func begin(folder, name string) error {
	if err := disk.WriteNew(inside(folder, content.Unfinished), []byte(name+"\n")); err != nil {
		return err
	}
	return disk.SyncFolder(folder)
}

// Finish removes what there is of a verification that was not written or taken back to its end, as
// a process was killed. The caller holds the lock.
func Finish(folder string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("remove a part of a verification: %w", err)
		}
	}()
	note := inside(folder, content.Unfinished)
	text, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if name, whole := strings.CutSuffix(string(text), "\n"); whole { // else no file was written
		for _, file := range filesOf(name) {
			path := inside(folder, file)
			if wrong := os.Remove(path); wrong == nil {
				err = errors.Join(err, disk.SyncFolder(filepath.Dir(path)))
			} else if !errors.Is(wrong, fs.ErrNotExist) {
				err = errors.Join(err, wrong)
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
	return []string{VerificationFile(name), BoardFile(name), lines, checkpoint}
}
