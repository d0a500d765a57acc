// Package cli prints and prompts for the commands. It defines their exit codes, and reads flags
// from the environment.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2 // the command line is wrong, or there is nothing to check
)

// Failure is the error of a command that was called correctly. Any other error is about the command
// line.
type Failure struct {
	Code int // the exit code of the program
	Err  error
}

func (f Failure) Error() string { return f.Err.Error() }
func (f Failure) Unwrap() error { return f.Err }

// ErrSilent ends a command that has printed its own errors.
var ErrSilent = errors.New("")

type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// WithExitCode returns work as the RunE of a command. Its errors exit with ExitFailure, except
// usage errors and errors with another code.
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

// Unusable returns an error about unusable input: the program exits with ExitUsage.
func Unusable(format string, args ...any) error {
	return Failure{ExitUsage, fmt.Errorf(format, args...)}
}

func Usage(err error) error { return usageError{err} }

// ReadFile reads a file of at most that many bytes, or stdin if name is "-".
func ReadFile(stdin io.Reader, name string, most int) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		stdin = f
	}
	text, err := io.ReadAll(io.LimitReader(stdin, int64(most)+1))
	if len(text) > most {
		return nil, fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return text, err
}
