package verification

import (
	"fmt"
	"io/fs"
	"path"

	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"golang.org/x/tools/txtar"
)

// Check loads the content folder as it would be with the two files of a verification. Its log is
// the one given, which was read before. The error is site.Faults where the content would be
// refused.
func Check(content fs.FS, log *tlog.Log, name string, verification, board []byte) (*site.Site, error) {
	added, err := txtar.FS(&txtar.Archive{Files: []txtar.File{
		{Name: VerificationFile(name), Data: verification}, {Name: BoardFile(name), Data: board},
	}})
	if err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	return site.LoadBeside(overlay{content, added}, log)
}

// overlay is a folder with more files in it.
type overlay struct{ below, above fs.FS }

// Open opens a file of either folder. What is a folder is read with ReadDir.
func (o overlay) Open(name string) (fs.File, error) {
	if f, err := o.above.Open(name); err == nil {
		return f, nil
	}
	return o.below.Open(name)
}

// ReadDir lists what either folder has.
func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(o.below, name)
	more, none := fs.ReadDir(o.above, name)
	if err != nil && none == nil {
		return more, nil
	}
	for _, entry := range more {
		if _, err := fs.Stat(o.below, path.Join(name, entry.Name())); err != nil {
			list = append(list, entry)
		}
	}
	return list, err
}

// VerificationFile is where a verification stands in a content folder.
func VerificationFile(name string) string { return "verifications/" + name + ".yaml" }

// BoardFile is where its board stands.
func BoardFile(name string) string { return "scoreboard/" + name + ".yaml" }
