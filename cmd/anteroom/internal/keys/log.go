package keys

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/native/disk"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// Log is where a command reads the key that signs the log.
type Log = Secret[*tlog.Key]

var logs = kind[*tlog.Key]{
	"key of the log", "the key that signs the log", "log-key-file", "ANTEROOM_LOG_KEY", parseLog,
	"name the file that anteroom key rotate --log has made; if there is none, it makes a key and lists it",
}

func parseLog(text string) (*tlog.Key, error) {
	if strings.HasPrefix(text, receipt.SecretPrefix) {
		return nil, errors.New("it is a receipt key")
	}
	if _, err := tlog.CheckKey(strings.TrimSpace(text)); err == nil {
		return nil, errors.New("it is the public half")
	}
	return tlog.ParseKey(text)
}

// Signer reads the key that signs the next stage of a log with these keys; nil if that has none.
// file is the name of service.yaml.
func Signer(t *cli.Terminal, secret *Log, listed []string, file string) (*tlog.Key, error) {
	key, err := secret.Read(t)
	switch {
	case err != nil || key == nil && len(listed) == 0:
		return nil, err
	case key == nil:
		return nil, fmt.Errorf("%s lists keys of a log, of which the last one must sign (name its file with --log-key-file, or give it in %s; "+
			"if it is lost, anteroom key rotate --log lists a new one)", file, logs.variable)
	}
	_, err = CheckLog(key.Public, listed, file)
	return key, err
}

// CheckLog says how service.yaml, the file, lists a verifier key for the log: as the "last" one,
// which signs, an "earlier" one, or "none". The error says what to do about a key that does not
// sign.
func CheckLog(public string, listed []string, file string) (as string, err error) {
	if len(listed) == 0 {
		return "none", fmt.Errorf("%s lists no key of a log (anteroom key rotate --log makes one and lists it)", file)
	}
	last := strings.Join(strings.SplitN(listed[len(listed)-1], "+", 3)[:2], "+") // its name and its hash
	switch slices.Index(listed, public) {
	case len(listed) - 1:
		return "last", nil
	case -1:
		return "none", fmt.Errorf("%s lists other keys of the log than this one (sign with the secret of the last, %s, "+
			"or make and list a new one with anteroom key rotate --log)", file, last)
	}
	return "earlier", fmt.Errorf("%s lists a newer key of the log than this one (sign with the secret of the last, %s)", file, last)
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
	return rotate(file, out, func() (string, error) { return NewLog(out, service) }, site.RotateLogKey)
}
