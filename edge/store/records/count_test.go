package records

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/native/sqlite"
)

func TestCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), sqlite.FileName)
	s := openStore(t, path)
	empty, err := Count(t.Context(), s, "", 5)
	if err != nil || empty.Registrations != 0 || empty.Bursts != 0 || len(empty.Largest) != 0 || empty.OutboxError != nil {
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
	exec(t, s, "INSERT INTO charters VALUES (1, 'c', '2026-11-20T00:00:00Z', 'Tern', NULL, '[]', '')")
	for i, kind := range []string{"pin", "suggestion", "pin"} {
		exec(t, s, "INSERT INTO suggestions (record_id, filed_at, filed_as, kind, text_sha256) VALUES (?, ?, 'anonymous', ?, '')", fmt.Sprintf("%032x", rand.Uint64()), fmt.Sprintf("2026-11-%dT12:00:00Z", 18+i), kind)
	}
	exec(t, s, "INSERT INTO contacts VALUES ('c', 'a@example.org', '2026-11-20T00:00:00Z')")
	putMessage(t, s, "a", "dead", 1795046400, "relay refused")     // 2026-11-19
	putMessage(t, s, "b", "pending", 1795132799, "relay timeout")  // its last second
	putMessage(t, s, "c", "pending", 1795132800, nil)              // 2026-11-20
	putMessage(t, s, "d", "delivered", 1795132800, "old, settled") // no error any more

	// Count does not wait for a server that is in the midst of a write.
	server, err := sql.Open("sqlite", path)
	must(t, err)
	defer server.Close()
	server.SetMaxOpenConns(1)
	if _, err := server.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	defer server.Exec("ROLLBACK")

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
			Outbox: map[string]int64{"dead": 1, "pending": 2, "delivered": 1}, OutboxError: new("relay timeout"),
		}},
		{"2026-11-19", Counts{
			Registrations: 10, Names: 4, Nameless: 2, Bursts: 2, InBursts: 5,
			Largest: []Burst{
				{"ada", 3, "2026-11-19T10:00:00Z", "2026-11-19T10:20:00Z"},
				{"cy", 2, "2026-11-19T23:59:58Z", "2026-11-19T23:59:59Z"},
			},
			Suggestions: map[string]int64{"pin": 1, "suggestion": 1}, Outbox: map[string]int64{"dead": 1, "pending": 1}, OutboxError: new("relay timeout"),
		}},
		{"2026-11-17", Counts{Suggestions: map[string]int64{}, Outbox: map[string]int64{}}},
	}
	for _, test := range tests {
		for bursts := range len(test.want.Largest) + 2 {
			got, err := Count(t.Context(), s, test.through, bursts)
			want := test.want
			want.Largest, want.BurstSeconds = want.Largest[:min(bursts, len(want.Largest))], BurstSeconds
			if test.through != "" {
				want.Through = &test.through
			}
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			if err != nil || strings.ReplaceAll(string(a), "null", "[]") != strings.ReplaceAll(string(b), "null", "[]") {
				t.Errorf("through %q, %d bursts: %s, %v\nwant %s", test.through, bursts, a, err, b)
			}
		}
	}
}
