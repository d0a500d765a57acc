// Package record stores registrations and charters. One transaction holds a record, the e-mail
// address that came with it, and the message that tells the operator of the address.
package record

import (
	"slices"
	"strings"

	"anteroom/edge/canon"
	"anteroom/edge/civil"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/sha256"
	"anteroom/edge/signing"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/outbox"
	"anteroom/edge/turn"
)

// MaxName is the longest name of an agent, in code points.
const MaxName = 80

// NamePlaceholder is what a template has for the name of the caller's own agent. Without an
// apostrophe, a command of a shell can hold it.
const NamePlaceholder = "<your agent name>"

// Made is a record as the store has it. It is the zero Made on a dry run.
type Made struct {
	ID, At   string
	Emailed  bool // an address is kept with it
	Replayed bool // an earlier call with the same key has made it

	promise     *Promise
	signatureAt *int // where WriteMembers says in which place of the body the signature is
}

// Promise is the promise that a record will be counted, as an answer has it.
type Promise struct {
	Spec      string `json:"spec" doc:"Identifier of the rule that text follows."`
	Text      string `json:"text" doc:"What is promised, as a canonical string: that a hand verification takes the record in by counted_by."`
	Signature string `json:"signature" doc:"Raw 64-byte Ed25519 signature over text in base64."`
	PublicKey string `json:"public_key_b64" doc:"Raw 32-byte Ed25519 public key in base64: that of receipts."`
}

// NewID is the id of a record that is to be made. The commitment is what the record is about, or
// its hash. Under a key of the caller, the same commitment has the same id in every call.
func NewID(t *turn.Turn, in *input.Input, kind, commitment string) string {
	if in.Key == "" {
		return t.NewID()
	}
	return sha256.HexOf(kind + "\n" + in.Key + "\n" + commitment)[:idDigits]
}

const idDigits = 32

// WriteMembers writes the members that the answers of registrations and charters share.
func WriteMembers(w *jsondoc.Writer, in *input.Input, made Made) {
	w.StrOrNull("record_id", made.ID)
	w.Bool("recorded", made.ID != "")
	w.StrOrNull("recorded_at", made.At)
	WriteReplayed(w, made.Replayed)
	w.Bool("email_on_file", made.Emailed)
	if p := made.promise; p != nil {
		w.Begin("promise", '{')
		w.Str("spec", p.Spec)
		w.Str("text", p.Text)
		w.Str("signature", p.Signature)
		*made.signatureAt = len(w.Buf) - len(p.Signature) - len(`"`)
		w.Str("public_key_b64", p.PublicKey)
		w.Close('}')
	}
	respond.WriteCapped(w, "ignored_fields", in.Ignored())
}

