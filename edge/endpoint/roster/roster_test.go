package roster_test

import (
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/roster"
)

// The age is in whole UTC calendar days, so it changes at midnight. It is not negative where the
// clock is behind the day of the verification.
func TestAgeDays(t *testing.T) {
	const midnight = edgetest.Now - 12*60*60
	for _, c := range []struct {
		date string
		now  int64
		want int64
	}{
		{"2026-11-18", edgetest.Now, 2},
		{"2026-11-18", midnight, 2},
		{"2026-11-18", midnight - 1, 1},
		{"2025-11-20", edgetest.Now, 365},
		{"2026-11-20", midnight, 0},
		{"2026-11-20", edgetest.Now, 0},
		{"2026-11-21", edgetest.Now, 0},
		{"2027-11-21", edgetest.Now, 0},
	} {
		if got := roster.AgeDays(c.date, c.now); got != c.want {
			t.Errorf("%s at %d: %d days, want %d", c.date, c.now, got, c.want)
		}
	}
}

// A scoreboard says when it was served and how old its counts are. Counts that do not reconcile are
// withheld.
func TestRoster(t *testing.T) {
	for shipped, want := range map[int64]int{0: 200, 2: 200, 3: 200, 4: 500} {
		h, s := edgetest.NewFake(t), edgetest.Snapshot()
		s.ReceivedExternal, s.OriginatedInternally, s.Shipped = 2, 1, shipped
		h.Edge = edgetest.Load(t, s)
		r := h.Do("GET", "/api/roster", "")
		body := edgetest.Decode(t, r)
		if r.Status != want {
			t.Errorf("%d shipped: %d %s", shipped, r.Status, r.Body)
		}
		if want == 500 {
			if !strings.Contains(string(r.Body), "/problems/inconsistent-counts.html") || body["as_of"] != nil {
				t.Errorf("%d shipped: %s", shipped, r.Body)
			}
		} else if body["served_at"] != "2026-11-20T12:00:00Z" || body["counts_age_days"] != 2. {
			t.Errorf("%d shipped: %s", shipped, r.Body)
		}
	}
}
