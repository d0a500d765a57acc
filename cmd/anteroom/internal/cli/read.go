package cli

import (
	"fmt"
	"io"
	"os"

	"anteroom/edge/jsondoc"
	"anteroom/edge/native/disk"
)

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
		return nil, fmt.Errorf("%s is too long: more than %d bytes", name, most)
	}
	return text, err
}

// ReadText reads a text as ReadFile reads a file, and as disk.PlainText takes it.
func ReadText(stdin io.Reader, name string, most int) ([]byte, error) {
	text, err := ReadFile(stdin, name, most)
	if err != nil {
		return nil, err
	}
	if name == "-" {
		name = "standard input"
	}
	if text, err = disk.PlainText(text); err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return text, err
}

// ReadObject reads a JSON object as ReadText reads a text. hint says what to give instead of
// another text.
func ReadObject(stdin io.Reader, name string, most int, hint string) (*jsondoc.Value, error) {
	text, err := ReadText(stdin, name, most)
	if err != nil {
		return nil, err
	}
	value, err := jsondoc.Parse(text)
	if err == nil && value.Kind != jsondoc.Object {
		err = fmt.Errorf("it is %s", value.Kind)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w (%s)", name, err, hint)
	}
	return &value, nil
}
