// Package bundle makes the folder that wrangler deploys: the worker and the snapshot. edge.wasm and
// the JavaScript are compiled in the folder of the source code. A released program, which
// build/release.sh builds with the tag release, carries them.
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

	"anteroom/edge/snapshot"
	"anteroom/edge/store/migrations"
)

// build/release.sh writes this folder next to this file; git ignores it.
const filesFolder = "files"

// The sources of a bundle, in the folder of the source code.
const (
	compileScript = "build/edge.sh"
	workerFolder  = "edge/worker" // of the *.mjs
)

// Files of a bundle next to its JavaScript.
const (
	Wasm     = "edge.wasm"
	Snapshot = "snapshot.txt"
)

// Files returns the carried files by name, and whether this program carries any.
func Files() (map[string][]byte, bool) {
	files, _ := read(carried, filesFolder+"/*") // embedded
	return files, len(files) > 0
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

// worker returns the files of a bundle without the snapshot, compiled or carried. After compiling
// it also returns the names of the module's functions, in lines of INDEX:NAME.
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
	return nil, nil, fmt.Errorf("build the worker: found no %s, and this program carries no worker "+
		"(take a released program, or run this in the folder of the source code)", compileScript)
}

// commentLine matches a line of JavaScript with only a comment. It is left empty in a bundle, so
// that line numbers stay.
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

// Build writes one of these next to a bundle.
const (
	namesFile        = "edge.names" // of the functions in a compiled edge.wasm
	migrationsFolder = "migrations" // with a carried one, for wrangler
)

// Build writes a bundle with a snapshot to a folder, and returns its files.
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

func write(folder string, files map[string][]byte) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write bundle: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if files[name] == nil && filepath.Ext(name) != ".mjs" {
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
