package core

import (
	"anteroom/edge/jsondoc"
)

// MaxName is the longest name of an agent, in code points.
const MaxName = 80

// NamePlaceholder stands for the name of the caller's own agent in a template.
const NamePlaceholder = "<your agent's name>"

// Action is something to do next.
type Action struct {
	Rel  string `json:"rel" doc:"Relation of the target to this answer."`
	Href string `json:"href" format:"uri" doc:"Absolute address of the target."`
}

// WriteActions writes next_actions: pairs of a relation and a path.
func (t *Turn) WriteActions(w *jsondoc.Writer, pairs ...string) {
	w.Name("next_actions")
	w.Open('[')
	for i := 0; i < len(pairs); i += 2 {
		w.Open('{')
		w.Str("rel", pairs[i])
		w.Str("href", t.Snapshot.BaseURL()+pairs[i+1])
		w.Close('}')
	}
	w.Close(']')
}

// WriteRecord writes the members that the answers of registrations and charters have in common.
// id is "" on a dry run.
func WriteRecord(w *jsondoc.Writer, in *Input, id, now string, email bool) {
	w.StrOrNull("record_id", id)
	w.Bool("recorded", id != "")
	if id == "" {
		now = ""
	}
	w.StrOrNull("recorded_at", now)
	w.Bool("email_on_file", email && id != "")
	WriteCapped(w, "ignored_fields", in.Ignored())
}

// Record stores a record, in one transaction with the address that came with it, if any, and a message about that to
// the operator, and answers what answer makes. who is an agent's or an org's name.
func (t *Turn) Record(kind, id string, insert Statement, address, who string, answer func() *Response) *Response {
	statements := []Statement{insert}
	if address != "" {
		statements = append(statements, t.keepContact(kind, id, address, who)...)
	}
	return t.Presume(Exec{statements}, func(stored Result) *Response {
		if stored.Failure != None {
			return t.Unstored(stored.Failure)
		}
		return answer()
	})
}

// keepContact gives the statements that keep an address with a record and put a message about it into the outbox.
func (t *Turn) keepContact(kind, recordID, address, who string) []Statement {
	payload := jsondoc.Writer{}
	payload.Open('{')
	payload.Str("address", address)
	payload.Str("who", who)
	payload.Close('}')
	return []Statement{
		{"INSERT INTO contacts (record_id, address, created_at) VALUES (?, ?, ?)", []any{recordID, address, FormatTime(t.Now)}},
		{
			"INSERT INTO outbox (record_id, kind, payload, created_at, next_try_at) VALUES (?, ?, ?, ?, ?)",
			[]any{recordID, kind, string(payload.Buf), t.Now, t.Now},
		},
	}
}

// OrNull is a text as a SQL argument: nil where it is empty.
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
