package keys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/native/disk"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"github.com/spf13/pflag"
)

// Log is where a command reads the secret key of the log.
type Log struct{ File string }

const logVariable = "ANTEROOM_LOG_KEY"

// AddFlag adds --log-key-file to a command.
func (s *Log) AddFlag(flags *pflag.FlagSet) {
	flags.StringVar(&s.File, "log-key-file", "", "the `file` of the key that signs the log, - for standard input; the key itself can be given in "+logVariable)
}

const hintLog = "name the file that anteroom key rotate --log has made; if there is none, it makes a key and lists it"

// Read reads the key. It is nil if none is named.
func (s *Log) Read(t *cli.Terminal) (*tlog.Key, error) {
	text, file := os.Getenv(logVariable), s.File
	switch {
	case text != "" && file != "":
		return nil, cli.Usage(errors.New("--log-key-file and " + logVariable + " exclude each other"))
	case text != "":
		return parseLog(logVariable, text)
	case file == "":
		return nil, nil
	case file == "-":
		text, err := disk.ReadKey(t.In)
		if err != nil {
			return nil, fmt.Errorf("read key of the log from standard input: %w", err)
		}
		return parseLog("standard input", text)
	}
	open := false // to others; a file that holds no key may be
	text, err := disk.LoadKey(file, func() { open = true })
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("read key of the log: %w (give this user access to it)", err)
	case err != nil:
		return nil, fmt.Errorf("read key of the log: %w (%s)", err, hintLog)
	}
	key, err := parseLog(file, text)
	if err == nil && open {
		t.Warnf("key of the log %s can be read by others (run chmod 600 on it)", file)
	}
	return key, err
}

// parseLog reads a key from its text, which was found at a place.
func parseLog(place, text string) (*tlog.Key, error) {
	key, err := tlog.ParseKey(text)
	_, public := tlog.CheckKey(strings.TrimSpace(text))
	switch {
	case strings.HasPrefix(text, receipt.SecretPrefix):
		return nil, fmt.Errorf("read key of the log from %s: it is a receipt key (%s)", place, hintLog)
	case public == nil:
		return nil, fmt.Errorf("read key of the log from %s: it is the public half (%s)", place, hintLog)
	case err != nil:
		return nil, fmt.Errorf("read key of the log from %s: %w (%s)", place, err, hintLog)
	}
	return key, nil
}

// MustRead reads the key of a command that needs one.
func (s *Log) MustRead(t *cli.Terminal) (*tlog.Key, error) {
	key, err := s.Read(t)
	if key == nil && err == nil {
		err = cli.Usage(errors.New("there is no key: name its file with --log-key-file, or give it in " + logVariable))
	}
	return key, err
}

// Signer reads the key that signs the next stage of a log with these keys; nil if that has none.
// file is the name of service.yaml.
func (s *Log) Signer(t *cli.Terminal, keys []string, file string) (*tlog.Key, error) {
	key, err := s.Read(t)
	switch {
	case err != nil:
		return nil, err
	case key == nil && len(keys) == 0:
		return nil, nil
	case key == nil:
		return nil, fmt.Errorf("%s lists keys of a log, of which the last one must sign (name its file with --log-key-file, or give it in %s; "+
			"if it is lost, anteroom key rotate --log lists a new one)", file, logVariable)
	}
	_, err = CheckLog(key.Public, keys, file)
	return key, err
}

// CheckLog says how service.yaml, the file, lists a verifier key for the log: as the "last" one,
// which signs, an "earlier" one, or "none". The error says what to do about a key that does not
// sign.
func CheckLog(public string, keys []string, file string) (as string, err error) {
	switch at := slices.Index(keys, public); {
	case len(keys) == 0:
		return "none", fmt.Errorf("%s lists no key of a log (anteroom key rotate --log makes one and lists it)", file)
	case at < 0:
		return "none", fmt.Errorf("%s lists other keys of the log than this one (sign with the secret of the last, %s, or make and list a new one with anteroom key rotate --log)", file, short(keys))
	case at < len(keys)-1:
		return "earlier", fmt.Errorf("%s lists a newer key of the log than this one (sign with the secret of the last, %s)", file, short(keys))
	}
	return "last", nil
}

// short is the name and the hash of the last of the keys of a log.
func short(keys []string) string {
	parts := strings.SplitN(keys[len(keys)-1], "+", 3)
	return strings.Join(parts[:2], "+")
}

// NewLog makes the next key of a service's log in the file named out, which only its owner may
// read, and gives its public half.
func NewLog(out string, service *site.Service) (public string, err error) {
	text, public, err := tlog.NewKey(tlog.Origin(service.CanonicalHost, len(service.Log.Keys)+1))
	if err != nil {
		return "", err
	}
	if err := disk.WriteKey(out, text+"\n"); err != nil {
		return "", fmt.Errorf("write key of the log: %w", err)
	}
	return public, nil
}

// RotateLog makes a new key of the log in the file named out, and lists it in service.yaml, the
// file. If that fails, neither has changed.
func RotateLog(file, out string, service *site.Service) (public string, err error) {
	return rotate(file, out, func(out string) (string, error) { return NewLog(out, service) }, site.RotateLogKey)
}
