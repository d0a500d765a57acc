package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
	"anteroom/edge/worker/cloudflare"
	"anteroom/edge/worker/deploy"
	"anteroom/edge/worker/remote"
)

// cloudflare looks at the service on Cloudflare, in each environment: wrangler.toml, the token, the
// database and what is observed.
func (d *doctor) cloudflare(ctx context.Context, f *findings) {
	if len(d.environments) == 0 {
		return
	}
	if d.site != nil {
		file, err := deploy.ReadFile(d.store.wrangler)
		if err == nil {
			facts := deployFacts(&d.site.Service)
			err = file.Check(&facts)
		}
		if err != nil {
			first, more, _ := strings.Cut(err.Error(), "\n")
			if more != "" {
				first += fmt.Sprintf(", and %s", cli.Plural(1+strings.Count(more, "\n"), "other fault"))
			}
			f.warn("anteroom deploy --dry-run lists all", "%s cannot be deployed with %s: %s", d.store.wrangler, d.serve.content, first)
		}
	}
	if d.store.remote == "" && os.Getenv(cloudflare.TokenVariable) == "" {
		f.warn("set it to a token with the permission D1 Read, or leave it where only the server of this machine matters",
			"%s of %s: not looked at, as %s is not set", few(d.environments), d.store.wrangler, cloudflare.TokenVariable)
		return
	}
	for _, environment := range d.environments {
		d.deployed(ctx, f, environment)
	}
}

// deployed looks at an environment.
func (d *doctor) deployed(ctx context.Context, f *findings, environment string) {
	store, err := remote.Open(ctx, d.store.wrangler, environment)
	if err != nil {
		s := fault
		if unreachable(err) {
			s = warning
		}
		f.err(s, err)
		return
	}
	defer store.Close()
	f.ok("the token may read %s, which is of this program's schema", store.Name())
	d.records(ctx, f, store, store.Name())
	rows, err := store.Read(ctx, turn.Statement{SQL: "SELECT unixepoch()"})
	if err == nil {
		second, _ := rows[0][0][0].(int64)
		d.skew(f, time.Unix(second, 0), store.Name())
		today := d.t.Now().UTC().Format(time.DateOnly)
		_, err = observed(ctx, store, records.Days{Since: today, Through: today})
	}
	if err != nil && !errors.Is(err, remote.ErrNoDataset) {
		f.err(warning, err)
	}
}
