package cloudflare

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cloudflare/d1test"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

func openStore(t *testing.T) (*Store, *d1test.Server) {
	t.Helper()
	server := d1test.Start(t)
	s, err := openConfig(t, server.Config("production"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, server
}

func openConfig(t *testing.T, path string) (*Store, error) {
	t.Helper()
	config, err := ReadConfig(path)
	if err != nil {
		return nil, err
	}
	return config.Open(t.Context(), "production")
}

func check(t testing.TB, faults ...error) {
	t.Helper()
	for _, err := range faults {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("the error is %v, want %q", err, word)
		}
	}
	if err != nil && strings.Contains(err.Error(), d1test.Token) {
		t.Errorf("the token is in the error %v", err)
	}
}

// Values are read as they were written, whatever the API takes: it takes strings alone.
func TestReadAndWrite(t *testing.T) {
	s, server := openStore(t)
	server.Exec("CREATE TABLE things (n INTEGER, text TEXT)")
	changes, err := s.Write(t.Context(),
		turn.Statement{SQL: "INSERT INTO things VALUES (?, ?), (?, ?)", Args: []any{int64(-7), "a 'quoted' ?", int64(maxInteger), nil}},
		turn.Statement{SQL: "UPDATE things SET n = n WHERE n = ? AND text = ?", Args: []any{int64(-7), "a 'quoted' ?"}})
	if err != nil || fmt.Sprint(changes) != "[2 1]" {
		t.Fatalf("%v, %v", changes, err)
	}
	rows, err := s.Read(t.Context(), turn.Statement{SQL: "SELECT n, text, typeof(n), typeof(text) FROM things ORDER BY n"}, turn.Statement{SQL: "SELECT 1 WHERE 0"})
	if got := fmt.Sprint(rows, err); got != "[[[-7 a 'quoted' ? integer text] [9007199254740992 <nil> integer null]] []] <nil>" {
		t.Error(got)
	}
	if last := server.Calls[len(server.Calls)-1]; !strings.Contains(last, `"params":[]`) {
		t.Errorf("no parameters are sent as %s", last)
	}
	for _, statement := range []turn.Statement{
		{SQL: "SELECT ?", Args: []any{1.5}},
		{SQL: "SELECT ?"},
	} {
		if _, err := s.Read(t.Context(), statement); err == nil {
			t.Errorf("%v is read", statement)
		}
	}
	_, err = s.Write(t.Context(), turn.Statement{SQL: "DELETE FROM things"}, turn.Statement{SQL: "INSERT INTO missing VALUES (1)"})
	wantError(t, err, "write to D1 database anteroom (production): Cloudflare answered 400, code 7500:", "SQLITE_ERROR")
	if rows, err := s.Read(t.Context(), turn.Statement{SQL: "SELECT count(*) FROM things"}); err != nil || rows[0][0][0] != int64(2) {
		t.Errorf("a transaction that failed leaves %v, %v", rows, err)
	}
}

// An answer that is not a whole good one is an error that says what to do. Reading is tried again,
// writing never.
func TestFaults(t *testing.T) {
	s, server := openStore(t)
	read := turn.Statement{SQL: "SELECT 1 AS one"}
	good := func(result string) string {
		return `{"success":true,"errors":[],"messages":[],"result":[` + result + `]}`
	}
	for _, c := range []struct {
		name   string
		status int
		body   string
		tries  int
		want   string
	}{
		{"permission", 403, `{"success":false,"errors":[{"code":10000,"message":"Authentication error"}],"result":null}`, 1, `code 10000: "Authentication error" (give the token in CLOUDFLARE_API_TOKEN the permission Account, D1, Edit`},
		{"too many", 429, `{}`, 3, "(try again in some minutes"},
		{"crash", 500, `<html>`, 3, "Cloudflare answered 500: Internal Server Error (try again in some minutes"},
		{"truncated", 200, `{"success":true,"result":[{`, 1, "truncated or malformed"},
		{"not JSON", 200, `<html>`, 1, "truncated or malformed"},
		{"an echo of the token", 400, `{"errors":[{"code":1,"message":"` + d1test.Token + `"}]}`, 1, `code 1: "…"`},
		{"no result", 200, good(""), 1, "got results of 0 statements, want 1"},
		{"a failure", 200, good(`{"success":false}`), 1, "statement 1 failed"},
		{"no rows", 200, good(`{"success":true,"results":{}}`), 1, "the response has no rows"},
		{"a short row", 200, good(`{"success":true,"results":{"columns":["a","b"],"rows":[[1]]}}`), 1, "row 1 has 1 values for 2 columns"},
		{"a fraction", 200, good(`{"success":true,"results":{"columns":["a"],"rows":[[1.5]]}}`), 1, `row 1, column "a": want a string, an exact integer or null`},
		{"a list", 200, good(`{"success":true,"results":{"columns":["a"],"rows":[[[]]]}}`), 1, "want a string, an exact integer or null"},
	} {
		before := len(server.Calls)
		server.Fail = func(w http.ResponseWriter, _ int) bool { d1test.Answer(w, c.status, c.body); return true }
		_, err := s.Read(t.Context(), read)
		wantError(t, err, c.want)
		if got := len(server.Calls) - before; got != c.tries {
			t.Errorf("%s: read in %d calls, want %d", c.name, got, c.tries)
		}
	}
	faults := func(code int) string {
		return fmt.Sprintf(`{"success":false,"errors":[{"code":%d,"message":"internal error"}],"result":null}`, code)
	}
	for _, c := range []struct {
		status int // 0 breaks the connection off
		body   string
	}{{500, ""}, {0, ""}, {500, faults(10013)}, {503, faults(7500)}, {400, faults(7500)}} {
		server.Fail = func(w http.ResponseWriter, _ int) bool {
			if c.status == 0 {
				panic(http.ErrAbortHandler)
			}
			d1test.Answer(w, c.status, c.body)
			return true
		}
		before := len(server.Calls)
		_, err := s.Write(t.Context(), turn.Statement{SQL: "DELETE FROM contacts"})
		wantError(t, err, "it is not known whether it was done: look at the records before you repeat it")
		if len(server.Calls) != before+1 {
			t.Errorf("after %d %s a write is tried again", c.status, c.body)
		}
	}
	failed := len(server.Calls) + 1
	server.Fail = func(w http.ResponseWriter, call int) bool {
		if call > failed {
			return false
		}
		panic(http.ErrAbortHandler)
	}
	if rows, err := s.Read(t.Context(), read); err != nil || rows[0][0][0] != int64(1) {
		t.Errorf("after a connection that broke off: %v, %v", rows, err)
	}
}

func TestOpen(t *testing.T) {
	server := d1test.Start(t)
	for want, path := range map[string]string{
		"no file none.toml (run this in the folder":         "none.toml",
		`has no environment "production" (it has preview)`:  server.Config("preview"),
		"binds no D1 database as DB":                        server.Config("production", `"DB"`, `"OTHER"`),
		"has the placeholder 00000000-0000-0000-0000-00000": server.Config("production", d1test.Database, "00000000-0000-0000-0000-000000000001"),
		"invalid database_id":                               server.Config("production", d1test.Database, "x"),
	} {
		_, err := openConfig(t, path)
		wantError(t, err, want)
	}
	path := server.Config("production")
	t.Setenv("CLOUDFLARE_ACCOUNT_ID", "")
	for accounts, want := range map[string]string{
		`[{"id":"a"},{"id":"b"}]`:           "the token in CLOUDFLARE_API_TOKEN has 2 accounts (set CLOUDFLARE_ACCOUNT_ID, or account_id in wrangler.toml)",
		`[{"id":"` + d1test.Account + `"}]`: "",
	} {
		server.Other = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d1test.Answer(w, 200, `{"success":true,"errors":[],"result":`+accounts+`}`)
		})
		if _, err := openConfig(t, path); want != "" {
			wantError(t, err, want)
		} else if err != nil {
			t.Errorf("the only account of the token: %v", err)
		}
	}
	t.Setenv("CLOUDFLARE_ACCOUNT_ID", d1test.Account)
	server.Exec("DELETE FROM d1_migrations WHERE name LIKE '0003%'")
	_, err := openConfig(t, path)
	wantError(t, err, "missing migration 0003", "(run anteroom deploy --env production)")
	server.Exec("DROP TABLE d1_migrations")
	_, err = openConfig(t, path)
	wantError(t, err, "D1 database anteroom (production) has no tables yet (run anteroom deploy")
	t.Setenv("CLOUDFLARE_API_BASE_URL", "http://api.example")
	t.Setenv("CLOUDFLARE_API_TOKEN", "")
	_, err = openConfig(t, path)
	wantError(t, err, "CLOUDFLARE_API_TOKEN is not set", "CLOUDFLARE_API_BASE_URL is not an https URL")
}

