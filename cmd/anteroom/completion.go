package main

import (
	"strings"

	"anteroom/cmd/anteroom/internal/cli"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addCompletion has shells complete folders, and arguments and values of flags that are one of
// several words, as the Use of a command and the usage of a flag list them. Anything else is
// completed by the names of files, as cobra does.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.Short = "Print the completion script of a shell"
	for _, shell := range completion.Commands() {
		shell.Long = strings.ReplaceAll(shell.Long, "#### ", "")
	}
	for _, cmd := range cli.Commands(root) {
		for _, place := range places(cmd) {
			cmd.ValidArgs = wordsOf(place)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			value, _ := pflag.UnquoteUsage(f)
			if words := wordsOf(value); words != nil {
				cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
			} else if value == "folder" {
				cmd.MarkFlagDirname(f.Name)
			}
		})
	}
}

// wordsOf returns the words of one|another. Names in capitals, FILE|HASH, are no words to type.
func wordsOf(value string) []string {
	if !strings.Contains(value, "|") || value == strings.ToUpper(value) {
		return nil
	}
	return strings.Split(value, "|")
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
