package main

import (
	"context"
	"path/filepath"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/records"

	"github.com/spf13/pflag"
)

// storeFlags say which store a command works on.
type storeFlags struct {
	data     string
	remote   string
	wrangler string
}

func (s *storeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&s.data, "data", "data", "the `folder` of the database")
	flags.StringVar(&s.remote, "remote", "", "the `environment` of wrangler.toml whose database on Cloudflare is meant, in the place of --data")
	flags.StringVar(&s.wrangler, "wrangler", "wrangler.toml", "the `file` that names that database")
}

// reader opens the store to read it. It makes nothing.
func (s *storeFlags) reader(_ context.Context) (records.Reader, error) {
	return sqlite.OpenReader(filepath.Join(s.data, sqlite.FileName))
}