func TestObserved(t *testing.T) {
	s, server := openStore(t)
	asked, status := "", 200
	answer := `{"meta":[],"data":[{"day":"2026-11-19","client":"a \"client\"","kind":"initialize","n":"3"},{"day":"2026-11-20","client":"7","kind":"","n":4}],"rows":2}`
	server.Other = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 4096)
		n, _ := r.Body.Read(body)
		asked = r.URL.Path + " " + string(body[:n])
		d1test.Answer(w, status, answer)
	})
	rows, err := s.Observed(t.Context(), "2026-11-19", "2026-12-31")
	if fmt.Sprint(rows, err) != "[{2026-11-19 a \"client\" initialize 3} {2026-11-20 7  4}] <nil>" ||
		!strings.Contains(asked, "/analytics_engine/sql SELECT ") || !strings.Contains(asked,
		" FROM anteroom_observed WHERE timestamp >= toDateTime('2026-11-19 00:00:00') AND timestamp < toDateTime('2027-01-01 00:00:00') GROUP BY ") {
		t.Errorf("%v, %v, asked %s", rows, err, asked)
	}
	for body, want := range map[string]string{
		`{"data":[],"rows":1}`: "the response has no rows", `{`: "truncated",
		`{"data":[{"day":null,"client":"a","kind":"b","n":1}],"rows":1}`:  "row 1: want a day and a number",
		`{"data":[{"day":"a","client":"a","kind":"b","n":1.5}],"rows":1}`: "row 1: want",
	} {
		answer = body
		_, err := s.Observed(t.Context(), "", "")
		wantError(t, err, want)
	}
	status, answer = 403, `{"errors":[{"code":10089,"message":"enable it"}]}`
	_, err = s.Observed(t.Context(), "", "")
	wantError(t, err, "or do in Cloudflare's dashboard what it asks for")
	status, answer = 422, "unable to find type of column"
	_, err = s.Observed(t.Context(), "", "")
	wantError(t, err, `ask Analytics Engine: Cloudflare answered 422: "unable to find type of column"`)
	s.dataset = ""
	if _, err := s.Observed(t.Context(), "", ""); !errors.Is(err, records.ErrNotObserved) {
		t.Errorf("no dataset: %v", err)
	}
}
