package migrations_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"anteroom/edge/migrations"

	_ "modernc.org/sqlite"
)

// The files make the schema out of nothing, in the order of their numbers, and the table of their
// names takes each once.
func TestFiles(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have a store of its own
	exec := func(what, text string, arguments ...any) {
		t.Helper()
		if _, err := db.Exec(text, arguments...); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	exec("table", migrations.CreateTable)
	exec("table, twice", migrations.CreateTable)
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for i, name := range names {
		if number := fmt.Sprintf("%04d_", i+1); !strings.HasPrefix(name, number) {
			t.Errorf("file %d is %s", i+1, name)
		}
		text, err := migrations.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		exec(name, string(text))
		exec(name, "INSERT INTO "+migrations.Table+" (name) VALUES (?)", name)
		if _, err := db.Exec("INSERT INTO "+migrations.Table+" (name) VALUES (?)", name); err == nil {
			t.Errorf("%s is applied twice", name)
		}
	}
	for _, table := range []string{"registrations", "charters", "suggestions", "contacts", "outbox", "signal_runs"} {
		exec(table, "SELECT count(*) FROM "+table)
	}
}
