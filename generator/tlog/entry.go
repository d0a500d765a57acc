package tlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"anteroom/edge/jsondoc"
)

// The kinds of entries.
const (
	Registration = "registration"
	Charter      = "charter"
	Suggestion   = "suggestion"
	Own          = "own"          // a record that was set apart: the operator's development, seed or test
	Vouched      = "vouched"      // an agent that the operator vouches for
	Correction   = "correction"   // an earlier entry counts otherwise from here on
	Verification = "verification" // the end of a hand verification
	Previous     = "log"          // the first entry of a tree under a new key: the end of the tree before
)

// None is what a corrected entry counts as where it counts as nothing any more.
const None = "none"

// MaxEntry is the longest entry, in bytes (C2SP tlog-tiles).
const MaxEntry = 1<<16 - 1

// Counts are the numbers of a board that come from records.
type Counts struct {
	Vouched       int `json:"verified_organic_agent_conversions"`
	Registrations int `json:"registrations_recorded"`
	Charters      int `json:"charters_filed"`
	Suggestions   int `json:"received_external"`
	Own           int `json:"development_seed_and_test_records"`
}

// Unlike gives the numbers that two counts do not have in common, as a board names them:
// "charters_filed 2".
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

// Entry is one entry. Its kind decides which of the other members it has.
type Entry struct {
	Kind string
	// Hash is that of a record, in lower-case hexadecimal: see RecordHash.
	Hash string
	// Index is that of the entry which a Vouched or a Correction is about. It counts from the first
	// entry of the first tree on, through all trees.
	Index int64
	// To is the kind that a corrected entry counts as, or None.
	To string
	// AsOf is the day of a Verification, Board the path of its board, and BoardSHA256 the SHA-256 of
	// the document there.
	AsOf, Board, BoardSHA256 string
	Counts                   Counts
	// Checkpoint is the last one of the tree before, without cosignatures.
	Checkpoint string
}

// RecordHash is the hash by which the log names a record: the SHA-256 of its record_id, a line feed
// and the payload_sha256 of its answer, in hexadecimal; for a suggestion, whose payload is "", of
// the record_id alone. A record_id has 128 random bits: who does not hold the answer cannot find
// the entry.
func RecordHash(recordID, payloadSHA256 string) string {
	text := recordID
	if payloadSHA256 != "" {
		text += "\n" + payloadSHA256
	}
	return sumOf([]byte(text))
}

// sumOf is the SHA-256 of a text, in hexadecimal.
func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// IsRecord reports whether entries of a kind are those of records.
func IsRecord(kind string) bool { return slices.Contains(recordKinds, kind) }

// Append appends the entry as the log has it: one line of JSON without a line feed.
func (e *Entry) Append(b []byte) []byte {
	if i := slices.Index(recordKinds, e.Kind); i >= 0 {
		return append(append(append(b, recordStarts[i]...), e.Hash...), recordEnd...)
	}
	text := func(s string) []byte { return jsondoc.AppendString(nil, s) }
	switch e.Kind {
	case Vouched:
		return fmt.Appendf(b, `{"kind":"vouched","index":%d}`, e.Index)
	case Correction:
		return fmt.Appendf(b, `{"kind":"correction","index":%d,"to":%s}`, e.Index, text(e.To))
	case Verification:
		counts, _ := json.Marshal(e.Counts) // numbers: it does not fail
		return fmt.Appendf(b, `{"kind":"verification","as_of":%s,"counts":%s,"board":%s,"board_sha256":%s}`, text(e.AsOf), counts, text(e.Board), text(e.BoardSHA256))
	}
	return fmt.Appendf(b, `{"kind":%s,"checkpoint":%s}`, text(e.Kind), text(e.Checkpoint))
}

// recordStarts are the beginnings of the entries of records, in the order of recordKinds. The hash
// and recordEnd follow.
var recordStarts = func() (starts []string) {
	for _, kind := range recordKinds {
		starts = append(starts, `{"kind":"`+kind+`","entry":"`)
	}
	return starts
}()

const (
	recordEnd  = `"}`
	hashDigits = 2 * sha256.Size
)

// recordLetter is the letter of the kind of record that an entry is of, and 0 if the bytes are not
// the entry of a record. Most entries are read by it.
func recordLetter(line []byte) byte {
	for i, start := range recordStarts {
		if len(line) == len(start)+hashDigits+len(recordEnd) && string(line[:len(start)]) == start &&
			isHash(hashIn(line)) && string(line[len(start)+hashDigits:]) == recordEnd {
			return letters[i]
		}
	}
	return 0
}

