package records

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"anteroom/edge/native/sqlite"
)

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
		n := 0
		for row, err := range Rows(t.Context(), s, Lists[0], test.days, true) {
			if err != nil || len(row) != len(Lists[0].Columns) || row[0] != int64(test.first+n) {
				t.Fatalf("%v: row %d is %v, %v", test.days, n, row, err)
			}
			n++
		}
		if n != test.rows {
			t.Errorf("%v: %d rows, want %d", test.days, n, test.rows)
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
}
