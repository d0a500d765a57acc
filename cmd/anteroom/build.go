package main

import (
	"maps"
	"slices"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/worker/bundle"
	"anteroom/generator/publish"

	"github.com/spf13/cobra"
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			generated, err := publish.Read(public, snapshot)
			if err != nil {
				return err
			}
			files, err := bundle.Build(cmd.Context(), out, generated.Snapshot, t.Err)
			if err != nil {
				return hintPermission(err)
			}
			var sum int64
			for _, name := range slices.Sorted(maps.Keys(files)) {
				sum += int64(len(files[name]))
				t.Printf("%9d  %s", len(files[name]), name)
			}
			t.Printf("%9d  %s", sum, out)
			return nil
		},
	}
	flags := cmd.Flags()
	generatedFlags(flags, &public, &snapshot)
	flags.StringVar(&out, "out", "build/bundle", "the `folder` of the bundle")
	return cmd
}