// ParseEntry reads an entry. It takes the very bytes that Append gives, and no others.
func ParseEntry(line []byte) (Entry, error) {
	if letter := recordLetter(line); letter != 0 {
		return Entry{Kind: kindOf(letter), Hash: string(hashIn(line))}, nil
	}
	if len(line) > MaxEntry {
		return Entry{}, fmt.Errorf("the entry has more than %d bytes", MaxEntry)
	}
	var read struct {
		Kind        string `json:"kind"`
		Entry       string `json:"entry"`
		Index       int64  `json:"index"`
		To          string `json:"to"`
		AsOf        string `json:"as_of"`
		Counts      Counts `json:"counts"`
		Board       string `json:"board"`
		BoardSHA256 string `json:"board_sha256"`
		Checkpoint  string `json:"checkpoint"`
	}
	if err := json.Unmarshal(line, &read); err != nil {
		return Entry{}, fmt.Errorf("the entry is not a JSON object: %w", err)
	}
	e := Entry{
		Kind: read.Kind, Hash: read.Entry, Index: read.Index, To: read.To, AsOf: read.AsOf, Board: read.Board,
		BoardSHA256: read.BoardSHA256, Counts: read.Counts, Checkpoint: read.Checkpoint,
	}
	switch {
	case slices.Contains([]string{Vouched, Correction, Verification, Previous}, e.Kind):
	case IsRecord(e.Kind):
		return Entry{}, errors.New("its entry is not a SHA-256, or it is written otherwise than the log writes it")
	default:
		return Entry{}, fmt.Errorf("there is no kind %.40q of entry", e.Kind)
	}
	if !bytes.Equal(e.Append(nil), line) {
		return Entry{}, errors.New("it is written otherwise than the log writes it")
	}
	return e, nil
}

func isHash(text []byte) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(text) == hashDigits
}

// recount is the state of a count.
type recount struct {
	logged  []byte // by index: what was logged, one of letters
	now     []byte // by index: what it counts as since its last correction
	counts  Counts
	vouched map[int64]bool // the registrations that a Vouched was about
}

// letters are what an entry counts as: a kind of record, Vouched, or nothing.
const letters = "rcsov-"

var lettered = []string{Registration, Charter, Suggestion, Own, Vouched, None}

// recordKinds are the kinds of entries of records.
var recordKinds = lettered[:4]

func letterOf(kind string) byte {
	if i := slices.Index(lettered, kind); i >= 0 {
		return letters[i]
	}
	return '-'
}

func kindOf(letter byte) string { return lettered[strings.IndexByte(letters, letter)] }

func (r *recount) count(letter byte, n int) {
	switch letter {
	case 'r':
		r.counts.Registrations += n
	case 'c':
		r.counts.Charters += n
	case 's':
		r.counts.Suggestions += n
	case 'o':
		r.counts.Own += n
	case 'v':
		r.counts.Vouched += n
	}
}

// add counts one more entry. The error says why the entry cannot be the next one.
func (r *recount) add(e *Entry) error {
	if e.Kind == Vouched || e.Kind == Correction {
		if e.Index < 0 || e.Index >= int64(len(r.logged)) {
			return fmt.Errorf("it is about entry %d, and there are %d before it", e.Index, len(r.logged))
		}
	}
	letter := letterOf(e.Kind)
	switch e.Kind {
	case Vouched:
		if was := r.logged[e.Index]; was != 'r' && was != 'o' {
			return fmt.Errorf("it vouches for entry %d, which is not a registration", e.Index)
		}
		if r.vouched[e.Index] {
			return fmt.Errorf("entry %d is vouched for already", e.Index)
		}
		if r.vouched == nil {
			r.vouched = map[int64]bool{}
		}
		r.vouched[e.Index] = true
	case Correction:
		logged, was, is := r.logged[e.Index], r.now[e.Index], letterOf(e.To)
		switch {
		case kindOf(is) != e.To || logged == '-' || is != '-' && (logged == 'v') != (is == 'v'):
			return fmt.Errorf("entry %d cannot count as %.40q", e.Index, e.To)
		case was == is:
			return fmt.Errorf("entry %d counts as %s already", e.Index, e.To)
		}
		r.count(was, -1)
		r.count(is, 1)
		r.now[e.Index] = is
	case Verification:
		if e.Counts != r.counts {
			said, counted := e.Counts.Unlike(r.counts)
			return fmt.Errorf("it says %s, and the entries give %s", said, counted)
		}
	}
	r.push(letter)
	return nil
}

func (r *recount) push(letter byte) {
	r.count(letter, 1)
	r.logged, r.now = append(r.logged, letter), append(r.now, letter)
}

// hashIn is the hash in the entry of a record.
func hashIn(line []byte) []byte {
	end := len(line) - len(recordEnd)
	return line[end-hashDigits : end]
}

// appendBundled appends an entry as bundles hold it: its length in two bytes, and its bytes.
func appendBundled(b, line []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(line))), line...)
}
