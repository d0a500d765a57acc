// Package bundle carries the files of the worker that depend on no content: edge.wasm, and the
// JavaScript as it is deployed. A program that build/release.sh makes has them, so that it deploys
// without the source code; it is built with the tag release. Any other program has none.
package bundle

import (
	"fmt"
	"io/fs"
	"strings"
)

// What build/release.sh writes beside this file, and git does not keep.
const (
	filesFolder   = "files"
	toolchainFile = "toolchain.txt" // what the compiler of edge.wasm calls itself
)

// Files gives the files by their names. It is false where this program carries none.
func Files() (map[string][]byte, bool) {
	if carried == nil {
		return nil, false
	}
	files, err := read(carried)
	if err != nil {
		panic(err) // the files are in the program itself
	}
	return files, true
}

// Toolchain is what the compiler of edge.wasm calls itself, in one line. It is "" where this
// program carries no files.
func Toolchain() string {
	if carried == nil {
		return ""
	}
	line, err := fs.ReadFile(carried, toolchainFile)
	if err != nil {
		panic(err) // the file is in the program itself
	}
	return strings.TrimSpace(string(line))
}

func read(from fs.FS) (map[string][]byte, error) {
	entries, err := fs.ReadDir(from, filesFolder)
	if err != nil {
		return nil, fmt.Errorf("read the carried bundle: %w", err)
	}
	files := make(map[string][]byte, len(entries))
	for _, entry := range entries {
		if files[entry.Name()], err = fs.ReadFile(from, filesFolder+"/"+entry.Name()); err != nil {
			return nil, fmt.Errorf("read the carried bundle: %w", err)
		}
	}
	return files, nil
}
