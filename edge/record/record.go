// Package record stores registrations and charters: a record, its e-mail address, and the message
// that tells the operator the address, in one transaction.
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

// MaxName is the most code points of an agent's name.
const MaxName = 80

// NamePlaceholder is the agent's name in templates. It has no apostrophe, since some are shell
// commands.
const NamePlaceholder = "<your agent name>"

// Stored is a record in the store, and the zero value on a dry run.
type Stored struct {
	ID, At   string
	Emailed  bool // it has an e-mail address
	Replayed bool // an earlier call with the same key made it

	Log string // a line for the log of its answer, or ""

	promise *Promise
}

// Promise is the promise that a record will be counted, as an answer has it.
type Promise struct {
	Spec      string `json:"spec" enum:"counted-promise-v0" doc:"Identifier of the rule that text follows."`
	Text      string `json:"text" doc:"The promise as a canonical string: a hand verification will include the record by counted_by."`
	Signature string `json:"signature" doc:"Raw 64-byte Ed25519 signature over text in base64."`
	PublicKey string `json:"public_key_b64" doc:"Raw 32-byte Ed25519 public key in base64, the key for receipts."`
}

// Members are the members that the answers of registrations and charters share.
type Members struct {
	VerifyKit     []string `json:"verify_kit" doc:"Programs that check this answer without the service."`
	RecordID      *string  `json:"record_id" pattern:"^[0-9a-f]{32}$" doc:"Identifier of the record; null on a dry run."`
	Recorded      bool     `json:"recorded" doc:"Whether a record was made."`
	RecordedAt    *string  `json:"recorded_at" format:"date-time" doc:"When the request arrived; null on a dry run."`
	Replayed      bool     `json:"replayed,omitempty" doc:"True if an earlier call with the same Idempotency-Key made the record; else absent."`
	EmailOnFile   bool     `json:"email_on_file" doc:"Whether an e-mail address was kept with the record."`
	Promise       *Promise `json:"promise,omitempty" doc:"The promise to count the record, if this host signs receipts; else absent."`
	IgnoredFields []string `json:"ignored_fields" total:"true" doc:"Sent names that are not fields."`
}

// NewID returns the id of a new record. The commitment is its canonical string, or a hash. Under a
// caller's key, the same commitment has the same id in every call.
func NewID(t *turn.Turn, in *input.Input, kind, commitment string) string {
	if in.Key == "" {
		return t.NewID()
	}
	return sha256.HexOf(kind + "\n" + in.Key + "\n" + commitment)[:idDigits]
}

const idDigits = 32

