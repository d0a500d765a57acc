// Package canon makes canonical strings. A canonical string is the exact sequence of bytes that is
// hashed for a registration or a charter, and signed for a receipt or a promise.
//
// It is ECMAScript's JSON.stringify of an object whose keys are in the published order: no white
// space, non-ASCII unescaped, an absent optional field null. One line of code rebuilds it:
//
//	JSON.stringify(Object.fromEntries(keys.map(k => [k, o[k]])))
//	json.dumps({k: o[k] for k in keys}, separators=(',', ':'), ensure_ascii=False)
//
// payload_sha256 is the lower-case hexadecimal SHA-256 of its UTF-8 bytes.
package canon

import "anteroom/edge/jsondoc"

// Identifiers of the rules. A changed rule gets a new identifier.
const (
	RegistrationRule = "waitlist-canon-v0"
	CharterRule      = "org-charter-canon-v0"
	ReceiptRule      = "souvenir-canon-v0"
	PromiseRule      = "counted-promise-v0"
)

// Registration returns the canonical string of a waitlist registration, with the keys commitment,
// agent_name, pubkey. A value of "" is absent.
func Registration(agentName, pubkey string) string {
	w := begin(RegistrationRule)
	w.StrOrNull("agent_name", agentName)
	w.StrOrNull("pubkey", pubkey)
	w.Close('}')
	return string(w.Buf)
}

type Seat struct {
	Position   string
	AgentName  string
	Allocation int // credit units
}

// Charter returns the canonical string of an org charter, with the keys commitment, org_name,
// commissioner, roster. A commissioner of "" is absent.
func Charter(orgName, commissioner, roster string) string {
	w := begin(CharterRule)
	w.Str("org_name", orgName)
	w.StrOrNull("commissioner", commissioner)
	w.Raw("roster", roster)
	w.Close('}')
	return string(w.Buf)
}

// Roster returns the JSON text of a roster, whose seats are in the order of org.Positions.
func Roster(roster []Seat) string {
	w := &jsondoc.Writer{}
	w.Open('[')
	for _, seat := range roster {
		w.Open('{')
		w.Str("position", seat.Position)
		w.Str("agent_name", seat.AgentName)
		w.Int("allocation", int64(seat.Allocation))
		w.Close('}')
	}
	w.Close(']')
	return string(w.Buf)
}

// ReceiptFields are the signed fields of a receipt, in the order signed.
var ReceiptFields = []string{
	"receipt_spec", "issued_by", "issued_at", "agent_name", "owner_email_sha256", "note", "epoch",
}

const ReceiptNullable = "owner_email_sha256" // the only one of ReceiptFields that may be null

// Receipt returns the canonical string of a receipt with the values of ReceiptFields, "" for null.
func Receipt(values ...string) string {
	w := &jsondoc.Writer{Buf: make([]byte, 0, 512)}
	w.Open('{')
	for i, field := range ReceiptFields {
		if field == ReceiptNullable {
			w.StrOrNull(field, values[i])
		} else {
			w.Str(field, values[i])
		}
	}
	w.Close('}')
	return string(w.Buf)
}

// Promised is a record, the day it will be counted by, and the state of the public log.
type Promised struct {
	Kind, PayloadSHA256, RecordID, RecordedAt string // of the record
	IssuedBy                                  string // the canonical host
	CountedBy                                 string // YYYY-MM-DD
	Log                                       string // origin of the log, or ""
	Size                                      int64  // of its newest checkpoint
	Root                                      string // of that checkpoint, in base64
}

// Promise returns the canonical string of a promise, with the keys commitment, kind,
// payload_sha256, record_id, recorded_at, issued_by, counted_by, log, size, root. Without a log the
// last three are null.
func Promise(p *Promised) string {
	w := begin(PromiseRule)
	w.Str("kind", p.Kind)
	w.Str("payload_sha256", p.PayloadSHA256)
	w.Str("record_id", p.RecordID)
	w.Str("recorded_at", p.RecordedAt)
	w.Str("issued_by", p.IssuedBy)
	w.Str("counted_by", p.CountedBy)
	w.StrOrNull("log", p.Log)
	if p.Log == "" {
		w.Raw("size", "null")
	} else {
		w.Int("size", p.Size)
	}
	w.StrOrNull("root", p.Root)
	w.Close('}')
	return string(w.Buf)
}

func begin(rule string) *jsondoc.Writer {
	w := &jsondoc.Writer{Buf: make([]byte, 0, 512)}
	w.Open('{')
	w.Str("commitment", rule)
	return w
}
