package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/kernel"
	"anteroom/edge/native"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/native/static"
	"anteroom/edge/snapshot"
	"anteroom/generator"
	"anteroom/generator/publish"
	"anteroom/generator/site"

	"github.com/spf13/cobra"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	content, public  string
	address          string
	data, outbox     string
	keyFile, smtp    string
	clientIPHeader   string
	hosts            []string
	writesPerMinute  int64
	create, watch    bool
	unsigned         bool
	key              string // only the environment gives it
	writeLimitChosen bool   // whether writesPerMinute replaces the limit of the content
}

// defaultData is the data folder where none is named. serve begins a new database there unasked.
const defaultData = "data"

func serveCommand(t *terminal) *cobra.Command {
	o := serveOptions{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the documents and the endpoints from this machine",
		Long: `Serve answers for public/ and for everything under /api/, with a database and the mail for the
operator in a data folder. The data folder holds e-mail addresses: nobody else should read it. A first
start makes the folder data; to begin with an empty database in another folder takes --create.

Mail to the operator goes into a Maildir, in the data folder or where --outbox says, or with --smtp to
a mail server: smtp://USER:PASSWORD@HOST:587 (STARTTLS) or smtps://USER:PASSWORD@HOST:465.

Flags can be given by the environment (anteroom --help says how): ANTEROOM_ADDR, ANTEROOM_SMTP,
ANTEROOM_CLIENT_IP_HEADER; hosts are joined with commas. ANTEROOM_KEY is the secret receipt key itself,
in the place of --key-file.

The receipt key is the one whose public half the content publishes (anteroom key check). Serve refuses
another, and without one it starts with --unsigned only. While the content publishes no key, serve makes
one in the data folder.`,
		Args: cobra.NoArgs,
		RunE: withExitCode(func(cmd *cobra.Command, _ []string) error {
			o.key = os.Getenv("ANTEROOM_KEY")
			o.writeLimitChosen = cmd.Flags().Changed("write-limit")
			if err := o.check(); err != nil {
				return usageError{err}
			}
			return serve(cmd.Context(), t, &o)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.address, "addr", "127.0.0.1:8080", "the `address` to listen at")
	flags.StringVar(&o.data, "data", defaultData, "the `folder` of the database and the mail")
	flags.BoolVar(&o.create, "create", false, "begin with a new database where the data folder has none")
	flags.StringVar(&o.outbox, "outbox", "", "a `folder` for the mail to the operator, a Maildir (default mail in the data folder)")
	flags.StringVar(&o.smtp, "smtp", "", "a mail server to send it by, as a `URL`")
	flags.StringVar(&o.keyFile, "key-file", "", "the `file` of the receipt key (default receipt.key in the data folder)")
	flags.BoolVar(&o.unsigned, "unsigned", false, "use no receipt key: receipts are not signed, and say so")
	flags.StringVar(&o.clientIPHeader, "client-ip-header", "", "the `header` in which a proxy in front gives the caller's address")
	flags.StringSliceVar(&o.hosts, "host", nil, "a host `name` to answer for besides those of the content; may be given several times")
	flags.Int64Var(&o.writesPerMinute, "write-limit", 0, "writes a minute for one caller, 0 for no limit (default as the content says)")
	flags.StringVar(&o.content, "content", "content", "the content `folder`")
	flags.StringVar(&o.public, "public", "public", "the `folder` of the documents")
	flags.BoolVar(&o.watch, "watch", false, "generate and serve anew whenever the content changes")
	return cmd
}

// check finds what is wrong with the flags. It changes nothing.
func (o *serveOptions) check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if o.smtp != "" && o.outbox != "" {
		fault("--smtp and --outbox exclude each other")
	}
	if u, err := url.Parse(o.smtp); o.smtp != "" && (err != nil || u.Scheme != "smtp" && u.Scheme != "smtps") {
		fault("--smtp is not a URL of the form smtp://USER:PASSWORD@HOST:PORT") // not repeated here, because it may hold a password
	}
	if o.key != "" && o.keyFile != "" {
		fault("%w", errTwoKeys)
	}
	if o.unsigned && (o.key != "" || o.keyFile != "") {
		fault("--unsigned excludes --key-file and ANTEROOM_KEY")
	}
	if o.writesPerMinute < 0 {
		fault("--write-limit is %d (a number from 0 on is meant)", o.writesPerMinute)
	}
	for _, host := range o.hosts {
		if host == "" || strings.ContainsAny(host, "/:@ \t") {
			fault("--host %q is not a bare host name such as preview.example.org", host)
		}
	}
	if strings.ContainsAny(o.clientIPHeader, " \t:/") {
		fault("--client-ip-header %q is not the name of a header such as X-Forwarded-For", o.clientIPHeader)
	}
	for _, private := range []struct{ flag, path string }{{"data", o.data}, {"outbox", o.outbox}, {"key-file", o.keyFile}} {
		if private.path != "" && inside(o.public, private.path) {
			fault("--%s %s is inside %s, where everybody could read it", private.flag, private.path, o.public)
		}
	}
	return errors.Join(faults...)
}

// inside reports whether a path is a folder or lies in it.
func inside(folder, name string) bool {
	folder, folderErr := filepath.Abs(folder)
	name, nameErr := filepath.Abs(name)
	relative, relErr := filepath.Rel(folder, name)
	return errors.Join(folderErr, nameErr, relErr) == nil && filepath.IsLocal(relative)
}

// serve answers requests until ctx is done.
func serve(ctx context.Context, t *terminal, o *serveOptions) error {
	log := t.log()
	state := fingerprint(o.content)
	s, output, err := loadAndGenerate(o.content)
	if err != nil {
		return err
	}
	key, err := o.readKey(t)
	if err != nil {
		return err
	}
	if err := o.checkKey(key, s); err != nil {
		return err
	}
	if o.watch {
		if _, err := publishTo(t, o.public, s, output, false); err != nil {
			return err
		}
	}
	documents, err := readPublic(t, o, output)
	if err != nil {
		return err
	}
	config := native.Config{
		Data: o.data, Create: o.create || filepath.Clean(o.data) == defaultData, Relay: o.smtp, Snapshot: output.Snapshot, Documents: documents,
		Hosts: o.hosts, ClientIPHeader: o.clientIPHeader, Log: log,
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
	newKey := key == nil && !o.unsigned
	if newKey {
		key = receiptkey.New()
	}
	config.Key = key
	host, err := native.Open(config)
	if errors.Is(err, sqlite.ErrNone) {
		err = fmt.Errorf("there is no database in %s (name the right folder with --data, or give --create to begin a new one)", o.data)
	}
	if err != nil {
		return err
	}
	// The data folder is known to be the right one now.
	if newKey {
		if err := o.keepKey(t, key); err != nil {
			return errors.Join(err, host.Close())
		}
	}
	t.say("serving %s at http://%s", output.Snapshot.CanonicalHost, listener.Addr())
	if err := t.out.Flush(); err != nil {
		return errors.Join(err, host.Close())
	}
	watchEnded := make(chan struct{}) // closed once the content is no longer watched
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer close(watchEnded)
		if o.watch {
			watch(ctx, o.content, state, func() { republish(t, o, host, key, log) })
		}
	}()
	err = host.Serve(ctx, listener)
	stop()
	<-watchEnded
	return errors.Join(err, host.Close())
}

// defaultKeyFile is where serve looks for the receipt key where none is named.
func (o *serveOptions) defaultKeyFile() string { return filepath.Join(o.data, "receipt.key") }

// readKey reads the receipt key. It is nil where there is none, or none is to be used.
func (o *serveOptions) readKey(t *terminal) (ed25519.PrivateKey, error) {
	switch {
	case o.unsigned:
		return nil, nil
	case o.key != "":
		return parseKey(o.key)
	case o.keyFile != "":
		return loadKey(t, o.keyFile)
	}
	key, err := loadKey(t, o.defaultKeyFile())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil // what stands in the way of the data folder is said when that is opened
	}
	return key, err
}

