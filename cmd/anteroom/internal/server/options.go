// Package server runs the native host for the command line: it checks the flags, reads the secrets,
// serves the generated files, and reloads them on SIGHUP.
package server

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/edge/assets"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
)

type Options struct {
	Public, Snapshot string // the folder of the documents, and the snapshot file
	Address          string
	Data, Outbox     string
	Create           bool
	TakeOver         string // adopt the database of this other service
	SMTP             string // a URL, or a file with one
	Receipt          keys.Receipt
	Unsigned         bool
	ClientIPHeader   string
	Hosts            []string
	WritesPerMinute  *int64 // nil for the limit of the content
	LogFormat        string // LogText or logJSON; "" is text
	MetricsAddress   string // "" for none
	Backups          string // the folder of backups, or ""
	Replica          string // the control socket of Litestream, or ""
	Version, Commit  string // of this program, for the metrics
}

const DefaultData = "data"

const ReceiptKey = "receipt.key"

const (
	LogText = "text"
	logJSON = "json"
)

func (o *Options) Check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if o.SMTP != "" && o.smtpFile() == "" && !isSMTP(o.SMTP) {
		fault("--smtp is not %s", smtpForm)
	}
	if o.Unsigned && o.Receipt.Given() {
		fault("--unsigned excludes --key-file and ANTEROOM_KEY")
	}
	// An unset variable in a script would have the server listen at every address.
	for _, needed := range []struct{ flag, value string }{
		{"addr", o.Address}, {"data", o.Data}, {"public", o.Public},
	} {
		if needed.value == "" {
			fault("--%s is empty (leave it out, or give it a value)", needed.flag)
		}
	}
	if format := o.LogFormat; format != "" && format != LogText && format != logJSON {
		fault("--log-format %q is neither %s nor %s", format, LogText, logJSON)
	}
	if o.WritesPerMinute != nil && *o.WritesPerMinute < 0 {
		fault("--write-limit is %d (give a number from 0 on)", *o.WritesPerMinute)
	}
	for _, host := range o.Hosts {
		if host == "" || strings.ContainsAny(host, "/:@ \t") {
			fault("--host %q is not a bare host name such as preview.example.org", host)
		}
	}
	if !fieldName.MatchString(o.ClientIPHeader) {
		fault("--client-ip-header %q is not the name of a header such as X-Forwarded-For", o.ClientIPHeader)
	}
	for _, private := range []struct{ flag, path string }{
		{"data", o.Data}, {"outbox", o.Outbox}, {"key-file", o.Receipt.File}, {"smtp", o.smtpFile()},
	} {
		if private.path != "" && o.Public != "" && disk.Inside(o.Public, private.path) {
			fault("--%s %s is inside %s, where everybody could read it", private.flag, private.path, o.Public)
		}
	}
	return errors.Join(faults...)
}

var fieldName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]*$") // RFC 9110, section 5.1

// An error does not repeat input of another form, which may contain a password.
const smtpForm = "a URL of the form smtp://USER:PASSWORD@HOST:PORT"

func (o *Options) smtpFile() string {
	if !strings.HasPrefix(o.SMTP, "/") && (strings.Contains(o.SMTP, "@") || strings.Contains(o.SMTP, "://")) {
		return ""
	}
	return o.SMTP
}

func isSMTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "smtp" || u.Scheme == "smtps")
}

// HasPassword reports whether a URL contains a password. Any other text may.
func HasPassword(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return true
	}
	_, is := u.User.Password()
	return is
}

func readSMTP(file string) (string, error) {
	if err := disk.Private(file); err != nil {
		return "", err
	}
	text, err := assets.ReadFile(file)
	if err == nil {
		if text, err = disk.PlainText(text); err != nil {
			err = fmt.Errorf("%s: %w", file, err)
		}
	}
	if err != nil {
		return "", fmt.Errorf("read the URL of the mail server: %w (--smtp names a file with it, or is the URL)", err)
	}
	line := strings.TrimSuffix(string(text), "\n")
	if !isSMTP(line) { // a URL has no line break
		return "", fmt.Errorf("read the URL of the mail server: %s must contain one line with %s", file, smtpForm)
	}
	return line, nil
}

// Relay returns the address of the relay, or "" for the mail folder in the data folder.
func (o *Options) Relay() (string, error) {
	switch {
	case o.smtpFile() != "":
		return readSMTP(o.SMTP)
	case o.SMTP != "":
		return o.SMTP, nil
	case o.Outbox != "":
		return "maildir:" + o.Outbox, nil
	}
	return "", nil
}

// Copies returns the folder for copies of mailed suggestions, or "".
func (o *Options) Copies() string {
	if o.SMTP == "" {
		return ""
	}
	return o.Outbox
}

func (o *Options) Database() string { return filepath.Join(o.Data, sqlite.FileName) }

func (o *Options) keyFile() string { return filepath.Join(o.Data, ReceiptKey) }

// ReadKey reads the named receipt key or the one in the data folder, and returns nil without one.
func (o *Options) ReadKey(t *cli.Terminal) (ed25519.PrivateKey, error) {
	if o.Receipt.Given() {
		return o.Receipt.Read(t)
	}
	key, err := keys.LoadReceipt(t, o.keyFile())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		err = nil // opening the data folder explains its faults
	}
	return key, err
}
