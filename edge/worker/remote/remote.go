// Package remote is the operator's access to a deployed service through Cloudflare's API: its
// records in D1, and what Analytics Engine has observed. Which database that is stands in
// wrangler.toml. The API token comes from the environment, as wrangler takes it.
package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"anteroom/edge/store/migrations"
	"anteroom/edge/turn"
	"anteroom/edge/worker/cloudflare"
)

// The permissions of an API token, as Cloudflare's dashboard calls them.
const (
	permissionD1        = "Account, D1, Edit (D1, Read is enough to read)"
	permissionAnalytics = "Account, Account Analytics, Read"
)

// Store is the D1 database of an environment of wrangler.toml. Several goroutines may call its
// methods at once. A Store does what a records.Store does.
//
// No error of a Store holds the API token or an argument of a statement.
type Store struct {
	target
	client *cloudflare.Client
}

// Open opens the D1 database of an environment of the wrangler.toml at path. Its error lists
// everything that is wrong with the file and the variables CLOUDFLARE_API_TOKEN,
// CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_API_BASE_URL. Without an account in either, Open asks for
// the token's only one. Open refuses a database whose migrations are not those of this program.
func Open(ctx context.Context, path, environment string) (*Store, error) {
	s := &Store{}
	var wrong, wrongVariables error
	s.target, wrong = readTarget(path, environment)
	s.client, wrongVariables = cloudflare.New(permissionD1)
	if err := errors.Join(wrong, wrongVariables); err != nil {
		return nil, err
	}
	if err := s.client.FindAccount(ctx, s.configuredAccount); err != nil {
		return nil, err
	}
	if err := s.checkMigrations(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// checkMigrations compares the migrations of the database with those of this program.
func (s *Store) checkMigrations(ctx context.Context) error {
	apply := "run anteroom deploy --env " + s.environment + ", which applies it before the worker that needs it"
	rows, err := s.Read(ctx, turn.Statement{SQL: migrations.Select})
	var refused *cloudflare.Failure
	if errors.As(err, &refused) && strings.Contains(refused.Said(), "no such table: "+migrations.Table) {
		return fmt.Errorf("%s has no tables yet (%s)", s.Name(), apply)
	}
	if err != nil {
		return err
	}
	lacking, err := migrations.Missing(rows[0])
	if err == nil && len(lacking) > 0 {
		err = fmt.Errorf("it lacks migration %s (%s)", strings.Join(lacking, ", "), apply)
	}
	if err != nil {
		return fmt.Errorf("check %s: %w", s.Name(), err)
	}
	return nil
}

// Name names the database in messages to the operator.
func (s *Store) Name() string {
	return fmt.Sprintf("D1 database %s (%s)", s.databaseName, s.environment)
}

// Host is the custom domain of the environment, "" where it has none.
func (s *Store) Host() string { return s.host }

// Vacuum does nothing: D1 lets no caller rebuild it. See RetentionNote.
func (s *Store) Vacuum(context.Context) error { return nil }

// RetentionNote says what of an erased address the store cannot reach.
func (s *Store) RetentionNote() string {
	return "Time Travel can restore it for 30 days (7 on the Free plan)"
}

// Close lets go of the connections to the API.
func (s *Store) Close() error {
	s.client.Close()
	return nil
}
