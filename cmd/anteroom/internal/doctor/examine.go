package doctor

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/content"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/server"
	"anteroom/edge/native"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// Service is what Examine looks at.
type Service struct {
	Content, Public, Snapshot string                                        // folders, and the file of the snapshot
	Data                      string                                        // the folder of the store
	Remote                    string                                        // the environment on Cloudflare whose store it is; "" if it is here
	Open                      func(context.Context) (records.Reader, error) // opens the store

	Key      keys.Receipt
	LogKey   keys.Log
	Unsigned bool

	SMTP, SMTPFile, Outbox string
	Backups                string // a folder, or ""
}

// Examine runs all checks.
func (s *Service) Examine(ctx context.Context, t *cli.Terminal) (r Report) {
	silent := *t
	silent.Err = io.Discard // what loading warns about is a finding here
	loaded := s.documents(&r, &silent)
	if loaded != nil {
		s.keys(&r, &silent, loaded)
	}
	name := filepath.Join(s.Data, sqlite.FileName)
	local := s.Remote == ""
	r.Backups(s.Backups, t.Now())
	if !local {
		name = "the D1 database of " + s.Remote
	}
	switch store, err := s.Open(ctx); {
	case errors.Is(err, sqlite.ErrNone) && local && filepath.Clean(s.Data) == server.DefaultData:
		r.Add("store", OK, "", "anteroom serve will begin %s", name)
	case err != nil:
		r.Err("store", Fault, err, "name the right one with --data or --remote")
	default:
		r.Store(ctx, store, name, loaded, t.Now())
		store.Close()
	}
	if local {
		relay, err := s.SMTP, error(nil)
		if s.SMTPFile != "" {
			relay, err = server.ReadSMTP(s.SMTPFile)
		}
		if err != nil {
			r.Err("mail", Fault, err, "name the file with --smtp-file")
			return r
		}
		r.Mail(ctx, relay, cmp.Or(s.Outbox, filepath.Join(s.Data, native.MailFolder)))
	}
	return r
}

// documents loads the content and compares public/ with it, as generate --check does. It returns
// nil if the content cannot be loaded.
func (s *Service) documents(r *Report, t *cli.Terminal) *site.Site {
	const check, fix = "content", "run anteroom generate --check"
	loaded, output, err := content.Generate(s.Content, time.Now())
	if err != nil {
		r.Err(check, Fault, err, fix)
		return nil
	}
	published, err := content.Publish(t, s.Public, s.Snapshot, loaded, output, true, t.Now())
	switch {
	case err != nil:
		r.Err(check, Fault, err, fix)
		return loaded
	case published.Changes > 0:
		r.Add(check, Warning, "run anteroom generate", "%s is stale: %s not as %s has it", s.Public, cli.Plural(published.Changes, "document"), s.Content)
	default:
		r.Add(check, OK, "", "%s loads, and %s is current: version %s", s.Content, s.Public, output.Snapshot.ShortVersion())
	}
	for _, warning := range published.Warnings {
		r.Err(check, Warning, errors.New(warning), fix)
	}
	return loaded
}

// keys compares the keys of receipts and of the log with the content. The key of a deployed service
// need not be here.
func (s *Service) keys(r *Report, t *cli.Terminal, loaded *site.Site) {
	key, err := s.Key.Read(t)
	if err == nil && key == nil && s.Remote == "" {
		if key, err = keys.LoadReceipt(t, filepath.Join(s.Data, "receipt.key")); server.IsMissing(err) {
			err = nil
		}
	}
	switch {
	case err != nil:
		r.Err("key", Fault, err, "name its file with --key-file")
	case s.Unsigned:
		r.Add("key", Warning, "leave --unsigned out", "receipts are not signed")
	case key != nil || s.Remote == "":
		r.ReceiptKey(&loaded.Service, key)
	}
	logKey, err := s.LogKey.Read(t)
	if err == nil && logKey != nil {
		_, err = keys.CheckLog(logKey.Public, loaded.Service.Log.Keys, filepath.Join(s.Content, "service.yaml"))
	}
	if err != nil {
		r.Err("log key", Fault, err, "name its file with --log-key-file")
	}
}
