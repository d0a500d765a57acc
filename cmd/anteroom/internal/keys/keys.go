// Package keys reads, makes, lists and checks the secrets of an operator: the receipt key, the log
// key, and the URL of a webhook.
package keys

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/assets"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/receiptkey"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"github.com/spf13/pflag"
)

type kind[K any] struct {
	name, what     string // in errors, and in the help of the flag
	flag, variable string // that name it for a command
	parse          func(text string) (K, error)
	hint           string // about input that is not such a key
}

// Secret is a secret in a file, at standard input if that is "-", or in a variable.
type Secret[K any] struct{ File string }

func (Secret[K]) kind() *kind[K] {
	for _, known := range []any{&receipts, &logs, &webhooks} {
		if k, is := known.(*kind[K]); is {
			return k
		}
	}
	panic("no such kind of secret")
}

func (s *Secret[K]) AddFlag(flags *pflag.FlagSet) {
	k := s.kind()
	flags.StringVar(&s.File, k.flag, "", "the `file` of "+k.what+", - for standard input, or in "+k.variable)
}

func (s *Secret[K]) Given() bool { return s.File != "" || os.Getenv(s.kind().variable) != "" }

// Read returns the key, or nil if none is named.
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

func (k *kind[K]) load(t *cli.Terminal, file string) (key K, err error) {
	if err := disk.Private(file); err != nil {
		return key, fmt.Errorf("read %s: %w", k.name, err)
	}
	place, text := file, ""
	if file == "-" {
		place = "standard input"
		text, err = disk.ReadKey(t.In)
	} else {
		text, err = disk.LoadKey(file)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return key, fmt.Errorf("read %s: %w (give this user access to it)", k.name, err)
	case err != nil:
		return key, fmt.Errorf("read %s: %w (%s)", k.name, err, k.hint)
	}
	return k.from(place, text)
}

func (k *kind[K]) from(place, text string) (key K, err error) {
	if key, err = k.parse(text); err != nil {
		err = fmt.Errorf("read %s from %s: %w (%s)", k.name, place, err, k.hint)
	}
	return key, err
}

// rotate writes a new key to out, and its public half into the service.yaml at file. If it fails,
// both are unchanged.
func rotate(
	file, out string, generate func() (string, error), write func(service []byte, public string) ([]byte, error),
) (public string, err error) {
	text, err := assets.ReadFile(file)
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
		if now, _ := assets.ReadFile(file); missing != nil && !bytes.Contains(now, []byte(public)) {
			os.Remove(out)
		}
		return "", fmt.Errorf("rotate key: %w", err)
	}
	return public, nil
}

type Receipt = Secret[ed25519.PrivateKey]

var receipts = kind[ed25519.PrivateKey]{
	"receipt key", "the secret key", "key-file", "ANTEROOM_KEY", receiptkey.Parse,
	"name the right file, or bring back your copy; if it is lost, anteroom key rotate --out makes another",
}

func LoadReceipt(t *cli.Terminal, file string) (ed25519.PrivateKey, error) {
	return receipts.load(t, file)
}

// CheckReceipt refuses a key that is not the current one in the service.yaml at file.
func CheckReceipt(key ed25519.PrivateKey, service *site.Service, file string) error {
	if receiptkey.Public(key) == service.ReceiptKeys.Current {
		return nil
	}
	return fmt.Errorf("%s does not publish this receipt key as receipt_keys.current (sign with the secret of that one; "+
		"anteroom key rotate publishes a new one, or this one if it is in no list)", file)
}

// RotateReceipt writes a new key to out, and lists it in the service.yaml at file as the current
// one from a date on. If out has a key that the content does not list, it uses that key. If it
// fails, both are unchanged.
func RotateReceipt(t *cli.Terminal, s *site.Site, file, out, date string) (public string, err error) {
	return rotate(file, out, func() (string, error) {
		if _, err := os.Stat(out); err == nil {
			if key, err := LoadReceipt(t, out); err != nil {
				return "", err
			} else if public := receiptkey.Public(key); !slices.Contains(s.Service.Keys(), public) {
				return public, nil
			}
		}
		return receiptkey.Generate(out)
	}, func(text []byte, public string) ([]byte, error) { return site.RotateKey(text, public, date) })
}

type Log = Secret[*tlog.Key]

var logs = kind[*tlog.Key]{
	"log key", "the key that signs the log", "log-key-file", "ANTEROOM_LOG_KEY", tlog.ParseKey,
	"name the file that anteroom key rotate --log has made; without a file, it makes a key and lists it",
}

// Signer reads the key that signs the log. The service.yaml at file must list it. Without a log
// Signer returns nil.
func Signer(t *cli.Terminal, secret *Log, listed, file string) (*tlog.Key, error) {
	key, err := secret.Read(t)
	switch {
	case err != nil || key == nil && listed == "":
		return nil, err
	case key == nil:
		return nil, fmt.Errorf("%s lists the log key %s, which must sign (name its file with --log-key-file, or give it in "+
			"%s; if it is lost, see anteroom key rotate --help)", file, listed, logs.variable)
	}
	return key, CheckLog(key.Public, listed, file)
}

func CheckLog(public, listed, file string) error {
	switch listed {
	case public:
		return nil
	case "":
		return fmt.Errorf("%s lists no log key (anteroom key rotate --log makes one and lists it)", file)
	}
	return fmt.Errorf("%s lists another log key (sign with the secret of %s)", file, listed)
}

// RotateLog writes a new log key to out, and lists it in the service.yaml at file. If it fails,
// both are unchanged.
func RotateLog(file, out string, service *site.Service) (public string, err error) {
	return rotate(file, out, func() (string, error) {
		text, public, err := tlog.NewKey(tlog.Origin(service.CanonicalHost, service.Log.Key))
		if err != nil {
			return "", err
		}
		if err := disk.WriteKey(out, text+"\n"); err != nil {
			return "", fmt.Errorf("write log key: %w", err)
		}
		return public, nil
	}, site.RotateLogKey)
}

// Webhook is the URL where a deployed service posts messages to the operator as JSON, instead of
// mailing them.
type Webhook = Secret[string]

var webhooks = kind[string]{
	"webhook", "the webhook's URL", "webhook-file", "ANTEROOM_WEBHOOK", parseWebhook, "see anteroom deploy --help",
}

func parseWebhook(text string) (string, error) {
	if want := site.Wanted("upstream", text); want != "" {
		return "", errors.New(want)
	}
	return text, nil
}
