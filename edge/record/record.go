// Package record stores registrations and charters: a record, its e-mail address, and the message
// that tells the operator the address, in one transaction.
package record

import (
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/canon"
	"anteroom/edge/civil"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/sha256"
	"anteroom/edge/signing"
	"anteroom/edge/store/outbox"
	"anteroom/edge/turn"
)

// MaxName is the most code points of an agent's name.
const MaxName = 80

// OwnerEmail is the field of the address that is stored apart from a registration or a charter.
var OwnerEmail = input.Field{
	Name: "owner_email", Type: input.Email, Aliases: []string{"email"}, Example: `"owner@example.org"`,
}

// NamePlaceholder is the agent's name in templates. It has no apostrophe, since some are shell
// commands.
const NamePlaceholder = "<your agent name>"

var AgentName = input.Field{
	Name: "agent_name", Type: input.Name, Max: MaxName, Example: `"ledger-lark"`, Placeholder: NamePlaceholder,
}

// Stored is a record in the store, and the zero value on a dry run.
type Stored struct {
	ID, At   string
	Emailed  bool // it has an e-mail address
	Replayed bool // an earlier call with the same key made it

	Log string // a line for the log of its answer, or ""

	sum, countedBy string // its commitment, and the day of its promise or ""
	promise        *Promise
}

// Kind is a kind of record: its name, its table, and the columns with its time, its commitment and
// a further value that a repeated call returns.
type Kind struct{ Name, table, at, sum, detail string }

// The kinds of records.
var (
	Registration = &Kind{"registration", "registrations", "recorded_at", "payload_sha256", "counted_by"}
	Charter      = &Kind{"charter", "charters", "recorded_at", "payload_sha256", "counted_by"}
	Suggestion   = &Kind{"suggestion", "suggestions", "filed_at", "text_sha256", "filed_as"}
)

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
	RecordedAt    *string  `json:"recorded_at" format:"date-time" doc:"Time of the request; null on a dry run."`
	Replayed      bool     `json:"replayed,omitempty" doc:"True if an earlier call with the same Idempotency-Key made the record; otherwise absent."`
	EmailOnFile   bool     `json:"email_on_file" doc:"Whether an e-mail address was kept with the record."`
	Promise       *Promise `json:"promise,omitempty" doc:"The promise to count the record; absent if this host signs no receipts."`
	IgnoredFields []string `json:"ignored_fields" total:"true" doc:"Sent names that are not fields."`
}

// Call is one call that writes: the id of its record and, under a caller's key, the fingerprint
// that tells a repeated call from another one.
//
// Accepts: a caller who knows a key can try addresses without a limit, as a repeated call succeeds
// beyond the write limit too. A key is a secret.
type Call struct {
	ID          string
	kind        *Kind
	sum         string // the commitment of the record: SHA-256 of its canonical string, or of its text
	fingerprint string // SHA-256 of the key and everything the call would write; "" without a key
	dry         bool
}

// NewCall returns a call that would write a record with a commitment. rest is everything else that
// the call would write. A key stands for one call: the id is derived from the kind and the key.
func NewCall(t *turn.Turn, in *input.Input, kind *Kind, sum string, rest ...string) Call {
	c := Call{kind: kind, sum: sum, dry: in.DryRun}
	if in.Key == "" {
		c.ID = t.NewID()
		return c
	}
	key := kind.Name + "\n" + in.Key
	c.ID = sha256.HexOf(key)[:idDigits]
	c.fingerprint = sha256.HexOf(key + "\n" + sum + "\n" + strings.Join(rest, "\n"))
	return c
}

// Fault codes of keys.
const (
	ReusedKey = "key_reused"       // the key stands for another call
	Running   = "call_in_progress" // a call under the key is at work
)

