// Package record stores registrations and charters. One transaction holds a record, the e-mail
// address that came with it, and the message that tells the operator of the address.
package record

import (
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

// Store runs insert, which stores the record with this id, and answers with answer. The same
// transaction stores the address, if it is not "", and puts a message about it into the outbox. The
// message has kind, the kind of the record, and who, the name of the agent or org.
func Store(t *turn.Turn, kind, id string, insert turn.Statement, address, who string, answer func() *turn.Response) *turn.Response {
	statements := []turn.Statement{insert}
	if address != "" {
		statements = append(statements, turn.Statement{
			SQL:  "INSERT INTO contacts (record_id, address, created_at) VALUES (?, ?, ?)",
			Args: []any{id, address, civil.FormatTime(t.Now)},
		}, outbox.Enqueue(t, kind, id, address, who))
	}
	return turn.Presume(turn.Exec{Statements: statements}, func(stored turn.Result) *turn.Response {
		if stored.Failure != turn.None {
			return respond.StoreFailed(t, stored.Failure)
		}
		if address != "" {
			t.SetDeliver()
		}
		return answer()
	})
}
