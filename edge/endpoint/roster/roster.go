// Package roster adds to the scoreboard, a document of hand-verified counts, how old the counts
// are, and withholds it where they do not reconcile.
package roster

import (
	"anteroom/edge/civil"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

// Check answers 500 where more suggestions have shipped than were received and originated: a
// scoreboard that does not reconcile is not served. It answers nil where the counts are consistent.
func Check(t *turn.Turn) *turn.Response {
	s := t.Snapshot
	if s.Shipped <= s.ReceivedExternal+s.OriginatedInternally {
		return nil
	}
	return respond.Problem(t, respond.InconsistentCounts, "The suggestion counts do not reconcile: more have shipped than were received and originated. The scoreboard is withheld until they do.", nil, nil)
}

// WriteAge writes the members that depend on the time at which the scoreboard is served.
func WriteAge(t *turn.Turn, w *jsondoc.Writer) {
	w.Str("served_at", civil.FormatTime(t.Now))
	w.Int("counts_age_days", AgeDays(t.Snapshot.AsOf, t.Now))
}

// AgeDays is how many UTC calendar days lie between a date and the day of a time; 0 where the date
// is later. now is in seconds since 1970-01-01T00:00:00Z.
func AgeDays(date string, now int64) int64 {
	days, _ := civil.ParseDate(date)
	return max(0, now/86400-int64(days))
}
