package main

import (
	"maps"
	"slices"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/worker/bundle"
	"anteroom/generator/output"

	"github.com/spf13/cobra"
)

func buildCommand(t *cli.Terminal) *cobra.Command {
	var public, snapshot, out string
	cmd := &cobra.Command{
		Use: "build",
		RunE: func(cmd *cobra.Command, _ []string) error {
			generated, err := output.Read(public, snapshot)
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
