package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/content"
	"anteroom/cmd/anteroom/internal/doctor"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/server"
	"anteroom/edge/native"
	"anteroom/edge/native/sqlite"
	"anteroom/generator/site"

	"github.com/spf13/cobra"
)

// doctorOptions are the flags of doctor.
type doctorOptions struct {
	content, public, snapshot string
	store                     storeFlags
	key                       keys.Receipt
	logKey                    keys.Log
	unsigned                  bool
	smtp, smtpFile            string
	outbox, backups           string
}

func doctorCommand(t *cli.Terminal) *cobra.Command {
	o := doctorOptions{}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what this service lacks, and say how to fix it",
		Long: `Doctor checks that the content loads and public/ is current, that the keys fit, that the store opens and
belongs to this service, that the mail server accepts the login, that backups are fresh, and which records
and messages wait. It changes and sends nothing. Each line ends with the fix in brackets.

Give it the flags and the environment of anteroom serve, and run it as the user of the service, or as
root. With --remote it examines a store on Cloudflare instead of the one in --data.

  anteroom doctor --data /var/lib/anteroom --key-file receipt.key

Exit codes: 0 no fault, 1 a fault, 2 called wrongly.`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(cmd *cobra.Command, _ []string) error {
			return o.examine(cmd.Context(), t).Print(t, asJSON)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.content, "content", contentFolder, "the content `folder`")
	flags.StringVar(&o.public, "public", publicFolder, "the `folder` of the documents")
	flags.StringVar(&o.snapshot, "snapshot", snapshotFile, "the `file` of the snapshot")
	o.store.add(flags)
	o.key.AddFlag(flags)
	o.logKey.AddFlag(flags)
	flags.BoolVar(&o.unsigned, "unsigned", false, "the service signs no receipts")
	flags.StringVar(&o.outbox, "outbox", "", "the `folder` for the mail to the operator, a Maildir (default mail in the data folder)")
	flags.StringVar(&o.smtp, "smtp", "", "the mail server, as a `URL` without a password")
	flags.StringVar(&o.smtpFile, "smtp-file", "", "a `file` that holds that URL in one line, with its password")
	flags.StringVar(&o.backups, "backups", "", "a `folder` that anteroom backup writes to")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// examine runs all checks.
func (o *doctorOptions) examine(ctx context.Context, t *cli.Terminal) (r doctor.Report) {
	silent := *t
	silent.Err = io.Discard // what loading warns about is a finding here
	s := o.documents(&r, &silent)
	if s != nil {
		o.keys(&r, &silent, s)
	}
	name := filepath.Join(o.store.data, sqlite.FileName)
	local := o.store.remote == ""
	r.Backups(o.backups, t.Now())
	if !local {
		name = "the D1 database of " + o.store.remote
	}
	switch store, err := o.store.reader(ctx); {
	case errors.Is(err, sqlite.ErrNone) && local && filepath.Clean(o.store.data) == server.DefaultData:
		r.Add("store", doctor.OK, "", "anteroom serve will begin %s", name)
	case err != nil:
		r.Err("store", doctor.Fault, err, "name the right one with --data or --remote")
	default:
		r.Store(ctx, store, name, s, t.Now())
		store.Close()
	}
	if local {
		relay, err := o.smtp, error(nil)
		if o.smtpFile != "" {
			relay, err = server.ReadSMTP(o.smtpFile)
		}
		if err != nil {
			r.Err("mail", doctor.Fault, err, "name the file with --smtp-file")
			return r
		}
		r.Mail(ctx, relay, cmp.Or(o.outbox, filepath.Join(o.store.data, native.MailFolder)))
	}
	return r
}

// documents loads the content and compares public/ with it, as generate --check does. It returns
// nil if the content cannot be loaded.
func (o *doctorOptions) documents(r *doctor.Report, t *cli.Terminal) *site.Site {
	const check, fix = "content", "run anteroom generate --check"
	s, output, err := loadAndGenerate(o.content)
	if err != nil {
		r.Err(check, doctor.Fault, err, fix)
		return nil
	}
	published, err := content.Publish(t, o.public, o.snapshot, s, output, true, t.Now())
	switch {
	case err != nil:
		r.Err(check, doctor.Fault, err, fix)
		return s
	case published.Changes > 0:
		r.Add(check, doctor.Warning, "run anteroom generate", "%s is stale: %s not as %s has it", o.public, cli.Plural(published.Changes, "document"), o.content)
	default:
		r.Add(check, doctor.OK, "", "%s loads, and %s is current: version %s", o.content, o.public, output.Snapshot.ShortVersion())
	}
	for _, warning := range published.Warnings {
		r.Err(check, doctor.Warning, errors.New(warning), fix)
	}
	return s
}

// keys compares the keys of receipts and of the log with the content. The key of a deployed service
// need not be here.
func (o *doctorOptions) keys(r *doctor.Report, t *cli.Terminal, s *site.Site) {
	key, err := o.key.Read(t)
	if err == nil && key == nil && o.store.remote == "" {
		if key, err = keys.LoadReceipt(t, filepath.Join(o.store.data, "receipt.key")); server.IsMissing(err) {
			err = nil
		}
	}
	switch {
	case err != nil:
		r.Err("key", doctor.Fault, err, "name its file with --key-file")
	case o.unsigned:
		r.Add("key", doctor.Warning, "leave --unsigned out", "receipts are not signed")
	case key != nil || o.store.remote == "":
		r.ReceiptKey(&s.Service, key)
	}
	logKey, err := o.logKey.Read(t)
	if err == nil && logKey != nil {
		_, err = keys.CheckLog(logKey.Public, s.Service.Log.Keys, filepath.Join(o.content, serviceFile))
	}
	if err != nil {
		r.Err("log key", doctor.Fault, err, "name its file with --log-key-file")
	}
}
