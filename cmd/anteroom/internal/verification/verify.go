// Package verification makes hand verifications: it finds what a store of records holds that no
// verification has covered, turns the operator's decisions about it into the two files that publish
// a verification, and holds what was published against the store for ever after.
//
// # What is covered
//
// A verification covers records by their sequence numbers: of each kind all up to a last one.
// Requests get their time when they arrive and their number when they are committed, so a write
// that was committed a little after its time belongs to the next verification, by its number, and
// is neither missed nor counted twice.
//
// # Digests
//
// A verification's digest of a kind of record is the SHA-256 of the digest in the verification
// before, a line feed, and a line for each record that is newly covered, in the order of their
// numbers: number, record_id, time and commitment with spaces between (for a suggestion its kind
// and filed_as too), and a line feed. Where nothing is new the digest stays. The digest before the
// first is the SHA-256 of nothing. So each digest stands for all records up to its own, and still
// each stretch of records can be judged by itself.
//
// # Log
//
// Where the content lists a key of a log, a verification adds a stage to it: see Survey.Entries and
// package translog. What the log counts then is what the board says, or nothing is made.
package verification

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"time"

	"anteroom/edge/canon"
	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// lateness is how much later than its time a record may be committed. A request lasts a minute at
// most, and a store on the edge gives up after half a minute.
const lateness = 2 * time.Minute

// beforeAll is a number below those of all records, of what was put into the store by hand too. It
// is the least that D1 takes.
const beforeAll = -(1 << 53)

// walk goes through all records of a kind, and holds them against the verifications.
type walk struct {
	kind          *records.Kind
	verifications []site.Verification
	entries       map[string]site.Entry // of this kind that were not seen yet
	after         int64                 // the number behind which it begins

	ids map[[16]byte]struct{} // the identifiers read so far

	at       int // the verification that covers the records now read
	hash     hash.Hash
	line     []byte
	open     bool   // whether hash holds anything of this stretch
	digest   string // that of the stretch before
	seq      int64
	total    int
	suspects []string      // what may explain that this stretch is another than was verified; what is odd about new records
	findings []string      // what is not as it was verified
	gone     []site.Record // that a verification has named, and that are not there as they were
	// notes are what was so when it was verified. A host that stood still in the midst of its
	// writes is enough for it.
	notes []string
	// altered are verified records whose commitments are not those of what they say. The digests
	// hold commitments alone.
	altered []string
}

// standing are the verifications whose coverage is held to the store: those since records were lost
// for good, where some were.
func standing(all []site.Verification) []site.Verification {
	for i := len(all) - 1; i > 0; i-- {
		if all[i].Lost != "" {
			return all[i:]
		}
	}
	return all
}

// newWalk begins a walk. ledger is that of the verifications.
func newWalk(kind *records.Kind, verifications []site.Verification, ledger *site.Ledger) *walk {
	w := &walk{kind: kind, verifications: verifications, entries: map[string]site.Entry{}, after: beforeAll, ids: map[[16]byte]struct{}{}, hash: sha256.New()}
	w.digest = w.sum()
	for id, e := range ledger.Entries() {
		if e.Kind == kind.Name {
			w.entries[id] = e
		}
	}
	return w
}

// covered is the last number that a verification covers.
func (w *walk) covered() int64 {
	if n := len(w.verifications); n > 0 {
		return int64(w.verifications[n-1].Covers(w.kind.Name).Last)
	}
	return 0
}

// run reads the records up to last, and gives each to visit. covered says whether a verification
// covers it. The coverage is that of a verification through last.
func (w *walk) run(ctx context.Context, r records.Reader, last int64, visit func(record *records.Record, covered bool) error) (site.Coverage, error) {
	err := records.Scan(ctx, r, w.kind, w.after, last, func(record *records.Record) error {
		w.take(record)
		return visit(record, w.at < len(w.verifications))
	})
	if err != nil {
		return site.Coverage{}, err
	}
	for w.at < len(w.verifications) {
		w.endStretch()
	}
	for _, id := range slices.Sorted(maps.Keys(w.entries)) {
		w.find("%s %s is gone, which was verified", w.kind.Name, id)
		w.gone = append(w.gone, site.Record{ID: id, SHA256: w.entries[id].SHA256})
	}
	return site.Coverage{Last: int(max(last, w.seq)), Total: w.total, SHA256: w.stretchDigest()}, nil
}

func (w *walk) find(format string, args ...any) {
	w.findings = append(w.findings, fmt.Sprintf(format, args...))
}

// maxSuspects is how many suspects of a stretch are kept. A store that is another altogether has
// millions.
const maxSuspects = 1000

// suspect keeps what may explain a difference.
func (w *walk) suspect(format string, args ...any) {
	switch n := len(w.suspects); {
	case n < maxSuspects:
		w.suspects = append(w.suspects, fmt.Sprintf(format, args...))
	case n == maxSuspects:
		w.suspects = append(w.suspects, "and more of the kind")
	}
}

func (w *walk) sum() string { return hex.EncodeToString(w.hash.Sum(nil)) }

func (w *walk) stretchDigest() string {
	if w.open {
		return w.sum()
	}
	return w.digest
}

