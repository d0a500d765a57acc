package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/native/disk"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// logKeySource is where a command reads the secret key of the log from.
type logKeySource struct{ file string }

const logKeyVariable = "ANTEROOM_LOG_KEY"

func (s *logKeySource) addFlag(flags *pflag.FlagSet) {
	flags.StringVar(&s.file, "log-key-file", "", "the `file` of the key that signs the log, - for standard input; the key itself can be given in "+logKeyVariable)
}

const hintLogKey = "name the file that anteroom key rotate --log has made; where there is none, it makes a key and lists it"

// read reads the key. It is nil where none is named.
func (s *logKeySource) read(t *cli.Terminal) (*tlog.Key, error) {
	text, file := os.Getenv(logKeyVariable), s.file
	switch {
	case text != "" && file != "":
		return nil, cli.Usage(errors.New("--log-key-file and " + logKeyVariable + " exclude each other"))
	case text != "":
		return parseLogKey(logKeyVariable, text)
	case file == "":
		return nil, nil
	case file == "-":
		text, err := disk.ReadKey(t.In)
		if err != nil {
			return nil, fmt.Errorf("read key of the log from standard input: %w", err)
		}
		return parseLogKey("standard input", text)
	}
	open := false // to others; what is no key may be
	text, err := disk.LoadKey(file, func() { open = true })
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("read key of the log: %w (give this user access to it)", err)
	case err != nil:
		return nil, fmt.Errorf("read key of the log: %w (%s)", err, hintLogKey)
	}
	key, err := parseLogKey(file, text)
	if err == nil && open {
		t.Warnf("key of the log %s can be read by others (run chmod 600 on it)", file)
	}
	return key, err
}

// parseLogKey reads a key from its text, which stands at a place.
func parseLogKey(place, text string) (*tlog.Key, error) {
	key, err := tlog.ParseKey(text)
	switch {
	case strings.HasPrefix(text, receipt.SecretPrefix):
		return nil, fmt.Errorf("read key of the log from %s: it is a receipt key (%s)", place, hintLogKey)
	case isLogKey(strings.TrimSpace(text)):
		return nil, fmt.Errorf("read key of the log from %s: it is the public half (%s)", place, hintLogKey)
	case err != nil:
		return nil, fmt.Errorf("read key of the log from %s: %w (%s)", place, err, hintLogKey)
	}
	return key, nil
}

// isLogKey reports whether a text is the verifier key of a log.
func isLogKey(text string) bool {
	_, err := tlog.CheckKey(text)
	return err == nil
}

// mustRead reads the key of a command that needs one.
func (s *logKeySource) mustRead(t *cli.Terminal) (*tlog.Key, error) {
	key, err := s.read(t)
	if key == nil && err == nil {
		err = cli.Usage(errors.New("there is no key: name its file with --log-key-file, or give it in " + logKeyVariable))
	}
	return key, err
}

// signs reads the key that signs the next stage of a log with these keys; nil where that has none.
// file is the name of service.yaml.
func (s *logKeySource) signs(t *cli.Terminal, keys []string, file string) (*tlog.Key, error) {
	key, err := s.read(t)
	switch {
	case err != nil:
		return nil, err
	case key == nil && len(keys) == 0:
		return nil, nil
	case key == nil:
		return nil, fmt.Errorf("%s lists keys of a log, which the last one is to sign (name its file with --log-key-file, or give it in %s; "+
			"where it is lost, anteroom key rotate --log lists a new one)", file, logKeyVariable)
	}
	return key, mustSign(key.Public, keys, file)
}

// mustSign refuses a verifier key that is not the last of those that service.yaml, the file, lists
// for the log: that one signs.
func mustSign(public string, keys []string, file string) error {
	switch at := slices.Index(keys, public); {
	case len(keys) == 0:
		return fmt.Errorf("%s lists no key of a log (anteroom key rotate --log makes one and lists it)", file)
	case at < 0:
		return fmt.Errorf("%s lists other keys of the log than this one (sign with the secret of the last, %s, or make and list a new one with anteroom key rotate --log)", file, shortKey(keys))
	case at < len(keys)-1:
		return fmt.Errorf("%s lists a newer key of the log than this one (sign with the secret of the last, %s)", file, shortKey(keys))
	}
	return nil
}

