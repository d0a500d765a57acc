package records

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/native/sqlite"
)

// TestErase: no file holds what was erased, also while a server has the files open.
func TestErase(t *testing.T) {
	dir := t.TempDir()
	server := openStore(t, filepath.Join(dir, sqlite.FileName))
	putRegistration(t, server, "ada", "2026-11-20T12:00:00Z")
	for _, id := range []string{"a", "b", "kept"} {
		exec(t, server, "INSERT INTO contacts VALUES (?, ?, '2026-11-20T12:00:00Z')", id, id+"@example.org")
		exec(t, server, "INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) VALUES (?, 'k', ?, 0, 0)", id, `{"address":"`+id+`@example.org"}`)
	}
	exec(t, server, "DELETE FROM contacts WHERE record_id = 'b'")
	exec(t, server, "UPDATE outbox SET digest = 'sent' WHERE record_id = 'a'")
	exec(t, server, "INSERT INTO observed VALUES ('2026-11-20', 'of A@Example.org', 'initialize', 2), ('2026-11-20', 'tern', 'initialize', 2)")
	command := openStore(t, filepath.Join(dir, sqlite.FileName))
	erased, observed, err := Erase(t.Context(), command, "a@example.org", "a", "none", "b")
	if got := fmt.Sprint(erased, observed, err); got != "[{1 1 [sent]} {0 0 []} {0 1 []}] 1 <nil>" {
		t.Errorf("erased %s", got)
	}
	for range 2 { // the second time there is nothing to do
		if err := command.Forget(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := fmt.Sprint(exec(t, server, SelectErased+" ORDER BY record_id")); got != "[[a] [b] [none]]" {
		t.Errorf("the store knows of %s", got)
	}
	for _, address := range []string{"a@example.org", "b@example.org"} {
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, file := range files {
			if text, _ := os.ReadFile(file); strings.Contains(strings.ToLower(string(text)), address) {
				t.Errorf("%s is still in %s", address, file)
			}
		}
	}
	left := exec(t, server, "SELECT (SELECT count(*) FROM registrations), (SELECT count(*) FROM contacts), (SELECT count(*) FROM outbox)")
	if got := fmt.Sprint(left); got != "[[1 1 1]]" {
		t.Errorf("registrations, contacts and messages that are left: %s, want one of each", got)
	}
	if _, observed, err := Erase(t.Context(), command, "", "kept"); observed != 0 || err != nil {
		t.Errorf("without an address %d rows of clients are erased, %v", observed, err)
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

// Many records are erased at once, and erased again if a copy brings them back.
func TestEraseMany(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), sqlite.FileName))
	var ids []string
	for i := range 201 {
		ids = append(ids, fmt.Sprintf("%032x", i))
		exec(t, s, "INSERT INTO contacts VALUES (?, 'owl@example.org', '')", ids[i])
	}
	erased, _, err := Erase(t.Context(), s, "", ids...)
	if err != nil || len(erased) != len(ids) || erased[len(ids)-1].Contacts != 1 {
		t.Fatalf("%d erased, %v", len(erased), err)
	}
	if n, err := EraseAgain(t.Context(), s, nil); n != 0 || err != nil {
		t.Errorf("%d rows are erased again, %v", n, err)
	}
	exec(t, s, "INSERT INTO contacts VALUES (?, 'owl@example.org', ''), ('listed', '', ''), ('kept', '', '')", ids[0])
	if n, err := EraseAgain(t.Context(), s, []string{"listed"}); n != 2 || err != nil {
		t.Errorf("%d rows are erased again, %v", n, err)
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
