package records

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/native/sqlite"
)

func listed(t *testing.T, s Reader, name string, days Days) (rows []string) {
	t.Helper()
	list, err := Named(name)
	must(t, err)
	for row, err := range Rows(context.Background(), s, list, days, true) {
		must(t, err)
		if len(row) != len(list.Columns) {
			t.Fatalf("%d values for %d columns", len(row), len(list.Columns))
		}
		rows = append(rows, fmt.Sprint(row))
	}
	return rows
}

func TestRows(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), sqlite.FileName))
	for day := 18; day <= 20; day++ {
		exec(t, s, fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256)
			SELECT lower(hex(randomblob(16))), '2026-11-%dT23:59:59Z', 'agent', 'sum' FROM n`, pageRows/2, day))
	}
	for _, test := range []struct {
		days        Days
		first, rows int
	}{
		{Days{}, 1, pageRows * 3 / 2},
		{Days{Through: "2026-11-19"}, 1, pageRows}, // exactly a page
		{Days{Since: "2026-11-19"}, pageRows/2 + 1, pageRows},
		{Days{Since: "2026-11-19", Through: "2026-11-19"}, pageRows/2 + 1, pageRows / 2},
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

	exec(t, s, "INSERT INTO charters VALUES (1, 'c', '2026-11-20T00:00:00Z', 'Tern', NULL, '[]', 'hash', NULL)")
	exec(t, s, "INSERT INTO suggestions VALUES (1, 's', '2026-11-20T00:00:00Z', 'anonymous', 'pin', 'hash')")
	exec(t, s, "INSERT INTO contacts VALUES ('c', 'a@example.org', '2026-11-20T00:00:00Z')")
	putMessage(t, s, "c", "pending", 1795132800, nil)
	for name, want := range map[string]string{
		"charters":    "[1 c 2026-11-20T00:00:00Z Tern <nil> [] hash]",
		"suggestions": "[1 s 2026-11-20T00:00:00Z anonymous pin hash]",
		"contacts":    "[c 2026-11-20T00:00:00Z a@example.org]",
		"outbox":      "[1 c registration pending 20 2026-11-20T00:00:00Z 2026-11-20T00:00:00Z <nil> <nil> <nil>]",
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
	for _, err := range Rows(stopped, s, Lists[0], Days{}, false) {
		if n++; n == 1 {
			stop()
		}
		if err != nil && n != pageRows+1 {
			t.Errorf("%v after %d rows", err, n)
		}
	}
	if n != pageRows+1 {
		t.Errorf("%d rows after the list was interrupted", n)
	}
	s.Close()
	for _, err := range Rows(context.Background(), s, Lists[0], Days{}, false) {
		if err == nil {
			t.Error("a closed database was listed")
		}
	}
}
