// Package d1test serves the part of Cloudflare's API for D1 from a SQLite database with the schema
// of the service, for tests.
package d1test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/turn"
)

// The account of the tests.
const (
	Token    = "test-token-0123456789"
	Account  = "0123456789abcdef0123456789abcdef"
	Database = "8f2a7d3e-54c1-4b6f-9f0e-1c2d3e4f5a6b"
	Path     = "/accounts/" + Account + "/d1/database/" + Database + "/raw"
)

// Server is the API of an account with one database.
type Server struct {
	Calls []string     // the body of each call of the database
	Size  int64        // of the database, as answers say
	Data  string       // the folder of the database
	Other http.Handler // serves all other calls
	// Fail, if set, handles the calls in place of the database, until it returns false.
	Fail func(w http.ResponseWriter, call int) bool

	t     testing.TB
	store *sqlite.Store
}

// Start starts a server with an empty database for a test, and sets the environment variables that
// point to it.
func Start(t testing.TB) *Server {
	t.Helper()
	data := t.TempDir()
	// applies the migrations
	store, err := sqlite.Create(filepath.Join(data, sqlite.FileName), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, store: store, Data: data, Other: http.NotFoundHandler()}
	server := httptest.NewServer(s)
	t.Cleanup(func() { server.Close(); store.Close() })
	t.Setenv("CLOUDFLARE_API_TOKEN", Token)
	t.Setenv("CLOUDFLARE_ACCOUNT_ID", Account)
	t.Setenv("CLOUDFLARE_API_BASE_URL", server.URL)
	return s
}

// Config writes a wrangler.toml with an environment that has the server's database and the custom
// domain www.anteroom.example. edits are pairs of texts to replace in it.
func (s *Server) Config(environment string, edits ...string) (path string) {
	s.t.Helper()
	text := fmt.Sprintf(`[env.%[1]s]
name = "anteroom"
routes = [{ pattern = "www.anteroom.example", custom_domain = true }]

[[env.%[1]s.d1_databases]]
binding = "DB"
database_name = "anteroom"
database_id = %[2]q

[[env.%[1]s.analytics_engine_datasets]]
binding = "OBSERVED"
dataset = "anteroom_observed"
`, environment, Database)
	path = filepath.Join(s.t.TempDir(), "wrangler.toml")
	if err := os.WriteFile(path, []byte(strings.NewReplacer(edits...).Replace(text)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s *Server) Exec(statement string, args ...any) {
	s.t.Helper()
	if _, err := s.store.Write(s.t.Context(), turn.Statement{SQL: statement, Args: args}); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
}

func Answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After-Ms", "1")
	w.WriteHeader(status)
	w.Write([]byte(body))
}

func Refuse(w http.ResponseWriter, status, code int, message string) {
	const body = `{"success":false,"errors":[{"code":%d,"message":%q}],"messages":[],"result":null}`
	Answer(w, status, fmt.Sprintf(body, code, message))
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+Token {
		Refuse(w, http.StatusForbidden, 10000, "Authentication error")
		return
	}
	if r.URL.Path != Path {
		s.Other.ServeHTTP(w, r)
		return
	}
	var call struct {
		Batch []struct {
			SQL    string   `json:"sql"`
			Params []string `json:"params"` // only strings, by the schema
		} `json:"batch"`
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		Refuse(w, http.StatusBadRequest, 7400, err.Error())
		return
	}
	text, _ := json.Marshal(call)
	s.Calls = append(s.Calls, string(text))
	if s.Fail != nil && s.Fail(w, len(s.Calls)) {
		return
	}
	statements := make([]turn.Statement, len(call.Batch))
	for i, query := range call.Batch {
		statements[i].SQL = query.SQL
		for _, p := range query.Params {
			statements[i].Args = append(statements[i].Args, p)
		}
	}
	all, changes := make([][][]any, len(statements)), make([]int64, len(statements))
	var err error
	if strings.HasPrefix(statements[0].SQL, "SELECT") || strings.HasPrefix(statements[0].SQL, "WITH") {
		all, err = s.store.Read(r.Context(), statements...)
	} else {
		changes, err = s.store.Write(r.Context(), statements...)
	}
	if err != nil {
		Refuse(w, http.StatusBadRequest, 7500, err.Error()+": SQLITE_ERROR")
		return
	}
	results := make([]any, len(statements))
	for i := range results {
		columns := []string{}
		if len(all[i]) > 0 {
			columns = make([]string, len(all[i][0])) // no caller reads their names
		}
		results[i] = map[string]any{
			"success": true, "meta": map[string]any{"changes": changes[i], "size_after": s.Size},
			"results": map[string]any{"columns": columns, "rows": append([][]any{}, all[i]...)},
		}
	}
	body, err := json.Marshal(map[string]any{"success": true, "errors": []any{}, "messages": []any{}, "result": results})
	if err != nil {
		s.t.Error(err)
	}
	Answer(w, http.StatusOK, string(body))
}
