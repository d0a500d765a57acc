package tlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"anteroom/edge/assets"
	"anteroom/edge/jsondoc"
)

const (
	Registration = "registration"
	Charter      = "charter"
	Suggestion   = "suggestion"
	Own          = "own"          // a record that was set apart: the operator's development, seed or test
	Vouched      = "vouched"      // an agent that the operator vouches for
	Correction   = "correction"   // changes what an earlier entry counts as
	Verification = "verification" // ends a hand verification
)

// None is the kind of an entry that no longer counts.
const None = "none"

// MaxEntry is the longest entry, in bytes (C2SP tlog-tiles).
const MaxEntry = 1<<16 - 1

var recordKinds = []string{Registration, Charter, Suggestion, Own}

func IsRecord(kind string) bool { return slices.Contains(recordKinds, kind) }

// Entry is one entry of a log. Its kind decides which other members it has.
type Entry struct {
	Kind        string   `json:"kind"`
	Hash        string   `json:"entry"`
	Index       int64    `json:"index"`
	To          string   `json:"to"`
	AsOf        string   `json:"as_of"`
	Board       string   `json:"board"`
	BoardSHA256 string   `json:"board_sha256"`
	ReceiptKeys []string `json:"receipt_keys"`
}

// VerificationOf returns the entry of a verification. board is the published document.
func VerificationOf(name, asOf string, board []byte) Entry {
	return Entry{
		Kind: Verification, AsOf: asOf, Board: BoardPath(name), BoardSHA256: assets.SumOf(board), ReceiptKeys: []string{},
	}
}

func (e *Entry) isOf(name string) bool {
	return e.Kind == Verification && name != "" && e.Board == BoardPath(name) &&
		e.AsOf == name[:min(len(name), len(time.DateOnly))]
}

// RecordHash returns the name of a record in the log. A suggestion has no payloadSHA256. A
// record_id has 128 random bits, so the entry can be found only with the answer.
func RecordHash(recordID, payloadSHA256 string) string {
	text := recordID
	if payloadSHA256 != "" {
		text += "\n" + payloadSHA256
	}
	return assets.SumOf([]byte(text))
}

func IsHash(text string) bool {
	return len(text) == 2*sha256.Size && strings.Trim(text, "0123456789abcdef") == ""
}

// Append appends the canonical text of the entry: one line of JSON without a line feed.
func (e *Entry) Append(b []byte) []byte {
	text := func(s string) []byte { return jsondoc.AppendString(nil, s) }
	switch e.Kind {
	case Registration, Charter, Suggestion, Own:
		return fmt.Appendf(b, `{"kind":"%s","entry":"%s"}`, e.Kind, e.Hash)
	case Vouched:
		return fmt.Appendf(b, `{"kind":"vouched","index":%d}`, e.Index)
	case Correction:
		return fmt.Appendf(b, `{"kind":"correction","index":%d,"to":%s}`, e.Index, text(e.To))
	}
	keys := []byte("[]")
	if len(e.ReceiptKeys) > 0 {
		keys, _ = json.Marshal(e.ReceiptKeys)
	}
	return fmt.Appendf(b, `{"kind":%s,"as_of":%s,"board":%s,"board_sha256":%s,"receipt_keys":%s}`,
		text(e.Kind), text(e.AsOf), text(e.Board), text(e.BoardSHA256), keys)
}

// ParseEntry parses an entry. It accepts only the canonical text.
func ParseEntry(line []byte) (Entry, error) {
	if len(line) > MaxEntry {
		return Entry{}, fmt.Errorf("entry is longer than %d bytes", MaxEntry)
	}
	var e Entry
	err := json.Unmarshal(line, &e)
	switch {
	case err != nil:
		return Entry{}, fmt.Errorf("entry is not a JSON object: %w", err)
	case !IsRecord(e.Kind) && !slices.Contains([]string{Vouched, Correction, Verification}, e.Kind):
		return Entry{}, fmt.Errorf("unknown kind of entry %.40q", e.Kind)
	case IsRecord(e.Kind) && !IsHash(e.Hash):
		return Entry{}, errors.New("entry: want a SHA-256 in lower-case hexadecimal")
	case e.Kind == Verification && e.ReceiptKeys == nil:
		return Entry{}, errors.New("receipt_keys is missing")
	case !bytes.Equal(e.Append(nil), line):
		return Entry{}, errors.New("entry is not in canonical form")
	}
	return e, nil
}

// Counts holds the numbers of a board that are counted from records.
type Counts struct {
	Vouched       int `json:"verified_organic_agent_conversions"`
	Registrations int `json:"registrations_recorded"`
	Charters      int `json:"charters_filed"`
	Suggestions   int `json:"received_external"`
	Own           int `json:"development_seed_and_test_records"`
}

// Placed is a number at its place in a board.
type Placed struct {
	Place string
	N     int
}

func (c *Counts) Places() []Placed {
	return []Placed{
		{"pilot_waitlist.verified_organic_agent_conversions", c.Vouched},
		{"pilot_waitlist.registrations_recorded", c.Registrations},
		{"orgs.charters_filed", c.Charters},
		{"suggestions.received_external", c.Suggestions},
		{"excluded_from_counts.development_seed_and_test_records", c.Own},
	}
}

func (c *Counts) add(kind string, n int) {
	switch kind {
	case Vouched:
		c.Vouched += n
	case Registration:
		c.Registrations += n
	case Charter:
		c.Charters += n
	case Suggestion:
		c.Suggestions += n
	case Own:
		c.Own += n
	}
}
