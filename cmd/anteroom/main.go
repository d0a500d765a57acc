// Anteroom renders a content folder into the documents of a pre-launch network for agents, and
// serves them together with the endpoints that write.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runAt(time.Now, args, stdin, stdout, stderr)
}

func runAt(now func() time.Time, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	t := cli.New(stdin, stdout, stderr)
	t.Now = now
	ctx, stop := t.Context()
	defer stop(nil)
	root := rootCommand(t)
	root.SetArgs(args)
	called, err := root.ExecuteContextC(ctx)
	code := cli.ExitUsage
	if f := (cli.Failure{}); errors.As(err, &f) {
		code = f.Code
	} else if err != nil && !strings.HasSuffix(err.Error(), ")") { // which ends with a hint
		err = fmt.Errorf("%w (%s --help)", err, called.CommandPath())
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

func wantsJSON(called *cobra.Command, args []string) bool {
	cli.Bind(called) // a call that failed early has not done so
	if f := called.Flags().Lookup("json"); f != nil && f.Changed {
		return f.Value.String() == "true"
	}
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

const otherCommands = "Other:"

const (
	helpWidth       = 80 // characters of a line
	longestOverhang = 5  // by which pflag may pass the width that it is given
)

func rootCommand(t *cli.Terminal) *cobra.Command {
	root := &cobra.Command{
		Use:               "anteroom",
		Version:           thisProgram().String(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return cli.Bind(cmd) },
	}
	root.SetIn(t.In)
	root.SetOut(t.Out)
	root.SetErr(t.Err)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(usage)
	root.SetFlagErrorFunc(cli.FlagError)
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Start a service:", []*cobra.Command{
			initCommand(t), parent("key", keyRotateCommand(t)),
		}},
		{"Publish and serve:", []*cobra.Command{
			generateCommand(t), previewCommand(t), serveCommand(t), publishCommand(t),
		}},
		{"Deploy, and look after the live service:", []*cobra.Command{
			deployCommand(t), statusCommand(t), doctorCommand(t), buildCommand(t),
		}},
		{"Look after the records:", []*cobra.Command{
			inboxCommand(t), recordsCommand(t), parent("log", logCheckCommand(t)),
			backupCommand(t), restoreCommand(t),
		}},
		{otherCommands, []*cobra.Command{versionCommand(t)}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	addTexts(root)
	root.SetHelpCommandGroupID(otherCommands)
	root.CompletionOptions.HiddenDefaultCmd = true // for packages
	cli.AddHelp(root)
	for _, cmd := range cli.Commands(root) {
		if cmd.HasSubCommands() {
			cmd.Args = cli.KnownCommand
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
		if cmd.Args == nil {
			cmd.Args = argumentsOf(cmd)
		}
		if cmd.RunE != nil {
			cmd.RunE = cli.WithExitCode(cmd.RunE)
		}
		cmd.InitDefaultHelpFlag()
		cmd.Flags().Lookup("help").Usage = "print this help"
	}
	root.InitDefaultVersionFlag()
	root.Flags().Lookup("version").Usage = "print the version"
	return root
}

func parent(use string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use}
	cmd.AddCommand(below...)
	return cmd
}
