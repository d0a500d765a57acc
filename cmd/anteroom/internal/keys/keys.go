// Package keys reads, makes, lists and checks the secret keys of an operator: the one that signs
// receipts, and the one that signs the public log. It also reads the URL of a webhook.
package keys

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native/disk"

	"github.com/spf13/pflag"
)

// kind is a kind of secret key.
type kind[K any] struct {
	name           string
	what           string // that the flag names the file of
	flag, variable string // that give it to a command
	parse          func(text string) (K, error)
	hint           string // what to do about a text that is not such a key
}

// Secret is where a command reads a secret key: in a file, at standard input if that is "-", or in
// a variable.
type Secret[K any] struct{ File string }

func (Secret[K]) kind() *kind[K] {
	for _, known := range []any{&receipts, &logs, &webhooks} {
		if k, is := known.(*kind[K]); is {
			return k
		}
	}
	panic("no such kind of secret")
}

// AddFlag adds the flag that names the file to a command.
func (s *Secret[K]) AddFlag(flags *pflag.FlagSet) {
	k := s.kind()
	flags.StringVar(&s.File, k.flag, "", "the `file` of "+k.what+", - for standard input; the key itself can be given in "+k.variable)
}

// Given reports whether a key is named.
func (s *Secret[K]) Given() bool { return s.File != "" || os.Getenv(s.kind().variable) != "" }

// Read reads the key. It is nil if none is named.
func (s *Secret[K]) Read(t *cli.Terminal) (key K, err error) {
	k := s.kind()
	text := os.Getenv(k.variable)
	switch {
	case text != "" && s.File != "":
		err = cli.Usage(fmt.Errorf("--%s and %s exclude each other", k.flag, k.variable))
	case s.File != "":
		key, err = k.load(t, s.File)
	case text != "":
		key, err = k.from(k.variable, text)
	}
	return key, err
}

// MustRead reads the key of a command that needs one.
func (s *Secret[K]) MustRead(t *cli.Terminal) (key K, err error) {
	if k := s.kind(); !s.Given() {
		return key, cli.Usage(fmt.Errorf("a key is missing (name its file with --%s, or give it in %s)", k.flag, k.variable))
	}
	return s.Read(t)
}

// load reads a key from a file, or from standard input if that is "-".
func (k *kind[K]) load(t *cli.Terminal, file string) (key K, err error) {
	place, text, isOpen := file, "", false // to others
	if file == "-" {
		place = "standard input"
		text, err = disk.ReadKey(t.In)
	} else {
		text, err = disk.LoadKey(file, func() { isOpen = true })
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return key, fmt.Errorf("read %s: %w (give this user access to it)", k.name, err)
	case err != nil:
		return key, fmt.Errorf("read %s: %w (%s)", k.name, err, k.hint)
	}
	if key, err = k.from(place, text); err == nil && isOpen { // a file without a key may be
		t.Warnf("%s %s can be read by others (run chmod 600 on it)", k.name, file)
	}
	return key, err
}

func (k *kind[K]) from(place, text string) (key K, err error) {
	if key, err = k.parse(text); err != nil {
		err = fmt.Errorf("read %s from %s: %w (%s)", k.name, place, err, k.hint)
	}
	return key, err
}

// rotate makes a new key in the file named out, and writes its public half into service.yaml, the
// file. If that fails, neither has changed.
func rotate(
	file, out string, generate func() (string, error), write func(service []byte, public string) ([]byte, error),
) (public string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("rotate key: %w", err)
	}
	_, missing := os.Stat(out)
	if public, err = generate(); err != nil {
		return "", err
	}
	if text, err = write(text, public); err == nil {
		err = disk.Replace(file, text)
	}
	if err != nil {
		if now, _ := os.ReadFile(file); missing != nil && !bytes.Contains(now, []byte(public)) {
			os.Remove(out) // no file lists it
		}
		return "", fmt.Errorf("rotate key: %w", err)
	}
	return public, nil
}
