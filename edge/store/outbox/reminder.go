package outbox

import (
	"cmp"
	"strconv"
	"strings"

	"anteroom/edge/civil"
	"anteroom/edge/turn"
)

const (
	daySeconds  = 24 * 3600
	remindEvery = 7 * daySeconds // the least time between two reminders
)

// waiting returns how many records of each kind no verification covers, the time of the first of
// them, and the first suggestion, unless the operator was reminded lately. It reads few rows, as the
// numbers of a kind have no gaps. A reminder in the future was noted by a wrong clock.
var waiting = "SELECT reminded_at" + after("registrations", "recorded_at", "?4") + after("charters", "recorded_at", "?5") +
	after("suggestions", "filed_at", "?6") + ", (SELECT record_id FROM suggestions WHERE seq > ?6 ORDER BY seq LIMIT 1) " +
	"FROM store WHERE (?3 = '' OR id = ?3) AND reminded_at NOT BETWEEN ?1 AND ?2"

func after(table, at, last string) string {
	return ", (SELECT max(seq) FROM " + table + ") - " + last + ", (SELECT " + at + " FROM " + table + " WHERE seq > " + last + " ORDER BY seq LIMIT 1)"
}

const setReminded = "UPDATE store SET reminded_at = ? WHERE reminded_at = ? RETURNING id"

// remind sends the operator a message if records have waited for a hand verification for longer than
// the content's RemindAfterDays. It stores the time first: if the run dies, the reminder is not sent
// again before the next is due.
func remind(t *turn.Turn) *turn.Response {
	s := t.Snapshot
	if s.RemindAfterDays == 0 {
		return &turn.Response{Status: 204}
	}
	found, ok := t.Do(turn.Exec{Statements: []turn.Statement{{
		SQL:  waiting,
		Args: []any{t.Now - remindEvery + 1, t.Now + skew, s.Store, s.Covered[0], s.Covered[1], s.Covered[2]},
	}}})
	switch {
	case !ok:
		return nil
	case found.Failure != turn.None:
		return failed("waiting records were not counted", found)
	case len(found.Rows[0]) == 0:
		return &turn.Response{Status: 204}
	}
	row := found.Rows[0][0]
	what, oldest := said(row[1:])
	if what == "" || oldest > civil.FormatTime(t.Now-s.RemindAfterDays*daySeconds) {
		return &turn.Response{Status: 204}
	}
	claimed, ok := t.Do(turn.Exec{Statements: []turn.Statement{{SQL: setReminded, Args: []any{t.Now, row[0]}}}})
	switch {
	case !ok:
		return nil
	case claimed.Failure != turn.None:
		return failed("the time of a reminder was not stored", claimed)
	case len(claimed.Rows[0]) == 0: // another run is sending it
		return &turn.Response{Status: 204}
	}
	sent, ok := t.Do(turn.Relay{Message: turn.Message{
		ID: t.NewID(), List: turn.Reminders, After: cmp.Or(text(row[7]), string(turn.Reminders)),
		Subject: "[" + s.Service + "] reminder: " + what + "; run anteroom publish",
		Text:    what + ";\nrun anteroom publish. anteroom inbox shows what waits.\nThere is one reminder a week at most.\n",
	}})
	switch {
	case !ok:
		return nil
	case sent.Failure == turn.None || sent.Failure == turn.Timeout:
		return &turn.Response{Status: 204}
	}
	retry := turn.Statement{SQL: setReminded, Args: []any{t.Now - remindEvery + lastRetry, t.Now}}
	marked, ok := t.Do(turn.Exec{Statements: []turn.Statement{retry}})
	switch {
	case !ok:
		return nil
	case marked.Failure != turn.None:
		return failed("a reminder was refused, and is tried again in a week", marked)
	}
	return &turn.Response{Status: 502} // the host logs why a relay fails
}

func failed(what string, r turn.Result) *turn.Response {
	return &turn.Response{Status: 503, Log: "outbox: " + what + ": " + string(r.Failure)}
}

// said returns the sentence of a reminder, such as "7 registrations and a suggestion wait since
// 2026-11-16", and the time in it, or "" if no records wait. The columns are of waiting.
func said(columns []any) (sentence, oldest string) {
	var parts []string
	for i, kind := range []string{"registration", "charter", "suggestion"} {
		n, at := integer(columns[2*i]), text(columns[2*i+1])
		if n <= 0 || at == "" {
			continue
		}
		if oldest == "" || at < oldest {
			oldest = at
		}
		if n == 1 {
			parts = append(parts, "a "+kind)
		} else {
			parts = append(parts, strconv.FormatInt(n, 10)+" "+kind+"s")
		}
	}
	day, _, _ := strings.Cut(oldest, "T")
	switch last := len(parts) - 1; {
	case last < 0:
		return "", ""
	case last > 0:
		return strings.Join(parts[:last], ", ") + " and " + parts[last] + " wait since " + day, oldest
	case strings.HasPrefix(parts[0], "a "):
		return parts[0] + " waits since " + day, oldest
	}
	return parts[0] + " wait since " + day, oldest
}
