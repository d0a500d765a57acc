// Package keys reads, makes, lists and checks the secret keys of an operator: the one that signs
// receipts, and the one that signs the public log.
package keys

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/receiptkey"
	"anteroom/generator/site"

	"github.com/spf13/pflag"
)

// Receipt is where a command reads the secret receipt key.
type Receipt struct{ File string }

// AddFlag adds --key-file to a command.
func (s *Receipt) AddFlag(flags *pflag.FlagSet) {
	flags.StringVar(&s.File, "key-file", "", "the `file` of the secret key, - for standard input; the key itself can be given in ANTEROOM_KEY")
}

// ErrTwo is the error about a receipt key that is given twice.
var ErrTwo = errors.New("--key-file and ANTEROOM_KEY exclude each other")

const hintReceipt = "anteroom key new makes a key"

// Read reads the key. It is nil if none is named.
func (s *Receipt) Read(t *cli.Terminal) (ed25519.PrivateKey, error) {
	text, file := os.Getenv("ANTEROOM_KEY"), s.File
	switch {
	case text != "" && file != "":
		return nil, cli.Usage(ErrTwo)
	case text != "":
		return ParseReceipt(text)
	case file == "-":
		key, err := receiptkey.Read(t.In)
		if err != nil {
			return nil, fmt.Errorf("read receipt key from standard input: %w (%s)", err, hintReceipt)
		}
		return key, nil
	case file != "":
		return LoadReceipt(t, file)
	}
	return nil, nil
}

// MustRead reads the key of a command that needs one.
func (s *Receipt) MustRead(t *cli.Terminal) (ed25519.PrivateKey, error) {
	key, err := s.Read(t)
	if key == nil && err == nil {
		err = cli.Usage(errors.New("there is no key: name its file with --key-file, or give it in ANTEROOM_KEY"))
	}
	return key, err
}

// ParseReceipt reads the key that is the value of ANTEROOM_KEY.
func ParseReceipt(text string) (ed25519.PrivateKey, error) {
	key, err := receiptkey.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read ANTEROOM_KEY: %w (%s)", err, hintReceipt)
	}
	return key, nil
}

// LoadReceipt reads a key from a file.
func LoadReceipt(t *cli.Terminal, file string) (ed25519.PrivateKey, error) {
	key, err := receiptkey.Load(file, t.Warnf)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w (give this user access to it)", err)
	case err != nil:
		return nil, fmt.Errorf("%w (%s)", err, hintReceipt)
	}
	return key, nil
}

// CheckReceipt says how the content lists a key: as "current", "retired" or "none". The error says
// what to do about a key that is not the current one. file is the name of service.yaml.
func CheckReceipt(key ed25519.PrivateKey, service *site.Service, file string) (as string, err error) {
	if err := RefusePublished(key, service, file); err != nil {
		return "", err
	}
	public, published := receiptkey.Public(key), &service.ReceiptKeys
	if public == published.Current {
		return "current", nil
	}
	for _, retired := range published.Retired {
		if retired.PublicKey == public {
			return "retired", fmt.Errorf("%s retired this receipt key on %s (sign with the secret of receipt_keys.current)", file, retired.RetiredOn)
		}
	}
	if published.Current == "" {
		return "none", fmt.Errorf("%s publishes no receipt key (write this one into it as receipt_keys.current, and generate)", file)
	}
	return "none", fmt.Errorf("%s publishes another receipt key (sign with its secret, or make and publish a new one with anteroom key rotate)", file)
}

// RefusePublished refuses content that publishes the seed of a key as a public half. The error does
// not repeat the seed.
func RefusePublished(key ed25519.PrivateKey, service *site.Service, file string) error {
	for i, published := range service.Keys() {
		if receiptkey.IsSecret(key, published) {
			at := "receipt_keys.current"
			if i > 0 {
				at = fmt.Sprintf("receipt_keys.retired[%d].public_key", i-1)
			}
			return fmt.Errorf("the secret receipt key is the value of %s in %s: one of the two is the wrong half "+
				"(if the secret was published, make a new one with anteroom key new and list neither half; "+
				"else give the file that anteroom key made, and not the public half)", at, file)
		}
	}
	return nil
}

// RotateReceipt makes a new key in the file named out, and lists it in service.yaml, the file, as
// the current one from a date on. If that fails, neither has changed.
func RotateReceipt(file, out, date string) (public string, err error) {
	return rotate(file, out, receiptkey.Generate, func(text []byte, public string) ([]byte, error) {
		return site.RotateKey(text, public, date)
	})
}

// rotate makes a new key in the file named out, and writes its public half into service.yaml, the
// file. If that fails, neither has changed.
func rotate(file, out string, generate func(out string) (public string, err error), write func(text []byte, public string) ([]byte, error)) (public string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("rotate key: %w", err)
	}
	if public, err = generate(out); err != nil {
		return "", err
	}
	if text, err = write(text, public); err == nil {
		err = disk.Replace(file, text)
	}
	if err != nil {
		if now, _ := os.ReadFile(file); !bytes.Contains(now, []byte(public)) {
			os.Remove(out) // nothing names it
		}
		return "", fmt.Errorf("rotate key: %w", err)
	}
	return public, nil
}
