package main

import (
	"io"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cli"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every command stands in a group, and a flag that takes one of some words says in its usage which,
// as completion reads them there.
func TestCommandsAreDescribed(t *testing.T) {
	root := rootCommand(cli.New(nil, io.Discard, io.Discard))
	for cmd := range cli.Commands(root) {
		if cmd.Parent() == root && cmd.GroupID == "" {
			t.Errorf("%s is of no group", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if value, _ := pflag.UnquoteUsage(f); strings.HasSuffix(f.Name, "format") && !strings.Contains(value, "|") {
				t.Errorf("%s --%s: its usage has no `one|other` in backquotes", cmd.CommandPath(), f.Name)
			}
			if f.NoOptDefVal == "" && cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions) == nil {
				t.Errorf("%s --%s is not completed", cmd.CommandPath(), f.Name)
			}
		})
	}
}
