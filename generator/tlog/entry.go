package tlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/assets"
	"anteroom/edge/jsondoc"
)

// The kinds of entries.
const (
	Registration = "registration"
	Charter      = "charter"
	Suggestion   = "suggestion"
	Own          = "own"          // a record that was set apart: the operator's development, seed or test
	Vouched      = "vouched"      // an agent that the operator vouches for
	Correction   = "correction"   // an earlier entry counts as something else from here on
	Verification = "verification" // the end of a hand verification
	Previous     = "log"          // the first entry of a tree under a new key: the end of the tree before
)

// None is what a corrected entry counts as if it no longer counts.
const None = "none"

// MaxEntry is the longest entry, in bytes (C2SP tlog-tiles).
const MaxEntry = 1<<16 - 1

// recordKinds are the kinds of entries of records.
var recordKinds = []string{Registration, Charter, Suggestion, Own}

// IsRecord reports whether entries of a kind are those of records.
func IsRecord(kind string) bool { return slices.Contains(recordKinds, kind) }

// Entry is one entry. Its kind decides which of the other members it has.
type Entry struct {
	Kind           string         `json:"kind"`
	Hash           string         `json:"entry"`
	Index          int64          `json:"index"`
	To             string         `json:"to"`
	AsOf           string         `json:"as_of"`
	Counts         Counts         `json:"counts"`
	Board          string         `json:"board"`
	BoardSHA256    string         `json:"board_sha256"`
	Told           map[string]int `json:"told"`
	ReceiptKeys    []string       `json:"receipt_keys"`
	ManifestSHA256 string         `json:"manifest_sha256"`
	LookupSHA256   string         `json:"lookup_sha256"` // set by Log.Append
	Checkpoint     string         `json:"checkpoint"`
}

// Version is the form of a Verification that is written now.
const Version = 2

// VerificationOf is the entry of a verification by its name, its day and its board, as the board is
// published. Append sets its counts and its look-up.
func VerificationOf(name, asOf string, board []byte) Entry {
	document, _ := jsondoc.Parse(board) // what is not a board tells no numbers
	return Entry{
		Kind: Verification, AsOf: asOf, Board: BoardPath(name), BoardSHA256: assets.SumOf(board),
		Told: told(document), ReceiptKeys: []string{},
	}
}

// told are the numbers of a board that the entries do not give, by their places.
func told(board jsondoc.Value) map[string]int {
	numbers := map[string]int{}
	for _, part := range board.Members {
		for _, m := range part.Value.Members {
			n, err := strconv.Atoi(string(m.Value.Raw))
			if path := part.Name + "." + m.Name; err == nil && m.Value.Kind == jsondoc.Number && !IsRecounted(path) {
				numbers[path] = n
			}
		}
	}
	return numbers
}

func (e *Entry) isOf(name string) bool {
	return e.Kind == Verification && name != "" && e.Board == BoardPath(name) && e.AsOf == name[:min(len(name), len(time.DateOnly))]
}

// RecordHash returns the hash by which the log names a record. A suggestion has no payloadSHA256. A
// record_id has 128 random bits, so that only who has the answer can find the entry.
func RecordHash(recordID, payloadSHA256 string) string {
	text := recordID
	if payloadSHA256 != "" {
		text += "\n" + payloadSHA256
	}
	return assets.SumOf([]byte(text))
}

func isHash(text string) bool {
	return len(text) == 2*sha256.Size && strings.Trim(text, "0123456789abcdef") == ""
}

// ParseHash reads the digits of a hash by which the log names a record.
func ParseHash(text string) (hash string, ok bool) {
	hash = strings.ToLower(text)
	return hash, isHash(hash)
}