// take adds a record to its stretch.
func (w *walk) take(r *records.Record) {
	for w.at < len(w.verifications) && r.Seq > int64(w.verifications[w.at].Covers(w.kind.Name).Last) {
		w.endStretch()
	}
	if !w.open {
		w.open = true
		w.hash.Reset()
		fmt.Fprintln(w.hash, w.digest)
	}
	w.line = append(append(w.line[:0], r.Line...), '\n')
	w.hash.Write(w.line)
	w.total++
	if r.Seq < 1 {
		w.suspect("%s %s has the number %d, which no record gets", w.kind.Name, r.ID, r.Seq)
	}
	w.gap(r.Seq)
	w.seq = max(r.Seq, 0)
	w.once(r)
	if e, named := w.entries[r.ID]; named {
		if delete(w.entries, r.ID); e.SHA256 != r.SHA256 {
			w.gone = append(w.gone, site.Record{ID: r.ID, SHA256: e.SHA256})
			w.find("%s %s (number %d) was changed: it was verified with the commitment %s", w.kind.Name, r.ID, r.Seq, e.SHA256)
		}
	}
	if is := commitment(w.kind, r); is != r.SHA256 && is != "" {
		w.alter(fmt.Sprintf("%s %s (number %d) was changed: its commitment is not that of what it says", w.kind.Name, r.ID, r.Seq))
	}
	if w.at < len(w.verifications) && r.At > w.verifications[w.at].Through {
		w.suspect("%s %s (number %d) is of %s, after the verification", w.kind.Name, r.ID, r.Seq, r.At)
	}
	if w.at > 0 {
		before := &w.verifications[w.at-1]
		if through, err := time.Parse(time.RFC3339, before.Through); err == nil && before.Store != "" && r.At < through.Add(-lateness).Format(time.RFC3339) {
			late := fmt.Sprintf("%s %s (number %d) came in after the verification %s, and says that it is of %s, before it",
				w.kind.Name, r.ID, r.Seq, before.File, r.At)
			if w.at == len(w.verifications) {
				w.suspect("%s", late)
			} else if len(w.notes) < maxSuspects { // it was verified so, after a warning
				w.notes = append(w.notes, late)
			}
		}
	}
}

// alter keeps what makes a record another than it says, whether it was verified or not.
func (w *walk) alter(what string) {
	if w.at == len(w.verifications) {
		w.suspect("%s", what)
	} else if len(w.altered) < maxSuspects {
		w.altered = append(w.altered, what)
	}
}

// once suspects a record whose identifier another has.
func (w *walk) once(r *records.Record) {
	var id [16]byte
	if n, err := hex.Decode(id[:], []byte(r.ID[:min(2*len(id), len(r.ID))])); err != nil || n < len(id) {
		w.suspect("%s number %d has the record_id %.64q, which is none", w.kind.Name, r.Seq, r.ID)
		return
	}
	if _, again := w.ids[id]; again {
		w.alter(fmt.Sprintf("%s %s (number %d) stands in the store before already", w.kind.Name, r.ID, r.Seq))
	}
	w.ids[id] = struct{}{}
}

// gap suspects the records between the last one and the number next.
func (w *walk) gap(next int64) {
	switch missing := next - w.seq - 1; {
	case missing == 1:
		w.suspect("%s number %d is gone", w.kind.Name, w.seq+1)
	case missing > 1:
		w.suspect("%ss number %d to %d are gone", w.kind.Name, w.seq+1, next-1)
	}
}

// endStretch judges the records of a verification.
func (w *walk) endStretch() {
	v := &w.verifications[w.at]
	covered := v.Covers(w.kind.Name)
	w.gap(int64(covered.Last) + 1)
	if w.stretchDigest() != covered.SHA256 || w.total != covered.Total {
		if len(w.suspects)+len(w.altered) == 0 {
			first := 1
			if w.at > 0 {
				first = w.verifications[w.at-1].Covers(w.kind.Name).Last + 1
			}
			w.suspect("of the %ss number %d to %d at least one is another now", w.kind.Name, first, covered.Last)
		}
		for _, s := range w.suspects {
			w.find("verification %s: %s", v.File, s)
		}
	}
	w.at, w.open, w.suspects = w.at+1, false, nil
	w.digest, w.total, w.seq = covered.SHA256, covered.Total, int64(covered.Last)
}

// commitment is the SHA-256 of what a record says of itself, and "" for a suggestion, whose text is
// not in the store.
func commitment(kind *records.Kind, r *records.Record) string {
	var canonical string
	switch kind.Name {
	case site.Registration:
		canonical = canon.Registration(r.Values[0], r.Values[1])
	case site.Charter:
		canonical = canon.Charter(r.Values[0], r.Values[1], r.Values[2])
	default:
		return ""
	}
	sum := sha256.Sum256([]byte(canonical))
	return hex.EncodeToString(sum[:])
}

// Audit holds every verification of a site against the store, and gives what is not as it was
// verified: records that are gone, were changed, or came in later under an earlier time. Notes are
// records of an earlier time that a verification covers: it was made after a warning of them.
func Audit(ctx context.Context, r records.Reader, s *site.Site) (findings, notes []string, err error) {
	extent, err := records.Measure(ctx, r, "", true, make([]int64, len(records.Kinds)))
	if err != nil {
		return nil, nil, err
	}
	if want := storeOf(s); want != "" && extent.Store != want {
		return nil, nil, fmt.Errorf("audit: this is store %s, and the verifications are of store %s (name the right one with --data or --remote)", extent.Store, want)
	}
	ledger := s.Ledger()
	for i := range records.Kinds {
		w := newWalk(&records.Kinds[i], standing(s.Verifications), ledger)
		if _, err := w.run(ctx, r, extent.Last[i], func(*records.Record, bool) error { return nil }); err != nil {
			return nil, nil, err
		}
		findings = append(append(append(findings, w.findings...), w.altered...), w.suspects...)
		notes = append(notes, w.notes...)
	}
	return findings, notes, nil
}

// storeOf is the store that the verifications of a site are of, "" where none has looked at one.
func storeOf(s *site.Site) string {
	if n := len(s.Verifications); n > 0 {
		return s.Verifications[n-1].Store
	}
	return ""
}
