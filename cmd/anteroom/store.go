package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/cloudflare"
	"anteroom/cmd/anteroom/internal/server"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/records"

	"github.com/spf13/pflag"
)

const (
	contentFolder = "content"
	publicFolder  = "public"
	snapshotFile  = "build/snapshot.txt" // next to the folder of the documents
)

var wranglerFile = "wrangler.toml" // tests replace it

const defaultAddress = "127.0.0.1:8080"

func contentFlag(flags *pflag.FlagSet, folder *string) {
	flags.StringVar(folder, "content", contentFolder, "the content `folder`")
}

func jsonFlag(flags *pflag.FlagSet, asJSON *bool) {
	flags.BoolVar(asJSON, "json", false, "print one JSON object")
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func publicFlag(flags *pflag.FlagSet, public *string) {
	flags.StringVar(public, "public", publicFolder, "the `folder` of documents")
}

func snapshotOf(public string) string {
	return filepath.Join(filepath.Dir(filepath.Clean(public)), snapshotFile)
}

func refusePublic(what, place string, published ...string) error {
	for _, folder := range published {
		if disk.Inside(folder, place) {
			return cli.Usage(fmt.Errorf("%s %s is inside %s, where everybody could read it", what, place, folder))
		}
	}
	return nil
}

func hostFlags(flags *pflag.FlagSet, o *server.Options) {
	publicFlag(flags, &o.Public)
	o.Receipt.AddFlag(flags)
	flags.BoolVar(&o.Unsigned, "unsigned", false, "do not sign receipts")
	flags.StringVar(&o.Outbox, "outbox", "",
		"a Maildir `folder`, with --smtp for copies (default mail in the data folder)")
	flags.StringVar(&o.Backups, "backups", "", "the `folder` of backups")
	flags.StringVar(&o.Replica, "replica", "", "the control `socket` of Litestream")
	flags.StringVar(&o.SMTP, "smtp", "",
		"the mail server: a `URL`, or a file with it")
}

// liveFlags choose the live service.
type liveFlags struct{ local string }

func (l *liveFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&l.local, "addr", defaultAddress, "the server's `address`, or the URL of one elsewhere")
}

// service returns the address of the service, or "" for the canonical host, with --remote.
func (l *liveFlags) service(remote string) (string, error) {
	if remote != "" {
		return "", nil
	} else if strings.Contains(l.local, "://") {
		return l.local, nil
	}
	host, port, err := net.SplitHostPort(l.local)
	if err != nil {
		return "", fmt.Errorf("--addr %q is neither of the form HOST:PORT nor a URL "+
			"(such as https://www.anteroom.example)", l.local)
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

// storeFlags choose the store of a command.
type storeFlags struct {
	data   string
	remote string
	config *cloudflare.Config // of remote, once it was read
}

func (s *storeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&s.data, "data", server.DefaultData, "the `folder` of the database")
	flags.StringVar(&s.remote, "remote", "",
		"the `environment` on Cloudflare, instead of --data")
}

func (s *storeFlags) deployed(ctx context.Context) (store *cloudflare.Store, err error) {
	if s.config == nil {
		s.config, err = cloudflare.ReadConfig(wranglerFile)
	}
	if err != nil {
		return nil, err
	}
	return s.config.Open(ctx, s.remote)
}

func (s *storeFlags) reader(ctx context.Context) (records.Reader, error) {
	if s.remote != "" {
		return s.deployed(ctx)
	}
	return sqlite.OpenReadOnly(filepath.Join(s.data, sqlite.FileName))
}

func (s *storeFlags) store(ctx context.Context, log *slog.Logger) (records.Store, error) {
	if s.remote != "" {
		return s.deployed(ctx)
	}
	store, err := sqlite.Open(filepath.Join(s.data, sqlite.FileName), log)
	if errors.Is(err, sqlite.ErrNone) {
		err = fmt.Errorf("%w (anteroom serve --create makes it; name its folder with --data)", err)
	}
	return store, err
}

func (s *storeFlags) create(log *slog.Logger) error {
	if err := disk.MakeFolder(s.data); err != nil {
		return err
	}
	store, err := sqlite.Create(filepath.Join(s.data, sqlite.FileName), log)
	if err != nil {
		return err
	}
	return store.Close()
}
