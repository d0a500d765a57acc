package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
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
	"addresses", "check", "dry-run", "follow", "template", "undo", // what one run shows, or does not do
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

// SettingsFile holds settings of a service, in its folder.
const SettingsFile = "anteroom.toml"

// without is what, given by a flag or a variable, leaves a setting of the file out, as the two
// exclude each other.
var without = map[string][]string{
	"data": {"remote"}, "remote": {"data"}, "key-file": {"key", "unsigned"}, "log-key-file": {"log-key"},
	"smtp": {"smtp-file"}, "smtp-file": {"smtp"},
}

// Bind sets the flags of a command that were not given: from their environment variables, or else
// from the settings file of the working folder. The root command calls it for every command.
// Calling it again changes nothing.
func Bind(cmd *cobra.Command) (err error) {
	settings, err := settings(cmd.Root())
	flags := cmd.Flags()
	given := func(name string) bool {
		return flags.Changed(name) && Chosen(flags, name) || os.Getenv("ANTEROOM_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))) != ""
	}
	flags.VisitAll(func(f *pflag.Flag) {
		name := Variable(f)
		if name == "" || f.Changed {
			return
		}
		value := os.Getenv(name)
		if value == "" && !slices.ContainsFunc(without[f.Name], given) {
			name, value = SettingsFile+": "+f.Name, settings[f.Name]
		}
		if value != "" {
			if wrong := flags.Set(f.Name, value); wrong != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", name, wrong))
			}
			flags.SetAnnotation(f.Name, fromElsewhere, []string{name})
		}
	})
	return err
}

// settings reads the settings file. Each key is the name of a flag of some command.
func settings(root *cobra.Command) (map[string]string, error) {
	var table map[string]any
	if _, err := toml.DecodeFile(SettingsFile, &table); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read %s: %w", SettingsFile, err)
	}
	names := pflag.NewFlagSet("", 0)
	for _, cmd := range Commands(root) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if Variable(f) != "" && names.Lookup(f.Name) == nil {
				names.AddFlag(f)
			}
		})
	}
	values := map[string]string{}
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(table)) {
		value, isList := table[key].([]any)
		if !isList {
			value = []any{table[key]}
		}
		var words []string
		for _, one := range value {
			switch one.(type) {
			case string, bool, int64:
				words = append(words, fmt.Sprint(one))
			default:
				faults = append(faults, fmt.Errorf("%s: %s is neither a text, a number, true, false nor a list of these", SettingsFile, key))
			}
		}
		if names.Lookup(key) == nil {
			meant := "its keys are the names of flags that have a variable"
			if like := alike(key, names); len(like) > 0 {
				meant = "did you mean " + strings.Join(like, ", ") + "?"
			}
			faults = append(faults, fmt.Errorf("%s: unknown setting %s (%s)", SettingsFile, key, meant))
		}
		values[key] = strings.Join(words, ",")
	}
	return values, errors.Join(faults...)
}

// fromElsewhere marks a flag that was not given on the command line: by a variable or the settings.
const fromElsewhere = "anteroom_from_elsewhere"

// OnCommandLine reports whether a flag was given on the command line, where others can see it.
func OnCommandLine(flags *pflag.FlagSet, name string) bool {
	f := flags.Lookup(name)
	return f.Changed && f.Annotations[fromElsewhere] == nil
}

// Chosen reports whether a flag was given for this call, and is not a setting of the service.
func Chosen(flags *pflag.FlagSet, name string) bool {
	from := flags.Lookup(name).Annotations[fromElsewhere]
	return flags.Changed(name) && (from == nil || !strings.HasPrefix(from[0], SettingsFile))
}

// Commands are a command and all below it.
func Commands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, below := range cmd.Commands() {
		all = append(all, Commands(below)...)
	}
	return all
}
