package verification

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"time"

	"anteroom/edge/canon"
	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// lateness is how much later than its time a record may be committed. A request lasts a minute at
// most, and a store on the edge gives up after half a minute.
const lateness = 2 * time.Minute

// scanned is the records of a kind, compared with the verifications that cover them.
type scanned struct {
	kind           *records.Kind
	all            []records.Record // that the next verification is about
	covered, fresh []records.Record // by a verification, and by none
	end            int64            // the last number, of a record that is gone too
	verified       site.Coverage    // of the last verification
	gone           []string         // hashes of records that a verification names, and that are missing or changed
	lost           int              // how many were verified and are not there any more

	broken  []string // what is not as it was verified
	altered []string // records that do not match their commitments, and what is odd about new ones
	early   []string // new records of a time that was verified already
	notes   []string // records of such a time that a verification covers

	old, new []Row           // the covered records, and the fresh ones
	byID     map[string]*Row // the same; nil for records of a later time
	subjects []*Subject      // in the order of their first records
	by       map[identity]*Subject

	// While it compares: what verifications name that was not found yet, and the verifications before
	// the segment and after all.
	unseen         map[string]bool
	previous, last *site.Verification
}

// scan compares the records of a kind, up to the number end, with verifications and their ledger.
// If through is not "", records are new up to the first one of a later time.
//
// If a segment has another digest than the one that was verified, records are lost. Others may have
// their numbers: a store that was restored from a backup gives the same numbers again. So from such
// a segment on, a record of a time after the last verification is new.
func scan(kind *records.Kind, list []records.Record, end int64, through string, verifications []site.Verification, ledger *site.Ledger) *scanned {
	s := &scanned{
		kind: kind, all: list, end: end, verified: site.Coverage{SHA256: site.EmptyDigest},
		byID: make(map[string]*Row, len(list)), unseen: map[string]bool{}, previous: &site.Verification{},
	}
	for hash, e := range ledger.Entries() {
		if e.Kind == kind.Name {
			s.unseen[hash] = true
		}
	}
	begin, doubtful := 0, -1 // indexes of list: of the segment, and of the first that has another digest
	for i := range verifications {
		s.last = &verifications[len(verifications)-1]
		v := &verifications[i]
		covered := *v.Covers(kind.Name)
		segment := list[begin:]
		segment = segment[:sort.Search(len(segment), func(n int) bool { return segment[n].Seq > int64(covered.Last) })]
		anomalies, altered, early := s.inspect(segment, v)
		s.altered, s.notes = append(s.altered, altered...), append(s.notes, early...)
		if is := cover(s.verified, segment, 0); is.SHA256 != covered.SHA256 || is.Total != covered.Total {
			if doubtful < 0 {
				doubtful = begin
			}
			if len(anomalies)+len(s.altered) == 0 {
				anomalies = []string{fmt.Sprintf("of the %ss number %d to %d at least one has changed", kind.Name, s.verified.Last+1, covered.Last)}
			}
			for _, anomaly := range anomalies {
				s.broken = append(s.broken, "verification "+v.File+": "+anomaly)
			}
		}
		begin, s.verified, s.previous = begin+len(segment), covered, v
	}
	from := begin
	if doubtful >= 0 {
		from = doubtful
	}
	if i := slices.IndexFunc(list[from:], func(r records.Record) bool { return r.At > through }); through != "" && i >= 0 {
		s.all, s.end = list[:from+i], list[from+i].Seq-1
	}
	s.covered, s.fresh = s.all[:from:from], s.all[from:]
	if doubtful >= 0 {
		s.fresh = nil
		for _, r := range s.all[from:] {
			if r.Seq <= int64(s.verified.Last) && r.At <= s.last.Through {
				s.covered = append(s.covered, r)
			} else {
				s.fresh = append(s.fresh, r)
			}
		}
	}
	anomalies, altered, early := s.inspect(s.all[min(begin, len(s.all)):], nil)
	s.altered, s.early = slices.Concat(s.altered, anomalies, altered), early
	s.gone = slices.Sorted(maps.Keys(s.unseen))
	for _, hash := range s.gone {
		s.broken = append(s.broken, fmt.Sprintf("%s with the hash %s is gone or was changed, which was verified", kind.Name, hash))
	}
	if len(s.broken) > 0 {
		s.lost = max(1, len(s.gone), s.verified.Total-len(s.covered))
	}
	return s
}

