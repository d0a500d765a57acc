package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"anteroom/cmd/anteroom/internal/cli"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// run is the whole program and returns its exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	t := cli.New(stdin, stdout, stderr)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once

	root := rootCommand(t)
	root.SetArgs(args)
	called, err := root.ExecuteContextC(ctx)
	code := cli.ExitUsage
	if f := (cli.Failure{}); errors.As(err, &f) {
		code = f.Code
	} else if h := (hinted{}); err != nil && !errors.As(err, &h) {
		err = fmt.Errorf("%w (%s --help says how)", err, called.CommandPath())
	}
	if err != nil && wantsJSON(called, args) {
		t.FailJSON(err, code)
	}
	if flushed := t.Out.Flush(); err == nil && flushed != nil {
		err, code = fmt.Errorf("write to standard output: %w", flushed), cli.ExitFailure
	}
	if err == nil {
		return cli.ExitOK
	}
	t.Fail(err)
	return code
}

// wantsJSON reports whether a call asked for JSON, also where its flags could not be read.
func wantsJSON(called *cobra.Command, args []string) bool {
	cli.FromEnvironment(called.Flags()) // a call that failed early has not done so; what is wrong here, it says
	if f := called.Flags().Lookup("json"); f != nil && f.Changed {
		return f.Value.String() == "true"
	}
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// hinted is an error of the command line that says already what to do next.
type hinted struct{ error }

// unknown is the error of a name that cmd does not have, and of which the names meant may be meant.
func unknown(what string, cmd *cobra.Command, meant []string) error {
	question := ""
	if len(meant) > 0 {
		question = "did you mean " + strings.Join(meant, ", ") + "? "
	}
	return hinted{fmt.Errorf("%s (%s%s --help says how)", what, question, cmd.CommandPath())}
}

// The groups of commands in the help, in its order. A command is of the group that its GroupID
// names.
const (
	groupBegin   = "begin"
	groupPublish = "publish"
	groupDeploy  = "deploy"
	groupRecords = "records"
	groupOther   = "other"
)

// helpWidth is how many characters a line of a help text has at most.
const helpWidth = 110

func rootCommand(t *cli.Terminal) *cobra.Command {
	root := &cobra.Command{
		Use:   "anteroom",
		Short: "Publish and serve a pre-launch network for agents",
		Long: `Anteroom turns a content folder into static documents and serves them together with
the endpoints that register, charter, sign and relay.

A first run:

  anteroom init tern
  cd tern
  anteroom generate
  anteroom serve

Flags can be given by the environment instead: ANTEROOM_ and the name in upper case with "_" for "-", as
in ANTEROOM_KEY_FILE. A flag wins over the environment. What one run is about, and a confirmation, come
from the command line alone:
%s,
%s.

With --json a command that fails prints {"error": {…}} to standard output, unless it has answered there
already.

Exit codes: 0 done, 1 failed, 2 called wrongly.`,
		Version:           thisProgram().String(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return cli.FromEnvironment(cmd.Flags()) },
	}
	root.SetIn(t.In)
	root.SetOut(t.Out)
	root.SetErr(t.Err)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", helpWidth)))
	root.SetFlagErrorFunc(flagError)
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{groupBegin, "Begin a service:", []*cobra.Command{initCommand(t), keyCommand(t)}},
		{groupPublish, "Publish and serve:", []*cobra.Command{verifyCommand(t), generateCommand(t), previewCommand(t), serveCommand(t)}},
		{groupDeploy, "Deploy, and look after what is live:", []*cobra.Command{
			deployCommand(t), statusCommand(t), rollbackCommand(t), doctorCommand(t), buildCommand(t),
		}},
		{groupRecords, "Look after what was recorded:", []*cobra.Command{recordsCommand(t), receiptCommand(t), logCommand(t), backupCommand(t), restoreCommand(t)}},
		{groupOther, "Other:", []*cobra.Command{manCommand(t), versionCommand(t)}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	addHelpCommand(root)
	addCompletion(root)
	for cmd := range cli.Commands(root) {
		if cmd.HasSubCommands() {
			cmd.Args = knownCommand
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
		cmd.InitDefaultHelpFlag()
		cmd.Flags().Lookup("help").Usage = "print this help"
	}
	root.InitDefaultVersionFlag()
	root.Flags().Lookup("version").Usage = "print the version"
	alone := cli.CommandLineFlags(root)
	half := len(alone) / 2
	root.Long = fmt.Sprintf(root.Long, strings.Join(alone[:half], ", "), strings.Join(alone[half:], ", "))
	return root
}

// addHelpCommand makes help of an unknown command an error, as the call of one is.
func addHelpCommand(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Use, help.Short, help.Long = "help [COMMAND]", "Print the help of a command", "Help prints what --help of a command prints."
	help.RunE = func(_ *cobra.Command, args []string) error {
		asked, rest, err := root.Find(args)
		if err == nil && len(rest) > 0 {
			err = unknownCommand(asked, rest[0])
		}
		if err != nil {
			return err
		}
		asked.InitDefaultHelpFlag()
		asked.InitDefaultVersionFlag()
		return asked.Help()
	}
}

// knownCommand refuses the arguments of a command that has others below it.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(cmd, args[0])
}

// distance is how many letters a mistyped name differs in, at most. A short name with as many other
// letters is another name.
func distance(name string) int { return min(2, len(name)/2) }

// unknownCommand is the error of a name that no command below cmd has. If none there is like it, a
// command of that name elsewhere is likely meant.
func unknownCommand(cmd *cobra.Command, name string) error {
	cmd.SuggestionsMinimumDistance = distance(name)
	meant := cmd.SuggestionsFor(name)
	if len(meant) == 0 {
		for other := range cli.Commands(cmd.Root()) {
			if other.Name() == name && other.IsAvailableCommand() {
				meant = append(meant, other.CommandPath())
			}
		}
	}
	return unknown(fmt.Sprintf("unknown command %q", name), cmd, meant)
}

// flagError adds to the error of an unknown flag which flags may be meant.
func flagError(cmd *cobra.Command, err error) error {
	wrong := (*pflag.NotExistError)(nil)
	if !errors.As(err, &wrong) || wrong.GetSpecifiedShortnames() != "" {
		return err
	}
	if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
		return unknownCommand(cmd, cmd.Flags().Arg(0)) // the flag is likely one of the command that was meant
	}
	names := &cobra.Command{SuggestionsMinimumDistance: distance(wrong.GetSpecifiedName())} // cobra compares the names of commands alone
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	meant := names.SuggestionsFor(wrong.GetSpecifiedName())
	for i := range meant {
		meant[i] = "--" + meant[i]
	}
	return unknown(err.Error(), cmd, meant)
}
