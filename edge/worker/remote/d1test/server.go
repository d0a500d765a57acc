// Package d1test is Cloudflare's API for tests, as far as an operator's commands call it: D1 over a
// real SQLite database with the schema of the migrations, and canned answers of Analytics Engine.
// It answers as the platform does, keeps its limits, and fails in the ways that a test asks for.
package d1test

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"anteroom/edge/native/sqlite"
)

// The limits of D1 that depend on no plan.
const (
	maxParams = 100
	maxSQL    = 100_000
	maxRow    = 2_000_000
)

// Dataset is the dataset of Analytics Engine that the server has.
const Dataset = "anteroom_observed"

// Server is the API of an account that has one D1 database.
type Server struct {
	URL      string // the base of the API
	Token    string
	Account  string // its id
	Database string // its id
	Path     string // of the database's file, for package sqlite
	DB       *sql.DB

	mutex    sync.Mutex
	accounts []string
	observed []byte
	faults   []Fault
	calls    []Call
}

// Call is a call that was made of the server.
type Call struct {
	Method, Path string // the path without the base
	Body         string
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
	s := &Server{
		Token: "token-of-a-test-0123456789", Account: "0123456789abcdef0123456789abcdef", Database: "8f2a7d3e-54c1-4b6f-9f0e-1c2d3e4f5a6b",
		Path: path,
	}
	s.Observe(t)
	s.accounts = []string{s.Account}
	var err error
	s.DB, err = sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.DB.Close() })
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL + "/client/v4"
	return s
}

// Variables are the variables that wrangler takes from its environment, as KEY=VALUE.
func (s *Server) Variables() []string {
	return []string{"CLOUDFLARE_API_BASE_URL=" + s.URL, "CLOUDFLARE_API_TOKEN=" + s.Token, "CLOUDFLARE_ACCOUNT_ID=" + s.Account}
}

