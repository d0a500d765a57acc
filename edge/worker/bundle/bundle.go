// Package bundle makes the folder that wrangler deploys: the worker, and what it knows of the
// content. The files that depend on no content, edge.wasm and the JavaScript, are compiled in the
// folder of the source code. A program that build/release.sh makes carries them, so that it deploys
// without the source code; it is built with the tag release. Any other program carries none.
package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"anteroom/edge/snapshot"
	"anteroom/edge/store/migrations"
)

// What build/release.sh writes beside this file, and git does not keep.
const (
	filesFolder   = "files"
	toolchainFile = "toolchain.txt" // what the compiler of edge.wasm calls itself
)

// The sources of a bundle, relative to the folder of the source code.
const (
	compileScript = "build/edge.sh"
	workerFolder  = "edge/worker" // its *.mjs are the JavaScript of the bundle
)

// Files of a bundle besides its JavaScript.
const (
	Wasm     = "edge.wasm"
	Snapshot = "snapshot.txt"
	// formerFile is in the bundles of earlier programs.
	formerFile = "constants.txt"
)

// Files gives the carried files by their names. It is false if this program carries none.
func Files() (map[string][]byte, bool) {
	if carried == nil {
		return nil, false
	}
	files, _ := read(carried, filesFolder+"/*") // they are in the program itself
	return files, true
}

func read(fsys fs.FS, pattern string) (map[string][]byte, error) {
	names, err := fs.Glob(fsys, pattern)
	files := map[string][]byte{}
	for _, name := range names {
		if err == nil {
			files[path.Base(name)], err = fs.ReadFile(fsys, name)
		}
	}
	return files, err
}

// Toolchain is what the compiler of edge.wasm calls itself, in one line. It is "" if this program
// carries no files.
func Toolchain() string {
	if carried == nil {
		return ""
	}
	files, _ := read(carried, toolchainFile) // it is in the program itself
	return strings.TrimSpace(string(files[toolchainFile]))
}

// worker gives the files of a bundle that depend on no content: compiled where the source code is
// here, else those that this program carries. If it has compiled, it gives the names of the
// functions in the module too, one line for each: the function's index and its name.
func worker(ctx context.Context, progress io.Writer) (files map[string][]byte, names []byte, err error) {
	if _, err := os.Stat(compileScript); err == nil {
		files, names, err = compile(ctx, progress)
		if err != nil {
			err = fmt.Errorf("compile the edge core: %w", err)
		}
		return files, names, err
	}
	if files, carried := Files(); carried {
		return files, nil, nil
	}
	return nil, nil, fmt.Errorf("there is no %s here, and this program carries no worker "+
		"(take a released program, or call this in the folder of the source code)", compileScript)
}

// commentLine is a line of JavaScript that holds a comment alone. It is left empty in a bundle, so
// that the lines of a stack are those of the source.
var commentLine = regexp.MustCompile(`(?m)^[ \t]*(//.*|/\*\*[^*]*\*/)$`)

func compile(ctx context.Context, progress io.Writer) (files map[string][]byte, names []byte, err error) {
	files, err = read(os.DirFS(workerFolder), "*.mjs")
	if err != nil {
		return nil, nil, err
	}
	for name, script := range files {
		files[name] = commentLine.ReplaceAll(script, nil)
	}
	temporary, err := os.MkdirTemp("", "anteroom-build-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(temporary)
	compiled := filepath.Join(temporary, Wasm)
	script := exec.CommandContext(ctx, compileScript, compiled)
	script.Stdout, script.Stderr = progress, progress
	if err := script.Run(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w (see its output above)", compileScript, err)
	}
	if files[Wasm], err = os.ReadFile(compiled); err != nil {
		return nil, nil, err
	}
	names, err = os.ReadFile(compiled + ".names")
	return files, names, err
}

// What Build writes beside a bundle: the names of the functions in edge.wasm, or, without the
// source code, the migrations of the database.
const (
	namesFile        = "edge.names"
	migrationsFolder = "migrations"
)

// Build writes a bundle with what the worker knows of the content to a folder, and gives its files.
func Build(ctx context.Context, folder string, s *snapshot.Snapshot, progress io.Writer) (map[string][]byte, error) {
	files, names, err := worker(ctx, progress)
	if err != nil {
		return nil, err
	}
	files[Snapshot] = s.Encode()
	if err := write(folder, files); err != nil {
		return nil, err
	}
	beside := filepath.Dir(filepath.Clean(folder))
	if names == nil {
		err = writeMigrations(filepath.Join(beside, migrationsFolder))
	} else if err = os.WriteFile(filepath.Join(beside, namesFile), names, 0o666); err != nil {
		err = fmt.Errorf("write names: %w", err)
	}
	return files, err
}

// write writes a bundle to a folder, instead of a bundle that is there. It refuses a folder that
// holds anything else.
func write(folder string, files map[string][]byte) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write bundle: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if files[name] == nil && filepath.Ext(name) != ".mjs" && name != formerFile {
			return fmt.Errorf("write bundle: unexpected file %s in %s (empty the folder, or choose another)", name, folder)
		}
	}
	if err = os.RemoveAll(folder); err == nil {
		err = writeAll(folder, files)
	}
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return nil
}

// writeMigrations writes the migrations of the database where wrangler finds them. Those that are
// there are the same, or older ones.
func writeMigrations(folder string) error {
	files, err := read(migrations.Files, "*.sql")
	if err == nil {
		err = writeAll(folder, files)
	}
	if err != nil {
		return fmt.Errorf("write migrations: %w", err)
	}
	return nil
}

func writeAll(folder string, files map[string][]byte) error {
	err := os.MkdirAll(folder, 0o777)
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), text, 0o666)
		}
	}
	return err
}