// checkKey refuses content that publishes another receipt key than this one, or that publishes its
// secret half. Content without any key is served.
func (o *serveOptions) checkKey(key ed25519.PrivateKey, s *site.Site) error {
	file := filepath.Join(o.content, serviceFile)
	if err := refusePublishedSecret(key, &s.Service, file); err != nil {
		return err
	}
	published := s.Service.Keys()
	host := kernel.HostInfo{PublicKey: receiptkey.Public(key)}
	switch receipt.StandingOf(&host, &snapshot.Snapshot{CurrentKey: published[0], RetiredKeys: published[1:]}) {
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
func (o *serveOptions) keepKey(t *terminal, key ed25519.PrivateKey) error {
	file := o.defaultKeyFile()
	if err := receiptkey.Write(file, key); err != nil {
		return err
	}
	t.say("made the receipt key %s", file)
	return t.out.Flush()
}

// readPublic reads the documents to serve, and refuses them where they are not those of the
// content.
func readPublic(t *terminal, o *serveOptions, output *generator.Output) (*static.Documents, error) {
	documents, err := static.ReadFolder(o.public)
	if _, statErr := os.Stat(o.public); err != nil && errors.Is(statErr, fs.ErrNotExist) {
		err = fmt.Errorf("there is no folder %s (run anteroom generate to make it)", o.public)
	}
	if err != nil {
		return nil, err
	}
	plan, err := publish.Prepare(o.public, publishFiles(output))
	if err != nil {
		return nil, err
	}
	if n := len(plan.Changes()); n > 0 {
		// The documents and the answers would say two things.
		return nil, fmt.Errorf("%s is stale: %s not as %s has it (run anteroom generate)", o.public, plural(n, "document"), o.content)
	}
	return documents, nil
}

// republish generates again and serves the result. Where that fails, or the content publishes
// another key than the host signs with, the old documents stay.
func republish(t *terminal, o *serveOptions, host *native.Host, key ed25519.PrivateKey, log *slog.Logger) {
	s, output, err := loadAndGenerate(o.content)
	if err == nil {
		if err = o.checkKey(key, s); err != nil {
			err = fmt.Errorf("the content was not published: %w", err)
		}
	}
	if err == nil {
		_, err = publishTo(t, o.public, s, output, false)
	}
	var documents *static.Documents
	if err == nil {
		documents, err = readPublic(t, o, output)
	}
	if err == nil {
		err = host.Publish(output.Snapshot, documents)
	}
	if err != nil {
		t.fail(failure{exitFailure, err})
		return
	}
	log.Info("content published", "version", output.Snapshot.Version)
}
