// Package receipt mints and verifies souvenir receipts.
//
// A receipt attests only that a named agent asked this host for a receipt at a stated time. Its
// canonical string (package canon) is hashed and signed. Without a signing key it is hash-committed
// only. A host whose key differs from the published one mints none.
package receipt

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"

	"anteroom/edge/canon"
	"anteroom/edge/civil"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/quote"
	"anteroom/edge/record"
	"anteroom/edge/respond"
	"anteroom/edge/sha256"
	"anteroom/edge/signing"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

const (
	Spec      = "souvenir_visit_v0.2"
	Algorithm = "Ed25519 (RFC 8032) over the UTF-8 bytes of canonical"
	Anonymous = "anonymous" // agent_name of a receipt for which none was sent
)

// The first characters of secret keys, which no turn has.
const (
	SecretPrefix = "anteroom-secret:" // signs receipts: see package receiptkey
	NotePrefix   = "PRIVATE+KEY+"     // signs the public log (C2SP signed-note)
)

// SecretPrefixes are in no document.
var SecretPrefixes = []string{SecretPrefix, NotePrefix}

const (
	keyBytes = 32
	minted   = "mint" // the member action of a mint's answer
)

var (
	agentName  = input.Field{Name: "agent_name", Type: input.Name, Max: record.MaxName, Example: `"ledger-lark"`}
	ownerEmail = input.Field{Name: "owner_email", Type: input.Email, Example: `"owner@example.org"`}
	note       = input.Field{Name: "note", Type: input.Text, Max: 140, Example: `"first visit"`}
	verify     = input.Field{Name: "verify", Type: input.Object, Required: true, AnswerOf: "mintReceipt"}

	MintFields   = []input.Field{agentName, ownerEmail, note}
	VerifyFields = []input.Field{verify}
)

// Chosen reports whether a body has verify, even a null.
func Chosen(in *input.Input) bool { return in.Member(verify.Name).Kind != jsondoc.Absent }

type Minted struct {
	Action           string   `json:"action" enum:"mint" doc:"The action."`
	ReceiptSpec      string   `json:"receipt_spec" doc:"Identifier of the receipt format."`
	IssuedBy         string   `json:"issued_by" doc:"The canonical host."`
	IssuedAt         string   `json:"issued_at" format:"date-time" doc:"Time of the request."`
	AgentName        string   `json:"agent_name" doc:"As sent, unchecked; anonymous when absent."`
	OwnerEmailSHA256 *string  `json:"owner_email_sha256" pattern:"^[0-9a-f]{64}$" doc:"SHA-256 of the address as sent; null when none was. The address is not stored."`
	Note             string   `json:"note" doc:"As sent, unchecked; empty when absent."`
	Epoch            string   `json:"epoch" doc:"Epoch of the service."`
	Canonical        string   `json:"canonical" doc:"The exact string that was hashed and signed."`
	PayloadSHA256    string   `json:"payload_sha256" pattern:"^[0-9a-f]{64}$" doc:"Lower-case hexadecimal SHA-256 of canonical."`
	Canonicalization string   `json:"canonicalization" doc:"Identifier of the rule that canonical follows."`
	Signed           bool     `json:"signed" doc:"Whether the receipt has a signature."`
	Signature        *string  `json:"signature" doc:"Raw 64-byte Ed25519 signature over canonical in base64; null when not signed."`
	PublicKey        string   `json:"public_key_b64" doc:"Raw 32-byte Ed25519 public key in base64; empty without one."`
	SigningStatus    string   `json:"signing_status" doc:"Status of signing, in words."`
	VerifyKit        []string `json:"verify_kit" doc:"Programs that check this answer without the service."`
	IgnoredFields    []string `json:"ignored_fields" total:"true" doc:"Names in the query, which a POST does not read; for an MCP tool, unknown arguments."`
}

type Verdict struct {
	Action        string   `json:"action" enum:"verify" doc:"The action, which stores nothing."`
	Valid         bool     `json:"valid" doc:"True only when all three checks pass. It is not an identity, a reputation or an authorization."`
	FieldsMatch   bool     `json:"fields_match" doc:"Whether the receipt's fields match its canonical string."`
	HashOK        bool     `json:"hash_ok" doc:"Whether payload_sha256 is the SHA-256 of canonical."`
	SignatureOK   *bool    `json:"signature_ok" doc:"Whether a key of this host signed canonical; null without a signature."`
	CheckedKey    string   `json:"checked_against_public_key" doc:"Published key that the receipt names, else the current one; empty if there is neither."`
	Recomputed    string   `json:"recomputed_sha256" doc:"Recomputed SHA-256 of canonical; empty when canonical is missing."`
	Problems      []string `json:"problems" total:"true" doc:"Every fault or inconsistency."`
	Verdict       string   `json:"verdict" doc:"The outcome in words."`
	IgnoredFields []string `json:"ignored_fields" total:"true" doc:"Sent names other than verify."`
}

