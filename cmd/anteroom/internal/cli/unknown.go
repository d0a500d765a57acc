package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// unknown is the error of a name that cmd does not have. meant are the names that it is like.
func unknown(what string, cmd *cobra.Command, meant []string) error {
	question := ""
	if len(meant) > 0 {
		question = "did you mean " + strings.Join(meant, ", ") + "? "
	}
	return Unusable("%s (%s%s --help says how)", what, question, cmd.CommandPath())
}

// AddHelp makes help of an unknown command an error, as the call of one is.
func AddHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Use, help.Short, help.Long = "help [COMMAND]", "Print the help of a command", "Help prints what --help of a command prints."
	help.Args = cobra.ArbitraryArgs
	help.RunE = func(_ *cobra.Command, args []string) error {
		asked, rest, err := root.Find(args)
		if err == nil {
			err = KnownCommand(asked, rest)
		}
		if err != nil {
			return err
		}
		asked.InitDefaultHelpFlag()
		asked.InitDefaultVersionFlag()
		return asked.Help()
	}
}

// KnownCommand refuses the arguments of a command that has others below it.
func KnownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(cmd, args[0])
}

// distance is how many letters a mistyped name differs in, at most. A short name with as many other
// letters is another name.
func distance(name string) int { return min(2, len(name)/2) }

func unknownCommand(cmd *cobra.Command, name string) error {
	cmd.SuggestionsMinimumDistance = distance(name)
	return unknown(fmt.Sprintf("unknown command %q", name), cmd, cmd.SuggestionsFor(name))
}

// FlagError adds to the error of an unknown flag which flags may be meant.
func FlagError(cmd *cobra.Command, err error) error {
	wrong := (*pflag.NotExistError)(nil)
	if !errors.As(err, &wrong) || wrong.GetSpecifiedShortnames() != "" {
		return err
	}
	if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
		return unknownCommand(cmd, cmd.Flags().Arg(0)) // the flag is likely one of the command that was meant
	}
	meant := alike(wrong.GetSpecifiedName(), cmd.Flags())
	for i := range meant {
		meant[i] = "--" + meant[i]
	}
	return unknown(err.Error(), cmd, meant)
}

func alike(name string, flags *pflag.FlagSet) []string {
	names := &cobra.Command{SuggestionsMinimumDistance: distance(name)} // cobra compares the names of commands alone
	flags.VisitAll(func(f *pflag.Flag) {
		names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	return names.SuggestionsFor(name)
}