// InProgress refuses a call while an earlier one under its key may be at work, for some seconds.
func InProgress(t *turn.Turn, in *input.Input, seconds int64) *turn.Response {
	faults, wait := &input.Faults{}, strconv.FormatInt(seconds, 10)
	faults.Add(in.KeyName, Running, "is in use by an earlier call: send the same call again in "+wait+" seconds")
	r := respond.Problem(t, respond.CallInProgress, "An earlier call with this "+in.KeyName+
		" may still be in progress: this call did nothing. Send it again in "+wait+" seconds to get the answer.", faults, nil)
	r.Set("retry-after", wait)
	return r
}

// KeyReused refuses a call under the key of another call. It reveals no detail of the other one.
func KeyReused(t *turn.Turn, in *input.Input) *turn.Response {
	faults := &input.Faults{}
	faults.Add(in.KeyName, ReusedKey, "was used for another call: send a new key")
	return respond.Problem(t, respond.KeyReused, "Nothing was recorded by this call: the "+in.KeyName+
		" was used for another call, with other fields. Send a new key with a new call.", faults, nil)
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

// Record is a registration or a charter to be stored.
type Record struct {
	Kind    *Kind
	Columns string // its further columns: "agent_name, pubkey"
	Values  []any  // of Columns
	Hash    string // payload_sha256
	Address string // e-mail address, or ""
}

// Answer stores a record, unless in is a dry run, and returns a response that has the members from
// write.
func Answer(t *turn.Turn, in *input.Input, r *Record, write func(w *jsondoc.Writer, stored *Stored)) *turn.Response {
	stored, refusal, ok := store(t, in, r)
	if !ok || refusal != nil {
		return refusal
	}
	answer := respond.OK(t, func(w *jsondoc.Writer) { write(w, stored) })
	answer.Log = stored.Log
	return answer
}

func store(t *turn.Turn, in *input.Input, r *Record) (stored *Stored, refusal *turn.Response, ok bool) {
	call := NewCall(t, in, r.Kind, r.Hash, r.Address)
	if call.dry && !call.keyed() {
		return &Stored{}, nil, true
	}
	id, now := call.ID, civil.FormatTime(t.Now)
	countedBy := civil.FormatDate(int(t.Now/86400 + t.Snapshot.PromiseDays))
	stored = &Stored{ID: id, At: now, Emailed: r.Address != "", sum: r.Hash, countedBy: countedBy}
	statements := []turn.Statement{{
		SQL: "INSERT INTO " + r.Kind.table + " (record_id, recorded_at, counted_by, " + r.Columns + ", payload_sha256)" +
			" SELECT ?, ?, ?" + strings.Repeat(", ?", len(r.Values)+1) + outbox.UnlessUsed,
		Args: slices.Concat([]any{id, now, countedBy}, r.Values, []any{r.Hash}),
	}}
	if r.Address != "" {
		contact := "INSERT INTO contacts (record_id, address, created_at) SELECT ?, ?, ?" + outbox.UnlessUsed
		statements = append(statements, turn.SQL(contact, id, r.Address, now), outbox.Enqueue(t, r.Kind.Name, id, r.Address))
	}
	failure, earlier, ok := Insert(t, call, statements)
	switch {
	case !ok:
		return nil, nil, false
	case failure != turn.None:
		return nil, respond.StoreFailed(t, failure), true
	case t.Refusal != nil && (earlier == nil || call.differs(earlier)):
		return nil, t.Refusal, true
	case earlier != nil && call.differs(earlier):
		return nil, KeyReused(t, in), true
	case call.dry:
		return &Stored{}, nil, true
	case earlier == nil:
		if r.Address != "" {
			t.SetDeliver()
		}
	default: // its other fields match the call, as the commitment does
		stored = &Stored{
			Replayed: true, ID: id, At: earlier.at, Emailed: earlier.emailed, sum: earlier.sum, countedBy: earlier.detail,
		}
	}
	return stored, nil, stored.sign(t, r.Kind)
}

// sign adds the promise, if this host signs. A record of an earlier program has no day, and gets no
// second promise. The record is stored already, so an answer without a signature is better than
// none. ok is as in Turn.Do.
func (stored *Stored) sign(t *turn.Turn, kind *Kind) (ok bool) {
	key, _ := signing.Key(t)
	if key == "" || stored.countedBy == "" {
		return true
	}
	s := t.Snapshot
	text := canon.Promise(&canon.Promised{
		Kind: kind.Name, PayloadSHA256: stored.sum, RecordID: stored.ID, RecordedAt: stored.At, IssuedBy: s.CanonicalHost,
		CountedBy: stored.countedBy, Log: s.LogOrigin, Size: s.LogSize, Root: s.LogRoot,
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
// outbox.UnlessUsed. ok is as in Turn.Do.
//
// Under a caller's key the transaction also uses the id up. If an earlier call has done so, the
// inserts do nothing. On a dry run, or if the limiter has refused the turn, only an earlier call is
// looked for.
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
	t *turn.Turn, c Call, inserts []turn.Statement,
) (failure turn.Failure, earlier *Earlier, ok bool) {
	if t.StoreDown {
		return turn.Refused, nil, true
	}
	table, column := c.kind.table, c.kind.at
	first := inserts
	if c.keyed() {
		first = []turn.Statement{c.find()}
		if t.Refusal == nil && !c.dry {
			first = slices.Concat(first, inserts, []turn.Statement{c.use()})
		}
	}
	stored, ok := t.Exec(first...)
	if !ok || stored.Failure != turn.Timeout {
		return stored.Failure, c.previous(stored), ok
	}
	again := first
	if !c.keyed() {
		// No index has the ids, so only the rows of the last minute are searched.
		older := "SELECT seq FROM " + table + " WHERE " + column + " < ? ORDER BY seq DESC LIMIT 1"
		useUp := turn.SQL("INSERT INTO used_ids (record_id) SELECT record_id FROM "+table+
			" WHERE record_id = ? AND seq > coalesce(("+older+"), 0)", c.ID, civil.FormatTime(t.Now-60))
		again = slices.Concat([]turn.Statement{useUp}, inserts, []turn.Statement{c.use()})
	}
	if stored, ok = t.Exec(again...); !ok {
		return turn.None, nil, false
	}
	if t.StoreDown = stored.Failure != turn.None; t.StoreDown {
		return turn.Timeout, nil, true
	}
	if earlier = c.previous(stored); earlier != nil && !c.differs(earlier) {
		if earlier.at == civil.FormatTime(t.Now) {
			earlier = nil // the first transaction, which was done
		}
	}
	return turn.None, earlier, true
}

func (c *Call) use() turn.Statement {
	return turn.SQL("INSERT INTO used_ids (record_id, call, seq) "+
		"SELECT ?1, nullif(?2, ''), (SELECT max(seq) FROM "+c.kind.table+")"+outbox.UnlessUsed, c.ID, c.fingerprint)
}

func (c *Call) keyed() bool { return c.fingerprint != "" }

// Earlier is an earlier call with the same key.
type Earlier struct {
	fingerprint string // "" if an earlier program has left none
	sum, at     string // of its record, as the next two; "" if that was not stored
	detail      string
	emailed     bool
	recorded    bool
	relayed     bool
	claimedAt   int64
}

func (c *Call) find() turn.Statement {
	return turn.SQL("SELECT call, "+c.kind.sum+", "+c.kind.at+", "+c.kind.detail+
		", EXISTS (SELECT 1 FROM contacts WHERE contacts.record_id = used_ids.record_id)"+
		", seq IS NOT NULL, relayed_at IS NOT NULL, claimed_at"+
		" FROM used_ids LEFT JOIN "+c.kind.table+" USING (seq) WHERE used_ids.record_id = ?", c.ID)
}

func (c *Call) previous(r turn.Result) *Earlier {
	if !c.keyed() || len(r.Rows) == 0 || len(r.Rows[0]) == 0 || len(r.Rows[0][0]) != 8 {
		return nil
	}
	row := r.Rows[0][0]
	is := func(i int) bool { return turn.Integer(row[i]) == 1 }
	return &Earlier{
		turn.Text(row[0]), turn.Text(row[1]), turn.Text(row[2]), turn.Text(row[3]), is(4), is(5), is(6), turn.Integer(row[7]),
	}
}

// differs reports whether an earlier call is another one. Without a fingerprint the commitment
// alone decides.
func (c *Call) differs(e *Earlier) bool {
	return e.fingerprint != "" && e.fingerprint != c.fingerprint || e.sum != "" && e.sum != c.sum
}

// ClaimSeconds is the time a call may relay before another one with its key takes over.
const ClaimSeconds = 60

// The states of a Claim. The zero Claim is Claimed.
const (
	Claimed = iota // this call is to relay and record
	Relayed        // an earlier call relayed and did not record: this call is to record
	Done           // an earlier call has recorded
	Taken          // an earlier call may be at work
	Another        // the key stands for another call
)

// Claim is the right of a call to relay and to record, if it is Claimed or Relayed.
type Claim struct {
	State   int
	Failure turn.Failure // of the store, which then knows no state
	At      string       // time of the record, if it is Done
	FiledAs string       // of the record, if it is Done
	Wait    int64        // seconds until a claim that is Taken is free
}

// NewClaim claims the id of a record that is relayed before it is stored, so that one call with a
// key relays at a time. A claim without a known end is taken over after ClaimSeconds, and so is one
// from a clock that was ahead by more. Without a key there is nothing to claim. ok is as in
// Turn.Do.
func NewClaim(t *turn.Turn, c Call) (claim Claim, ok bool) {
	switch {
	case !c.keyed():
		return Claim{}, true
	case t.StoreDown:
		return Claim{Failure: turn.Refused}, true
	}
	statements := []turn.Statement{c.find()}
	if t.Refusal == nil && !c.dry {
		insert := "INSERT INTO used_ids (record_id, call, claimed_at) SELECT ?1, ?2, ?3" + outbox.UnlessUsed
		statements = append(statements, turn.SQL(insert, c.ID, c.fingerprint, t.Now))
	}
	claimed, ok := t.Exec(statements...)
	t.StoreDown = ok && claimed.Failure == turn.Timeout
	found := c.previous(claimed)
	if !ok || claimed.Failure != turn.None || found == nil {
		return Claim{Failure: claimed.Failure}, ok
	}
	taken := Claim{State: Taken, Wait: found.claimedAt + ClaimSeconds - t.Now}
	switch {
	case c.differs(found):
		return Claim{State: Another}, true
	case found.recorded:
		return Claim{State: Done, At: found.at, FiledAs: found.detail}, true
	case t.Refusal == nil && found.relayed:
		return Claim{State: Relayed}, true
	case t.Refusal != nil, c.dry, 0 < taken.Wait && taken.Wait <= 2*ClaimSeconds:
		return taken, true
	}
	const takeOver = "UPDATE used_ids SET call = ?, claimed_at = ? WHERE record_id = ? AND seq IS NULL" +
		" AND relayed_at IS NULL AND claimed_at = ? RETURNING record_id"
	over, ok := t.Exec(turn.SQL(takeOver, c.fingerprint, t.Now, c.ID, found.claimedAt))
	if ok && over.Failure == turn.None && len(over.Rows[0]) == 0 {
		return Claim{State: Taken, Wait: ClaimSeconds}, true
	}
	return Claim{Failure: over.Failure}, ok
}

// Unclaim frees a claimed id whose record is not stored.
func Unclaim(id string) turn.Statement {
	return turn.SQL("DELETE FROM used_ids WHERE record_id = ? AND seq IS NULL", id)
}

// MarkRelayed notes that a claimed record was relayed, so that a repeated call only stores it.
func MarkRelayed(t *turn.Turn, id string) turn.Statement {
	return turn.SQL("UPDATE used_ids SET relayed_at = ? WHERE record_id = ? AND seq IS NULL", t.Now, id)
}
