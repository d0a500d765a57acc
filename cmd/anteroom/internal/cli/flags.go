package cli

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"anteroom/edge/assets"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// onlyByCommandLine lists the flags without an environment variable: a variable that stays set
// would decide the next run too, or mean different things to different commands.
var onlyByCommandLine = []string{
	"help", "version",
	"allow", "answers", "email", "reason", "yes", // decisions about one run
	"new-store", "take-over", // which store belongs to this service from now on
	"addresses", "check", "correct", "dry-run", "template", "undo", "update", // the mode of one run
	"since", "through", // the records of one run
	"out", // a folder of documents, a bundle, a new key, an export
	"log", // which key a command is about
}

// OnlyHere marks a flag without an environment variable, as other commands use its name
// differently.
const OnlyHere = "anteroom_only_by_command_line"

// Variable returns the environment variable that sets a flag, or "".
func Variable(f *pflag.Flag) string {
	if slices.Contains(onlyByCommandLine, f.Name) || f.Annotations[OnlyHere] != nil {
		return ""
	}
	return variable(f.Name)
}

func variable(name string) string {
	return "ANTEROOM_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func Listen(flag, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		err = fmt.Errorf("--%s: %w (if another program listens there, stop it, or take another HOST:PORT, such as "+
			"%s=127.0.0.1:8081)", flag, err, variable(flag))
	}
	return listener, err
}

// SettingsFile is the file with the settings of a service, in its folder.
const SettingsFile = "anteroom.toml"

// without lists, for a setting in the file, the flags and variables that exclude and override it.
var without = map[string][]string{
	"data": {"remote"}, "remote": {"data"}, "key-file": {"key", "unsigned"}, "log-key-file": {"log-key"},
}

func found(name string, settings map[string]string, given func(name string) bool) (place, value string) {
	place, value = variable(name), os.Getenv(variable(name))
	if value == "" && !slices.ContainsFunc(without[name], given) {
		place, value = SettingsFile+": "+name, settings[name]
	}
	return place, value
}

// Bind sets the missing flags of a command from their environment variables, or from the settings
// file of the working folder. Calling it again has no effect.
func Bind(cmd *cobra.Command) error {
	settings, err := settings(cmd.Root())
	flags := cmd.Flags()
	given := func(name string) bool {
		return flags.Changed(name) && Chosen(flags, name) || os.Getenv(variable(name)) != ""
	}
	flags.VisitAll(func(f *pflag.Flag) {
		defer func() { err = errors.Join(err, unexpanded(f)) }()
		if Variable(f) == "" || f.Changed {
			return
		}
		if place, value := found(f.Name, settings, given); value != "" {
			if wrong := flags.Set(f.Name, value); wrong != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", place, wrong))
			}
			flags.SetAnnotation(f.Name, fromElsewhere, []string{place})
		}
	})
	return err
}

func unexpanded(f *pflag.Flag) error {
	path := f.Value.String()
	kind, _ := pflag.UnquoteUsage(f)
	if kind != "file" && kind != "folder" || !strings.HasPrefix(path, "~") && !strings.Contains(path, "$") {
		return nil
	}
	return fmt.Errorf("--%s: no shell has replaced ~ or $ in %q (write the whole path)", f.Name, path)
}

// Setting returns the value of another command's flag, from its variable or from the settings file
// that Bind has read.
func Setting(cmd *cobra.Command, name string) string {
	settings, _ := settings(cmd.Root())
	_, value := found(name, settings, func(other string) bool { return os.Getenv(variable(other)) != "" })
	return value
}

func settings(root *cobra.Command) (map[string]string, error) {
	var table map[string]any
	text, err := assets.ReadFile(SettingsFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err == nil {
		err = toml.Unmarshal(text, &table)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", SettingsFile, err)
	}
	known := map[string]bool{}
	for _, cmd := range Commands(root) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			known[f.Name] = known[f.Name] || Variable(f) != ""
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
				faults = append(faults, fmt.Errorf("%s: %s must be a string, a number, true, false or a list of these",
					SettingsFile, key))
			}
		}
		if !known[key] {
			faults = append(faults, fmt.Errorf("%s: unknown setting %s (the keys are the names of flags with a variable)",
				SettingsFile, key))
		}
		values[key] = strings.Join(words, ",")
	}
	return values, errors.Join(faults...)
}

// fromElsewhere marks a flag that a variable or the settings file has set.
const fromElsewhere = "anteroom_from_elsewhere"

func place(f *pflag.Flag) string {
	if from := f.Annotations[fromElsewhere]; from != nil {
		return from[0]
	}
	return "--" + f.Name
}

// Chosen reports whether a flag or a variable, not the settings file, has set a flag.
func Chosen(flags *pflag.FlagSet, name string) bool {
	from := flags.Lookup(name).Annotations[fromElsewhere]
	return flags.Changed(name) && (from == nil || !strings.HasPrefix(from[0], SettingsFile))
}

func Commands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, below := range cmd.Commands() {
		all = append(all, Commands(below)...)
	}
	return all
}

// AddHelp adds the command help, which refuses an unknown command.
func AddHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Use, help.Short = "help [COMMAND]", "Print the help of a command"
	help.Long = "Help prints the --help of a command."
	help.Args = func(_ *cobra.Command, args []string) error {
		asked, rest, err := root.Find(args)
		if err == nil {
			err = KnownCommand(asked, rest)
		}
		return err
	}
}

func KnownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = min(2, len(args[0])/2)
	question := ""
	if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 {
		question = "did you mean " + strings.Join(meant, ", ") + "? "
	}
	return Unusable("unknown command %q (%s%s --help)", args[0], question, cmd.CommandPath())
}

func FlagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
		return KnownCommand(cmd, cmd.Flags().Args()) // the flag likely belongs to the intended command
	}
	return err
}
