package verify

import (
	"fmt"
	"io/fs"
	"strings"

	"anteroom/generator/site"

	"golang.org/x/tools/txtar"
)

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
	archive.Files = append(archive.Files, txtar.File{Name: VerificationFile(name), Data: verification}, txtar.File{Name: BoardFile(name), Data: board})
	with, err := txtar.FS(archive)
	if err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	return site.Load(with)
}

// VerificationFile is where a verification stands in a content folder.
func VerificationFile(name string) string { return "verifications/" + name + ".yaml" }

// BoardFile is where its board stands.
func BoardFile(name string) string { return "scoreboard/" + name + ".yaml" }
