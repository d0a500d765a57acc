package verify

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"anteroom/edge/native/disk"
	"anteroom/generator/site"

	"golang.org/x/sys/unix"
	"golang.org/x/tools/txtar"
)

// Names of what stands in a content folder beside the content. The loader does not read names that
// begin with a dot.
const (
	decidedFolder  = ".verification"      // a verification that is decided, and not yet in its place
	stagingPattern = ".verification-new*" // one that is being written
	lockName       = ".verification-lock"
	DraftName      = ".verification-draft.yaml" // answers that were begun
)

// Lock keeps others from verifying the same content until unlock is called, or the process ends.
func Lock(content string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(content, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the content: %w (the folder must be writable)", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errors.New("another verification of it is under way (end that one first)")
		}
		return nil, fmt.Errorf("lock %s: %w", content, err)
	}
	// The file stays: another process may be about to lock it.
	return func() { f.Close() }, nil
}

// Check loads the content folder as it would be with the two files of a verification. Its error is
// site.Faults where the content would be refused.
func Check(content fs.FS, name string, verification, board []byte) (*site.Site, error) {
	archive := &txtar.Archive{}
	err := fs.WalkDir(content, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path != "." && strings.HasPrefix(entry.Name(), ".") {
			if err == nil && entry.IsDir() {
				err = fs.SkipDir
			}
			return err
		}
		if entry.IsDir() {
			return nil
		}
		data, err := fs.ReadFile(content, path)
		archive.Files = append(archive.Files, txtar.File{Name: path, Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	archive.Files = append(archive.Files, txtar.File{Name: verificationFile(name), Data: verification}, txtar.File{Name: boardFile(name), Data: board})
	with, err := txtar.FS(archive)
	if err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	return site.Load(with)
}

func verificationFile(name string) string { return "verifications/" + name + ".yaml" }
func boardFile(name string) string        { return "scoreboard/" + name + ".yaml" }

// Write puts the two files of a verification into a content folder: both or, where it fails or is
// killed before they are decided, neither. Once they are decided, whoever is killed in between
// leaves the rest to Finish. The caller holds the lock.
func Write(content, name string, verification, board []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write verification %s: %w (nothing was published)", name, err)
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
	for file, text := range map[string][]byte{verificationFile(name): verification, boardFile(name): board} {
		if err := disk.WriteNew(filepath.Join(staging, staged(file)), text); err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(staging, staged(file)), 0o644); err != nil {
			return err
		}
	}
	if err := disk.SyncFolder(staging); err != nil {
		return err
	}
	if err := os.Rename(staging, filepath.Join(content, decidedFolder)); err != nil {
		return err
	}
	if err := disk.SyncFolder(content); err != nil {
		return err
	}
	return Finish(content)
}

// staged is the name of a file while it is not in its place.
func staged(file string) string { return strings.ReplaceAll(file, "/", "_") }

// Finish puts the files of a verification that was decided into their places, where a process was
// killed before it did so. It does nothing where there is none.
func Finish(content string) error {
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
	if err := errors.Join(os.Remove(decided), disk.SyncFolder(content)); err != nil {
		return fmt.Errorf("finish a verification: %w", err)
	}
	return nil
}

// move moves a file to a name that is free, and brings that to the disk.
func move(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if there, err := os.ReadFile(to); err == nil {
		text, err := os.ReadFile(from)
		if err == nil && !bytes.Equal(there, text) {
			err = fmt.Errorf("%s is another one already (put it away, and the one of %s in its place)", to, from)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(os.Rename(from, to), disk.SyncFolder(filepath.Dir(to)), disk.SyncFolder(filepath.Dir(from)))
}
