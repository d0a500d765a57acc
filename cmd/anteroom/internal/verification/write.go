package verification

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"anteroom/edge/native/disk"
	"anteroom/generator/site"
)

type file struct {
	name string // in the folder
	text []byte
}

// write puts the files of a verification into a content folder: all of them or, if it fails, none.
//
// Accepts: a process that is killed here leaves some of them. Every command then refuses the
// content and names them; the operator removes them, and the answers are kept. No part goes live. A
// journal of unfinished work would be more code than this rare case deserves.
func write(folder string, files []file) error {
	written := 0
	for _, file := range files {
		path := filepath.Join(folder, file.name)
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if err == nil {
			err = disk.WriteNew(path, file.text)
		}
		if err == nil {
			written++
			err = errors.Join(os.Chmod(path, 0o644), disk.SyncFolder(filepath.Dir(path)))
		}
		if err != nil {
			return errors.Join(fmt.Errorf("write verification: %w (nothing was written)", err),
				remove(folder, files[:written]))
		}
	}
	return nil
}

func remove(folder string, files []file) (err error) {
	for _, file := range files {
		path := filepath.Join(folder, file.name)
		if failed := os.Remove(path); failed == nil {
			err = errors.Join(err, disk.SyncFolder(filepath.Dir(path)))
		} else if !errors.Is(failed, os.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

func filesOf(name string) []file {
	lines, checkpoint := site.LogFiles(name)
	return []file{{name: lines}, {name: checkpoint}, {name: boardFile(name)}, {name: verificationFile(name)}}
}
