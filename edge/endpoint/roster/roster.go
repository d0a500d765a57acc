// Package roster serves the scoreboard: hand-verified counts, and how old they are.
package roster

import (
	"anteroom/edge/civil"
	"anteroom/edge/jsondoc"
	"anteroom/edge/kernel"
	"anteroom/edge/respond"
)

// Check answers 500 where more suggestions have shipped than there were: a scoreboard that does
// not reconcile is not served. It answers nil where the counts are consistent.
func Check(t *kernel.Turn) *kernel.Response {
	s := t.Snapshot
	if s.Shipped <= s.ReceivedExternal+s.OriginatedInternally {
		return nil
	}
	return respond.Problem(t, respond.InconsistentCounts, "The suggestion counts do not reconcile: more have shipped than were received and originated. The scoreboard is withheld until they do.", nil, nil)
}

// WriteAge writes the members that depend on when the scoreboard is served.
func WriteAge(t *kernel.Turn, w *jsondoc.Writer) {
	w.Str("served_at", civil.FormatTime(t.Now))
	w.Int("counts_age_days", AgeDays(t.Snapshot.AsOf, t.Now))
}

// AgeDays is how many whole UTC calendar days lie between a date and the day of a time; 0 where
// the date is later.
func AgeDays(date string, now int64) int64 {
	days, _ := civil.ParseDate(date)
	return max(0, now/86400-int64(days))
}
