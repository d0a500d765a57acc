package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/native"
	"anteroom/edge/native/lastgood"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"

	"github.com/spf13/cobra"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	content          string
	address          string
	data, outbox     string
	keyFile          string
	smtp, smtpFile   string
	clientIPHeader   string
	hosts            []string
	writesPerMinute  int64
	create, watch    bool
	unsigned         bool
	service          serviceOptions
	key              string // only the environment gives it
	writeLimitChosen bool   // whether writesPerMinute replaces the limit of the content
}

// defaultData is the data folder where none is named. serve begins a new database there unasked.
const defaultData = "data"

func serveCommand(t *cli.Terminal) *cobra.Command {
	o := serveOptions{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the documents and the endpoints from this machine",
		Long: `Serve answers for the documents and for everything under /api/, with a database and the mail for the
operator in a data folder. It makes the documents of content/ when it starts and answers from memory:
public/ is neither read nor written. On SIGHUP, and with --watch whenever the content changes, it makes
them anew; where the content is at fault the old ones stay served. What is served is kept in the data
folder (` + lastgood.FileName + `): where the content is at fault at a start, that is served again, and the
log says so.

The data folder holds e-mail addresses: from files and folders that others may read there, serve takes
their permissions. A first start makes the folder data; to begin with an empty database in another folder
takes --create.

Mail to the operator goes into a Maildir, in the data folder or where --outbox says, or to a mail server:
smtp://USER:PASSWORD@HOST:587 (STARTTLS) or smtps://USER:PASSWORD@HOST:465. A URL with a password stands
in ANTEROOM_SMTP, or in a file that --smtp-file names, and not on the command line, which others can see.

Flags can be given by the environment (anteroom --help says how): ANTEROOM_ADDR, ANTEROOM_SMTP_FILE,
ANTEROOM_CLIENT_IP_HEADER; hosts are joined with commas. ANTEROOM_KEY is the secret receipt key itself,
in the place of --key-file.

The receipt key is the one whose public half the content publishes (anteroom key check). Serve refuses
another, and without one it starts with --unsigned only. While the content publishes no key, serve makes
one in the data folder.`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(cmd *cobra.Command, _ []string) error {
			if cli.OnCommandLine(cmd.Flags(), "smtp") && strings.Contains(o.smtp, "@") && hasPassword(o.smtp) {
				return cli.Usage(errors.New("--smtp holds a password, which every user of this machine could see " +
					"(give the URL in ANTEROOM_SMTP, or in a file of your own that --smtp-file names)"))
			}
			o.key = os.Getenv("ANTEROOM_KEY")
			o.writeLimitChosen = cmd.Flags().Changed("write-limit")
			if err := o.check(); err != nil {
				return cli.Usage(err)
			}
			return serve(cmd.Context(), t, &o)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.address, "addr", "127.0.0.1:8080", "the `address` to listen at")
	flags.StringVar(&o.data, "data", defaultData, "the `folder` of the database and the mail")
	flags.BoolVar(&o.create, "create", false, "begin with a new database where the data folder has none")
	flags.StringVar(&o.outbox, "outbox", "", "a `folder` for the mail to the operator, a Maildir (default mail in the data folder)")
	flags.StringVar(&o.smtp, "smtp", "", "a mail server to send it by, as a `URL` without a password")
	flags.StringVar(&o.smtpFile, "smtp-file", "", "a `file` that holds that URL in one line, with its password")
	flags.StringVar(&o.keyFile, "key-file", "", "the `file` of the receipt key (default receipt.key in the data folder)")
	flags.BoolVar(&o.unsigned, "unsigned", false, "use no receipt key: receipts are not signed, and say so")
	flags.StringVar(&o.clientIPHeader, "client-ip-header", "", "the `header` in which a proxy in front gives the caller's address")
	flags.StringSliceVar(&o.hosts, "host", nil, "a host `name` to answer for besides those of the content; may be given several times")
	flags.Int64Var(&o.writesPerMinute, "write-limit", 0, "writes a minute for one caller, 0 for no limit (default as the content says)")
	flags.StringVar(&o.content, "content", contentFolder, "the content `folder`")
	o.service.add(flags)
	flags.BoolVar(&o.watch, "watch", false, "serve anew whenever the content changes; public/ stays as it is")
	return cmd
}

// check finds what is wrong with the flags. It changes nothing.
func (o *serveOptions) check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	relays := []struct{ flag, value string }{{"--smtp", o.smtp}, {"--smtp-file", o.smtpFile}, {"--outbox", o.outbox}}
	for i, a := range relays {
		for _, b := range relays[i+1:] {
			if a.value != "" && b.value != "" {
				fault("%s and %s exclude each other", a.flag, b.flag)
			}
		}
	}
	if o.smtp != "" && !isSMTP(o.smtp) {
		fault("--smtp is not %s", smtpForm)
	}
	if o.key != "" && o.keyFile != "" {
		fault("%w", keys.ErrTwo)
	}
	if o.unsigned && (o.key != "" || o.keyFile != "") {
		fault("--unsigned excludes --key-file and ANTEROOM_KEY")
	}
	// With a variable of a script that is not set, a server would listen at every address.
	for _, needed := range []struct{ flag, value string }{{"addr", o.address}, {"data", o.data}, {"content", o.content}} {
		if needed.value == "" {
			fault("--%s is empty (leave it out, or give it a value)", needed.flag)
		}
	}
	o.checkService(fault)
	if o.writesPerMinute < 0 {
		fault("--write-limit is %d (a number from 0 on is meant)", o.writesPerMinute)
	}
	for _, host := range o.hosts {
		if host == "" || strings.ContainsAny(host, "/:@ \t") {
			fault("--host %q is not a bare host name such as preview.example.org", host)
		}
	}
	if strings.ContainsAny(o.clientIPHeader, " \t:/\"(),;<=>?@[\\]{}") {
		fault("--client-ip-header %q is not the name of a header such as X-Forwarded-For", o.clientIPHeader)
	}
	for _, private := range []struct{ flag, path string }{{"data", o.data}, {"outbox", o.outbox}, {"key-file", o.keyFile}, {"smtp-file", o.smtpFile}} {
		for _, published := range []string{o.content, publicFolder} {
			if private.path != "" && published != "" && inside(published, private.path) {
				fault("--%s %s is inside %s, where everybody could read it", private.flag, private.path, published)
			}
		}
	}
	return errors.Join(faults...)
}

