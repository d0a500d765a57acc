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
	s := &scanned{kind: kind, last: last, fresh: list, coverage: site.Coverage{SHA256: site.EmptyDigest}}
	unseen, ids := map[string]site.Entry{}, make(map[string]bool, len(list))
	for id, e := range ledger.Entries() {
		if e.Kind == kind.Name {
			unseen[id] = e
		}
	}
	var previous *site.Verification
	for i := range verifications {
		v := &verifications[i]
		before, covered := s.coverage, *v.Covers(kind.Name)
		n := sort.Search(len(s.fresh), func(n int) bool { return s.fresh[n].Seq > int64(covered.Last) })
		segment := s.fresh[:n]
		s.fresh = s.fresh[n:]
		anomalies, altered, early := s.inspect(segment, unseen, ids, previous, v)
		s.odd, s.notes = append(s.odd, altered...), append(s.notes, early...)
		if is := cover(before, segment, 0); is.SHA256 != covered.SHA256 || is.Total != covered.Total {
			if len(anomalies)+len(s.odd) == 0 {
				anomalies = []string{fmt.Sprintf("of the %ss number %d to %d at least one has changed", kind.Name, before.Last+1, covered.Last)}
			}
			for _, anomaly := range anomalies {
				s.broken = append(s.broken, "verification "+v.File+": "+anomaly)
			}
		}
		s.coverage, previous = covered, v
	}
	s.covered = list[:len(list)-len(s.fresh)]
	anomalies, altered, early := s.inspect(s.fresh, unseen, ids, previous, nil)
	s.odd = slices.Concat(s.odd, anomalies, altered, early)
	for _, id := range slices.Sorted(maps.Keys(unseen)) {
		s.broken = append(s.broken, fmt.Sprintf("%s %s is gone, which was verified", kind.Name, id))
		s.gone = append(s.gone, site.Record{ID: id, SHA256: unseen[id].SHA256})
	}
	s.coverage = cover(s.coverage, s.fresh, last)
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

// inspect looks at each record of a segment, and deletes it from unseen. The segment is what the
// verification by covers after previous; nil for none. anomalies are what would explain that its
// digest is not the verified one. altered are records that do not match their commitments. early
// are those that came in after previous with a time that it should have covered.
func (s *scanned) inspect(segment []records.Record, unseen map[string]site.Entry, ids map[string]bool, previous, by *site.Verification,
) (anomalies, altered, early []string) {
	name, number, earliest := s.kind.Name, int64(s.coverage.Last), ""
	if previous != nil && previous.Store != "" {
		if through, err := time.Parse(time.RFC3339, previous.Through); err == nil {
			earliest = through.Add(-lateness).Format(time.RFC3339)
		}
	}
	gap := func(next int64) {
		switch missing := next - number - 1; {
		case missing == 1:
			anomalies = add(anomalies, "%s number %d is gone", name, next-1)
		case missing > 1:
			anomalies = add(anomalies, "%ss number %d to %d are gone", name, number+1, next-1)
		}
	}
	for i := range segment {
		r := &segment[i]
		gap(r.Seq)
		number = max(r.Seq, 0)
		is := func() string { return fmt.Sprintf("%s %s (number %d)", name, r.ID, r.Seq) }
		if e, named := unseen[r.ID]; named {
			if delete(unseen, r.ID); e.SHA256 != r.SHA256 {
				s.gone = append(s.gone, site.Record{ID: r.ID, SHA256: e.SHA256})
				s.broken = append(s.broken, is()+" was changed: it was verified with the commitment "+e.SHA256)
			}
		}
		if r.Seq < 1 {
			anomalies = add(anomalies, "%s %s has the number %d, which no record gets", name, r.ID, r.Seq)
		}
		if !isID(r.ID) {
			anomalies = add(anomalies, "%s number %d has the record_id %.64q, which is not one", name, r.Seq, r.ID)
		}
		if by != nil && r.At > by.Through {
			anomalies = add(anomalies, "%s is of %s, after the verification", is(), r.At)
		}
		if !keeps(name, r) {
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
	if by != nil {
		gap(int64(by.Covers(name).Last) + 1)
	}
	return anomalies, altered, early
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