func WriteKey(t *turn.Turn, w *jsondoc.Writer) {
	key, state := signing.Key(t)
	w.Str("public_key_b64", key)
	w.Bool("signing_live", key != "")
	w.Str("signing_status", state.String())
}

func Mint(t *turn.Turn, in *input.Input) *turn.Response {
	name, email, text := in.Text(&agentName), in.Text(&ownerEmail), in.Text(&note)
	if in.Has("receipt_spec", "canonical", "payload_sha256", "signature") {
		in.Hint = `This looks like a receipt. To have it verified, wrap it: {"verify": <receipt>}.`
		in.Fields = nil // its members are no mistyped fields
	}
	if !t.Embedded {
		in.RejectUnknown()
	}
	if in.Total > 0 {
		return respond.Invalid(t, in)
	}
	emailHash := ""
	if email != "" {
		emailHash = sha256.HexOf(email)
	}
	s := t.Snapshot
	canonical := canon.Receipt(
		Spec, s.CanonicalHost, civil.FormatTime(t.Now), cmp.Or(name, Anonymous), emailHash, text, s.Epoch,
	)
	key, state := signing.Key(t)
	answer := func(signature string) *turn.Response {
		return respond.OK(t, func(w *jsondoc.Writer) {
			w.Str("action", minted)
			w.Members([]byte(canonical))
			w.Str("canonical", canonical)
			w.Str("payload_sha256", sha256.HexOf(canonical))
			w.Str("canonicalization", canon.ReceiptRule)
			w.Bool("signed", signature != "")
			w.StrOrNull("signature", signature)
			w.Str("public_key_b64", key)
			w.Str("signing_status", state.String())
			respond.WriteKit(t, w)
			respond.WriteCapped(w, "ignored_fields", in.Ignored())
		})
	}
	if state >= signing.Foreign {
		r := unsigned(t, "Signing is "+state.String()+".")
		r.Log = "mint receipt: signing is " + state.String()
		return r
	}
	if key == "" {
		return answer("")
	}
	signature, ok := signing.Sign(t, canonical)
	switch {
	case !ok:
		return nil
	case signature == "":
		return unsigned(t, "The operator's signing key may be invalid.")
	}
	return answer(signature)
}

func unsigned(t *turn.Turn, why string) *turn.Response {
	return respond.Problem(t, respond.Internal, "The receipt could not be signed, and was not issued. "+why, nil, nil)
}

func Verify(t *turn.Turn, in *input.Input) *turn.Response {
	sent := in.Member(verify.Name)
	switch sent.Kind {
	case jsondoc.Object:
	case jsondoc.Absent:
		in.Missing("the whole receipt is missing: send it as an object", &verify)
		return respond.Invalid(t, in)
	default:
		in.Mistyped(in.SentAs(verify.Name), "the whole receipt object", sent.Kind)
		return respond.Invalid(t, in)
	}
	c := &checks{receipt: sent, lenient: t.Embedded}
	canonical := c.checkFields()
	signature := c.checkSignature(t, canonical)
	if t.Host.PublicKey != "" && !c.signed {
		c.problem("the receipt is not signed, so there was no signature to check")
	}
	c.checkRest(t.Snapshot.BaseURL())
	if c.other = otherThan(sent); c.other != "" {
		c.signed, signature, c.problems = false, nil, []string{"a receipt is missing: this is " + c.other}
	}
	if signature != nil {
		checked, ok := t.Do(*signature)
		switch {
		case !ok:
			return nil
		case checked.Failure != turn.None:
			const detail = "The signature could not be checked. Try again, or verify offline."
			return respond.Problem(t, respond.Internal, detail, nil, nil)
		}
		if c.signatureOK = checked.OK; !checked.OK {
			c.problem("signature was not made by " + c.key + " over canonical")
		}
	}
	return c.answer(t, in)
}

func otherThan(sent *jsondoc.Value) string {
	switch {
	case sent.Get("receipt_spec").Kind != jsondoc.Absent:
	case sent.Get("registration").Kind == jsondoc.Object:
		return "the answer to a registration"
	case sent.Get("charter").Kind == jsondoc.Object:
		return "the answer to a charter"
	case sent.Get("spec").Text == canon.PromiseRule:
		return "the promise to count a record"
	}
	return ""
}

const MaxAhead = 5 * 60 // seconds that a receipt's time may be in the future