// WriteMembers writes Members.
func WriteMembers(t *turn.Turn, w *jsondoc.Writer, in *input.Input, stored *Stored) {
	respond.WriteKit(t, w)
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

// WriteReplayed writes the member replayed if an earlier call made the record.
func WriteReplayed(w *jsondoc.Writer, replayed bool) {
	if replayed {
		w.Bool("replayed", true)
	}
}

// LogEntry returns an action for respond.WriteActions: the file of the public log that will list a
// record after a hand verification, with the record's hash after "#". It returns nil without a log,
// and on a dry run.
func LogEntry(t *turn.Turn, id, payloadSHA256 string) []string {
	folder := t.Snapshot.LogLookup
	if folder == "" || id == "" {
		return nil
	}
	hash := sha256.HexOf(id + "\n" + payloadSHA256)
	return []string{"log-entry", folder + hash[:snapshot.LookupDigits] + "#" + hash}
}

// UnlessUsed ends the SQL of an insert whose first argument is the id of a record. The insert then
// does nothing if the id is used up.
const UnlessUsed = outbox.UnlessUsed

// Record is a record to be stored.
type Record struct {
	Kind    string // "registration" or "charter"
	Table   string // with a time column recorded_at
	Columns string // its further columns: "agent_name, pubkey"
	Values  []any  // of Columns
	Hash    string // payload_sha256
	Address string // e-mail address, or ""
	Who     string // name of the agent or org, for the operator
}

// Answer stores a record, unless in is a dry run, and returns an answer with the members from
// write.
func Answer(t *turn.Turn, in *input.Input, r *Record, write func(w *jsondoc.Writer, stored *Stored)) *turn.Response {
	stored := &Stored{}
	if !in.DryRun {
		var refusal *turn.Response
		if stored, refusal = store(t, in, r); stored == nil {
			return refusal
		}
	}
	answer := respond.OK(t, func(w *jsondoc.Writer) { write(w, stored) })
	answer.Log = stored.Log
	return answer
}

// store stores a record with its address, and puts a message about the address into the outbox. If
// stored is nil, refusal is the answer, or nil while an effect is pending.
func store(t *turn.Turn, in *input.Input, r *Record) (stored *Stored, refusal *turn.Response) {
	id, now := NewID(t, in, r.Kind, r.Hash), civil.FormatTime(t.Now)
	statements := []turn.Statement{{
		SQL: "INSERT INTO " + r.Table + " (record_id, recorded_at, " + r.Columns + ", payload_sha256)" +
			" SELECT ?, ?" + strings.Repeat(", ?", len(r.Values)+1) + UnlessUsed,
		Args: slices.Concat([]any{id, now}, r.Values, []any{r.Hash}),
	}}
	if r.Address != "" {
		statements = append(statements, turn.Statement{
			SQL:  "INSERT INTO contacts (record_id, address, created_at) SELECT ?, ?, ?" + UnlessUsed,
			Args: []any{id, r.Address, now},
		}, outbox.Enqueue(t, r.Kind, id, r.Address, r.Who))
	}
	failure, earlier, ok := Insert(t, in, r.Table+".recorded_at", statements)
	if !ok {
		return nil, nil
	}
	if failure != turn.None {
		return nil, respond.StoreFailed(t, failure)
	}
	stored = &Stored{ID: id, At: now, Emailed: r.Address != ""}
	if earlier != nil {
		stored.At, _ = earlier[0].(string)
		emailed, _ := earlier[1].(int64)
		stored.Emailed, stored.Replayed = emailed == 1, true
	} else if r.Address != "" {
		t.SetDeliver()
	}
	if !stored.sign(t, r) {
		return nil, nil
	}
	return stored, nil
}

// sign adds the promise, if this host signs. The record is stored already, so an answer without a
// signature is better than none. ok is as in Turn.Do.
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
		stored.Log = "sign promise: no signature, so the answer has no promise (check the signing key)"
	}
	return ok
}

// Insert runs the inserts of one record. Their first argument is its id, and they end with
// UnlessUsed. time is the table and its time column: "charters.recorded_at". ok is as in Turn.Do.
//
// Under a caller's key the transaction also uses the id up. If an earlier call has done so, the
// inserts do nothing, and earlier has the time of that record and whether it has an address.
//
// If the store times out, a second transaction makes sure that the record is stored once:
//
//	the first one was   the second one
//	done                uses the id up, so that its inserts do nothing
//	not done            inserts, and then uses the id up
//	still under way     the same, so that the inserts of the first one do nothing
//
// If it fails too, the result is a time-out, and the turn does not ask the store again.
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
		// No index has the ids, so only rows later than those of a minute ago are searched.
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
	if t.StoreDown = stored.Failure != turn.None; t.StoreDown {
		return turn.Timeout, nil, true
	}
	if earlier = previous(in, stored); earlier != nil {
		if time, _ := earlier[0].(string); time == civil.FormatTime(t.Now) {
			earlier = nil // the first transaction, which was done
		}
	}
	return turn.None, earlier, true
}

// Claim uses up the id of a record that a later transaction inserts after Unclaim, so that only one
// of several calls with the same key gets that far. If an earlier call has claimed the id, earlier
// has columns of the record, NULL if it was not stored. Without a key there is no claim. ok is as
// in Turn.Do.
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

// Unclaim frees a claimed id whose record is not stored.
func Unclaim(id string) turn.Statement {
	return turn.Statement{SQL: "DELETE FROM used_ids WHERE record_id = ? AND seq IS NULL", Args: []any{id}}
}

func find(id any, table, columns string) turn.Statement {
	return turn.Statement{
		SQL:  "SELECT " + columns + " FROM used_ids LEFT JOIN " + table + " USING (seq) WHERE used_ids.record_id = ?",
		Args: []any{id},
	}
}

// previous returns the row of find, or nil.
func previous(in *input.Input, r turn.Result) []any {
	if in.Key == "" || len(r.Rows) == 0 || len(r.Rows[0]) == 0 {
		return nil
	}
	return r.Rows[0][0]
}
