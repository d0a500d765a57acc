package roster_test

import (
	"strings"
	"testing"

	"anteroom/edge/edgetest"
)

// The age of the counts is in whole UTC days, so it changes at midnight, and is never negative.
func TestAge(t *testing.T) {
	const midnight = -12 * 60 * 60 // from edgetest.Now
	for _, c := range []struct {
		date  string
		later int64
		want  float64
	}{
		{"2026-11-18", 0, 2}, {"2026-11-18", midnight, 2}, {"2026-11-18", midnight - 1, 1}, {"2025-11-20", 0, 365},
		{"2026-11-20", midnight, 0}, {"2026-11-21", 0, 0}, {"2027-11-21", 0, 0},
	} {
		h, s := edgetest.NewFake(t), edgetest.Snapshot()
		s.AsOf, h.Later = c.date, c.later
		h.Edge = edgetest.Load(t, s)
		if got := edgetest.Decode(t, h.Do("GET", "/api/roster", ""))["counts_age_days"]; got != c.want {
			t.Errorf("%s, %d s later: %v days, want %v", c.date, c.later, got, c.want)
		}
	}
}

// Counts that do not reconcile are withheld.
func TestCheck(t *testing.T) {
	for shipped, want := range map[int64]int{0: 200, 2: 200, 3: 200, 4: 500} {
		h, s := edgetest.NewFake(t), edgetest.Snapshot()
		s.ReceivedExternal, s.OriginatedInternally, s.Shipped = 2, 1, shipped
		h.Edge = edgetest.Load(t, s)
		r := h.Do("GET", "/api/roster", "")
		body := edgetest.Decode(t, r)
		problem, _ := body["type"].(string)
		if r.Status != want || (body["as_of"] == nil) != (want == 500) || strings.HasSuffix(problem, "/problems/inconsistent-counts.html") != (want == 500) {
			t.Errorf("%d shipped: %d %s", shipped, r.Status, r.Body)
		}
	}
}
