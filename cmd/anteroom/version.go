package main

import (
	"runtime"
	"runtime/debug"

	"anteroom/edge/snapshot"

	"github.com/spf13/cobra"
)

func versionCommand(t *terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which program this is",
		Args:  cobra.NoArgs,
		RunE: withExitCode(func(*cobra.Command, []string) error {
			version, revision := "unknown", ""
			if info, ok := debug.ReadBuildInfo(); ok {
				version = info.Main.Version
				for _, setting := range info.Settings {
					if setting.Key == "vcs.revision" {
						revision = " " + setting.Value
					}
				}
			}
			t.say("anteroom %s%s %s %s/%s %s", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH, snapshot.Format)
			return nil
		}),
	}
}
