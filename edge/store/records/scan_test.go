package records

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/native/sqlite"
)

// put records a registration with a number and a time of 2026-11-20.
func put(t *testing.T, s *sqlite.Store, seq int, name any, at string) {
	t.Helper()
	exec(t, s, fmt.Sprintf("INSERT INTO registrations (seq, record_id, recorded_at, agent_name, pubkey, payload_sha256) VALUES (%d, 'id%d', ?, ?, 'key', 'sum')", seq, seq),
		"2026-11-20T"+at+"Z", name)
}

// Records come in the order of their numbers, each with what a digest is made of.
func TestScan(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), sqlite.FileName))
	put(t, s, 7, nil, "12:00:00")
	put(t, s, 1, "lark", "12:00:01") // with a gap behind it
	put(t, s, -3, "zero", "12:00:02")
	exec(t, s, "INSERT INTO charters (record_id, recorded_at, org_name, roster, payload_sha256) VALUES ('c', 'at', 'Tern', '[]', 'sum')")
	exec(t, s, "INSERT INTO suggestions (record_id, filed_at, filed_as, kind, text_sha256) VALUES ('s', 'at', 'anonymous', 'idea', 'sum')")
	zero, lark := `-3 id-3 2026-11-20T12:00:02Z sum ["zero" "key" ""]`, `1 id1 2026-11-20T12:00:01Z sum ["lark" "key" ""]`
	for _, c := range []struct {
		kind int
		last int64
		want []string
	}{
		{0, 9, []string{zero, lark, `7 id7 2026-11-20T12:00:00Z sum ["" "key" ""]`}},
		{0, 6, []string{zero, lark}},
		{1, 9, []string{`1 c at sum ["Tern" "" "[]"]`}},
		{2, 9, []string{`1 s at sum idea anonymous ["idea" "anonymous" ""]`}},
		{2, 0, nil},
	} {
		var got []string
		list, err := Scan(t.Context(), s, &Kinds[c.kind], 0, c.last)
		for _, r := range list {
			got = append(got, fmt.Sprintf("%s %q", r.Line, r.Values))
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s to %d: %q, %v", Kinds[c.kind].Name, c.last, got, err)
		}
	}
}

// Measure takes everything that was there up to now, and up to an earlier time what came before the
// first record of later.
func TestMeasure(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), sqlite.FileName))
	measure := func(covered ...int64) *Extent {
		t.Helper()
		e, err := Measure(t.Context(), s, covered)
		must(t, err)
		return e
	}
	if e := measure(); !slices.Equal(e.Last, []int64{0, 0, 0}) || e.New != 0 || len(e.Store) != 32 || e.Host != "" {
		t.Errorf("an empty store: %+v", e)
	}
	put(t, s, 1, "a", "11:00:00")
	put(t, s, 2, "b", "12:00:01")
	put(t, s, 5, "d", "12:00:02") // behind a gap
	exec(t, s, "UPDATE store SET host = 'www.tern.example'")
	if e := measure(); !slices.Equal(e.Last, []int64{5, 0, 0}) || e.New != 3 || e.Host != "www.tern.example" {
		t.Errorf("nothing is covered: %+v", e)
	}
	if e := measure(1, 0, 0); e.Last[0] != 5 || e.New != 2 || e.Waiting[0] != (Waiting{Registration, 2, "2026-11-20T12:00:01Z"}) {
		t.Errorf("one is covered: %+v", e)
	}
	exec(t, s, "INSERT INTO store (id) VALUES ('another')")
	if _, err := Measure(t.Context(), s, nil); err == nil || !strings.Contains(err.Error(), "read store identifier: got 2 rows, want 1") {
		t.Errorf("two identifiers: %v", err)
	}
}
