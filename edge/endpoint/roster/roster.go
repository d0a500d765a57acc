// Package roster adds the age of the counts to the scoreboard, and withholds it if they do not
// reconcile.
package roster

import (
	"anteroom/edge/civil"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

func Check(t *turn.Turn) *turn.Response {
	s := t.Snapshot
	if s.Shipped <= s.ReceivedExternal+s.OriginatedInternally {
		return nil
	}
	const detail = "The suggestion counts do not reconcile: more have shipped than were received and originated. " +
		"The scoreboard is withheld until they do."
	return respond.Problem(t, respond.InconsistentCounts, detail, nil, nil)
}

// WriteAge writes counts_age_days in whole UTC days, never negative.
func WriteAge(t *turn.Turn, w *jsondoc.Writer) {
	day, _ := civil.ParseDate(t.Snapshot.AsOf)
	w.Str("served_at", civil.FormatTime(t.Now))
	w.Int("counts_age_days", max(0, t.Now/86400-int64(day)))
}
