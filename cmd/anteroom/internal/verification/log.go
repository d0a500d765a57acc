package verification

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"anteroom/edge/store/records"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"golang.org/x/mod/sumdb/note"
)

// Logged is the log of a site with the stage of a new verification.
type Logged struct {
	Log               *tlog.Log
	Added             int64  // entries of the stage
	Lines, Checkpoint []byte // of the stage, as the content has them
}

// log appends a verification to a copy of the site's log. board is the new board, and document what is
// published of it. The error says where the log would count otherwise than the board.
func (p *Pending) log(d *Decided, board *site.Scoreboard, document []byte, signer note.Signer) (*Logged, error) {
	entries, err := p.entries(d, signer.Name())
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	log := p.Site.Log.Clone()
	entries = append(entries, tlog.VerificationOf(p.Name, board.AsOf, document))
	lines, checkpoint, err := log.Append(p.Name, entries, signer)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	if is, want := log.Current().Entry.Counts, board.Logged(); is != want {
		logged, shown := is.Unlike(want)
		return nil, fmt.Errorf("verify: the log would count %s, and the board %s "+
			"(run anteroom records audit, and bring back content/log from git)", logged, shown)
	}
	return &Logged{log, log.Size() - p.Site.Log.Size(), lines, checkpoint}, nil
}

// entries gives what a verification adds to the site's log under a key of some name, all but the entry of
// the verification itself: new records kind by kind as they were recorded, corrections of records that
// count otherwise now, those of records that are gone, agents that are vouched for for the first time, and
// corrections of those that are no longer vouched for, or again. The first stage of a log has all records.
func (p *Pending) entries(d *Decided, origin string) ([]tlog.Entry, error) {
	m := &stageMaker{log: p.Site.Log, next: p.Site.Log.Next(origin), wanted: map[string]bool{}}
	lost := d.Verification.Lost != ""
	whole := m.log.Current() == nil || lost
	for i := range records.Kinds {
		kind, lists := &records.Kinds[i], [][]records.Record{p.kinds[i].fresh}
		if whole {
			lists = [][]records.Record{p.kinds[i].covered, p.kinds[i].fresh}
		}
		ids := map[string]bool{}
		for _, list := range lists {
			for k := range list {
				r := &list[k]
				if ids[r.ID] || !isID(r.ID) {
					return nil, fmt.Errorf("two %ss have the same record_id, or one has none, and the log could not tell them apart "+
						"(run anteroom records audit, which names them)", kind.Name)
				}
				ids[r.ID] = true
				m.entries = append(m.entries, tlog.Entry{Kind: countsAs(d.ledger, kind, r.ID), Hash: hashOf(kind.Name, r.ID, r.SHA256)})
			}
		}
	}
	if m.log.Current() != nil {
		for i := range m.entries {
			m.wanted[m.entries[i].Hash] = true
		}
	}
	var earlier []tlog.Entry // what is decided otherwise, as it counts from now on
	for i := range d.Verification.Decisions {
		decision := &d.Verification.Decisions[i]
		if whole || decision.Corrects == "" {
			continue
		}
		list, _ := decision.List()
		for _, r := range list {
			as := decision.Kind
			if decision.Decision == site.Own {
				as = tlog.Own
			}
			earlier = append(earlier, tlog.Entry{Kind: as, Hash: hashOf(decision.Kind, r.ID, r.SHA256)})
			m.wanted[earlier[len(earlier)-1].Hash] = true
		}
	}
	agents := m.agents(d.ledger)
	m.found = m.log.Find(m.wanted)
	if err := m.records(whole, earlier); err != nil {
		return nil, err
	}
	if lost {
		m.gone()
	}
	return m.entries, m.vouched(agents)
}

// countsAs is the kind of entry that a record counts as.
func countsAs(ledger *site.Ledger, kind *records.Kind, id string) string {
	if e := ledger.Entries()[id]; e.Kind == kind.Name && e.Decision == site.Own {
		return tlog.Own
	}
	return kind.Name
}

// hashOf is the hash by which the log names a record.
func hashOf(kind, id, commitment string) string {
	if kind == site.Suggestion {
		commitment = "" // that of its text, which no answer has
	}
	return tlog.RecordHash(id, commitment)
}

