// Package vectors holds the conformance vectors of canonical strings, which are published as
// /vectors/canon-v0.json: inputs with what every implementation must make of them. They test
// clients, verifiers and hosts, this project's own hosts too.
//
// The file is one JSON object, with one vector in a line. It depends on no content: receipts are
// issued by www.example.org, under test keys whose secrets are public. A vector of registrations,
// charters or receipts has what is sent in one form or several, which mean the same: post is a body
// as a JSON value, body the exact text of one, get a query. A registration, for example:
//
//	{"name":"name and key","post":{"agent_name":"ledger-lark","pubkey":"k"},
//	"get":"agent_name=ledger-lark&pubkey=k",
//	"canonical":"{\"commitment\":\"waitlist-canon-v0\",
//	\"agent_name\":\"ledger-lark\",\"pubkey\":\"k\"}",
//	"payload_sha256":"17e1e976fbc4234be48c2ce09a535382aedcceaa2c0326925e44dcdd4c293453"}
//
// A vector of verdicts changes a receipt: it takes the receipt of the vector that of names, sets
// the members in set and removes those in remove, and has the four results of a verification. A
// vector of refused has the path of an endpoint, and the faults in the form "field code".
package vectors

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// CanonV0 is the published text of the vectors.
//
//go:embed canon-v0.json
var CanonV0 []byte

// File is what CanonV0 holds.
type File struct {
	Description   []string     `json:"description"`
	TestKeys      TestKeys     `json:"test_keys"`
	Registrations []Commitment `json:"registrations"`
	Charters      []Commitment `json:"charters"`
	Receipts      []Receipt    `json:"receipts"`
	Verdicts      []Verdict    `json:"verdicts"`
	Refused       []Refusal    `json:"refused"`
}

// TestKeys are the keys that the receipts are signed with.
type TestKeys struct {
	Warning string `json:"warning"`
	Current Key    `json:"current"`
	Retired Key    `json:"retired"`
}

// Key is an Ed25519 key with its secret.
type Key struct {
	Seed      string `json:"seed_hex"`
	PublicKey string `json:"public_key_b64"`
}

// Sent is an input, in each form in which it can be sent.
type Sent struct {
	Name string          `json:"name"`
	Post json.RawMessage `json:"post,omitempty"` // a JSON value
	Body string          `json:"body,omitempty"` // the text of a body
	Get  string          `json:"get,omitempty"`  // a query
}

// Commitment is a registration or a charter, and what it is hashed as.
type Commitment struct {
	Sent
	Canonical     string `json:"canonical"`
	PayloadSHA256 string `json:"payload_sha256"`
}

// Receipt is a mint, and the members of its answer that matter for a verification.
type Receipt struct {
	Sent
	Receipt json.RawMessage `json:"receipt"`
}

// Verdict is a change of a receipt, and the results of its verification.
type Verdict struct {
	Name   string                     `json:"name"`
	Of     string                     `json:"of"` // the name of a Receipt
	Set    map[string]json.RawMessage `json:"set,omitempty"`
	Remove []string                   `json:"remove,omitempty"`
	Result Result                     `json:"verdict"`
}

// Result is the outcome of a verification.
type Result struct {
	Valid       bool  `json:"valid"`
	FieldsMatch bool  `json:"fields_match"`
	HashOK      bool  `json:"hash_ok"`
	SignatureOK *bool `json:"signature_ok"` // nil if there is no signature
}

// Refusal is an input that is refused.
type Refusal struct {
	Sent
	Endpoint string   `json:"endpoint"`
	Faults   []string `json:"faults"` // "field code", sorted
}

// Read gives the vectors.
func Read() (*File, error) {
	var f File
	if err := json.Unmarshal(CanonV0, &f); err != nil {
		return nil, fmt.Errorf("read the conformance vectors: %w", err)
	}
	return &f, nil
}

// Changed is the receipt of a verdict, as it is to be verified.
func (f *File) Changed(v *Verdict) (map[string]json.RawMessage, error) {
	for i := range f.Receipts {
		if f.Receipts[i].Name != v.Of {
			continue
		}
		var receipt map[string]json.RawMessage
		if err := json.Unmarshal(f.Receipts[i].Receipt, &receipt); err != nil {
			return nil, fmt.Errorf("read the receipt %q of the conformance vectors: %w", v.Of, err)
		}
		for name, value := range v.Set {
			receipt[name] = value
		}
		for _, name := range v.Remove {
			delete(receipt, name)
		}
		return receipt, nil
	}
	return nil, fmt.Errorf("the conformance vectors have no receipt %q", v.Of)
}
