package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrTooLong is the error about a file that has more bytes than are read.
var ErrTooLong = errors.New("too long")

// ReadFile reads a file of at most so many bytes, or stdin if name is "-".
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
		return nil, fmt.Errorf("%s is %w: more than %d bytes", name, ErrTooLong, most)
	}
	return text, err
}
