package native

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/kernel"
	"anteroom/edge/sha256"
)

func put(t testing.TB, s *Store, sql string, args ...any) {
	t.Helper()
	if r := s.Exec(one(sql, args...)); r.Failure != kernel.None {
		t.Fatalf("%s: %s", sql, r.Failure)
	}
}

// putRegistration records a registration of a name, nil for one by key alone.
func putRegistration(t testing.TB, s *Store, name any, at string) {
	t.Helper()
	put(t, s, "INSERT INTO registrations (record_id, recorded_at, agent_name, pubkey, payload_sha256) VALUES (?, ?, ?, 'key', '')", newID(), at, name)
}

func putMessage(t testing.TB, s *Store, id, state string, at int64, failed any) {
	t.Helper()
	put(t, s, "INSERT INTO outbox (record_id, kind, payload, state, tries, created_at, next_try_at, last_error) VALUES (?, 'registration', '{}', ?, 20, ?, 0, ?)", id, state, at, failed)
}

func listed(t *testing.T, s *Store, name string, days Days) (rows []string) {
	t.Helper()
	for _, list := range Lists {
		if list.Name != name {
			continue
		}
		for row, err := range s.Rows(context.Background(), list, days) {
			if err != nil {
				t.Fatal(err)
			}
			if len(row) != len(list.Columns) {
				t.Fatalf("%d values for %d columns", len(row), len(list.Columns))
			}
			rows = append(rows, fmt.Sprint(row))
		}
		return rows
	}
	t.Fatalf("no list %s", name)
	return nil
}

func TestOpenRecords(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenRecords(dir, quiet); err == nil || !strings.Contains(err.Error(), "there is no database "+dir) {
		t.Errorf("no database: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("made %v", entries)
	}
	openStore(t, filepath.Join(dir, databaseFile)).Close()
	s, err := OpenRecords(dir, quiet)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), databaseFile)
	s := openStore(t, path)
	empty, err := s.Count("", 5)
	if err != nil || empty.Registrations != 0 || empty.Bursts != 0 || len(empty.Largest) != 0 || empty.OutboxError != "" {
		t.Errorf("nothing recorded: %+v, %v", empty, err)
	}
	for _, r := range []struct {
		name any
		at   string
	}{
		{"ada", "2026-11-19T10:00:00Z"},
		{"bo", "2026-11-19T10:05:00Z"},
		{"ada", "2026-11-19T10:10:00Z"}, // exactly ten minutes after
		{"ada", "2026-11-19T10:20:00Z"}, // after the one before, not the first
		{"ada", "2026-11-19T10:30:01Z"}, // too late
		{"Ada", "2026-11-19T10:30:02Z"}, // another name
		{nil, "2026-11-19T10:30:03Z"},
		{nil, "2026-11-19T10:30:04Z"}, // no name, no burst
		{"cy", "2026-11-19T23:59:59Z"},
		{"cy", "2026-11-20T00:00:00Z"},
		{"cy", "2026-11-19T23:59:58Z"}, // recorded after one that arrived later
		{"bo", "2026-11-20T09:00:00Z"},
		{"bo", "2026-11-20T09:00:00Z"},
	} {
		putRegistration(t, s, r.name, r.at)
	}
	put(t, s, "INSERT INTO charters VALUES (1, 'c', '2026-11-20T00:00:00Z', 'Tern', NULL, '[]', '')")
	for i, kind := range []string{"pin", "suggestion", "pin"} {
		put(t, s, "INSERT INTO suggestions VALUES (?, ?, 'anonymous', ?, '')", newID(), fmt.Sprintf("2026-11-%dT12:00:00Z", 18+i), kind)
	}
	put(t, s, "INSERT INTO contacts VALUES ('c', 'a@example.org', '2026-11-20T00:00:00Z')")
	putMessage(t, s, "a", "dead", 1795046400, "relay refused")     // 2026-11-19
	putMessage(t, s, "b", "pending", 1795132799, "relay timeout")  // its last second
	putMessage(t, s, "c", "pending", 1795132800, nil)              // 2026-11-20
	putMessage(t, s, "d", "delivered", 1795132800, "old, settled") // no error any more

	// A server that is in the midst of a write is not waited for.
	server := openStore(t, path)
	if err := server.script("BEGIN IMMEDIATE"); err != nil { // its writer waits for its queue
		t.Fatal(err)
	}
	defer server.script("ROLLBACK")

	tests := []struct {
		through string
		want    Counts
	}{
		{"", Counts{
			Registrations: 13, Names: 4, Nameless: 2, Bursts: 3, InBursts: 8,
			Largest: []Burst{
				{"ada", 3, "2026-11-19T10:00:00Z", "2026-11-19T10:20:00Z"},
				{"cy", 3, "2026-11-19T23:59:58Z", "2026-11-20T00:00:00Z"},
				{"bo", 2, "2026-11-20T09:00:00Z", "2026-11-20T09:00:00Z"},
			},
			Charters: 1, Suggestions: map[string]int64{"pin": 2, "suggestion": 1}, Contacts: 1,
			Outbox: map[string]int64{"dead": 1, "pending": 2, "delivered": 1}, OutboxError: "relay timeout",
		}},
		{"2026-11-19", Counts{
			Registrations: 10, Names: 4, Nameless: 2, Bursts: 2, InBursts: 5,
			Largest: []Burst{
				{"ada", 3, "2026-11-19T10:00:00Z", "2026-11-19T10:20:00Z"},
				{"cy", 2, "2026-11-19T23:59:58Z", "2026-11-19T23:59:59Z"},
			},
			Suggestions: map[string]int64{"pin": 1, "suggestion": 1}, Outbox: map[string]int64{"dead": 1, "pending": 1}, OutboxError: "relay timeout",
		}},
		{"2026-11-17", Counts{Suggestions: map[string]int64{}, Outbox: map[string]int64{}}},
	}
	for _, test := range tests {
		for bursts := range len(test.want.Largest) + 2 {
			got, err := s.Count(test.through, bursts)
			want := test.want
			want.Largest = want.Largest[:min(bursts, len(want.Largest))]
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			if err != nil || strings.ReplaceAll(string(a), "null", "[]") != strings.ReplaceAll(string(b), "null", "[]") {
				t.Errorf("through %q, %d bursts: %s, %v\nwant %s", test.through, bursts, a, err, b)
			}
		}
	}
	s.Close()
	if _, err := s.Count("", 5); err == nil {
		t.Error("a closed database was counted")
	}
}

