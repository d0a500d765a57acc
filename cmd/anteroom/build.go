package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"text/tabwriter"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/migrations"
	"anteroom/edge/worker/bundle"
	"anteroom/edge/worker/prerender"

	"github.com/spf13/cobra"
)

// The sources of a bundle, relative to the folder of the source code.
const (
	compileScript = "build/edge.sh"
	workerFolder  = "edge/worker" // its *.mjs are the JavaScript of the bundle
)

// Files of a bundle besides its JavaScript.
const (
	wasmFile      = "edge.wasm"
	snapshotFile  = "snapshot.txt"
	constantsFile = "constants.txt"
)

func buildCommand(t *cli.Terminal) *cobra.Command {
	var content, out string
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build the bundle that wrangler deploys, of the worker and content/",
		Long: `Build makes the folder that wrangler deploys: the JavaScript host without its comments, edge.wasm (the
edge core), snapshot.txt (what the core knows of the content) and constants.txt (answers that it gives to
everybody). Beside the folder it writes edge.names: the names of the core's functions, to read a trap by. The
same sources make the same bytes. The folder is replaced as a whole, or stays as it was.

In the folder of the source code it compiles the core, and fetches its compiler by itself, at a pinned
version, the first time; that takes some minutes. Anywhere else it takes what a released program carries,
and writes the migrations of the database, and no edge.names, beside the bundle, for wrangler d1
migrations. Anteroom deploy needs none of this.`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(cmd *cobra.Command, _ []string) error {
			_, output, err := loadAndGenerate(content)
			if err != nil {
				return err
			}
			files, names, err := workerFiles(cmd.Context(), t)
			if err != nil {
				return err
			}
			if err := addContent(files, output.Snapshot); err != nil {
				return err
			}
			if err := replaceBundle(out, files); err != nil {
				return hintPermission(err)
			}
			beside := filepath.Dir(filepath.Clean(out))
			if names == nil {
				err = writeMigrations(filepath.Join(beside, migrationsFolder))
			} else if err = os.WriteFile(filepath.Join(beside, namesFile), names, 0o666); err != nil {
				err = fmt.Errorf("write names: %w", err)
			}
			if err != nil {
				return hintPermission(err)
			}
			printBundle(t, out, files)
			return nil
		}),
	}
	cmd.Flags().StringVar(&content, "content", contentFolder, "the content `folder`")
	cmd.Flags().StringVar(&out, "out", "build/bundle", "the `folder` of the bundle")
	return cmd
}

// namesFile holds the names of the functions in edge.wasm. It is written beside a bundle and is no
// part of it.
const namesFile = "edge.names"

// migrationsFolder is beside a bundle that was made without the source code.
const migrationsFolder = "migrations"

// carriedFiles are the files that this program carries. It is a variable so that tests can give it
// some.
var carriedFiles = bundle.Files

// workerFiles gives the files of a bundle that do not depend on the content: made of the source
// code where it is here, or those that this program carries. It gives the names of the functions in
// the module, too, where it has compiled that.
func workerFiles(ctx context.Context, t *cli.Terminal) (files map[string][]byte, names []byte, err error) {
	if _, err := os.Stat(compileScript); err == nil {
		return compile(ctx, t)
	}
	if files, carried := carriedFiles(); carried {
		return files, nil, nil
	}
	return nil, nil, fmt.Errorf("there is no %s here, and this program carries no worker (take a released program, or call this in the folder of the source code)", compileScript)
}

// addContent adds to a bundle what the worker knows of the content.
func addContent(files map[string][]byte, s *snapshot.Snapshot) error {
	answers, err := prerender.Answers(s)
	if err != nil {
		return err
	}
	files[snapshotFile], files[constantsFile] = s.Encode(), answers
	return nil
}

// writeMigrations writes the migrations of the database where wrangler finds them. Those that are
// there are the same, or older ones.
func writeMigrations(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return fmt.Errorf("write migrations: %w", err)
	}
	files, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		return err
	}
	for _, name := range files {
		text, err := migrations.Files.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), text, 0o666)
		}
		if err != nil {
			return fmt.Errorf("write migrations: %w", err)
		}
	}
	return nil
}

