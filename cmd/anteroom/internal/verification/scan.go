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
	last           int64 // the last number, of a record that is gone too
	coverage       site.Coverage
	covered, fresh []records.Record // by a verification, and by none
	gone           []site.Record    // that a verification names, and that are missing or changed

	broken []string // what is not as it was verified
	odd    []string // records that do not match their commitments, and anomalies of new ones
	notes  []string // anomalies that a verification covers
}

// scan compares the records of a kind, up to the number last, with verifications and their ledger.
func scan(kind *records.Kind, list []records.Record, last int64, verifications []site.Verification, ledger *site.Ledger) *scanned {
	s := &scanned{kind: kind, last: last, coverage: site.Coverage{SHA256: site.EmptyDigest}}
	unseen := map[string]site.Entry{}
	for id, e := range ledger.Entries() {
		if e.Kind == kind.Name {
			unseen[id] = e
		}
	}
	ids := make(map[string]bool, len(list))
	var previous *site.Verification
	rest := list
	for i := range verifications {
		v := &verifications[i]
		before, covered := s.coverage, *v.Covers(kind.Name)
		n := sort.Search(len(rest), func(n int) bool { return rest[n].Seq > int64(covered.Last) })
		segment := rest[:n]
		rest = rest[n:]
		altered, early := s.inspect(segment, unseen, ids, previous)
		s.odd, s.notes = append(s.odd, altered...), append(s.notes, early...)
		if is := cover(before, segment, 0); is.SHA256 != covered.SHA256 || is.Total != covered.Total {
			anomalies := explain(kind, segment, int64(before.Last), int64(covered.Last), v.Through)
			if len(anomalies)+len(s.odd) == 0 {
				anomalies = []string{fmt.Sprintf("of the %ss number %d to %d at least one has changed", kind.Name, before.Last+1, covered.Last)}
			}
			for _, anomaly := range anomalies {
				s.broken = append(s.broken, "verification "+v.File+": "+anomaly)
			}
		}
		s.coverage, previous = covered, v
	}
	s.covered, s.fresh = list[:len(list)-len(rest)], rest
	altered, early := s.inspect(rest, unseen, ids, previous)
	s.odd = slices.Concat(s.odd, explain(kind, rest, int64(s.coverage.Last), 0, ""), altered, early)
	for _, id := range slices.Sorted(maps.Keys(unseen)) {
		s.broken = append(s.broken, fmt.Sprintf("%s %s is gone, which was verified", kind.Name, id))
		s.gone = append(s.gone, site.Record{ID: id, SHA256: unseen[id].SHA256})
	}
	s.coverage = cover(s.coverage, rest, last)
	return s
}

// cover is the coverage that follows another one, with a segment of records more.
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

// inspect looks at each record of a segment by itself, and deletes it from unseen. altered are
// records that do not match their commitments. early are those that came in after the verification
// previous (nil for none) with a time that it should have covered.
func (s *scanned) inspect(segment []records.Record, unseen map[string]site.Entry, ids map[string]bool, previous *site.Verification,
) (altered, early []string) {
	earliest := ""
	if previous != nil && previous.Store != "" {
		if through, err := time.Parse(time.RFC3339, previous.Through); err == nil {
			earliest = through.Add(-lateness).Format(time.RFC3339)
		}
	}
	for i := range segment {
		r := &segment[i]
		is := func() string { return fmt.Sprintf("%s %s (number %d)", s.kind.Name, r.ID, r.Seq) }
		if e, named := unseen[r.ID]; named {
			if delete(unseen, r.ID); e.SHA256 != r.SHA256 {
				s.gone = append(s.gone, site.Record{ID: r.ID, SHA256: e.SHA256})
				s.broken = append(s.broken, is()+" was changed: it was verified with the commitment "+e.SHA256)
			}
		}
		if !keeps(s.kind.Name, r) {
			altered = add(altered, "%s was changed: its commitment is not that of what it says", is())
		}
		if ids[r.ID] {
			altered = add(altered, "%s is in the store twice", is())
		}
		ids[r.ID] = true
		if r.At < earliest {
			early = add(early, "%s came in after the verification %s, and says that it is of %s, before it", is(), previous.File, r.At)
		}
	}
	return altered, early
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

// isID reports whether a text is a record identifier.
func isID(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 32
}

// explain gives what would explain that the digest of a segment is not the verified one. The segment
// begins after the number before and ends with last. For new records last is 0 and through "".
func explain(kind *records.Kind, segment []records.Record, before, last int64, through string) (anomalies []string) {
	gap := func(next int64) {
		switch missing := next - before - 1; {
		case missing == 1:
			anomalies = add(anomalies, "%s number %d is gone", kind.Name, before+1)
		case missing > 1:
			anomalies = add(anomalies, "%ss number %d to %d are gone", kind.Name, before+1, next-1)
		}
	}
	for i := range segment {
		r := &segment[i]
		if r.Seq < 1 {
			anomalies = add(anomalies, "%s %s has the number %d, which no record gets", kind.Name, r.ID, r.Seq)
		}
		gap(r.Seq)
		before = max(r.Seq, 0)
		if !isID(r.ID) {
			anomalies = add(anomalies, "%s number %d has the record_id %.64q, which is not one", kind.Name, r.Seq, r.ID)
		}
		if through != "" && r.At > through {
			anomalies = add(anomalies, "%s %s (number %d) is of %s, after the verification", kind.Name, r.ID, r.Seq, r.At)
		}
	}
	if last > 0 {
		gap(last + 1)
	}
	return anomalies
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