func TestRows(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), databaseFile))
	for day := 18; day <= 20; day++ {
		for range listPage / 2 {
			putRegistration(t, s, fmt.Sprint("agent ", day), fmt.Sprintf("2026-11-%dT23:59:59Z", day))
		}
	}
	for _, test := range []struct {
		days        Days
		first, rows int
	}{
		{Days{}, 1, listPage * 3 / 2},
		{Days{Through: "2026-11-19"}, 1, listPage}, // exactly a page
		{Days{Since: "2026-11-19"}, listPage/2 + 1, listPage},
		{Days{Since: "2026-11-19", Through: "2026-11-19"}, listPage/2 + 1, listPage / 2},
		{Days{Since: "2026-11-21"}, 0, 0},
	} {
		rows := listed(t, s, "registrations", test.days)
		if len(rows) != test.rows {
			t.Errorf("%v: %d rows, want %d", test.days, len(rows), test.rows)
		}
		for i, row := range rows {
			if !strings.HasPrefix(row, fmt.Sprintf("[%d ", test.first+i)) {
				t.Fatalf("%v: row %d is %s", test.days, i, row)
			}
		}
	}

	put(t, s, "INSERT INTO charters VALUES (1, 'c', '2026-11-20T00:00:00Z', 'Tern', NULL, '[]', 'hash')")
	put(t, s, "INSERT INTO suggestions VALUES ('s', '2026-11-20T00:00:00Z', 'anonymous', 'pin', 'hash')")
	put(t, s, "INSERT INTO contacts VALUES ('c', 'a@example.org', '2026-11-20T00:00:00Z')")
	putMessage(t, s, "c", "pending", 1795132800, nil)
	for name, want := range map[string]string{
		"charters":    "[1 c 2026-11-20T00:00:00Z Tern <nil> [] hash]",
		"suggestions": "[s 2026-11-20T00:00:00Z anonymous pin hash]",
		"contacts":    "[c 2026-11-20T00:00:00Z a@example.org]",
		"outbox":      "[1 c registration pending 20 2026-11-20T00:00:00Z 1970-01-01T00:00:00Z <nil> <nil>]",
	} {
		if rows := listed(t, s, name, Days{Since: "2026-11-20", Through: "2026-11-20"}); len(rows) != 1 || rows[0] != want {
			t.Errorf("%s: %v, want %s", name, rows, want)
		}
		if rows := listed(t, s, name, Days{Through: "2026-11-19"}); len(rows) != 0 {
			t.Errorf("%s of the days before: %v", name, rows)
		}
	}

	stopped, stop := context.WithCancel(context.Background())
	defer stop()
	n := 0
	for _, err := range s.Rows(stopped, Lists[0], Days{}) {
		if n++; n == 1 {
			stop()
		}
		if err != nil && n != listPage+1 {
			t.Errorf("%v after %d rows", err, n)
		}
	}
	if n != listPage+1 {
		t.Errorf("%d rows after the list was interrupted", n)
	}
	s.Close()
	for _, err := range s.Rows(context.Background(), Lists[0], Days{}) {
		if err == nil {
			t.Error("a closed database was listed")
		}
	}
}

