package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/worker/bundle"
	"anteroom/generator/publish"

	"github.com/spf13/cobra"
)

// What build writes beside a bundle: the names of the functions in edge.wasm, or, without the
// source code, the migrations of the database.
const (
	namesFile        = "edge.names"
	migrationsFolder = "migrations"
)

func buildCommand(t *cli.Terminal) *cobra.Command {
	var public, snapshot, out string
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build the bundle that wrangler deploys, of the worker and what was generated",
		Long: `Make the folder that wrangler deploys: the JavaScript host without its comments, edge.wasm (the edge
core), snapshot.txt (what the core knows of the content) and constants.txt (answers that are the same for
everybody). Build takes what anteroom generate has written, and refuses documents that are not those of
the snapshot. The same sources make the same bytes.

In the folder of the source code, build compiles the core, and writes the names of its functions to
edge.names beside the bundle, for reading the stack of a trap. The first time it fetches its compiler, at
a pinned version, which takes some minutes. Anywhere else it takes the core that a released program
carries, and writes the migrations of the database beside the bundle, for wrangler d1 migrations.`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(cmd *cobra.Command, _ []string) error {
			generated, err := publish.Read(public, snapshot)
			if err != nil {
				return err
			}
			files, names, err := bundle.Worker(cmd.Context(), t.Err)
			if err != nil {
				return err
			}
			if err := bundle.AddContent(files, generated.Snapshot); err != nil {
				return err
			}
			if err := bundle.Write(out, files); err != nil {
				return hintPermission(err)
			}
			beside := filepath.Dir(filepath.Clean(out))
			if names == nil {
				err = bundle.WriteMigrations(filepath.Join(beside, migrationsFolder))
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
	flags := cmd.Flags()
	generatedFlags(flags, &public, &snapshot)
	flags.StringVar(&out, "out", "build/bundle", "the `folder` of the bundle")
	return cmd
}

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
