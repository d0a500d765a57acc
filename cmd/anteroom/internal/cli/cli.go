// Package cli prints and prompts for the commands. It defines their exit codes, and reads flags
// from the environment.
package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
		err := nameSource(cmd, args, work(cmd, args))
		failed, misused := Failure{}, usageError{}
		if err == nil || errors.As(err, &failed) || errors.As(err, &misused) {
			return err
		}
		return Failure{ExitFailure, err}
	}
}

// nameSource starts an error about a file or folder with the flag or argument that named it.
func nameSource(cmd *cobra.Command, args []string, err error) error {
	var failed *fs.PathError
	if !errors.As(err, &failed) {
		return err
	}
	source := ""
	wrong, _ := filepath.Abs(failed.Path)
	names := func(value, by string) {
		if given, _ := filepath.Abs(value); value != "" && given == wrong {
			source = by
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, is := f.Value.(pflag.SliceValue); is {
			values = list.GetSlice()
		}
		for _, value := range values {
			names(value, place(f))
		}
	})
	for i, kinds := 0, strings.Fields(cmd.Use)[1:]; i < len(args); i++ {
		names(args[i], strings.Trim(kinds[min(i, len(kinds)-1)], "[]."))
	}
	if source == "" || strings.Contains(err.Error(), source) {
		return err
	}
	if strings.HasSuffix(err.Error(), ")") {
		return fmt.Errorf("%s: %w", source, err)
	}
	return fmt.Errorf("%s: %w (name another)", source, err)
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
