package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addCompletion has shells complete every argument by the Use of its command, and every flag by the
// name in backquotes of its usage. A command that completes something by itself keeps that.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.Short = "Print the completion script of a shell"
	for _, shell := range completion.Commands() {
		shell.Long = strings.ReplaceAll(shell.Long, "#### ", "")
	}
	for cmd := range cli.Commands(root) {
		if cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() {
			cmd.ValidArgsFunction = completeArgument
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			cmd.RegisterFlagCompletionFunc(f.Name, completeFlag(f)) // fails if the command has done so itself
		})
	}
}

// completeArgument completes an argument by its place in the Use of its command.
func completeArgument(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	places := strings.Fields(cmd.Use)[1:]
	at := len(args)
	if n := len(places); at >= n && n > 0 && strings.Contains(places[n-1], "...") {
		at = n - 1
	}
	if at >= len(places) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeValue(strings.Trim(places[at], "[]."), "")
}

// completeValue completes what is called so in a usage.
func completeValue(value, preset string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch strings.ToLower(value) {
	case "dir", "folder":
		return nil, cobra.ShellCompDirectiveFilterDirs
	case "file":
		if ending := strings.TrimPrefix(filepath.Ext(preset), "."); ending != "" {
			return []cobra.Completion{ending}, cobra.ShellCompDirectiveFilterFileExt
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	if strings.Contains(value, "|") {
		return strings.Split(value, "|"), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeFlag completes the value of a flag, which may depend on other flags.
func completeFlag(f *pflag.Flag) cobra.CompletionFunc {
	value, _ := pflag.UnquoteUsage(f)
	list := map[string]func(*pflag.FlagSet) []string{"environment": environments, "date": verificationDays}[value]
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if list == nil {
			return completeValue(value, f.DefValue)
		}
		if err := cli.FromEnvironment(cmd.Flags()); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return list(cmd.Flags()), cobra.ShellCompDirectiveNoFileComp
	}
}

// environments are the names of the environments of wrangler.toml.
func environments(flags *pflag.FlagSet) (names []string) {
	name := wranglerFile
	if f := flags.Lookup("wrangler"); f != nil {
		name = f.Value.String()
	}
	var file struct{ Env map[string]any }
	toml.DecodeFile(name, &file) // the command itself says what is wrong with it
	for name := range file.Env {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// verificationDays are the days of hand verifications.
func verificationDays(flags *pflag.FlagSet) (days []string) {
	folder := contentFolder
	if f := flags.Lookup("content"); f != nil {
		folder = f.Value.String()
	}
	files, _ := os.ReadDir(filepath.Join(folder, "verifications"))
	for _, file := range files {
		if name, is := strings.CutSuffix(file.Name(), ".yaml"); is && len(name) >= len("2006-01-02") {
			days = append(days, name[:len("2006-01-02")]) // a second one of a day ends in -2
		}
	}
	return slices.Compact(days)
}
