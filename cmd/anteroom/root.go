package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2 // the command line is wrong, or receipt verify has no receipt or key to judge with
)

// run is the whole program and returns its exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	t := newTerminal(stdin, stdout, stderr)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once

	root := rootCommand(t)
	root.SetArgs(args)
	root.SetIn(t.in)
	root.SetOut(t.out)
	root.SetErr(t.err)
	called, err := root.ExecuteContextC(ctx)
	if flushed := t.out.Flush(); err == nil && flushed != nil {
		err = failure{exitFailure, fmt.Errorf("write to standard output: %w", flushed)}
	}
	if err == nil {
		return exitOK
	}
	if f := (failure{}); errors.As(err, &f) {
		t.fail(err)
		return f.code
	}
	t.fail(fmt.Errorf("%w (%s --help says how)", err, called.CommandPath()))
	return exitUsage
}

// failure is the error of a command that was called rightly and did not succeed. Any other error is
// about the command line.
type failure struct {
	code int
	error
}

func (f failure) Unwrap() error { return f.error }

// errSilent ends a command that has printed everything already.
var errSilent = errors.New("")

// usageError is an error of the command line that only the command itself can find.
type usageError struct{ error }

// withExitCode makes work the RunE of a command. Its errors end the program with exitFailure,
// unless they are usage errors or bring another code.
func withExitCode(work func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := work(cmd, args)
		failed, misused := failure{}, usageError{}
		if err == nil || errors.As(err, &failed) || errors.As(err, &misused) {
			return err
		}
		return failure{exitFailure, err}
	}
}

func rootCommand(t *terminal) *cobra.Command {
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

Flags can be given by the environment instead: ANTEROOM_ and the name in upper case with "_" for "-", as in
ANTEROOM_KEY_FILE. A flag wins over the environment. What one run is about, and a confirmation, come from
the command line alone: %s.

Exit codes: 0 done, 1 failed, 2 called wrongly.`,
		Args:               cobra.NoArgs,
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true,
		CompletionOptions:  cobra.CompletionOptions{HiddenDefaultCmd: true},
		PersistentPreRunE:  func(cmd *cobra.Command, _ []string) error { return fromEnvironment(cmd.Flags()) },
		RunE:               func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(
		initCommand(t), generateCommand(t), serveCommand(t), buildCommand(t), keyCommand(t),
		receiptCommand(t), recordsCommand(t), verifyCommand(t), backupCommand(t), restoreCommand(t), versionCommand(t),
	)
	root.Long = fmt.Sprintf(root.Long, strings.Join(commandLineFlags(root), " "))
	return root
}