// TestEraseRecords has a server at the same file: what was erased is in no file any more.
func TestEraseRecords(t *testing.T) {
	dir := t.TempDir()
	server := openStore(t, filepath.Join(dir, databaseFile))
	putRegistration(t, server, "ada", "2026-11-20T12:00:00Z")
	for _, id := range []string{"a", "b", "kept"} {
		put(t, server, "INSERT INTO contacts VALUES (?, ?, '2026-11-20T12:00:00Z')", id, id+"@example.org")
		put(t, server, "INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) VALUES (?, 'k', ?, 0, 0)", id, `{"address":"`+id+`@example.org"}`)
	}
	put(t, server, "DELETE FROM contacts WHERE record_id = 'b'")
	command, err := OpenRecords(dir, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer command.Close()
	erased, err := command.Erase("a", "none", "b")
	if got := fmt.Sprint(erased, err); got != "[{1 1} {0 0} {0 1}] <nil>" {
		t.Errorf("erased %s", got)
	}
	for _, address := range []string{"a@example.org", "b@example.org"} {
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, file := range files {
			if text, _ := os.ReadFile(file); strings.Contains(string(text), address) {
				t.Errorf("%s is still in %s", address, file)
			}
		}
	}
	if a, b, c := count(t, server, "registrations"), count(t, server, "contacts"), count(t, server, "outbox"); a != 1 || b != 1 || c != 1 {
		t.Errorf("%d registrations, %d contacts, %d messages are left, want one of each", a, b, c)
	}
}

func TestRevive(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), databaseFile))
	for _, id := range []string{"a", "b", "c"} {
		putMessage(t, s, id, "dead", 0, "relay refused")
	}
	putMessage(t, s, "p", "pending", 0, nil)
	putMessage(t, s, "d", "delivered", 0, nil)
	states := func() string {
		return fmt.Sprint(s.Exec(one("SELECT record_id, state, tries, next_try_at > 0 FROM outbox ORDER BY id")).Rows[0])
	}
	if got, err := s.Revive("b", "p", "none"); fmt.Sprint(got, err) != "[1 0 0] <nil>" {
		t.Errorf("revived %v, %v", got, err)
	}
	if got := states(); got != "[[a dead 20 0] [b pending 0 1] [c dead 20 0] [p pending 20 0] [d delivered 20 0]]" {
		t.Errorf("states %s", got)
	}
	if n, err := s.ReviveAll(); n != 2 || err != nil {
		t.Errorf("revived %d, %v", n, err)
	}
	if got := states(); got != "[[a pending 0 1] [b pending 0 1] [c pending 0 1] [p pending 20 0] [d delivered 20 0]]" {
		t.Errorf("states %s", got)
	}
	s.Close()
	if _, err := s.ReviveAll(); err == nil {
		t.Error("a closed database was mended")
	}
}

