package records

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/turn"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var quiet = slog.New(slog.DiscardHandler)

func openStore(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Create(path, quiet)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// exec runs a statement and gives its rows.
func exec(t testing.TB, s *sqlite.Store, statement string, args ...any) [][]any {
	t.Helper()
	r := s.Exec(turn.Exec{Statements: []turn.Statement{{SQL: statement, Args: args}}})
	if r.Failure != turn.None {
		t.Fatalf("%s: %s", statement, r.Failure)
	}
	return r.Rows[0]
}

// putRegistration records a registration of a name, nil for one by key alone.
func putRegistration(t testing.TB, s *sqlite.Store, name any, at string) {
	t.Helper()
	exec(t, s, "INSERT INTO registrations (record_id, recorded_at, agent_name, pubkey, payload_sha256) VALUES (?, ?, ?, 'key', '')", fmt.Sprintf("%032x", rand.Uint64()), at, name)
}

func putMessage(t testing.TB, s *sqlite.Store, id, state string, at int64, failed any) {
	t.Helper()
	exec(t, s, "INSERT INTO outbox (record_id, kind, payload, state, tries, created_at, next_try_at, last_error) VALUES (?, 'registration', '{}', ?, 20, ?, 0, ?)", id, state, at, failed)
}

// TestClosed: a store that fails is an error of every call.
func TestClosed(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), sqlite.FileName))
	s.Close()
	ctx := t.Context()
	for want, call := range map[string]func() error{
		"erase records":      func() error { _, _, err := Erase(ctx, s, "", "a"); return err },
		"find record 012345": func() error { _, err := Find(ctx, s, "012345"); return err },
		"count the outbox":   func() error { _, err := Undelivered(ctx, s); return err },
		"read charters":      func() error { _, err := Scan(ctx, s, &Kinds[1], 0, 9); return err },
		"measure the store":  func() error { _, err := Measure(ctx, s, nil); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