// smtpForm is what names a mail server. A text that is of another form may hold a password, and is
// not repeated.
const smtpForm = "a URL of the form smtp://USER:PASSWORD@HOST:PORT"

// isSMTP reports whether a text is the URL of a mail server.
func isSMTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "smtp" || u.Scheme == "smtps")
}

// hasPassword reports whether a URL holds a password. A text that is no URL may hold one.
func hasPassword(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return true
	}
	_, is := u.User.Password()
	return is
}

// inside reports whether a path is a folder or lies in it, as the paths are written or where
// symbolic links lead.
func inside(folder, name string) bool {
	for _, path := range []func(string) (string, error){filepath.Abs, realPath} {
		folder, folderErr := path(folder)
		name, nameErr := path(name)
		relative, relErr := filepath.Rel(folder, name)
		if errors.Join(folderErr, nameErr, relErr) == nil && filepath.IsLocal(relative) {
			return true
		}
	}
	return false
}

// realPath is the absolute path of a file or folder without symbolic links. What is not there yet
// keeps its name in the folder where it would be.
func realPath(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(name)
	if err == nil || filepath.Dir(name) == name {
		return resolved, err
	}
	folder, err := realPath(filepath.Dir(name))
	return filepath.Join(folder, filepath.Base(name)), err
}