// commentLine is a line of JavaScript that holds a comment alone. It is left empty in a bundle, so
// that the lines of a stack are those of the source.
var commentLine = regexp.MustCompile(`(?m)^[ \t]*(//.*|/\*\*[^*]*\*/)$`)

// compile makes the files of a bundle that do not depend on the content. It also gives the names of
// the functions in the module, one line for each: the function's index and its name.
func compile(ctx context.Context, t *cli.Terminal) (files map[string][]byte, names []byte, err error) {
	files = map[string][]byte{}
	scripts, err := filepath.Glob(workerFolder + "/*.mjs")
	if err != nil {
		return nil, nil, err
	}
	for _, name := range scripts {
		script, err := os.ReadFile(name)
		if err != nil {
			return nil, nil, fmt.Errorf("read worker: %w", err)
		}
		files[filepath.Base(name)] = commentLine.ReplaceAll(script, nil)
	}
	temporary, err := os.MkdirTemp("", "anteroom-build-")
	if err != nil {
		return nil, nil, fmt.Errorf("make temporary folder: %w", err)
	}
	defer os.RemoveAll(temporary)
	compiled := filepath.Join(temporary, wasmFile)
	script := exec.CommandContext(ctx, compileScript, compiled)
	script.Stdout, script.Stderr = t.Err, t.Err
	if err := script.Run(); err != nil {
		return nil, nil, fmt.Errorf("compile the edge core: %s: %w (what it said stands above)", compileScript, err)
	}
	module, err := os.ReadFile(compiled)
	if err != nil {
		return nil, nil, fmt.Errorf("compile the edge core: %w", err)
	}
	files[wasmFile] = module
	names, err = os.ReadFile(compiled + ".names")
	if err != nil {
		return nil, nil, fmt.Errorf("compile the edge core: %w", err)
	}
	return files, names, nil
}

// replaceBundle puts a folder of these files in the place of another bundle. The folder is never
// seen with half of the files, because it is written under another name first. replaceBundle
// refuses to replace a folder that holds anything but a bundle.
func replaceBundle(folder string, files map[string][]byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write bundle: %w", err)
		}
	}()
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	exists := err == nil
	for _, entry := range entries {
		if name := entry.Name(); files[name] == nil && filepath.Ext(name) != ".mjs" {
			return fmt.Errorf("%s holds %s, which is no part of a bundle (name another folder, or empty it)", folder, name)
		}
	}
	parent := filepath.Dir(filepath.Clean(folder))
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(parent, ".bundle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	next := filepath.Join(temporary, "new")
	if err := os.Mkdir(next, 0o777); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(next, name), data, 0o666); err != nil {
			return err
		}
	}
	if exists {
		if err := rename(folder, filepath.Join(temporary, "old")); err != nil {
			return err
		}
	}
	if err := rename(next, folder); err != nil {
		if exists {
			err = errors.Join(err, rename(filepath.Join(temporary, "old"), folder))
		}
		return err
	}
	return nil
}

// rename gives a folder another name. It is a variable so that tests can make it fail.
var rename = os.Rename

// printBundle prints the files of a bundle with their sizes, as they are and gzipped.
func printBundle(t *cli.Terminal, folder string, files map[string][]byte) {
	table := tabwriter.NewWriter(t.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	var raw, zipped int64
	row := func(name string, raw, zipped int64) { fmt.Fprintf(table, "%d\t%d\t  %s\n", raw, zipped, name) }
	fmt.Fprintln(table, "bytes\tgzipped\t")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		size, small := int64(len(files[name])), gzippedSize(files[name])
		raw, zipped = raw+size, zipped+small
		row(name, size, small)
	}
	row(folder, raw, zipped)
	table.Flush()
}

// gzippedSize is how many bytes data takes at gzip's best compression.
func gzippedSize(data []byte) int64 {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	w.Write(data)                                         // a buffer takes everything
	w.Close()
	return int64(b.Len())
}
