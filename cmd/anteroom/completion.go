package main

import (
	"path/filepath"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/cloudflare"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addCompletion has shells complete every argument by the Use of its command, and every flag by the
// name in backquotes of its usage. A command that completes a flag by itself keeps that.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.Short = "Print the completion script of a shell"
	for _, shell := range completion.Commands() {
		shell.Long = strings.ReplaceAll(shell.Long, "#### ", "")
	}
	for _, cmd := range cli.Commands(root) {
		if cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() {
			cmd.ValidArgsFunction = completeArgument
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			value, _ := pflag.UnquoteUsage(f)
			// It fails if the command has done so itself.
			cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return complete(cmd, value, f.DefValue)
			})
		})
	}
}

func completeArgument(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list := places(cmd)
	if len(args) >= len(list) { // only identifiers come several times, which nobody can offer
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return complete(cmd, strings.Trim(list[len(args)], "[]."), "")
}

func complete(cmd *cobra.Command, value, preset string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const noFiles = cobra.ShellCompDirectiveNoFileComp
	switch strings.ToLower(value) {
	case "dir", "folder":
		return nil, cobra.ShellCompDirectiveFilterDirs
	case "file", "file|hash":
		if ending := strings.TrimPrefix(filepath.Ext(preset), "."); ending != "" {
			return []cobra.Completion{ending}, cobra.ShellCompDirectiveFilterFileExt
		}
		return nil, cobra.ShellCompDirectiveDefault
	case "environment":
		return environments(cmd), noFiles
	case "date":
		return verificationDays(), noFiles
	}
	if !strings.Contains(value, "|") {
		return nil, noFiles
	}
	return strings.Split(value, "|"), noFiles
}

// environments are the names of the environments of wrangler.toml. The command itself says what is
// wrong with the file.
func environments(cmd *cobra.Command) []string {
	cli.Bind(cmd)
	config, err := cloudflare.ReadConfig(cmd.Flags().Lookup("wrangler").Value.String())
	if err != nil {
		return nil
	}
	return config.Environments()
}

func verificationDays() (days []string) {
	files, _ := filepath.Glob(contentFolder + "/verifications/????-??-??*.yaml") // sorted
	for _, file := range files {
		days = append(days, filepath.Base(file)[:len("2006-01-02")]) // a second one of a day ends in -2
	}
	return slices.Compact(days)
}

// places are the arguments that the Use of a command names: FILE, [FILE] or [FILE...].
func places(cmd *cobra.Command) []string {
	use, _, _ := strings.Cut(cmd.Use, " --")
	return strings.Fields(use)[1:]
}

func argumentsOf(cmd *cobra.Command) cobra.PositionalArgs {
	switch list := places(cmd); {
	case len(list) == 0:
		return cobra.NoArgs
	case strings.Contains(list[0], "..."):
		return cobra.ArbitraryArgs
	case list[0][0] == '[':
		return cobra.MaximumNArgs(len(list))
	default:
		return cobra.ExactArgs(len(list))
	}
}