func refuses(k *snapshot.Key, issuedAt string, now int64) string {
	day := issuedAt[:min(len(issuedAt), len("2026-11-20"))]
	switch {
	case k.Revoked != "":
		return "public_key_b64 is a revoked key: " + k.Revoked
	case day < k.CurrentFrom:
		return "issued_at is before " + k.CurrentFrom + ", when public_key_b64 came into use"
	case k.RetiredOn != "" && day > k.RetiredOn:
		return "issued_at is after " + k.RetiredOn + ", when public_key_b64 was retired"
	case issuedAt > civil.FormatTime(now+MaxAhead):
		return "issued_at is more than " + strconv.Itoa(MaxAhead/60) + " minutes in the future"
	}
	return ""
}

type checks struct {
	receipt                          *jsondoc.Value
	lenient                          bool // nulls may be absent, as the schema of a tool has none
	fieldsMatch, hashOK, signatureOK bool
	signed                           bool // it has a signature, valid or not
	foreign                          bool // it names an unpublished key
	refused                          bool // its key does not count for its time
	isReceipt                        bool // it has a member of a receipt
	key                              string
	recomputed                       string
	problems                         []string
	other                            string // the thing that was sent instead, or ""
}

func (c *checks) answer(t *turn.Turn, in *input.Input) *turn.Response {
	return respond.OK(t, func(w *jsondoc.Writer) {
		w.Str("action", "verify")
		w.Bool("valid", c.fieldsMatch && c.hashOK && c.signatureOK)
		w.Bool("fields_match", c.fieldsMatch)
		w.Bool("hash_ok", c.hashOK)
		if c.signed {
			w.Bool("signature_ok", c.signatureOK)
		} else {
			w.Raw("signature_ok", "null")
		}
		w.Str("checked_against_public_key", c.key)
		w.Str("recomputed_sha256", c.recomputed)
		respond.WriteCapped(w, "problems", c.problems)
		w.Str("verdict", c.verdict(t.Snapshot.BaseURL()))
		respond.WriteCapped(w, "ignored_fields", in.Ignored())
	})
}

func (c *checks) verdict(base string) string {
	switch {
	case c.other != "":
		return "Not a receipt: this is " + c.other + ". Check the whole answer with " + base + respond.Kit[0] + "."
	case !c.isReceipt:
		return "Not a receipt: the object has no member of a receipt. Send the whole receipt, unchanged."
	case !c.fieldsMatch || !c.hashOK:
		return "TAMPERED: the receipt was changed after minting. " +
			"Its fields or its hash do not match canonical."
	case !c.signed:
		return "Hash intact, not signed: fields and hash agree, but without a signature anyone could have made it. " +
			"It is not valid."
	case c.foreign:
		return "Not valid: the receipt names a key that this host does not publish."
	case c.refused:
		return "Not valid: the key was not valid at the time of this receipt."
	case !c.signatureOK:
		return "TAMPERED or forged: the signature over canonical was not made with this host's key. " +
			"The receipt was altered as a whole, or never minted here."
	}
	return "Valid: this host minted exactly this receipt. " +
		"It attests only that someone using this name asked for it at that time."
}

func (c *checks) problem(text string) { c.problems = append(c.problems, text) }

func (c *checks) isNull(v *jsondoc.Value) bool {
	return v.Kind == jsondoc.Null || c.lenient && v.Kind == jsondoc.Absent
}

func (c *checks) mistyped(name string, v *jsondoc.Value) {
	switch {
	case v.Kind == jsondoc.Absent:
		c.problem(name + " is missing")
	case v.Kind == jsondoc.String && v.Text == "":
		c.problem(name + " must not be empty")
	default:
		c.problem(name + " must not be " + v.Kind.String())
	}
}

func (c *checks) text(name string) (text string, ok bool) {
	v := c.receipt.Get(name)
	if v.Kind != jsondoc.String {
		c.mistyped(name, v)
		return "", false
	}
	return v.Text, true
}

var identifiers = [][2]string{
	{"action", minted},
	{"canonicalization", canon.ReceiptRule},
	{"receipt_spec", Spec},
}

func (c *checks) checkFields() string {
	complete, values := true, make([]string, 0, len(canon.ReceiptFields))
	for _, key := range canon.ReceiptFields {
		v := c.receipt.Get(key)
		ok := v.Kind == jsondoc.String
		if key == canon.ReceiptNullable {
			ok = ok && v.Text != "" || c.isNull(v)
		}
		values = append(values, v.Text)
		if !ok {
			complete = false
			c.mistyped(key, v)
		}
	}
	canonical, isText := c.text("canonical")
	c.fieldsMatch = complete && isText && canon.Receipt(values...) == canonical
	if !c.fieldsMatch && isText {
		c.problem("the fields do not match canonical: a field, or canonical itself, was edited after minting")
	}
	if hash, _ := c.text("payload_sha256"); isText {
		c.recomputed = sha256.HexOf(canonical)
		if c.hashOK = hash == c.recomputed; !c.hashOK {
			c.problem("payload_sha256 does not match canonical")
		}
	}
	for _, known := range identifiers {
		name, value := known[0], known[1]
		v := c.receipt.Get(name)
		switch {
		case v.Kind == jsondoc.String && v.Text != value:
			c.problem(name + " is " + input.TruncateRunes(v.Text) + ", not " + value)
		case v.Kind != jsondoc.String && !slices.Contains(canon.ReceiptFields, name):
			c.mistyped(name, v)
		}
	}
	return canonical
}

