package verification

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"anteroom/edge/assets"
	"anteroom/edge/canon"
	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// lateness bounds the time from a record's own time to its commit. A request lasts a minute at
// most, and a store on the edge gives up after half a minute.
const lateness = 2 * time.Minute

// row is a record and its decision.
type row struct {
	*records.Record
	hash   string // by which verifications and the log name it
	by     string // the verification that covers it; "" for a new record
	was    string // the decision so far
	on     string // the verification that has it
	answer *answer
	place  string // of the answer
}

// subject is one agent, by its name or, without one, by its key; or the org of charters. All
// suggestions of a kind are one.
type subject struct {
	identity
	fresh, old []*row
	vouched    string // hash of the record that identifies a vouched agent
}

type identity struct {
	text     string
	nameless bool
}

func identityOf(kind string, r *records.Record) identity {
	if kind == site.Registration && r.Values[0] == "" {
		return identity{r.Values[1], true}
	}
	return identity{r.Values[0], false}
}

func (s *subject) records(earlier bool) []*row {
	switch {
	case s == nil:
		return nil
	case earlier:
		return s.old
	}
	return s.fresh
}

// scanned holds the records of a kind, compared with the verifications that cover them.
type scanned struct {
	kind       *records.Kind
	all        []*row // in the order of their numbers
	old, fresh []*row // those that a verification covers, and the others
	end        int64  // the last number; its record may be gone
	verified   site.Coverage
	gone       []string // hashes that a verification names, without a record
	lost       int      // how many verified records are gone

	broken  []string // differences from the verified records
	altered []string // records that do not match their commitments, and remarks about new ones
	early   []string // new records whose time was verified already
	notes   []string // such records that a verification covers

	byID     map[string]*row
	subjects []*subject // in the order of their first records
	by       map[identity]*subject
}

// scan compares the records of a kind, up to the number end, with verifications and their ledger.
// If through is not "", records are new up to the first one of a later time.
//
// If a segment does not have its verified digest, records are lost. Their numbers may be in use
// again: a store restored from a backup repeats them. So from such a segment on, a record with a
// time after the last verification is new.
func scan(
	kind *records.Kind, list []records.Record, end int64, through string,
	verifications []site.Verification, ledger *site.Ledger,
) *scanned {
	s := &scanned{
		kind: kind, end: end, verified: site.Coverage{SHA256: site.EmptyDigest},
		byID: make(map[string]*row, len(list)), by: map[identity]*subject{},
	}
	rows, named := make([]row, len(list)), map[string]bool{}
	for i := range list {
		rows[i] = row{
			Record: &list[i], hash: site.RecordHash(kind.Name, list[i].ID, list[i].SHA256),
			was: site.Choices[kind.Name][0],
		}
		s.all = append(s.all, &rows[i])
	}
	for hash, e := range ledger.Entries() {
		if e.Kind == kind.Name {
			named[hash] = true
		}
	}
	begin, from, doubtful, last := 0, 0, false, "" // new records are at from or later
	if n := len(verifications); n > 0 {
		last = verifications[n-1].Through
	}
	previous := &site.Verification{}
	for i := range verifications {
		v := &verifications[i]
		covered := *v.Covers(kind.Name)
		segment := s.all[begin:]
		segment = segment[:sort.Search(len(segment), func(n int) bool { return segment[n].Seq > int64(covered.Last) })]
		anomalies, early := s.inspect(segment, previous, v, last)
		s.notes = append(s.notes, early...)
		if got := cover(s.verified, segment, 0); got.SHA256 != covered.SHA256 || got.Total != covered.Total {
			doubtful = true
			if len(anomalies)+len(s.altered) == 0 {
				anomalies = []string{fmt.Sprintf("at least one of the %ss number %d to %d has changed", kind.Name,
					s.verified.Last+1, covered.Last)}
			}
			for _, anomaly := range anomalies {
				s.broken = append(s.broken, "verification "+v.File+": "+anomaly)
			}
		}
		for _, r := range segment {
			if !doubtful || r.At <= last {
				r.by = v.File
			}
		}
		begin, s.verified, previous = begin+len(segment), covered, v
		if !doubtful {
			from = begin
		}
	}
	cut := slices.IndexFunc(s.all[from:], func(r *row) bool { return r.At > through })
	if through != "" && cut >= 0 {
		s.end = s.all[from+cut].Seq - 1
		for _, r := range s.all[from+cut:] {
			delete(s.byID, r.ID)
		}
		s.all = s.all[:from+cut]
	}
	anomalies, early := s.inspect(s.all[min(begin, len(s.all)):], previous, nil, last)
	s.altered, s.early = append(s.altered, anomalies...), early
	for _, r := range s.all {
		delete(named, r.hash)
		if r.by == "" {
			s.fresh = append(s.fresh, r)
		} else {
			s.old = append(s.old, r)
		}
	}
	s.gone = slices.Sorted(maps.Keys(named))
	for _, hash := range s.gone {
		s.broken = append(s.broken, fmt.Sprintf("the verified %s with the hash %s is gone or was changed", kind.Name, hash))
	}
	if len(s.broken) > 0 {
		s.lost = max(1, len(s.gone), s.verified.Total-len(s.old))
	}
	s.group(ledger)
	return s
}