// Append appends the entry as the log has it: one line of JSON without a line feed.
func (e *Entry) Append(b []byte) []byte {
	text := func(s string) []byte { return jsondoc.AppendString(nil, s) }
	switch e.Kind {
	case Registration, Charter, Suggestion, Own:
		return fmt.Appendf(b, `{"kind":"%s","entry":"%s"}`, e.Kind, e.Hash)
	case Vouched:
		return fmt.Appendf(b, `{"kind":"vouched","index":%d}`, e.Index)
	case Correction:
		return fmt.Appendf(b, `{"kind":"correction","index":%d,"to":%s}`, e.Index, text(e.To))
	case Verification:
		counts, _ := json.Marshal(e.Counts) // numbers: it does not fail
		b = fmt.Appendf(b, `{"kind":"verification","as_of":%s,"counts":%s,"board":%s,"board_sha256":%s`,
			text(e.AsOf), counts, text(e.Board), text(e.BoardSHA256))
		told, keys := []byte("{}"), []byte("[]")
		if len(e.Told) > 0 {
			told, _ = json.Marshal(e.Told) // which sorts the places
		}
		if len(e.ReceiptKeys) > 0 {
			keys, _ = json.Marshal(e.ReceiptKeys)
		}
		return fmt.Appendf(b, `,"version":%d,"told":%s,"receipt_keys":%s,"manifest_sha256":%s,"lookup_sha256":%s}`,
			Version, told, keys, text(e.ManifestSHA256), text(e.LookupSHA256))
	}
	return fmt.Appendf(b, `{"kind":%s,"checkpoint":%s}`, text(e.Kind), text(e.Checkpoint))
}

// ParseEntry reads an entry. It takes only the bytes that Append gives.
func ParseEntry(line []byte) (Entry, error) {
	if len(line) > MaxEntry {
		return Entry{}, fmt.Errorf("the entry has more than %d bytes", MaxEntry)
	}
	for _, kind := range recordKinds { // most entries, and faster than JSON
		rest, is := bytes.CutPrefix(line, []byte(`{"kind":"`+kind+`","entry":"`))
		if hash, ends := bytes.CutSuffix(rest, []byte(`"}`)); is && ends && isHash(string(hash)) {
			return Entry{Kind: kind, Hash: string(hash)}, nil
		}
	}
	read := struct {
		Entry
		Version int `json:"version"`
	}{}
	err := json.Unmarshal(line, &read)
	e := read.Entry
	switch {
	case err != nil:
		return Entry{}, fmt.Errorf("the entry is not a JSON object: %w", err)
	case !IsRecord(e.Kind) && !slices.Contains([]string{Vouched, Correction, Verification, Previous}, e.Kind):
		return Entry{}, fmt.Errorf("%.40q is not a kind of entries", e.Kind)
	case IsRecord(e.Kind) && !isHash(e.Hash):
		return Entry{}, errors.New("its entry is not a SHA-256")
	case e.Kind == Verification && read.Version != Version:
		return Entry{}, fmt.Errorf("entry version %d, newest supported %d (upgrade anteroom)", read.Version, Version)
	case e.Kind == Verification &&
		(e.Told == nil || e.ReceiptKeys == nil || e.ManifestSHA256 != "" && !isHash(e.ManifestSHA256)):
		return Entry{}, errors.New("its told numbers, receipt keys or manifest are malformed")
	case !bytes.Equal(e.Append(nil), line):
		return Entry{}, errors.New("the log writes it in another form")
	}
	return e, nil
}

// Counts are the numbers of a board that come from records.
type Counts struct {
	Vouched       int `json:"verified_organic_agent_conversions"`
	Registrations int `json:"registrations_recorded"`
	Charters      int `json:"charters_filed"`
	Suggestions   int `json:"received_external"`
	Own           int `json:"development_seed_and_test_records"`
}

// Recounted are the places in a board of the numbers that the entries give, in the order of Counts.
var Recounted = []string{
	"pilot_waitlist.verified_organic_agent_conversions", "pilot_waitlist.registrations_recorded", "orgs.charters_filed",
	"suggestions.received_external", "excluded_from_counts.development_seed_and_test_records",
}

// IsRecounted reports whether the entries give the number at a place in a board.
func IsRecounted(place string) bool { return slices.Contains(Recounted, place) }

func (c *Counts) places() map[string]int {
	places := map[string]int{}
	for i, n := range []int{c.Vouched, c.Registrations, c.Charters, c.Suggestions, c.Own} {
		places[Recounted[i]] = n
	}
	return places
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

// Unlike gives the numbers that differ between two counts, as a board names them: "charters_filed
// 2".
func (c Counts) Unlike(other Counts) (mine, others string) {
	list := func(c Counts) []string {
		text, _ := json.Marshal(c) // numbers: it does not fail
		return strings.Split(strings.NewReplacer(`"`, "", ":", " ").Replace(strings.Trim(string(text), "{}")), ",")
	}
	without := func(a, b []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(a), func(n string) bool { return slices.Contains(b, n) }), ", ")
	}
	a, b := list(c), list(other)
	return without(a, b), without(b, a)
}
