package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
	"anteroom/generator/site"
)

// A suggestion that a verification covers is no longer new.
func TestInbox(t *testing.T) {
	store, err := sqlite.Create(filepath.Join(t.TempDir(), sqlite.FileName), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	for n := 1; n <= 2; n++ {
		filed := store.Exec(turn.Exec{Statements: []turn.Statement{{
			SQL:  "INSERT INTO suggestions (record_id, filed_at, filed_as, kind, text_sha256) VALUES (?, '2026-11-20T15:00:00Z', 'anonymous', 'pin', ?)",
			Args: []any{fmt.Sprintf("%032x", n), strings.Repeat("a", 64)},
		}}})
		if filed.Failure != turn.None {
			t.Fatal(filed.Failure)
		}
	}
	extent, err := records.Measure(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &site.Site{}
	s.Verifications = []site.Verification{{Store: extent.Store, Suggestions: site.Coverage{Last: 1}}}
	r, err := lookIntoInbox(t.Context(), store, s, verification.Mail{}, time.Now())
	if err != nil || len(r.Suggestions) != 1 || r.Suggestions[0].ID != fmt.Sprintf("%032x", 2) {
		t.Errorf("found %+v, %v", r, err)
	}
}

func TestFirstLine(t *testing.T) {
	if got := firstLine("\n \nSECURITY: one\ntwo"); got != "SECURITY: one" {
		t.Error(got)
	}
	if got := firstLine(strings.Repeat("é", 101)); got != strings.Repeat("é", 100)+"…" {
		t.Error(got)
	}
}
