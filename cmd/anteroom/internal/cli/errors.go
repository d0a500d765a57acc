// Package cli is what the commands share: printing, prompts, exit codes, and flags from the
// environment. Nothing else prints.
package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2 // the command line is wrong, or receipt verify has no receipt or key to judge with
)

// Failure is the error of a command that was called correctly and failed. Any other error is about
// the command line.
type Failure struct {
	Code int // the exit code of the program
	Err  error
}

func (f Failure) Error() string { return f.Err.Error() }
func (f Failure) Unwrap() error { return f.Err }

// ErrSilent ends a command that has printed everything already.
var ErrSilent = errors.New("")

// usageError is an error of the command line that only the command itself can find.
type usageError struct{ Err error }

func (e usageError) Error() string { return e.Err.Error() }
func (e usageError) Unwrap() error { return e.Err }

// WithExitCode makes work the RunE of a command. Its errors end the program with ExitFailure,
// unless they are usage errors or bring another code.
func WithExitCode(work func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := work(cmd, args)
		failed, misused := Failure{}, usageError{}
		if err == nil || errors.As(err, &failed) || errors.As(err, &misused) {
			return err
		}
		return Failure{ExitFailure, err}
	}
}

// Unusable makes the error of a command that cannot begin with what it was given. It ends the
// program with ExitUsage.
func Unusable(format string, args ...any) error {
	return Failure{ExitUsage, fmt.Errorf(format, args...)}
}

// Usage makes an error of the command line.
func Usage(err error) error { return usageError{err} }