func (s *scanned) group(ledger *site.Ledger) {
	for _, r := range slices.Concat(s.old, s.fresh) {
		id := identityOf(s.kind.Name, r.Record)
		one := s.by[id]
		if one == nil {
			one = &subject{identity: id}
			s.by[id], s.subjects = one, append(s.subjects, one)
		}
		if r.by == "" {
			one.fresh = append(one.fresh, r)
			continue
		}
		one.old, r.on = append(one.old, r), r.by
		if e, decided := ledger.Entries()[r.hash]; decided {
			r.was, r.on, one.vouched = e.Decision, e.File, cmp.Or(e.Agent, one.vouched)
		}
	}
}

func cover(before site.Coverage, segment []*row, last int64) site.Coverage {
	c := site.Coverage{Last: max(before.Last, int(last)), Total: before.Total + len(segment), SHA256: before.SHA256}
	c.SHA256 = records.Digest(before.SHA256, len(segment), func(i int) string { return segment[i].Line })
	return c
}

// inspect looks at each record of a segment: those that the verification by covers after the
// previous one or, without by, the new ones. It adds records that do not match their commitments
// to altered. anomalies explain a digest that differs. early are records that the previous
// verification should have covered by their time. last is the time of the last verification.
func (s *scanned) inspect(segment []*row, previous, by *site.Verification, last string) (anomalies, early []string) {
	name, number, earliest := s.kind.Name, int64(s.verified.Last), ""
	if through, err := time.Parse(time.RFC3339, previous.Through); err == nil && previous.Store != "" {
		earliest = through.Add(-lateness).Format(time.RFC3339)
	}
	gap := func(next int64) {
		if next > number+1 {
			anomalies = add(anomalies, "%s gone", numbers(name, number+1, next-1, "is", "are"))
		}
	}
	var others []int64 // numbers that new records have
	for _, r := range segment {
		gap(r.Seq)
		number = max(r.Seq, 0)
		record := func() string { return fmt.Sprintf("%s %s (number %d)", name, r.ID, r.Seq) }
		if r.Seq < 1 {
			anomalies = add(anomalies, "%s %s has the number %d, want 1 or more", name, r.ID, r.Seq)
		}
		if !isID(r.ID) {
			anomalies = add(anomalies, "%s number %d: invalid record_id %.64q", name, r.Seq, r.ID)
		}
		if by != nil && r.At > last {
			others = append(others, r.Seq)
		}
		if !matchesCommitment(name, r.Record) {
			s.altered = add(s.altered, "%s was changed: its fields do not match its SHA-256", record())
		}
		if s.byID[r.ID] != nil {
			s.altered = add(s.altered, "%s: duplicate record_id", record())
		}
		s.byID[r.ID] = r
		if r.At < earliest {
			early = add(early, "%s arrived after verification %s but is dated %s", record(), previous.File, r.At)
		}
	}
	if n := len(others); n > 0 {
		anomalies = add(anomalies, "%s verified: the store was restored from before %s",
			numbers(name, others[0], others[n-1], "holds another record than was", "hold other records than were"), by.Through)
	}
	if by != nil {
		gap(int64(by.Covers(name).Last) + 1)
	}
	return anomalies, early
}

func numbers(kind string, from, to int64, one, several string) string {
	if from == to {
		return fmt.Sprintf("%s number %d %s", kind, from, one)
	}
	return fmt.Sprintf("%ss number %d to %d %s", kind, from, to, several)
}

func matchesCommitment(kind string, r *records.Record) bool {
	canonical := ""
	switch kind {
	case site.Registration:
		canonical = canon.Registration(r.Values[0], r.Values[1])
	case site.Charter:
		canonical = canon.Charter(r.Values[0], r.Values[1], r.Values[2])
	default:
		return true // the store has no texts
	}
	return assets.SumOf([]byte(canonical)) == r.SHA256
}

func isID(text string) bool { return len(text) == 32 && records.CheckID(text) == nil }

// maxAnomalies limits the anomalies of a segment. A wholly different store has millions.
const maxAnomalies = 1000

func add(list []string, format string, args ...any) []string {
	switch {
	case len(list) < maxAnomalies:
		list = append(list, fmt.Sprintf(format, args...))
	case len(list) == maxAnomalies:
		list = append(list, "and more of this kind")
	}
	return list
}
