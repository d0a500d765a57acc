// Package record stores registrations and charters. One transaction holds a record, the e-mail
// address that came with it, and the message that tells the operator of the address.
package record

import (
	"slices"
	"strings"

	"anteroom/edge/civil"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/sha256"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/outbox"
	"anteroom/edge/turn"
)

// MaxName is the longest name of an agent, in code points.
const MaxName = 80

// NamePlaceholder is what a template has for the name of the caller's own agent. Without an
// apostrophe, a command of a shell can hold it.
const NamePlaceholder = "<your agent name>"

// WriteMembers writes the members that the answers of registrations and charters share. id is "" on
// a dry run. emailed says whether an address was sent.
func WriteMembers(w *jsondoc.Writer, in *input.Input, id, now string, emailed bool) {
	w.StrOrNull("record_id", id)
	w.Bool("recorded", id != "")
	if id == "" {
		now = ""
	}
	w.StrOrNull("recorded_at", now)
	w.Bool("email_on_file", emailed && id != "")
	respond.WriteCapped(w, "ignored_fields", in.Ignored())
}

// LogEntry is an action for respond.WriteActions: where the public log will have the entry of a
// record after a hand verification, with the hash to find there behind "#". It is nil without a
// log, and on a dry run.
func LogEntry(t *turn.Turn, id, payloadSHA256 string) []string {
	folder := t.Snapshot.LogLookup
	if folder == "" || id == "" {
		return nil
	}
	hash := sha256.HexOf(id + "\n" + payloadSHA256)
	return []string{"log-entry", folder + hash[:snapshot.LookupDigits] + "#" + hash}
}

// Unused ends the SQL of an insert whose first argument is the id of a record: the insert does
// nothing where the id is used up.
const Unused = outbox.Unused

// Store stores a record with insert, which ends with Unused, and answers with answer. time is the
// table of the record and its column of times, as in "charters.recorded_at". The same transaction
// stores the address, if it is not "", and puts a message about it into the outbox. The message has
// kind, the kind of the record, and who, the name of the agent or org.
func Store(t *turn.Turn, kind, time string, insert turn.Statement, address, who string, answer func() *turn.Response) *turn.Response {
	statements := []turn.Statement{insert}
	if id, _ := insert.Args[0].(string); address != "" {
		statements = append(statements, turn.Statement{
			SQL:  "INSERT INTO contacts (record_id, address, created_at) SELECT ?, ?, ?" + Unused,
			Args: []any{id, address, civil.FormatTime(t.Now)},
		}, outbox.Enqueue(t, kind, id, address, who))
	}
	return Insert(t, time, statements, func(failure turn.Failure) *turn.Response {
		if failure != turn.None {
			return respond.StoreFailed(t, failure)
		}
		if address != "" {
			t.SetDeliver()
		}
		return answer()
	})
}

// Insert runs the inserts of one record, each of which ends with Unused, and answers with what then
// makes of the failure. The first insert makes the record. time is as for Store.
//
// If the store gives no answer, a second transaction makes sure that the record is there once.
// Where the first one was done, it uses the id up before the inserts, which then do nothing. Where
// not, it uses the id up after them: the first one may still be on its way.
func Insert(t *turn.Turn, time string, inserts []turn.Statement, then func(turn.Failure) *turn.Response) *turn.Response {
	if t.Silent {
		return then(turn.Refused)
	}
	return turn.Presume(turn.Exec{Statements: inserts}, func(stored turn.Result) *turn.Response {
		if stored.Failure != turn.Timeout {
			return then(stored.Failure)
		}
		table, column, _ := strings.Cut(time, ".")
		id := inserts[0].Args[0]
		// No index has the ids. What was inserted by this turn comes after all that is older.
		older := "SELECT seq FROM " + table + " WHERE " + column + " < ? ORDER BY seq DESC LIMIT 1"
		again := slices.Concat([]turn.Statement{{
			SQL:  "INSERT INTO used_ids (record_id) SELECT record_id FROM " + table + " WHERE record_id = ? AND seq > coalesce((" + older + "), 0)",
			Args: []any{id, civil.FormatTime(t.Now - 60)},
		}}, inserts, []turn.Statement{{SQL: "INSERT INTO used_ids (record_id) VALUES (?) ON CONFLICT DO NOTHING", Args: []any{id}}})
		return turn.Await(turn.Exec{Statements: again}, func(stored turn.Result) *turn.Response {
			if t.Silent = stored.Failure != turn.None; t.Silent { // what became of the first is still unknown
				return then(turn.Timeout)
			}
			return then(turn.None)
		})
	})
}
