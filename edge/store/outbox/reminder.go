package outbox

import (
	"cmp"
	"strconv"
	"strings"

	"anteroom/edge/civil"
	"anteroom/edge/turn"
)

const (
	daySeconds = 24 * 3600
	// remindEvery is the least time between two reminders.
	remindEvery = 7 * daySeconds
)

// waiting reads how many records of each kind no verification covers, and when the first of them
// came, unless the operator was reminded lately. The numbers of a kind have no gaps, so that few
// rows are read however many wait. A time to come is one that a wrong clock has set. The last
// column is the first of the suggestions.
var waiting = "SELECT reminded_at" + after("registrations", "recorded_at", "?4") + after("charters", "recorded_at", "?5") +
	after("suggestions", "filed_at", "?6") + ", (SELECT record_id FROM suggestions WHERE seq > ?6 ORDER BY seq LIMIT 1) FROM store WHERE (?3 = '' OR id = ?3) AND reminded_at NOT BETWEEN ?1 AND ?2"

func after(table, at, last string) string {
	return ", (SELECT max(seq) FROM " + table + ") - " + last + ", (SELECT " + at + " FROM " + table + " WHERE seq > " + last + " ORDER BY seq LIMIT 1)"
}

const setReminded = "UPDATE store SET reminded_at = ? WHERE reminded_at = ? RETURNING id"

// remind sends the operator a message when records have waited for a hand verification for longer
// than the content says. The time of the reminder is stored before: one that may have arrived is
// not sent again before the next is due, even if the run dies.
func remind(t *turn.Turn) *turn.Response {
	s := t.Snapshot
	if s.RemindAfterDays == 0 {
		return &turn.Response{Status: 204}
	}
	look := turn.Statement{SQL: waiting, Args: []any{t.Now - remindEvery + 1, t.Now + skew, s.Store, s.Covered[0], s.Covered[1], s.Covered[2]}}
	found, ok := t.Do(turn.Exec{Statements: []turn.Statement{look}})
	switch {
	case !ok:
		return nil
	case found.Failure != turn.None:
		return failed("the store did not say what waits", found)
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
	marked, ok := t.Do(turn.Exec{Statements: []turn.Statement{{SQL: setReminded, Args: []any{t.Now - remindEvery + lastRetry, t.Now}}}})
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

// said gives the sentence of a reminder, such as "7 registrations and a suggestion wait since
// 2026-11-16", and the time since when; "" where nothing waits. The columns are of waiting.
func said(columns []any) (sentence, oldest string) {
	var parts []string
	verb := " wait since "
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
		if n == 1 && len(parts) == 1 {
			verb = " waits since "
		} else {
			verb = " wait since "
		}
	}
	last := len(parts) - 1
	if last < 0 {
		return "", ""
	}
	if last > 0 {
		parts[last-1] += " and " + parts[last]
		parts = parts[:last]
	}
	day, _, _ := strings.Cut(oldest, "T")
	return strings.Join(parts, ", ") + verb + day, oldest
}