// BenchmarkCount counts a hundred thousand registrations of a thousand names.
func BenchmarkCount(b *testing.B) {
	s := openStore(b, filepath.Join(b.TempDir(), databaseFile))
	put(b, s, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) INSERT INTO registrations "+
		"SELECT i, hex(randomblob(16)), "+instant("1790000000 + 7 * i")+", 'agent ' || (i * 7919 % 1000), NULL, '' FROM n")
	for b.Loop() {
		if _, err := s.Count("", 20); err != nil {
			b.Fatal(err)
		}
	}
}

// TestEraseLeavesNothing has small stores live through registrations, deliveries, failures and erasures. After each erasure
// no file of the folder holds an address that was erased, be it from the contacts or from a message, delivered or not.
func TestEraseLeavesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	address := regexp.MustCompile(`lark\d{6}@example\.org`)
	var erasures, left int
	for range 25 {
		dir := t.TempDir()
		s := openStore(t, filepath.Join(dir, databaseFile))
		s.alone(func() { s.control("PRAGMA synchronous = OFF") }) // what is written counts here, not when
		var ids []string
		erased := map[string]bool{}
		next := func() string { return "lark" + fmt.Sprintf("%06d", len(ids)+len(erased)) + "@example.org" }
		pick := func() string { return ids[random.IntN(len(ids))] }
		for range 12 {
			for range 60 {
				switch chance := random.IntN(10); {
				case chance < 4 || len(ids) < 2:
					id, note := next(), strings.Repeat("x", random.IntN(200))
					if r := s.Exec(kernel.Exec{Statements: []kernel.Statement{
						{SQL: "INSERT INTO contacts (record_id, address, created_at) VALUES (?, ?, '2026-11-20T12:00:00Z')", Args: []any{sha256.HexOf(id)[:32], id}},
						{SQL: "INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) VALUES (?, 'registration', ?, 0, 0)", Args: []any{sha256.HexOf(id)[:32], `{"address":"` + id + `","who":"` + note + `"}`}},
					}}); r.Failure != kernel.None {
						t.Fatal(r.Failure)
					}
					ids = append(ids, id)
				case chance < 7:
					put(t, s, "UPDATE outbox SET state = 'delivered', payload = NULL, delivered_at = 1 WHERE record_id = ?", sha256.HexOf(pick())[:32])
				default:
					put(t, s, "UPDATE outbox SET last_error = ?, tries = tries + 1 WHERE record_id = ?", strings.Repeat("e", random.IntN(64)), sha256.HexOf(pick())[:32])
				}
			}
			var gone []string
			for range random.IntN(20) {
				if len(ids) == 0 {
					break
				}
				i := random.IntN(len(ids))
				erased[ids[i]] = true
				gone = append(gone, sha256.HexOf(ids[i])[:32])
				ids = slices.Delete(ids, i, i+1)
			}
			if _, err := s.Erase(gone...); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, found := range address.FindAllString(string(text), -1) {
					if erased[found] {
						left++
					}
				}
			}
		}
		erasures += len(erased)
		s.Close()
	}
	if left > 0 || erasures < 1000 {
		t.Errorf("%d erased addresses were found in the files, %d were erased", left, erasures)
	}
}

// TestEraseBesideAnother: who holds the file keeps an erasure from its end, and the error says so.
func TestEraseBesideAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), databaseFile)
	other, command := openStore(t, path), openStore(t, path)
	put(t, other, "INSERT INTO contacts VALUES ('a', 'a@example.org', '2026-11-20T12:00:00Z')")
	command.alone(func() { command.control("PRAGMA busy_timeout = 20") })
	for what, begin := range map[string]string{"reads": "BEGIN; SELECT count(*) FROM contacts", "writes": "BEGIN IMMEDIATE"} {
		if err := other.script(begin); err != nil { // its writer waits for its queue
			t.Fatal(err)
		}
		if err := command.Cleanse(); err == nil || !strings.Contains(err.Error(), "another process is using it (try again)") {
			t.Errorf("another one %s: %v", what, err)
		}
		if err := other.script("ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		if err := command.Cleanse(); err != nil {
			t.Errorf("after another one %s: %v", what, err)
		}
	}
}
