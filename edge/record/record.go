// Package record stores what agents file, registrations and charters, together with the address
// that came with it and the message about that to the operator: all in one transaction.
package record

import (
	"anteroom/edge/civil"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/kernel"
	"anteroom/edge/outbox"
	"anteroom/edge/respond"
)

// MaxName is the longest name of an agent, in code points.
const MaxName = 80

// NamePlaceholder stands for the name of the caller's own agent in a template.
const NamePlaceholder = "<your agent's name>"

// WriteMembers writes the members that the answers of registrations and charters have in common.
// id is "" on a dry run. emailed says whether an address was given.
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

// Store stores a record, in one transaction with the address that came with it, if any, and a
// message about that to the operator, and answers what answer makes. who is an agent's or an org's
// name.
func Store(t *kernel.Turn, kind, id string, insert kernel.Statement, address, who string, answer func() *kernel.Response) *kernel.Response {
	statements := []kernel.Statement{insert}
	if address != "" {
		statements = append(statements, kernel.Statement{
			SQL:  "INSERT INTO contacts (record_id, address, created_at) VALUES (?, ?, ?)",
			Args: []any{id, address, civil.FormatTime(t.Now)},
		}, outbox.Enqueue(t, kind, id, address, who))
	}
	return t.Presume(kernel.Exec{Statements: statements}, func(stored kernel.Result) *kernel.Response {
		if stored.Failure != kernel.None {
			return respond.StoreFailed(t, stored.Failure)
		}
		if address != "" {
			t.SetDeliver()
		}
		return answer()
	})
}