// stageMaker makes the entries of a stage.
type stageMaker struct {
	log     *tlog.Log
	next    int64 // index of the first entry
	entries []tlog.Entry
	wanted  map[string]bool  // hashes of records whose entries are looked for
	found   map[string]int64 // their indexes
}

// records leaves those of the entries that are not in the log yet, and adds corrections of the
// others and of earlier ones. Where not all records were read, none of the entries is in the log.
func (m *stageMaker) records(whole bool, earlier []tlog.Entry) error {
	read := m.entries
	m.entries = m.entries[:0]
	for _, e := range read {
		if at, logged := m.found[e.Hash]; !logged {
			if m.wanted[e.Hash] {
				m.found[e.Hash] = m.next + int64(len(m.entries))
			}
			m.entries = append(m.entries, e)
		} else if !whole || at >= m.next {
			return fmt.Errorf("a new record has the record_id and the commitment of entry %d of the log (run anteroom records audit)", at)
		} else {
			earlier = append(earlier, e)
		}
	}
	var corrections []tlog.Entry
	for _, e := range earlier {
		at, logged := m.found[e.Hash]
		if !logged {
			return fmt.Errorf("the log has no entry %s, of a record that was verified (bring back content/log from git)", e.Hash)
		}
		if m.log.CountsAs(at) != e.Kind {
			corrections = append(corrections, tlog.Entry{Kind: tlog.Correction, Index: at, To: e.Kind})
		}
	}
	m.addSorted(corrections)
	return nil
}

// gone corrects what the log counts and the store has no more. All records of the store are wanted.
func (m *stageMaker) gone() {
	for at := range m.log.Size() {
		if m.log.IsRecordAt(at) && m.log.CountsAs(at) != tlog.None && !m.wanted[m.log.HashAt(at)] {
			m.entries = append(m.entries, tlog.Entry{Kind: tlog.Correction, Index: at, To: tlog.None})
		}
	}
}

// agents gives the hashes of registrations by which each agent can be told that is vouched for: the
// one by which it is known or, where that is gone, all that are vouched for. They become wanted.
func (m *stageMaker) agents(ledger *site.Ledger) [][]string {
	entries, of := ledger.Entries(), map[string][]string{}
	for id, e := range entries {
		if e.Decision != site.Vouch {
			continue
		}
		if known, there := entries[e.Agent]; !there {
			of[e.Agent] = append(of[e.Agent], hashOf(e.Kind, id, e.SHA256))
		} else if of[e.Agent] == nil {
			of[e.Agent] = []string{hashOf(known.Kind, e.Agent, known.SHA256)}
		}
	}
	for _, hashes := range of {
		for _, hash := range hashes {
			m.wanted[hash] = true
		}
	}
	// Who is known by one registration comes before whoever can be told by several.
	return slices.SortedFunc(maps.Values(of), func(a, b []string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a[0], b[0])) })
}

// vouched adds the entries about agents.
func (m *stageMaker) vouched(agents [][]string) error {
	now := map[int64]bool{} // by the registrations that tell them
	for _, hashes := range agents {
		least := int64(-1)
		for _, hash := range hashes {
			if at, logged := m.found[hash]; logged && !now[at] && (least < 0 || at < least) {
				least = at
			}
		}
		if least < 0 {
			return fmt.Errorf("the log has no entry %s, of a registration that is vouched for (bring back content/log from git)", hashes[0])
		}
		now[least] = true
	}
	at := m.log.VouchedAt()
	for _, registration := range slices.Sorted(maps.Keys(now)) {
		if _, logged := at[registration]; !logged {
			m.entries = append(m.entries, tlog.Entry{Kind: tlog.Vouched, Index: registration})
		}
	}
	var corrections []tlog.Entry
	for registration, entry := range at {
		as := tlog.None
		if now[registration] {
			as = tlog.Vouched
		}
		if m.log.CountsAs(entry) != as {
			corrections = append(corrections, tlog.Entry{Kind: tlog.Correction, Index: entry, To: as})
		}
	}
	m.addSorted(corrections)
	return nil
}

// addSorted adds corrections in the order of what they correct.
func (m *stageMaker) addSorted(corrections []tlog.Entry) {
	slices.SortFunc(corrections, func(a, b tlog.Entry) int { return cmp.Compare(a.Index, b.Index) })
	m.entries = append(m.entries, corrections...)
}