func (c *checks) checkSignature(t *turn.Turn, canonical string) (check *turn.Verify) {
	named, signature, signed := c.receipt.Get("public_key_b64"), c.receipt.Get("signature"), c.receipt.Get("signed")
	current := cmp.Or(t.Snapshot.CurrentKey, t.Host.PublicKey) // "" if neither has one
	published := append([]snapshot.Key{{PublicKey: current}}, t.Snapshot.RetiredKeys...)
	ours := slices.IndexFunc(published, func(k snapshot.Key) bool { return k.PublicKey == named.Text })
	used := &published[max(ours, 0)]
	c.key = used.PublicKey
	why := refuses(used, c.receipt.Get("issued_at").Text, t.Now)
	if why != "" && signature.Kind == jsondoc.String {
		c.refused = true
		c.problem(why)
	}
	switch {
	case named.Kind != jsondoc.String:
		c.mistyped("public_key_b64", named)
	case ours >= 0 && named.Text != "":
	case !quote.Blank(named.Text):
		c.foreign = true
		c.problem("public_key_b64 is not a key that this host publishes")
	case signature.Kind == jsondoc.String:
		c.problem("public_key_b64 is blank, but the receipt has a signature")
	}
	c.signed = signature.Kind != jsondoc.Absent && !c.isNull(signature)
	raw, ok := decodeBase64(signature.Text, turn.SignatureSize)
	key, known := decodeBase64(c.key, keyBytes)
	switch {
	case signature.Kind == jsondoc.Absent && !c.lenient:
		c.problem("signature is missing")
	case !c.signed:
	case !ok:
		c.problem("signature is not base64 of " + strconv.Itoa(turn.SignatureSize) + " bytes")
	case c.foreign, c.refused:
	case !known:
		c.problem("this host publishes no key to check the signature against")
	default:
		check = &turn.Verify{Message: []byte(canonical), PublicKey: key, Signature: raw}
	}
	switch {
	case signed.Kind != jsondoc.Bool:
		c.mistyped("signed", signed)
	case signed.True != c.signed:
		c.problem("signed contradicts signature")
	}
	return check
}

var (
	checked = []string{
		"canonical", "payload_sha256", "action", "canonicalization", "public_key_b64", "signature", "signed",
		"signing_status",
	}
	otherTexts = []string{"notice", "served_from", "canonical_host", "host_note"}
	otherKnown = []string{"ignored_fields", "ignored_fields_total", respond.KitMember}
)

// checkRest adds problems of the other members: a wrong type, an unknown member, or links to
// foreign programs. Anyone can write these members, and a reader may run the programs.
func (c *checks) checkRest(base string) {
	c.text("signing_status")
	for i := range c.receipt.Members {
		name, v := c.receipt.Members[i].Name, &c.receipt.Members[i].Value
		switch {
		case slices.Contains(canon.ReceiptFields, name) || slices.Contains(checked, name):
			c.isReceipt = true
		case slices.Contains(otherKnown, name):
		case !slices.Contains(otherTexts, name):
			c.problem(input.TruncateRunes(name) + " is not a member of a receipt, and the signature does not cover it")
		case v.Kind != jsondoc.String:
			c.mistyped(name, v)
		}
	}
	linked := c.receipt.Get(respond.KitMember)
	same := len(linked.Items) == len(respond.Kit)
	for i := range linked.Items {
		same = same && linked.Items[i].Text == base+respond.Kit[i]
	}
	if linked.Kind != jsondoc.Absent && !same {
		c.problem(respond.KitMember + " does not link the programs of this service: run none of them")
	}
}

var strict = base64.StdEncoding.Strict()

// decodeBase64 decodes size bytes in the standard alphabet, padded and strict (RFC 4648, sections 4
// and 3.5). The length refuses line breaks, which the decoder would skip.
func decodeBase64(s string, size int) ([]byte, bool) {
	if len(s) != strict.EncodedLen(size) {
		return nil, false
	}
	b, err := strict.DecodeString(s)
	return b, err == nil && len(b) == size
}