// Setenv sets Variables for the test.
func (s *Server) Setenv(t testing.TB) {
	t.Helper()
	for _, variable := range s.Variables() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
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
migrations_dir = "edge/migrations"

[[env.%[1]s.analytics_engine_datasets]]
binding = "OBSERVED"
dataset = %[3]q
`, environment, s.Database, Dataset)
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

// Accounts sets the ids of the accounts that the token has.
func (s *Server) Accounts(ids ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.accounts = ids
}

// Observe sets the rows that Analytics Engine answers from now on, whatever it is asked.
func (s *Server) Observe(t testing.TB, rows ...Observed) {
	t.Helper()
	data := []any{}
	for _, r := range rows {
		data = append(data, map[string]any{"day": r.Day, "client": r.Client, "kind": r.Kind, "n": fmt.Sprint(r.N)})
	}
	meta := []any{}
	for _, column := range [][2]string{{"day", "String"}, {"client", "String"}, {"kind", "String"}, {"n", "UInt64"}} {
		meta = append(meta, map[string]string{"name": column[0], "type": column[1]})
	}
	text, err := json.Marshal(map[string]any{"meta": meta, "data": data, "rows": len(rows)})
	if err != nil {
		t.Fatal(err)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.observed = text
}

// Observed is a row that Analytics Engine answers.
type Observed struct {
	Day, Client, Kind string
	N                 int64
}

// Calls are the calls that were made so far, those that failed too.
func (s *Server) Calls() []Call {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]Call(nil), s.calls...)
}

// ServeHTTP answers a call of the API, by the next fault where there is one.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.mutex.Lock()
	s.calls = append(s.calls, Call{r.Method, strings.TrimPrefix(r.URL.Path, "/client/v4/"), string(body)})
	var fault Fault
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	s.mutex.Unlock()
	perform := func() Answer { return s.perform(r, body) }
	if fault == nil {
		perform().write(w)
		return
	}
	fault(w, perform)
}

// Answer is an answer of the API.
type Answer struct {
	Status int
	Body   []byte
	Type   string // of its content, "" for JSON
}

func (a Answer) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", cmp.Or(a.Type, "application/json"))
	w.WriteHeader(a.Status)
	w.Write(a.Body)
}

// refusal is the answer to a call that is refused.
func refusal(status, code int, message string) Answer {
	body, _ := json.Marshal(map[string]any{
		"success": false, "errors": []any{map[string]any{"code": code, "message": message}}, "messages": []any{}, "result": nil,
	})
	return Answer{Status: status, Body: body}
}

func success(result any) Answer {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]any{"success": true, "errors": []any{}, "messages": []any{}, "result": result}); err != nil {
		return refusal(http.StatusInternalServerError, 7500, "internal error")
	}
	return Answer{Status: http.StatusOK, Body: body.Bytes()}
}

// perform performs a call.
func (s *Server) perform(r *http.Request, body []byte) Answer {
	path, api := strings.CutPrefix(r.URL.Path, "/client/v4/")
	switch {
	case r.Header.Get("Authorization") != "Bearer "+s.Token:
		return refusal(http.StatusForbidden, 10000, "Authentication error")
	case !api:
		return refusal(http.StatusNotFound, 7003, "Could not route to "+r.URL.Path)
	case path == "accounts" && r.Method == http.MethodGet:
		return s.listAccounts()
	}
	path, mine := strings.CutPrefix(path, "accounts/"+s.Account+"/")
	if !mine {
		return refusal(http.StatusForbidden, 7403, "The given account is not valid or is not authorized to access this service")
	}
	if r.Method != http.MethodPost {
		return refusal(http.StatusMethodNotAllowed, 10405, "Method not allowed")
	}
	if path == "analytics_engine/sql" {
		return s.analytics(string(body))
	}
	path, isD1 := strings.CutPrefix(path, "d1/database/")
	database, what, _ := strings.Cut(path, "/")
	switch {
	case !isD1 || what != "query" && what != "raw":
		return refusal(http.StatusNotFound, 7003, "Could not route to "+r.URL.Path)
	case database != s.Database:
		return refusal(http.StatusNotFound, 7404, "The database "+database+" could not be found")
	case r.Header.Get("Content-Type") != "application/json":
		return refusal(http.StatusBadRequest, 7400, "The request is malformed: content type")
	}
	return s.query(r.Context(), body, what == "raw")
}

func (s *Server) listAccounts() Answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	list := []any{}
	for i, id := range s.accounts {
		list = append(list, map[string]any{"id": id, "name": fmt.Sprintf("account %d", i+1)})
	}
	return success(list)
}

func (s *Server) analytics(query string) Answer {
	if !strings.Contains(query, " FROM "+Dataset) || !strings.HasSuffix(query, " FORMAT JSON") {
		return Answer{http.StatusUnprocessableEntity, []byte("cannot parse the query"), "text/plain"}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return Answer{Status: http.StatusOK, Body: s.observed}
}

// statement is a statement of a call.
type statement struct {
	SQL    string `json:"sql"`
	Params []any  `json:"params"`
}

// query runs the statements of a call as one transaction.
func (s *Server) query(ctx context.Context, body []byte, raw bool) Answer {
	var call struct {
		statement
		Batch []statement `json:"batch"`
	}
	if err := json.Unmarshal(body, &call); err != nil || (call.SQL == "") == (len(call.Batch) == 0) {
		return refusal(http.StatusBadRequest, 7400, "The request is malformed: neither a statement nor a batch")
	}
	if len(call.Batch) == 0 {
		call.Batch = []statement{call.statement}
	}
	tx, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		return refusal(http.StatusInternalServerError, 7500, "internal error")
	}
	defer tx.Rollback() // does nothing after Commit
	var results []any
	for _, statement := range call.Batch {
		result, err := run(ctx, tx, statement, raw)
		if err != nil {
			return refusal(http.StatusBadRequest, 7500, err.Error())
		}
		results = append(results, result)
	}
	if err := tx.Commit(); err != nil {
		return refusal(http.StatusBadRequest, 7500, err.Error()+": SQLITE_ERROR")
	}
	return success(results)
}

// run runs a statement. Its error is in D1's words.
func run(ctx context.Context, tx *sql.Tx, statement statement, raw bool) (any, error) {
	switch {
	case len(statement.SQL) > maxSQL:
		return nil, fmt.Errorf("statement too long: SQLITE_TOOBIG")
	case len(statement.Params) > maxParams:
		return nil, fmt.Errorf("too many SQL variables at offset 0: SQLITE_ERROR")
	}
	for _, param := range statement.Params {
		switch param := param.(type) {
		case nil, float64: // a number of JavaScript, bound as REAL
		case string:
			if len(param) > maxRow {
				return nil, fmt.Errorf("string or blob too big: SQLITE_TOOBIG")
			}
		default:
			return nil, fmt.Errorf("D1_TYPE_ERROR: type not supported")
		}
	}
	var before, after int64
	if err := tx.QueryRowContext(ctx, "SELECT total_changes()").Scan(&before); err != nil {
		return nil, fmt.Errorf("%w: SQLITE_ERROR", err)
	}
	rows, err := tx.QueryContext(ctx, statement.SQL, statement.Params...)
	if err != nil {
		return nil, fmt.Errorf("%s: SQLITE_ERROR", message(err))
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, fmt.Errorf("%w: SQLITE_ERROR", err)
	}
	lists, objects := [][]any{}, []any{}
	for rows.Next() {
		row, pointers, size := make([]any, len(columns)), make([]any, len(columns)), 0
		for i := range row {
			pointers[i] = &row[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			return nil, fmt.Errorf("%w: SQLITE_ERROR", err)
		}
		object := map[string]any{}
		for i := range row {
			var bytes int
			row[i], bytes = value(row[i])
			size += bytes
			object[columns[i]] = row[i]
		}
		if size > maxRow {
			return nil, fmt.Errorf("string or blob too big: SQLITE_TOOBIG")
		}
		lists, objects = append(lists, row), append(objects, object)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s: SQLITE_ERROR", message(err))
	}
	if err := tx.QueryRowContext(ctx, "SELECT total_changes()").Scan(&after); err != nil {
		return nil, fmt.Errorf("%w: SQLITE_ERROR", err)
	}
	var results any = objects
	if raw {
		if columns == nil {
			columns = []string{}
		}
		results = map[string]any{"columns": columns, "rows": lists}
	}
	meta := map[string]any{
		"served_by": "d1test", "duration": 0.1728, "changes": after - before, "changed_db": after > before,
		"rows_read": len(lists), "rows_written": after - before,
	}
	return map[string]any{"success": true, "results": results, "meta": meta}, nil
}

// message is what SQLite says, without what its Go driver adds.
func message(err error) string {
	text := strings.TrimPrefix(err.Error(), "SQL logic error: ")
	text = strings.TrimPrefix(text, "constraint failed: ")
	if i := strings.LastIndex(text, " ("); i > 0 {
		text = text[:i]
	}
	return text
}

// value is a value of SQLite as JavaScript writes it, and its size in bytes.
func value(v any) (any, int) {
	switch v := v.(type) {
	case int64:
		return float64(v), 8 // rounded beyond 2^53
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, 8
		}
		return v, 8
	case []byte:
		list := make([]int, len(v))
		for i, b := range v {
			list[i] = int(b)
		}
		return list, len(v)
	case string:
		if !utf8.ValidString(v) {
			v = strings.ToValidUTF8(v, "\uFFFD")
		}
		return v, len(v)
	case time.Time: // what the driver makes of a column of the type TIMESTAMP
		return v.UTC().Format(time.DateTime), len(time.DateTime)
	case bool:
		if v {
			return 1, 8
		}
		return 0, 8
	}
	return v, 0
}
