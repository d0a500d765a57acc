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

// Stored is a record in the store. It is the zero Stored on a dry run.
type Stored struct {
	ID, At   string
	Emailed  bool // an address is kept with it
	Replayed bool // an earlier call with the same key has made it

	Log string // a line for the log of its answer, usually empty

	promise *Promise
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
func WriteMembers(w *jsondoc.Writer, in *input.Input, stored *Stored) {
	w.StrOrNull("record_id", stored.ID)
	w.Bool("recorded", stored.ID != "")
	w.StrOrNull("recorded_at", stored.At)
	WriteReplayed(w, stored.Replayed)
	w.Bool("email_on_file", stored.Emailed)
	if p := stored.promise; p != nil {
		w.Begin("promise", '{')
		w.Str("spec", p.Spec)
		w.Str("text", p.Text)
		w.Str("signature", p.Signature)
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

// UnlessUsed ends the SQL of an insert whose first argument is the id of a record: the insert does
// nothing where the id is used up.
const UnlessUsed = outbox.UnlessUsed

// Record is a record that is to be made.
type Record struct {
	Kind    string         // "registration" or "charter"
	Time    string         // its table and the column of times there: "charters.recorded_at"
	Insert  turn.Statement // ends with UnlessUsed
	Hash    string         // payload_sha256
	Address string         // that came with it, or ""
	Who     string         // the name of the agent or org, for the operator
}

// Store stores a record. The same transaction stores the address, if there is one, and puts a
// message about it into the outbox. If stored is nil, the handler returns refusal, which is nil
// while an effect is asked for.
func Store(t *turn.Turn, in *input.Input, r *Record) (stored *Stored, refusal *turn.Response) {
	statements := []turn.Statement{r.Insert}
	id, _ := r.Insert.Args[0].(string)
	if r.Address != "" {
		statements = append(statements, turn.Statement{
			SQL:  "INSERT INTO contacts (record_id, address, created_at) SELECT ?, ?, ?" + UnlessUsed,
			Args: []any{id, r.Address, civil.FormatTime(t.Now)},
		}, outbox.Enqueue(t, r.Kind, id, r.Address, r.Who))
	}
	failure, earlier, ok := Insert(t, in, r.Time, statements)
	if !ok {
		return nil, nil
	}
	if failure != turn.None {
		return nil, respond.StoreFailed(t, failure)
	}
	stored = &Stored{ID: id, At: civil.FormatTime(t.Now), Emailed: r.Address != ""}
	if earlier != nil {
		stored.At, _ = earlier[0].(string)
		stored.Emailed, stored.Replayed = earlier[1] == int64(1), true
	} else if r.Address != "" {
		t.SetDeliver()
	}
	if !stored.sign(t, r) {
		return nil, nil
	}
	return stored, nil
}

// sign adds the promise that the record will be counted, if this host signs. The record is made
// already, so an answer without the signature is better than none. ok is as in Turn.Do.
func (stored *Stored) sign(t *turn.Turn, r *Record) (ok bool) {
	key, _ := signing.Key(t)
	day, isTime := civil.ParseDate(stored.At[:min(len(stored.At), len("2026-11-20"))])
	if key == "" || !isTime {
		return true
	}
	s := t.Snapshot
	text := canon.Promise(&canon.Promised{
		Kind: r.Kind, PayloadSHA256: r.Hash, RecordID: stored.ID, RecordedAt: stored.At, IssuedBy: s.CanonicalHost,
		CountedBy: civil.FormatDate(day + int(s.PromiseDays)), Log: s.LogOrigin, Size: s.LogSize, Root: s.LogRoot,
	})
	signature, ok := signing.Sign(t, text)
	if signature != "" {
		stored.promise = &Promise{Spec: canon.PromiseRule, Text: text, Signature: signature, PublicKey: key}
	} else {
		stored.Log = "a promise could not be signed, and was left out: the signing key may be at fault"
	}
	return ok
}

// Insert runs the inserts of one record, whose first argument is its id and which end with
// UnlessUsed. time is as in a Record, and ok as in Turn.Do.
//
// Under a key of the caller, the same transaction uses the id up. Where an earlier one has done so,
// the inserts do nothing, and earlier has the time of that record and whether it has an address.
//
// If the store gives no answer, a second transaction makes sure that the record is there once.
// Where the first one was done, it uses the id up before the inserts, which then do nothing. Where
// not, it uses the id up after them: the first one may still be on its way.
func Insert(
	t *turn.Turn, in *input.Input, time string, inserts []turn.Statement,
) (failure turn.Failure, earlier []any, ok bool) {
	if t.StoreDown {
		return turn.Refused, nil, true
	}
	table, column, _ := strings.Cut(time, ".")
	id, first := inserts[0].Args[0], inserts
	use := turn.Statement{
		SQL:  "INSERT INTO used_ids (record_id, seq) SELECT ?1, (SELECT max(seq) FROM " + table + ")" + UnlessUsed,
		Args: []any{id},
	}
	if in.Key != "" {
		emailed := "EXISTS (SELECT 1 FROM contacts WHERE contacts.record_id = used_ids.record_id)"
		first = slices.Concat([]turn.Statement{find(id, table, column+", "+emailed)}, inserts, []turn.Statement{use})
	}
	stored, ok := t.Do(turn.Exec{Statements: first})
	if !ok || stored.Failure != turn.Timeout {
		return stored.Failure, previous(in, stored), ok
	}
	again := first
	if in.Key == "" {
		// No index has the ids. What was inserted by this turn comes after all that is older.
		older := "SELECT seq FROM " + table + " WHERE " + column + " < ? ORDER BY seq DESC LIMIT 1"
		again = slices.Concat([]turn.Statement{{
			SQL: "INSERT INTO used_ids (record_id) SELECT record_id FROM " + table +
				" WHERE record_id = ? AND seq > coalesce((" + older + "), 0)",
			Args: []any{id, civil.FormatTime(t.Now - 60)},
		}}, inserts, []turn.Statement{use})
	}
	if stored, ok = t.Do(turn.Exec{Statements: again}); !ok {
		return turn.None, nil, false
	}
	if t.StoreDown = stored.Failure != turn.None; t.StoreDown { // what became of the first is still unknown
		return turn.Timeout, nil, true
	}
	earlier = previous(in, stored)
	if earlier != nil && earlier[0] == civil.FormatTime(t.Now) {
		earlier = nil // it was this call, whose answer was lost
	}
	return turn.None, earlier, true
}

// Claim uses up the id of a record that Insert makes later, after an Unclaim: so of several calls
// with the same key one gets as far as that. Where an earlier call has claimed the id, earlier has
// columns of the record: NULL if it was not made. Without a key there is no claim. ok is as in
// Turn.Do.
func Claim(
	t *turn.Turn, in *input.Input, id, table, columns string,
) (failure turn.Failure, earlier []any, ok bool) {
	switch {
	case in.Key == "":
		return turn.None, nil, true
	case t.StoreDown:
		return turn.Refused, nil, true
	}
	claim := turn.Statement{SQL: "INSERT INTO used_ids (record_id) VALUES (?) ON CONFLICT DO NOTHING", Args: []any{id}}
	claimed, ok := t.Do(turn.Exec{Statements: []turn.Statement{find(id, table, columns), claim}})
	t.StoreDown = ok && claimed.Failure == turn.Timeout
	return claimed.Failure, previous(in, claimed), ok
}

// Unclaim gives back an id that was claimed and whose record is not made.
func Unclaim(id string) turn.Statement {
	return turn.Statement{SQL: "DELETE FROM used_ids WHERE record_id = ? AND seq IS NULL", Args: []any{id}}
}

func find(id any, table, columns string) turn.Statement {
	return turn.Statement{SQL: "SELECT " + columns + " FROM used_ids LEFT JOIN " + table + " USING (seq) WHERE used_ids.record_id = ?", Args: []any{id}}
}

// previous returns the row that find has given under a key, or nil if it gave none.
func previous(in *input.Input, r turn.Result) []any {
	if in.Key == "" || len(r.Rows) == 0 || len(r.Rows[0]) == 0 {
		return nil
	}
	return r.Rows[0][0]
}
