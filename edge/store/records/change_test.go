package records

import (
	"fmt"
	"path/filepath"
	"testing"

	"anteroom/edge/native/sqlite"
)

// Erase deletes the addresses of records, and clients that have one in their name. What was erased
// is erased again if a copy brings it back.
func TestErase(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), sqlite.FileName))
	putRegistration(t, s, "ada", "2026-11-20T12:00:00Z")
	for _, id := range []string{"a", "b", "kept"} {
		exec(t, s, "INSERT INTO contacts VALUES (?, ?, '2026-11-20T12:00:00Z')", id, id+"@example.org")
		exec(t, s, "INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) VALUES (?, 'k', ?, 0, 0)", id, `{"address":"`+id+`@example.org"}`)
	}
	exec(t, s, "DELETE FROM contacts WHERE record_id = 'b'")
	exec(t, s, "UPDATE outbox SET digest = 'sent' WHERE record_id = 'a'")
	exec(t, s, "INSERT INTO observed VALUES ('2026-11-20', 'of A@Example.org', 'initialize', 2), ('2026-11-20', 'tern', 'initialize', 2)")
	erased, observed, err := Erase(t.Context(), s, "a@example.org", "a", "none", "b")
	if got := fmt.Sprint(erased, observed, err); got != "[{1 1 [sent]} {0 0 []} {0 1 []}] 1 <nil>" {
		t.Errorf("erased %s", got)
	}
	if got := fmt.Sprint(exec(t, s, SelectErased+" ORDER BY record_id")); got != "[[a] [b] [none]]" {
		t.Errorf("the store knows of %s", got)
	}
	left := func() string {
		return fmt.Sprint(exec(t, s, "SELECT (SELECT count(*) FROM registrations), (SELECT group_concat(record_id) FROM contacts), (SELECT group_concat(record_id) FROM outbox)"))
	}
	if got := left(); got != "[[1 kept kept]]" {
		t.Errorf("left %s", got)
	}
	if _, observed, err := Erase(t.Context(), s, "", "listed"); observed != 0 || err != nil {
		t.Errorf("without an address %d rows of clients are erased, %v", observed, err)
	}
	exec(t, s, "INSERT INTO contacts VALUES ('a', 'a@example.org', ''), ('later', '', '')")
	for _, want := range []int64{2, 0} {
		if n, err := EraseAgain(t.Context(), s, []string{"later"}); n != want || err != nil || left() != "[[1 kept kept]]" {
			t.Errorf("%d rows are erased again, %v: %s", n, err, left())
		}
	}
}

// An address is found in any case, among contacts and messages, and as a name.
func TestWithAddress(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), sqlite.FileName))
	putRegistration(t, s, "ADA@example.org", "2026-11-20T12:00:00Z")
	exec(t, s, "INSERT INTO contacts VALUES ('a', 'Ada@Example.org', '')")
	exec(t, s, `INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) VALUES ('b', 'k', '{"address":"aDa@example.ORG"}', 0, 0)`)
	exec(t, s, `INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) VALUES ('c', 'k', '{"address":"bada@example.org"}', 0, 0)`)
	if ids, named, err := WithAddress(t.Context(), s, "ada@EXAMPLE.org"); fmt.Sprint(ids, named, err) != "[a b] 1 <nil>" {
		t.Errorf("%v, %d, %v", ids, named, err)
	}
}

func TestRetry(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), sqlite.FileName))
	for _, id := range []string{"a", "b", "c"} {
		putMessage(t, s, id, "dead", 0, "relay refused")
	}
	putMessage(t, s, "p", "pending", 0, nil)
	putMessage(t, s, "d", "delivered", 0, nil)
	states := func() string {
		return fmt.Sprint(exec(t, s, "SELECT record_id, state, tries, next_try_at > 0 FROM outbox ORDER BY id"))
	}
	if got, err := Retry(t.Context(), s, "b", "p", "none"); fmt.Sprint(got, err) != "[{1 0} {0 0} {0 0}] <nil>" {
		t.Errorf("revived %v, %v", got, err)
	}
	if got := states(); got != "[[a dead 20 0] [b pending 0 1] [c dead 20 0] [p pending 20 0] [d delivered 20 0]]" {
		t.Errorf("states %s", got)
	}
	if got, err := Retry(t.Context(), s); fmt.Sprint(got, err) != "[{2 0}] <nil>" {
		t.Errorf("revived %v, %v", got, err)
	}
	if got := states(); got != "[[a pending 0 1] [b pending 0 1] [c pending 0 1] [p pending 20 0] [d delivered 20 0]]" {
		t.Errorf("states %s", got)
	}
}
