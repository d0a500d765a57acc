package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"anteroom/cmd/anteroom/internal/cloudflare"
	"anteroom/cmd/anteroom/internal/server"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/records"

	"github.com/spf13/pflag"
)

// storeFlags say which store a command works on.
type storeFlags struct {
	data     string
	remote   string
	wrangler string
	config   *cloudflare.Config // of wrangler, once it was read
}

func (s *storeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&s.data, "data", server.DefaultData, "the `folder` of the database")
	flags.StringVar(&s.remote, "remote", "", "the `environment` of wrangler.toml whose database on Cloudflare to use instead of --data")
	flags.StringVar(&s.wrangler, "wrangler", wranglerFile, "the `file` that names that database")
}

func (s *storeFlags) readConfig() (err error) {
	if s.config == nil {
		s.config, err = cloudflare.ReadConfig(s.wrangler)
	}
	return err
}

func (s *storeFlags) deployed(ctx context.Context) (*cloudflare.Store, error) {
	if err := s.readConfig(); err != nil {
		return nil, err
	}
	return s.config.Open(ctx, s.remote)
}

// reader opens the store to read it. It makes and changes nothing.
func (s *storeFlags) reader(ctx context.Context) (records.Reader, error) {
	if s.remote != "" {
		return s.deployed(ctx)
	}
	return sqlite.OpenReadOnly(filepath.Join(s.data, sqlite.FileName))
}

// store opens the store to read and repair it. It creates none.
func (s *storeFlags) store(ctx context.Context, log *slog.Logger) (records.Store, error) {
	if s.remote != "" {
		return s.deployed(ctx)
	}
	store, err := sqlite.Open(filepath.Join(s.data, sqlite.FileName), log)
	if errors.Is(err, sqlite.ErrNone) {
		err = fmt.Errorf("%w (anteroom serve makes it; name its folder with --data)", err)
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
