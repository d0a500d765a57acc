package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/migrations"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
	"anteroom/edge/worker/cloudflare"
	"anteroom/edge/worker/cloudflare/apitest"
	"anteroom/edge/worker/remote/d1test"
)

var _ records.Store = (*Store)(nil)

// openStore opens the database of a new server. No wait of it takes time.
func openStore(t *testing.T) (*Store, *d1test.Server) {
	t.Helper()
	server := d1test.Start(t)
	s, err := Open(t.Context(), server.Deploy(t, "production"), "production")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.client.Wait = func(context.Context, time.Duration) {}
	return s, server
}

func statement(text string, args ...any) turn.Statement {
	return turn.Statement{SQL: text, Args: args}
}

// wantError fails the test where err does not say all of the words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v, want one that says %q", err, word)
		}
	}
}

func TestStore(t *testing.T) {
	s, _ := openStore(t)
	if s.Name() != "D1 database anteroom (production)" || s.Host() != "www.anteroom.example" || !strings.HasPrefix(s.RetentionNote(), "Time Travel") {
		t.Errorf("%q, %q, %q", s.Name(), s.Host(), s.RetentionNote())
	}
	if err := s.Vacuum(t.Context()); err != nil {
		t.Error(err)
	}
}

// Texts and integers come back as they were written, in the order of the columns.
func TestValues(t *testing.T) {
	s, server := openStore(t)
	server.Exec(t, "CREATE TABLE v (a TEXT, z INTEGER, n TEXT) STRICT")
	var writes []turn.Statement
	var want [][]any
	for i, text := range []string{
		"", "a", "'", `"\`, "<&>", "\x00\x1f\n\u2028\u2029", "\U0001f600 é", "null", "7", "{}", strings.Repeat("x", 1<<16),
	} {
		n := int64(i) - 2
		writes = append(writes, statement("INSERT INTO v VALUES (?, ?, ?)", text, n, nil))
		want = append(want, []any{n, text, nil, text})
	}
	writes = append(writes, statement("INSERT INTO v VALUES (NULL, ?, NULL)", int64(maxInteger)))
	want = append(want, []any{int64(maxInteger), nil, nil, nil})
	if changes, err := s.Write(t.Context(), writes...); err != nil || len(changes) != len(writes) || changes[3] != 1 {
		t.Fatalf("changes %v, %v", changes, err)
	}
	rows, err := s.Read(t.Context(), statement("SELECT z, a, n, a FROM v ORDER BY rowid"), statement("SELECT a FROM v WHERE z > 1e20"), statement("SELECT ? || '', typeof(?)", "x", nil))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(rows, [][][]any{want, {}, {{"x", "null"}}}) {
		t.Errorf("rows %v\nwant %v", rows, want)
	}
	for _, column := range []string{"1.5", "x'01'", "9e99"} {
		_, err := s.Read(t.Context(), statement("SELECT 1"), statement("SELECT "+column))
		wantError(t, err, "read D1 database anteroom (production): statement 2: row 1, column")
	}
}

// What the operator asks of records has the same answer on D1 as on SQLite.
func TestRecords(t *testing.T) {
	s, server := openStore(t)
	for i := range 1201 {
		server.Exec(t, "INSERT INTO registrations (record_id, recorded_at, agent_name, pubkey, payload_sha256) VALUES (?, ?, ?, ?, 'h')",
			fmt.Sprintf("%032x", i), fmt.Sprintf("2026-11-%02dT10:%02d:00Z", 18+i/500, i%60), fmt.Sprint("agent ", i%7), "key")
	}
	for _, id := range []string{"a", "b", "c"} {
		server.Exec(t, "INSERT INTO contacts VALUES (?, ?, '2026-11-20T12:00:00Z')", id, id+"@example.org")
		server.Exec(t, "INSERT INTO outbox (record_id, kind, payload, state, tries, created_at, next_try_at, last_error) VALUES (?, 'registration', '{}', 'dead', 20, 1795132800, 0, 'relay refused')", id)
	}
	local, err := sqlite.Open(server.Path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	both := func(ask func(store records.Store) (string, error)) {
		t.Helper()
		want, wantErr := ask(local)
		got, gotErr := ask(s)
		if got != want || wantErr != nil || gotErr != nil {
			t.Errorf("on D1:     %.500s, %v\non SQLite: %.500s, %v", got, gotErr, want, wantErr)
		}
	}
	for _, through := range []string{"", "2026-11-18"} {
		both(func(store records.Store) (string, error) {
			c, err := records.Count(t.Context(), store, through, 5)
			return fmt.Sprintf("%+v", *c), err
		})
	}
	for _, list := range records.Lists {
		both(func(store records.Store) (text string, err error) {
			n := 0
			for row, rowErr := range records.Rows(t.Context(), store, list, records.Days{Since: "2026-11-18"}) {
				n++
				text, err = text+fmt.Sprint(row), errors.Join(err, rowErr)
			}
			if list.Name == "registrations" && n != 1201 {
				t.Errorf("%d registrations", n)
			}
			return text, err
		})
	}
	if revived, err := records.Revive(t.Context(), s, "a", "none"); fmt.Sprint(revived, err) != "[1 0] <nil>" {
		t.Errorf("revived %v, %v", revived, err)
	}
	if erased, err := records.Erase(t.Context(), s, "a", "none"); fmt.Sprint(erased, err) != "[{1 1 []} {0 0 []}] <nil>" {
		t.Errorf("erased %v, %v", erased, err)
	}
	left, err := local.Read(t.Context(), statement("SELECT group_concat(record_id || state) FROM outbox"), statement("SELECT count(*) FROM contacts"))
	if fmt.Sprint(left, err) != "[[[bdead,cdead]] [[2]]] <nil>" {
		t.Errorf("left %v, %v", left, err)
	}
}

// A batch is one call, and one transaction.
func TestBatches(t *testing.T) {
	s, server := openStore(t)
	before := len(server.Calls())
	if _, err := s.Read(t.Context(), statement("SELECT 1"), statement("WITH x AS (SELECT ?) SELECT * FROM x", int64(2))); err != nil {
		t.Error(err)
	}
	calls := server.Calls()[before:]
	if len(calls) != 1 || !strings.HasSuffix(calls[0].Path, "/raw") || calls[0].Body != `{"batch":[{"params":[],"sql":"SELECT 1"},{"params":[2],"sql":"WITH x AS (SELECT ?) SELECT * FROM x"}]}` {
		t.Errorf("calls %v", calls)
	}
	contact := statement("INSERT INTO contacts VALUES ('a', 'a@example.org', '')")
	_, err := s.Write(t.Context(), contact, contact)
	wantError(t, err, "write to D1 database anteroom (production): Cloudflare answered 400, code 7500", "UNIQUE constraint failed")
	if strings.Contains(err.Error(), "not known") {
		t.Errorf("a statement that was refused: %v", err)
	}
	if rows, err := s.Read(t.Context(), statement("SELECT count(*) FROM contacts")); fmt.Sprint(rows, err) != "[[[0]]] <nil>" {
		t.Errorf("%v, %v contacts after a transaction that failed", rows, err)
	}
	for _, none := range []func() (any, error){
		func() (any, error) { return s.Read(t.Context()) },
		func() (any, error) { return s.Write(t.Context()) },
	} {
		if got, err := none(); err != nil || reflect.ValueOf(got).Len() != 0 {
			t.Errorf("no statements: %v, %v", got, err)
		}
	}
}

// What does not only read, or would arrive as something else, is refused before any call.
func TestRefusedBeforeACall(t *testing.T) {
	s, server := openStore(t)
	before := len(server.Calls())
	for _, text := range []string{
		"DELETE FROM contacts", "", "PRAGMA writable_schema = 1", "SELECTED", "EXPLAIN SELECT 1", "SELECT 1; SELECT 2", "VACUUM",
		"WITH x AS (SELECT 1) DELETE FROM contacts", "with x as (select 1) Replace  Into contacts select 1, 2, 3", "-- SELECT\nDELETE FROM contacts",
	} {
		_, err := s.Read(t.Context(), statement("SELECT 1"), statement(text))
		wantError(t, err, "read D1 database anteroom (production)", "not one statement that only reads")
	}
	for _, arg := range []any{1, 1.5, true, []byte("a"), "\xff", int64(maxInteger + 1), int64(-maxInteger - 1)} {
		_, err := s.Read(t.Context(), statement("SELECT ?, ?", "", arg))
		wantError(t, err, "argument 2 of")
		_, err = s.Write(t.Context(), statement("DELETE FROM contacts WHERE record_id = ? OR record_id = ?", "", arg))
		wantError(t, err, "argument 2 of")
	}
	if n := len(server.Calls()) - before; n != 0 {
		t.Errorf("%d calls", n)
	}
}

// secret stands in an argument, in a row, and in what a server says that echoes them.
const secret = "ada@example.org"

func TestFaults(t *testing.T) {
	const unknown = "not known whether it was done"
	refused := apitest.Refuse(403, 10000, "Authentication error")
	tests := []struct {
		name   string
		faults []apitest.Fault
		reads  string // "" for success; else what the error says, parts divided by |
		calls  int
		writes string // the same for Write
		wrote  int    // calls of Write
		done   bool   // whether the write was done
	}{
		{"no fault", nil, "", 1, "", 1, true},
		{"too many, once", apitest.Times(1, apitest.TooMany(-1)), "", 2, "", 2, true},
		{"too many, and when to come again", apitest.Times(2, apitest.TooMany(3)), "", 3, "", 3, true},
		{"too many, and long", apitest.Times(1, apitest.TooMany(300)), "429|wait 300 seconds", 1, "429|wait 300 seconds", 1, false},
		{"too many, always", apitest.Times(9, apitest.TooMany(0)), "429|after 4 tries|five minutes", 4, "429|after 4 tries", 4, false},
		{"a crash", apitest.Times(1, apitest.Crash(500)), "", 2, "500|" + unknown + "|cloudflarestatus", 1, true},
		{"always crashes", apitest.Times(9, apitest.Crash(502)), "502|after 4 tries|cloudflarestatus", 4, "502|" + unknown, 1, true},
		{"a crash in the API's form", apitest.Times(1, apitest.Refuse(500, 7500, "disk I/O error: SQLITE_IOERR")), "", 2, "500, code 7500|" + unknown, 1, false},
		{"too slow", apitest.Times(1, apitest.Crash(408)), "", 2, "408|" + unknown, 1, true},
		{"first too many, then no token", []apitest.Fault{apitest.TooMany(0), refused}, "403|after 2 tries", 2, "403|after 2 tries", 2, false},
		{"silence", apitest.Times(1, apitest.Silence), "", 2, "EOF|" + unknown, 1, true},
		{"silence for ever", apitest.Times(9, apitest.Silence), "EOF|after 4 tries|way from this machine to 127.0.0.1", 4, unknown, 1, true},
		{"a hang-up", apitest.Times(1, apitest.HangUp), "", 2, "unexpected EOF|" + unknown, 1, true},
		{"always a hang-up", apitest.Times(9, apitest.HangUp), "unexpected EOF|after 4 tries", 4, unknown, 1, true},
		{"cut short", apitest.Times(1, apitest.CutShort), "the answer is cut off", 1, "the answer is cut off|" + unknown, 1, true},
		{"an empty answer", apitest.Times(1, apitest.Change(func(string) string { return "" })), "the answer is cut off", 1, unknown, 1, true},
		{"a list", apitest.Times(1, apitest.Change(func(string) string { return "[]" })), "the answer is cut off", 1, unknown, 1, true},
		{"an element less", apitest.Times(1, apitest.LastResult("")), "1 statements, not of 2", 1, "1 statements, not of 2|" + unknown, 1, true},
		{"an element more", apitest.Times(1, apitest.LastResult(`{"success":true},{"success":true}`)), "3 statements, not of 2", 1, "3 statements|" + unknown, 1, true},
		{"no results", apitest.Times(1, apitest.LastResult(`{"success":true,"meta":{}}`)), "statement 2: the answer lacks its rows", 1, "lacks the number of changed rows|" + unknown, 1, true},
		{"a result that failed", apitest.Times(1, apitest.LastResult(`{"success":false}`)), "statement 2 failed", 1, "statement 2 failed|" + unknown, 1, true},
		{"no token", apitest.Times(1, refused), "403, code 10000: \"Authentication error\"|CLOUDFLARE_API_TOKEN|D1, Edit", 1, "D1, Edit", 1, false},
		{"a token of another account", apitest.Times(1, apitest.Refuse(401, 9109, "Unauthorized to access requested resource")), "401, code 9109|D1, Edit", 1, "D1, Edit", 1, false},
		{"unauthorized", apitest.Times(1, apitest.Refuse(401, 1, "")), "401, code 1|D1, Edit", 1, "401|D1, Edit", 1, false},
		{"forbidden", apitest.Times(1, apitest.Refuse(403, 1, "")), "403, code 1|D1, Edit", 1, "403|D1, Edit", 1, false},
		{"no database", apitest.Times(1, apitest.Refuse(404, 7404, "The database could not be found")), "7404|wrangler.toml|wrangler d1 list", 1, "wrangler.toml", 1, false},
		{"D1's own fault", apitest.Times(1, apitest.Refuse(400, 7500, "D1 DB storage operation exceeded timeout which caused object to be reset.")), "7500", 1, unknown, 1, false},
		{"a redirect", apitest.Times(1, apitest.Refuse(302, 0, "")), "302", 1, unknown, 1, false},
		{"success of nothing", apitest.Times(1, apitest.Refuse(200, 7501, "nothing")), "200, code 7501: \"nothing\"", 1, unknown, 1, false},
		{"an echo", apitest.Times(1, apitest.Refuse(400, 7400, "bad value "+secret)), "400, code 7400", 1, "400, code 7400", 1, false},
		{"an echo of the token", apitest.Times(1, apitest.Refuse(400, 7400, "bad token-of-a-test-0123456789")), "400, code 7400", 1, "400, code 7400", 1, false},
		{"an echo of success", apitest.Times(1, apitest.Refuse(200, 7400, "bad value "+secret)), "200, code 7400", 1, "200, code 7400|" + unknown, 1, false},
		{"control characters", apitest.Times(1, apitest.Refuse(400, 7400, "\x1b[2J")), `\x1b[2J`, 1, `\x1b`, 1, false},
		{"HTML", apitest.Times(1, apitest.Crash(404)), "404", 1, "404|" + unknown, 1, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, server := openStore(t)
			check := func(err error, want string) {
				t.Helper()
				if want == "" && err != nil {
					t.Error(err)
				} else if want != "" {
					wantError(t, err, strings.Split(want, "|")...)
				}
				if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), server.Token) || strings.Contains(err.Error(), "\x1b")) {
					t.Errorf("a secret in %v", err)
				}
			}
			server.Exec(t, "INSERT INTO contacts VALUES ('kept', ?, '')", secret)
			before := len(server.Calls())
			server.Fail(test.faults...)
			rows, err := s.Read(t.Context(), statement("SELECT address FROM contacts"), statement("SELECT ?", secret))
			check(err, test.reads)
			if err == nil && fmt.Sprint(rows) != "[[["+secret+"]] [["+secret+"]]]" || err != nil && rows != nil {
				t.Errorf("rows %v, %v", rows, err)
			}
			if n := len(server.Calls()) - before; n != test.calls {
				t.Errorf("Read made %d calls, want %d", n, test.calls)
			}

			server.Recover()
			before = len(server.Calls())
			server.Fail(test.faults...)
			changes, err := s.Write(t.Context(), statement("INSERT INTO contacts VALUES ('new', ?, '')", secret), statement("DELETE FROM outbox"))
			check(err, test.writes)
			if strings.Contains(fmt.Sprint(err), unknown) != strings.Contains(test.writes, unknown) {
				t.Errorf("whether it is known: %v", err)
			}
			if err == nil && fmt.Sprint(changes) != "[1 0]" || err != nil && changes != nil {
				t.Errorf("changes %v, %v", changes, err)
			}
			if n := len(server.Calls()) - before; n != test.wrote {
				t.Errorf("Write made %d calls, want %d", n, test.wrote)
			}
			server.Recover()
			var n int
			if err := server.DB.QueryRow("SELECT count(*) FROM contacts WHERE record_id = 'new'").Scan(&n); err != nil || n == 1 != test.done {
				t.Errorf("%d rows were written, %v", n, err)
			}
		})
	}
}

// The waits between tries grow, and keep to a Retry-After.
func TestWaits(t *testing.T) {
	s, server := openStore(t)
	var waits []time.Duration
	s.client.Wait = func(_ context.Context, d time.Duration) { waits = append(waits, d) }
	server.Fail(apitest.Crash(500), apitest.TooMany(7), apitest.TooMany(0))
	if _, err := s.Read(t.Context(), statement("SELECT 1")); err != nil || fmt.Sprint(waits) != "[250ms 7s 1s]" {
		t.Errorf("waits %v, %v", waits, err)
	}
}

// An operator who interrupts is not made to wait, and is told where a write may have been done.
func TestInterrupted(t *testing.T) {
	s, server := openStore(t)
	ctx, stop := context.WithCancel(t.Context())
	s.client.Wait = func(context.Context, time.Duration) { stop() }
	server.Fail(apitest.Crash(500))
	before := len(server.Calls())
	if _, err := s.Read(ctx, statement("SELECT 1")); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted in a wait: %v", err)
	}
	if _, err := s.Write(ctx, statement("DELETE FROM contacts")); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "not known") {
		t.Errorf("interrupted before: %v", err)
	}
	if n := len(server.Calls()) - before; n != 1 {
		t.Errorf("%d calls", n)
	}
	ctx, stop = context.WithCancel(t.Context())
	server.Fail(func(http.ResponseWriter, func() apitest.Answer) {
		stop()
		panic(http.ErrAbortHandler)
	})
	_, err := s.Write(ctx, statement("DELETE FROM contacts"))
	wantError(t, err, "not known whether it was done")
	if strings.Contains(err.Error(), "check the way") {
		t.Errorf("an operator who interrupted is told %v", err)
	}
	cloudflare.Pause(ctx, time.Hour) // returns
}

// Where nobody answers, nothing was done: a write is tried again, and the error says no more.
func TestNoServer(t *testing.T) {
	s, _ := openStore(t)
	tried := 0
	s.client.Wait = func(context.Context, time.Duration) { tried++ }
	s.client.Base.Host = "127.0.0.1:1"
	_, err := s.Write(t.Context(), statement("DELETE FROM contacts"))
	wantError(t, err, "refused", "after 4 tries", "the way from this machine to 127.0.0.1:1")
	if tried != 3 || strings.Contains(err.Error(), "not known") {
		t.Errorf("%d waits, %v", tried, err)
	}
}

func TestMigrations(t *testing.T) {
	server := d1test.Start(t)
	path := server.Deploy(t, "production")
	opened := func(words ...string) {
		t.Helper()
		_, err := Open(t.Context(), path, "production")
		wantError(t, err, append(words, "D1 database anteroom (production)")...)
	}
	server.Exec(t, "DELETE FROM "+migrations.Table+" WHERE name > '0002'")
	opened("lacks migration 0002_digest.sql, 0003_verify.sql, 0004_health.sql", "run anteroom deploy --env production, ")
	server.Exec(t, "INSERT INTO "+migrations.Table+" (name) VALUES ('9999_new.sql')")
	opened("9999_new.sql")
	server.Exec(t, "DROP TABLE "+migrations.Table)
	opened("has no tables yet", "run anteroom deploy --env production, ")
}

func TestAccounts(t *testing.T) {
	server := d1test.Start(t)
	path := server.Deploy(t, "production")
	t.Setenv("CLOUDFLARE_ACCOUNT_ID", "")
	s, err := Open(t.Context(), path, "production")
	if err != nil || s.client.Account != server.Account {
		t.Fatalf("the token's only account: %v", err)
	}
	server.Accounts("a", server.Account)
	_, err = Open(t.Context(), path, "production")
	wantError(t, err, "2 accounts", `"a" ("account 1")`, server.Account, "set CLOUDFLARE_ACCOUNT_ID")
	server.Accounts()
	_, err = Open(t.Context(), path, "production")
	wantError(t, err, "0 accounts", "set CLOUDFLARE_ACCOUNT_ID")
	server.Accounts("../a")
	_, err = Open(t.Context(), path, "production")
	wantError(t, err, "set CLOUDFLARE_ACCOUNT_ID")
	server.Accounts(server.Account)
	server.Fail(apitest.CutShort)
	_, err = Open(t.Context(), path, "production")
	wantError(t, err, "cut off", "set CLOUDFLARE_ACCOUNT_ID")
	server.Fail(apitest.Refuse(403, 9109, "Unauthorized"))
	_, err = Open(t.Context(), path, "production")
	wantError(t, err, "Account Settings, Read", "set CLOUDFLARE_ACCOUNT_ID")
	server.Fail(apitest.Refuse(200, 1, "bad value "+server.Token))
	_, err = Open(t.Context(), path, "production")
	wantError(t, err, "answered 200, code 1", "set CLOUDFLARE_ACCOUNT_ID")
	if strings.Contains(err.Error(), server.Token) {
		t.Errorf("the token in %v", err)
	}

	t.Setenv("CLOUDFLARE_ACCOUNT_ID", "another")
	_, err = Open(t.Context(), path, "production")
	wantError(t, err, "code 7403", "account another", "D1, Edit")
	text, _ := os.ReadFile(path)
	if err := os.WriteFile(path, []byte("account_id = \""+server.Account+"\"\n"+string(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = Open(t.Context(), path, "production"); err != nil {
		t.Errorf("the account of the file: %v", err)
	}
	nearer := strings.Replace(string(text), "[env.production]", "[env.production]\naccount_id = \""+server.Account+"\"", 1)
	if err := os.WriteFile(path, []byte("account_id = \"another\"\n"+nearer), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = Open(t.Context(), path, "production"); err != nil {
		t.Errorf("the account of the environment: %v", err)
	}
	t.Setenv("CLOUDFLARE_API_TOKEN", "another-token")
	_, err = Open(t.Context(), path, "production")
	wantError(t, err, "403, code 10000", "D1, Edit")
	if strings.Contains(err.Error(), "another-token") {
		t.Errorf("the token in %v", err)
	}
}

func TestTarget(t *testing.T) {
	const database = "[[env.p.d1_databases]]\nbinding = \"DB\"\ndatabase_name = \"n\"\ndatabase_id = \"8f2a7d3e-54c1-4b6f-9f0e-1c2d3e4f5a6b\"\n"
	tests := []struct{ name, file, token, base, account, says string }{
		{"no file", "", "t", "", "", "there is no |wrangler.toml"},
		{"no file, no token", "", "", "", "", "there is no |CLOUDFLARE_API_TOKEN is not set|D1, Edit"},
		{"no TOML", "a = ", "t", "", "", "wrangler.toml: toml"},
		{"no environment", "[env.b]\n[env.a]\n", "t", "", "", `no environment "p" (it has a, b)`},
		{"no environments", "name = \"n\"", "t", "", "", `no environment "p" (it has none)`},
		{"no database", "[env.p]\n[[env.p.d1_databases]]\nbinding = \"OTHER\"", "t", "", "", "environment p of wrangler.toml binds no D1 database as DB"},
		{"a placeholder", "[[env.p.d1_databases]]\nbinding = \"DB\"\ndatabase_name = \"n\"\ndatabase_id = \"00000000-0000-0000-0000-000000000001\"", "t", "", "", "placeholder 00000000-0000-0000-0000-000000000001|anteroom deploy makes the database n"},
		{"faults everywhere", "[[env.p.d1_databases]]\nbinding = \"DB\"\ndatabase_id = \"../x\"\n[[env.p.analytics_engine_datasets]]\nbinding = \"OBSERVED\"\ndataset = \"a b\"", " ", "http://example.org", "a/b", `"../x"|no database_name|"a b"|"a/b"|CLOUDFLARE_API_TOKEN|CLOUDFLARE_API_BASE_URL`},
		{"no token", database, "a\nb", "", "", "CLOUDFLARE_API_TOKEN has characters"},
		{"half a token", database, "a b", "", "", "CLOUDFLARE_API_TOKEN has characters"},
		{"no URL", database, "t", "api", "a", "CLOUDFLARE_API_BASE_URL"},
		{"a URL that sends the token in clear", database, "t", "http://192.0.2.1/", "a", "CLOUDFLARE_API_BASE_URL"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "wrangler.toml")
			if test.file != "" {
				if err := os.WriteFile(path, []byte(test.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("CLOUDFLARE_API_TOKEN", test.token)
			t.Setenv("CLOUDFLARE_API_BASE_URL", test.base)
			t.Setenv("CLOUDFLARE_ACCOUNT_ID", test.account)
			_, err := Open(t.Context(), path, "p")
			wantError(t, err, strings.Split(test.says, "|")...)
		})
	}
	for routes, want := range map[string]string{
		"[env.p]\n":                          "",
		"[env.p]\nroute = \"a.example/*\"\n": "",
		"[env.p]\nroute = { pattern = \"a.example\", custom_domain = true }\n":                                   "a.example",
		"[env.p]\nroutes = [\"b.example/*\", { pattern = \"a.example\", custom_domain = true }]\n":               "a.example",
		"routes = [{ pattern = \"a.example\", custom_domain = true }]\n[env.p]\n":                                "a.example",
		"routes = [{ pattern = \"a.example\", custom_domain = true }]\n[env.p]\nroutes = [\"b.example/*\"]\n":    "",
		"[env.p]\nroutes = [{ pattern = \"a.example/*\", zone_name = \"a.example\" }, { custom_domain = true }]": "",
	} {
		path := filepath.Join(t.TempDir(), "wrangler.toml")
		if err := os.WriteFile(path, []byte(routes+"\n"+database), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readTarget(path, "p")
		if err != nil || got.host != want || got.dataset != "" {
			t.Errorf("%s: %+v, %v; want the host %q", routes, got, err, want)
		}
	}
}

// The wrangler.toml of this project is understood: what it lacks is a database.
func TestOwnConfig(t *testing.T) {
	for environment, want := range map[string]string{"production": "www.", "preview": ""} {
		got, err := readTarget("../../../wrangler.toml", environment)
		if err != nil && !strings.Contains(err.Error(), "placeholder") || !strings.HasPrefix(got.host, want) || got.databaseName == "" {
			t.Errorf("%s: %+v, %v", environment, got, err)
		}
	}
	_, err := readTarget("../../../wrangler.toml", "apex")
	wantError(t, err, "binds no D1 database as DB")
}
