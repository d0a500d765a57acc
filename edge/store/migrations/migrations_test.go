package migrations_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"anteroom/edge/store/migrations"

	_ "modernc.org/sqlite"
)

// Suggestions of a store that has some get numbers in the order in which they were filed, and the
// store gets an identifier of its own. What is being sent stays leased, and nothing else is. Traces
// of earlier erasures are looked for.
func TestRowsOfAnOlderStore(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have a store of its own
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if number := fmt.Sprintf("%04d_", i+1); !strings.HasPrefix(name, number) {
			t.Errorf("file %d is %s", i+1, name)
		}
		if i == 2 {
			if _, err := db.Exec("INSERT INTO suggestions VALUES ('c', '2026-11-20T12:00:02Z', 'anonymous', 'pin', 'z'), " +
				"('a', '2026-11-20T12:00:01Z', 'with_contact', 'security', 'x'), ('b', '2026-11-20T12:00:01Z', 'anonymous', 'suggestion', 'y'); " +
				"INSERT INTO outbox (record_id, kind, state, created_at, next_try_at, lease, lease_until) " +
				"VALUES ('s', 'k', 'pending', 1, 1, 'l', 9), ('w', 'k', 'pending', 1, 5, NULL, 0), ('d', 'k', 'delivered', 1, 1, NULL, 0); " +
				"INSERT INTO registrations VALUES (1, 'r', '2026-11-20T12:00:00Z', 'ada', NULL, '')"); err != nil {
				t.Fatal(err)
			}
		}
		text, err := migrations.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(string(text)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	var rows, id, due string
	var erasing bool
	if err := db.QueryRow("SELECT group_concat(seq || record_id || filed_at || filed_as || kind || text_sha256, ' '), (SELECT id FROM store), "+
		"(SELECT group_concat(record_id || next_try_at, ' ') FROM outbox), (SELECT erasing > 0 FROM store) FROM (SELECT * FROM suggestions ORDER BY seq)").
		Scan(&rows, &id, &due, &erasing); err != nil {
		t.Fatal(err)
	}
	if want := "1a2026-11-20T12:00:01Zwith_contactsecurityx 2b2026-11-20T12:00:01Zanonymoussuggestiony 3c2026-11-20T12:00:02Zanonymouspinz"; rows != want {
		t.Errorf("the suggestions are\n%s, want\n%s", rows, want)
	}
	if len(id) != 32 || due != "s9 w5 d1" || !erasing {
		t.Errorf("the store is called %q, messages are due at %s, and traces of erasures are looked for: %t", id, due, erasing)
	}
}
