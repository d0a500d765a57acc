package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// onlyByCommandLine are the flags that no environment variable sets. A variable that is left set
// would decide or confirm the next run too, or would mean one thing to one command and another to
// the next.
var onlyByCommandLine = []string{
	"help", "version",
	"allow", "answers", "email", "reason", "yes", // what is decided or confirmed about one run
	"new-store", "take-over", // which store is of this service from now on
	"addresses", "check", "dry-run", "template", // what one run shows, or does not do
	"since", "through", // the records of one run
	"out",   // a folder of documents, a bundle, a new key, an export
	"log",   // which key a command is about
	"proof", // what is checked, by one run
	"key",   // a public key, where ANTEROOM_KEY is the secret one
}

// OnlyHere marks a flag of one command that no environment variable sets, as its name means another
// thing to other commands.
const OnlyHere = "anteroom_only_by_command_line"

// Variable is the environment variable that sets a flag, and "" if none does.
func Variable(f *pflag.Flag) string {
	if slices.Contains(onlyByCommandLine, f.Name) || f.Annotations[OnlyHere] != nil {
		return ""
	}
	return "ANTEROOM_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// FromEnvironment sets the flags that were not given from their environment variables. The root
// command calls it for every command. Calling it again changes nothing.
func FromEnvironment(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := Variable(f)
		if name == "" || f.Changed {
			return
		}
		if value := os.Getenv(name); value != "" {
			if wrong := flags.Set(f.Name, value); wrong != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", name, wrong))
			}
			flags.SetAnnotation(f.Name, fromVariable, []string{name})
		}
	})
	return err
}

// fromVariable marks a flag whose value is that of an environment variable.
const fromVariable = "anteroom_from_variable"

// OnCommandLine reports whether a flag was given on the command line, where others can see it.
func OnCommandLine(flags *pflag.FlagSet, name string) bool {
	f := flags.Lookup(name)
	return f.Changed && f.Annotations[fromVariable] == nil
}

// Commands are a command and all below it.
func Commands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, below := range cmd.Commands() {
		all = append(all, Commands(below)...)
	}
	return all
}