// shortKey is the name and the hash of the last of the keys of a log.
func shortKey(keys []string) string {
	parts := strings.SplitN(keys[len(keys)-1], "+", 3)
	return strings.Join(parts[:2], "+")
}

// makeLogKey makes the next key of a service's log in the file named out, which only its owner may
// read, and gives its public half.
func makeLogKey(out string, service *site.Service) (public string, err error) {
	text, public, err := tlog.NewKey(tlog.Origin(service.CanonicalHost, len(service.Log.Keys)+1))
	if err != nil {
		return "", err
	}
	if err := disk.WriteKey(out, text+"\n"); err != nil {
		return "", fmt.Errorf("write key of the log: %w", err)
	}
	return public, nil
}

// newLogKey is anteroom key new --log.
func newLogKey(t *cli.Terminal, out, content string) error {
	s, err := loadContent(content)
	if err != nil {
		return err
	}
	public, err := makeLogKey(out, &s.Service)
	if err != nil {
		return err
	}
	t.Printf("%s", public)
	t.Printf("")
	t.Printf("List it as the last of log.keys in %s. (anteroom key rotate --log does both.)", filepath.Join(content, serviceFile))
	return nil
}

// rotateLog makes a new key of the log in the file named out, and lists it in a content folder.
// Where that fails, neither has changed.
func rotateLog(t *cli.Terminal, out, content string) error {
	s, err := loadContent(content)
	if err != nil {
		return err
	}
	file := filepath.Join(content, serviceFile)
	public, err := publishKey(file, out, func(out string) (string, error) { return makeLogKey(out, &s.Service) }, site.RotateLogKey)
	if err != nil {
		return err
	}
	t.Printf("%s", public)
	t.Printf("")
	t.Printf("Next, in this order:")
	t.Printf("1. Keep %s where nobody else can read it, out of version control, and a copy of it offline.", out)
	t.Printf("2. Look at the diff of %s, and commit it.", file)
	t.Printf("3. Run anteroom verify --log-key-file %s: it begins %s.", out, map[bool]string{
		true: "the log, with all that was counted before", false: "a new tree, whose first entry is the end of the one before",
	}[s.Log.Current() == nil])
	return nil
}

// checkLogKey says how the content lists a key of the log.
func checkLogKey(t *cli.Terminal, source *logKeySource, content string) error {
	key, err := source.mustRead(t)
	if err != nil {
		return err
	}
	s, err := loadContent(content)
	if err != nil {
		return err
	}
	as := "none"
	if err = mustSign(key.Public, s.Service.Log.Keys, filepath.Join(content, serviceFile)); err == nil {
		as = "last"
	} else if slices.Contains(s.Service.Log.Keys, key.Public) {
		as = "earlier"
	}
	t.Printf("%s: %s", as, key.Public)
	return err
}

// keyChoice is which key a command about keys is about: the one that signs receipts or, with --log,
// the one that signs the log.
type keyChoice struct {
	log    bool
	source logKeySource
}

func (k *keyChoice) addFlags(cmd *cobra.Command, reads bool) {
	cmd.Flags().BoolVar(&k.log, "log", false, "the key that signs the log of what was counted, in the place of that of receipts")
	if reads {
		k.source.addFlag(cmd.Flags())
	}
}

// check refuses a file of the other kind of key.
func (k *keyChoice) check(cmd *cobra.Command) error {
	switch {
	case k.log && cli.OnCommandLine(cmd.Flags(), "key-file"):
		return cli.Usage(errors.New("--key-file names a receipt key: with --log, the file is named with --log-key-file"))
	case !k.log && cli.OnCommandLine(cmd.Flags(), "log-key-file"):
		return cli.Usage(errors.New("--log-key-file names a key of the log, which --log is about"))
	}
	return nil
}