// serve answers requests until ctx is done.
func serve(ctx context.Context, t *cli.Terminal, o *serveOptions) error {
	// A hangup, which would end the program otherwise, may come at any time from here on.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	s := &server{o: o, log: o.service.log(t), now: currentTime}
	state := fingerprint(o.content)
	if err := s.readSecrets(t); err != nil {
		return err
	}
	first, err := s.firstEdition()
	if err != nil {
		return err
	}
	config := native.Config{
		Data: o.data, Create: o.create || filepath.Clean(o.data) == defaultData, Relay: o.smtp, Snapshot: first.snapshot, Documents: first.documents,
		Hosts: o.hosts, ClientIPHeader: o.clientIPHeader, Log: s.log,
	}
	if o.outbox != "" {
		config.Relay = "maildir:" + o.outbox
	}
	if o.writeLimitChosen {
		config.WritesPerMinute = &o.writesPerMinute
	}
	// The port comes first: a second server on the same port must not touch the data.
	listener, err := native.Listen(o.address)
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := s.makePrivate(o.privateFiles()...); err != nil {
		return err
	}
	s.shown, err = o.service.presence(s.log)
	if err != nil {
		return err
	}
	defer s.shown.close()
	config.Metrics = s.shown.metrics
	if s.faults != nil {
		config.Metrics.Reload(s.faults)
	} else {
		config.Metrics.Read()
	}
	newKey := s.key == nil && !o.unsigned
	if newKey {
		s.key = receiptkey.New()
	}
	config.Key = s.key
	s.host, err = native.Open(config)
	if errors.Is(err, sqlite.ErrNone) {
		err = fmt.Errorf("there is no database in %s (name the right folder with --data, or give --create to begin a new one)", o.data)
	}
	if err != nil {
		return err
	}
	// The data folder is known to be the right one now.
	if err := s.keep(first); err != nil {
		return errors.Join(err, s.host.Close())
	}
	if newKey {
		if err := o.keepKey(t, s.key); err != nil {
			return errors.Join(err, s.host.Close())
		}
	}
	t.Printf("serving %s at http://%s", first.snapshot.CanonicalHost, listener.Addr())
	if err := t.Out.Flush(); err != nil {
		return errors.Join(err, s.host.Close())
	}
	s.log.Info("serving", "content", first.version(), "host", first.snapshot.CanonicalHost, "address", "http://"+listener.Addr().String())
	s.serve(first)
	ended := make(chan struct{}) // closed once the content is no longer followed
	following, stop := context.WithCancel(ctx)
	go func() {
		defer close(ended)
		s.follow(following, hangup, state)
	}()
	s.shown.start(ctx, s.host)
	err = s.host.Serve(ctx, listener)
	stop()
	<-ended
	if err = errors.Join(err, s.host.Close()); err != nil {
		s.log.Error("stopped", "reason", err)
	} else {
		s.log.Info("stopped", "reason", context.Cause(ctx))
	}
	return err
}

// defaultKeyFile is where serve looks for the receipt key where none is named.
func (o *serveOptions) defaultKeyFile() string { return filepath.Join(o.data, "receipt.key") }

// readKey reads the receipt key. It is nil where there is none, or none is to be used.
func (o *serveOptions) readKey(t *cli.Terminal) (ed25519.PrivateKey, error) {
	switch {
	case o.unsigned:
		return nil, nil
	case o.key != "":
		return keys.ParseReceipt(o.key)
	case o.keyFile != "":
		return keys.LoadReceipt(t, o.keyFile)
	}
	key, err := keys.LoadReceipt(t, o.defaultKeyFile())
	if isMissing(err) {
		return nil, nil // what stands in the way of the data folder is said when that is opened
	}
	return key, err
}

// checkKey refuses content that publishes another receipt key than this one. Content without any
// key is served.
func (o *serveOptions) checkKey(key ed25519.PrivateKey, s *snapshot.Snapshot) error {
	file := filepath.Join(o.content, serviceFile)
	host := turn.HostInfo{PublicKey: receiptkey.Public(key)}
	switch receipt.StandingOf(&host, s) {
	case receipt.Missing:
		if !o.unsigned {
			return fmt.Errorf("%s publishes a receipt key, and there is none to sign with: there is no file %s "+
				"(name it with --key-file or give it in ANTEROOM_KEY; --unsigned serves without signing)", file, o.defaultKeyFile())
		}
	case receipt.Foreign:
		return fmt.Errorf("the receipt key is not the one that %s publishes as receipt_keys.current: its public half is %s "+
			"(sign with the published one, or publish this one; anteroom key check compares them)", file, host.PublicKey)
	}
	return nil
}

// keepKey writes a new receipt key into the data folder, for content that publishes none.
func (o *serveOptions) keepKey(t *cli.Terminal, key ed25519.PrivateKey) error {
	file := o.defaultKeyFile()
	if err := receiptkey.Write(file, key); err != nil {
		return err
	}
	t.Printf("made the receipt key %s", file)
	return t.Out.Flush()
}
