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

// digest is the digest of a segment of records, after the digest of what is before it.
func digest(before string, segment []records.Record) string {
	if len(segment) == 0 {
		return before
	}
	hash := sha256.New()
	io.WriteString(hash, before+"\n")
	for i := range segment {
		io.WriteString(hash, segment[i].Line)
		io.WriteString(hash, "\n")
	}
	return hex.EncodeToString(hash.Sum(nil))
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

// isID reports whether a text is a record identifier.
func isID(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 32
}

// scanned is what the records of a kind are, compared with the verifications that cover them.
type scanned struct {
	coverage site.Coverage    // of a verification of all of them
	covered  []records.Record // by a verification
	fresh    []records.Record
	broken   []string      // what is not as it was verified
	odd      []string      // verified records that do not say what they committed to, and anomalies of new ones
	gone     []site.Record // that a verification has named, and that are missing or changed
	notes    []string      // anomalies that a verification covers: it was made after a warning about them
}

// maxAnomalies is how many anomalies of a segment are kept. A wholly different store has millions.
const maxAnomalies = 1000

// scan compares the records of a kind, up to the number last, with verifications and their ledger.
func scan(kind *records.Kind, list []records.Record, last int64, verifications []site.Verification, ledger *site.Ledger) *scanned {
	s := &scanned{}
	entries := map[string]site.Entry{}
	for id, e := range ledger.Entries() {
		if e.Kind == kind.Name {
			entries[id] = e
		}
	}
	ids := make(map[string]bool, len(list))
	before, altered, late := site.Coverage{SHA256: site.EmptyDigest}, []string(nil), earliest{}
	rest := list
	for i := range verifications {
		v := &verifications[i]
		covered := *v.Covers(kind.Name)
		n := sort.Search(len(rest), func(n int) bool { return rest[n].Seq > int64(covered.Last) })
		segment := rest[:n]
		rest = rest[n:]
		changed, strange := s.inspect(kind, segment, entries, ids, late)
		altered, s.notes = append(altered, changed...), append(s.notes, strange...)
		if digest(before.SHA256, segment) != covered.SHA256 || before.Total+len(segment) != covered.Total {
			anomalies := explain(kind, segment, int64(before.Last), int64(covered.Last), v.Through)
			if len(anomalies)+len(altered) == 0 {
				anomalies = []string{fmt.Sprintf("of the %ss number %d to %d at least one has changed", kind.Name, before.Last+1, covered.Last)}
			}
			for _, anomaly := range anomalies {
				s.broken = append(s.broken, "verification "+v.File+": "+anomaly)
			}
		}
		before, late = covered, earliestAfter(v)
	}
	s.covered, s.fresh = list[:len(list)-len(rest)], rest
	changed, strange := s.inspect(kind, rest, entries, ids, late)
	odd := append(append(explain(kind, rest, int64(before.Last), 0, ""), changed...), strange...)
	s.odd = append(altered, odd...)
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		s.broken = append(s.broken, fmt.Sprintf("%s %s is gone, which was verified", kind.Name, id))
		s.gone = append(s.gone, site.Record{ID: id, SHA256: entries[id].SHA256})
	}
	s.coverage = site.Coverage{Last: max(int(last), before.Last), Total: before.Total + len(rest), SHA256: digest(before.SHA256, rest)}
	if n := len(rest); n > 0 {
		s.coverage.Last = max(s.coverage.Last, int(rest[n-1].Seq))
	}
	return s
}

// earliest is the time before which no record may say that it came, after the verification file.
type earliest struct{ at, file string }

func earliestAfter(v *site.Verification) (after earliest) {
	if through, err := time.Parse(time.RFC3339, v.Through); err == nil && v.Store != "" {
		after.at, after.file = through.Add(-lateness).Format(time.RFC3339), v.File
	}
	return after
}

// inspect looks at each record of a segment by itself. Those named by a verification go out of entries.
// altered are records that do not say what they committed to, strange those that say they came earlier
// than is possible.
func (s *scanned) inspect(kind *records.Kind, segment []records.Record, entries map[string]site.Entry, ids map[string]bool,
	after earliest,
) (altered, strange []string) {
	for i := range segment {
		r := &segment[i]
		if e, named := entries[r.ID]; named {
			if delete(entries, r.ID); e.SHA256 != r.SHA256 {
				s.gone = append(s.gone, site.Record{ID: r.ID, SHA256: e.SHA256})
				s.broken = append(s.broken, fmt.Sprintf("%s %s (number %d) was changed: it was verified with the commitment %s",
					kind.Name, r.ID, r.Seq, e.SHA256))
			}
		}
		if is := commitment(kind, r); is != r.SHA256 && is != "" {
			altered = add(altered, "%s %s (number %d) was changed: its commitment is not that of what it says", kind.Name, r.ID, r.Seq)
		}
		if ids[r.ID] {
			altered = add(altered, "%s %s (number %d) is in the store twice", kind.Name, r.ID, r.Seq)
		}
		ids[r.ID] = true
		if r.At < after.at {
			strange = add(strange, "%s %s (number %d) came in after the verification %s, and says that it is of %s, before it",
				kind.Name, r.ID, r.Seq, after.file, r.At)
		}
	}
	return altered, strange
}

// explain gives the anomalies of a segment that would explain a digest other than the verified one. It
// begins after the number before and ends with last, 0 for the new records; through is "" for those.
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