func cover(before site.Coverage, segment []records.Record, last int64) site.Coverage {
	c := site.Coverage{Last: max(before.Last, int(last)), Total: before.Total + len(segment), SHA256: before.SHA256}
	if len(segment) > 0 {
		hash := sha256.New()
		io.WriteString(hash, before.SHA256+"\n")
		for i := range segment {
			io.WriteString(hash, segment[i].Line)
			io.WriteString(hash, "\n")
		}
		c.SHA256 = hex.EncodeToString(hash.Sum(nil))
	}
	return c
}

// inspect looks at each record of a segment, the records that the verification by covers after the
// previous one, or nil. anomalies are what would explain that its digest is not the verified one.
// altered are records that do not match their commitments. early are those that came in after the
// previous verification with a time that it should have covered.
func (s *scanned) inspect(segment []records.Record, by *site.Verification) (anomalies, altered, early []string) {
	name, number, earliest := s.kind.Name, int64(s.verified.Last), ""
	if through, err := time.Parse(time.RFC3339, s.previous.Through); err == nil && s.previous.Store != "" {
		earliest = through.Add(-lateness).Format(time.RFC3339)
	}
	gap := func(next int64) {
		if next > number+1 {
			anomalies = add(anomalies, "%s gone", numbers(name, number+1, next-1, "is", "are"))
		}
	}
	var others []int64 // numbers that new records have
	for i := range segment {
		r := &segment[i]
		gap(r.Seq)
		number = max(r.Seq, 0)
		is := func() string { return fmt.Sprintf("%s %s (number %d)", name, r.ID, r.Seq) }
		if len(s.unseen) > 0 {
			delete(s.unseen, site.RecordHash(name, r.ID, r.SHA256))
		}
		if r.Seq < 1 {
			anomalies = add(anomalies, "%s %s has the number %d, which no record gets", name, r.ID, r.Seq)
		}
		if !isID(r.ID) {
			anomalies = add(anomalies, "%s number %d has the record_id %.64q, which is not one", name, r.Seq, r.ID)
		}
		if by != nil && r.At > s.last.Through {
			others = append(others, r.Seq)
		}
		if !keeps(name, r) {
			altered = add(altered, "%s was changed: its commitment is not that of what it says", is())
		}
		if _, twice := s.byID[r.ID]; twice {
			altered = add(altered, "%s is in the store twice", is())
		}
		s.byID[r.ID] = nil
		if r.At < earliest {
			early = add(early, "%s came in after the verification %s, and says that it is of %s, before it", is(), s.previous.File, r.At)
		}
	}
	if n := len(others); n > 0 {
		anomalies = add(anomalies, "%s verified: the store was restored from before %s",
			numbers(name, others[0], others[n-1], "holds another record than was", "hold other records than were"), by.Through)
	}
	if by != nil {
		gap(int64(by.Covers(name).Last) + 1)
	}
	return anomalies, altered, early
}

// numbers names the records of a kind with some numbers, and the verb that follows for one of them
// or for several.
func numbers(kind string, from, to int64, one, several string) string {
	if from == to {
		return fmt.Sprintf("%s number %d %s", kind, from, one)
	}
	return fmt.Sprintf("%ss number %d to %d %s", kind, from, to, several)
}

// keeps reports whether a record says what its commitment is of. Of a suggestion the store has no
// text, so that it cannot be told.
func keeps(kind string, r *records.Record) bool {
	canonical := ""
	switch kind {
	case site.Registration:
		canonical = canon.Registration(r.Values[0], r.Values[1])
	case site.Charter:
		canonical = canon.Charter(r.Values[0], r.Values[1], r.Values[2])
	default:
		return true
	}
	sum := sha256.Sum256([]byte(canonical))
	return hex.EncodeToString(sum[:]) == r.SHA256
}

func isID(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 32
}

// maxAnomalies is how many anomalies of a segment are kept. A wholly different store has millions.
const maxAnomalies = 1000

// add adds an anomaly to a list of at most maxAnomalies.
func add(list []string, format string, args ...any) []string {
	switch n := len(list); {
	case n < maxAnomalies:
		return append(list, fmt.Sprintf(format, args...))
	case n == maxAnomalies:
		return append(list, "and more of this kind")
	}
	return list
}
