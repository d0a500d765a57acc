package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/worker/deploy"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addCompletion adds the command that prints completion scripts, and says for every argument and
// flag what it may be. What a flag takes is the name in backquotes of its usage, and what an
// argument is stands in the Use of its command. A command that completes something by itself
// is left as it is.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.Short = "Print the completion script of a shell"
	completion.Long = "Completion prints a script that lets a shell complete commands, flags and what they take.\n" +
		"The help of each shell says how to load it."
	for _, shell := range completion.Commands() {
		shell.Short = "Print the completion script of " + shell.Name()
		shell.Long = strings.ReplaceAll(shell.Long, "#### ", "")
	}
	for cmd := range cli.Commands(root) {
		if cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() {
			cmd.ValidArgsFunction = completeArgument
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			cmd.RegisterFlagCompletionFunc(f.Name, completeFlag(f)) // fails where the command has done so itself
		})
	}
}

// completeArgument completes an argument by its place in the Use of its command.
func completeArgument(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	places := strings.Fields(cmd.Use)[1:]
	at := len(args)
	if at >= len(places) {
		if len(places) == 0 || !strings.Contains(places[len(places)-1], "...") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		at = len(places) - 1
	}
	switch place := strings.Trim(places[at], "[]."); {
	case place == "DIR":
		return nil, cobra.ShellCompDirectiveFilterDirs
	case place == "FILE":
		return nil, cobra.ShellCompDirectiveDefault
	case strings.Contains(place, "|"):
		return strings.Split(place, "|"), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeFlag completes the value of a flag.
func completeFlag(f *pflag.Flag) cobra.CompletionFunc {
	value, _ := pflag.UnquoteUsage(f)
	switch {
	case value == "folder":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case value == "file":
		if suffix := strings.TrimPrefix(filepath.Ext(f.DefValue), "."); suffix != "" {
			return cobra.FixedCompletions([]cobra.Completion{suffix}, cobra.ShellCompDirectiveFilterFileExt)
		}
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case value == "environment":
		return completeFrom(environments)
	case value == "date":
		return completeFrom(verificationDays)
	case strings.Contains(value, "|"):
		return cobra.FixedCompletions(strings.Split(value, "|"), cobra.ShellCompDirectiveNoFileComp)
	}
	return cobra.NoFileCompletions
}

// completeFrom completes from a list that is made of the other flags.
func completeFrom(list func(*pflag.FlagSet) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		flags := cmd.Flags()
		if err := cli.FromEnvironment(flags); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return list(flags), cobra.ShellCompDirectiveNoFileComp
	}
}

// valueOf is the value of a flag, or preset where there is no such flag.
func valueOf(flags *pflag.FlagSet, name, preset string) string {
	if f := flags.Lookup(name); f != nil {
		return f.Value.String()
	}
	return preset
}

// environments are the names of the environments of wrangler.toml.
func environments(flags *pflag.FlagSet) []string {
	file, err := deploy.ReadFile(valueOf(flags, "wrangler", wranglerFile))
	if err != nil {
		return nil // the command itself says what is wrong
	}
	return file.Environments()
}

// verificationDays are the days of hand verifications.
func verificationDays(flags *pflag.FlagSet) (days []string) {
	entries, err := os.ReadDir(filepath.Join(valueOf(flags, "content", contentFolder), "verifications"))
	if err != nil {
		return nil // there may be none here
	}
	for _, entry := range entries {
		if name, is := strings.CutSuffix(entry.Name(), ".yaml"); is && len(name) >= len("2006-01-02") {
			days = append(days, name[:len("2006-01-02")]) // a second one of a day ends in -2
		}
	}
	return slices.Compact(days)
}