// WriteReplayed writes a member where an earlier call made the record.
func WriteReplayed(w *jsondoc.Writer, replayed bool) {
	if replayed {
		w.Bool("replayed", true)
	}
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

// Record is a record that is to be made.
type Record struct {
	Kind    string         // "registration" or "charter"
	Time    string         // its table and the column of times there: "charters.recorded_at"
	Insert  turn.Statement // ends with Unused
	Hash    string         // payload_sha256
	Address string         // that came with it, or ""
	Who     string         // the name of the agent or org, for the operator
}

// Store stores a record and answers with answer. The same transaction stores the address, if there
// is one, and puts a message about it into the outbox.
func Store(t *turn.Turn, in *input.Input, r *Record, answer func(Made) *turn.Response) *turn.Response {
	statements := []turn.Statement{r.Insert}
	id, _ := r.Insert.Args[0].(string)
	if r.Address != "" {
		statements = append(statements, turn.Statement{
			SQL:  "INSERT INTO contacts (record_id, address, created_at) SELECT ?, ?, ?" + Unused,
			Args: []any{id, r.Address, civil.FormatTime(t.Now)},
		}, outbox.Enqueue(t, r.Kind, id, r.Address, r.Who))
	}
	made := Made{ID: id, At: civil.FormatTime(t.Now), Emailed: r.Address != ""}
	return Insert(t, in, r.Time, statements, func(failure turn.Failure, earlier []any) *turn.Response {
		if failure != turn.None {
			return respond.StoreFailed(t, failure)
		}
		if earlier != nil {
			made.At, _ = earlier[0].(string)
			made.Emailed, made.Replayed = earlier[1] == int64(1), true
		} else if r.Address != "" {
			t.SetDeliver()
		}
		return promise(t, r, made, answer)
	})
}

// promise answers with a promise that the record will be counted, if this host signs. The record is
// made already, so an answer without the signature is the better one to give.
func promise(t *turn.Turn, r *Record, made Made, answer func(Made) *turn.Response) *turn.Response {
	key, _ := signing.Key(t)
	day, isTime := civil.ParseDate(made.At[:min(len(made.At), len("2026-11-20"))])
	if key == "" || !isTime {
		return answer(made)
	}
	s := t.Snapshot
	text := canon.Promise(&canon.Promised{
		Kind: r.Kind, PayloadSHA256: r.Hash, RecordID: made.ID, RecordedAt: made.At, IssuedBy: s.CanonicalHost,
		CountedBy: civil.FormatDate(day + int(s.PromiseDays)), Log: s.LogOrigin, Size: s.LogSize, Root: s.LogRoot,
	})
	return signing.Sign(text, func(signature string) *turn.Response {
		if signature == "" {
			unsigned := answer(made)
			unsigned.Log = "a promise could not be signed, and was left out: the signing key may be at fault"
			return unsigned
		}
		made.promise, made.signatureAt = &Promise{Spec: canon.PromiseRule, Text: text, Signature: signature, PublicKey: key}, new(int)
		signed := answer(made)
		signed.SignatureAt = *made.signatureAt
		return signed
	})
}

// Insert runs the inserts of one record, whose first argument is its id and which end with Unused,
// and answers with what then makes of the failure. time is as in a Record.
//
// Under a key of the caller, the same transaction uses the id up. Where an earlier one has done so,
// the inserts do nothing, and then gets the time of that record and whether it has an address.
//
// If the store gives no answer, a second transaction makes sure that the record is there once.
// Where the first one was done, it uses the id up before the inserts, which then do nothing. Where
// not, it uses the id up after them: the first one may still be on its way.
func Insert(t *turn.Turn, in *input.Input, time string, inserts []turn.Statement, then func(failure turn.Failure, earlier []any) *turn.Response) *turn.Response {
	if t.Silent {
		return then(turn.Refused, nil)
	}
	table, column, _ := strings.Cut(time, ".")
	id, first := inserts[0].Args[0], inserts
	use := turn.Statement{SQL: "INSERT INTO used_ids (record_id, seq) SELECT ?1, (SELECT max(seq) FROM " + table + ")" + Unused, Args: []any{id}}
	if in.Key != "" {
		emailed := "EXISTS (SELECT 1 FROM contacts WHERE contacts.record_id = used_ids.record_id)"
		first = slices.Concat([]turn.Statement{find(id, table, column+", "+emailed)}, inserts, []turn.Statement{use})
	}
	return turn.Presume(turn.Exec{Statements: first}, func(stored turn.Result) *turn.Response {
		if stored.Failure != turn.Timeout {
			return then(stored.Failure, keyed(in, stored))
		}
		again := first
		if in.Key == "" {
			// No index has the ids. What was inserted by this turn comes after all that is older.
			older := "SELECT seq FROM " + table + " WHERE " + column + " < ? ORDER BY seq DESC LIMIT 1"
			again = slices.Concat([]turn.Statement{{
				SQL:  "INSERT INTO used_ids (record_id) SELECT record_id FROM " + table + " WHERE record_id = ? AND seq > coalesce((" + older + "), 0)",
				Args: []any{id, civil.FormatTime(t.Now - 60)},
			}}, inserts, []turn.Statement{use})
		}
		return turn.Await(turn.Exec{Statements: again}, func(stored turn.Result) *turn.Response {
			if t.Silent = stored.Failure != turn.None; t.Silent { // what became of the first is still unknown
				return then(turn.Timeout, nil)
			}
			earlier := keyed(in, stored)
			if earlier != nil && earlier[0] == civil.FormatTime(t.Now) {
				earlier = nil // it was this call, whose answer was lost
			}
			return then(turn.None, earlier)
		})
	})
}

// Claim uses up the id of a record that Insert makes later, after an Unclaim: so of several calls
// with the same key one gets as far as that. then gets the failure and, where an earlier call has
// claimed the id, columns of the record: NULL if it was not made. Without a key there is no claim.
func Claim(t *turn.Turn, in *input.Input, id, table, columns string, then func(failure turn.Failure, earlier []any) *turn.Response) *turn.Response {
	switch {
	case in.Key == "":
		return then(turn.None, nil)
	case t.Silent:
		return then(turn.Refused, nil)
	}
	claim := turn.Statement{SQL: "INSERT INTO used_ids (record_id) VALUES (?) ON CONFLICT DO NOTHING", Args: []any{id}}
	return turn.Await(turn.Exec{Statements: []turn.Statement{find(id, table, columns), claim}}, func(claimed turn.Result) *turn.Response {
		t.Silent = claimed.Failure == turn.Timeout
		return then(claimed.Failure, keyed(in, claimed))
	})
}

// Unclaim gives back an id that was claimed and whose record is not made.
func Unclaim(id string) turn.Statement {
	return turn.Statement{SQL: "DELETE FROM used_ids WHERE record_id = ? AND seq IS NULL", Args: []any{id}}
}

func find(id any, table, columns string) turn.Statement {
	return turn.Statement{SQL: "SELECT " + columns + " FROM used_ids LEFT JOIN " + table + " USING (seq) WHERE used_ids.record_id = ?", Args: []any{id}}
}

// keyed is the row that find has given under a key; nil where it gave none.
func keyed(in *input.Input, r turn.Result) []any {
	if in.Key == "" || len(r.Rows) == 0 || len(r.Rows[0]) == 0 {
		return nil
	}
	return r.Rows[0][0]
}
