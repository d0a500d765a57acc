// Package d1test is Cloudflare's API with one deployed service, as far as its records matter: a D1
// database with the schema of the migrations, and a wrangler.toml that names it. What the API does
// and how it fails is package apitest.
package d1test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/worker/cloudflare/apitest"
)

// Server is the API of an account that has one D1 database.
type Server struct {
	*apitest.Server
	Database string // its id
	Path     string // of the database's file, for package sqlite
	DB       *sql.DB
}

// Start starts a server with an empty database. It ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	path := filepath.Join(t.TempDir(), sqlite.FileName)
	store, err := sqlite.Create(path, slog.New(slog.DiscardHandler)) // applies the migrations
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return Serve(t, path)
}

// Serve starts a server over the database in the file at path, which others may read and write too,
// as a worker under Miniflare does. The server ends with the test.
func Serve(t testing.TB, path string) *Server {
	t.Helper()
	api := apitest.Start(t)
	d := api.ServeDatabase(t, "8f2a7d3e-54c1-4b6f-9f0e-1c2d3e4f5a6b", "anteroom", path)
	return &Server{Server: api, Database: d.ID, Path: path, DB: d.DB}
}

// Config is the text of a wrangler.toml with an environment whose database is the server's. Its
// custom domain is www.anteroom.example.
func (s *Server) Config(environment string) string {
	return fmt.Sprintf(`name = "anteroom-without-environment"

[env.%[1]s]
name = "anteroom"
routes = [{ pattern = "www.anteroom.example", custom_domain = true }]

[[env.%[1]s.d1_databases]]
binding = "DB"
database_name = "anteroom"
database_id = %[2]q
migrations_dir = "edge/store/migrations"

[[env.%[1]s.analytics_engine_datasets]]
binding = "OBSERVED"
dataset = %[3]q
`, environment, s.Database, apitest.Dataset)
}

// Deploy sets Variables for the test, writes Config to a new folder, and gives the file's path.
func (s *Server) Deploy(t testing.TB, environment string) (path string) {
	t.Helper()
	s.Setenv(t)
	path = filepath.Join(t.TempDir(), "wrangler.toml")
	if err := os.WriteFile(path, []byte(s.Config(environment)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Exec runs a statement on the database.
func (s *Server) Exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := s.DB.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
