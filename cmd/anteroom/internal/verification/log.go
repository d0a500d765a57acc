package verification

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"golang.org/x/mod/sumdb/note"
)

// Logged is the log of a site with the stage of a new verification.
type Logged struct {
	Log               *tlog.Log
	Added             []tlog.Entry // entries of the stage
	Lines, Checkpoint []byte       // of the stage, as the content has them
}

// String says how many entries of each kind are new: "2 registrations, 1 vouched, 1 verification".
func (l *Logged) String() string {
	var kinds []string
	n := map[string]int{}
	for _, e := range l.Added {
		if n[e.Kind]++; n[e.Kind] == 1 {
			kinds = append(kinds, e.Kind)
		}
	}
	for i, kind := range kinds {
		switch kind {
		case tlog.Previous:
			kinds[i] = "the end of the tree before"
		case tlog.Own, tlog.Vouched: // not nouns
			kinds[i] = fmt.Sprintf("%d %s", n[kind], kind)
		default:
			kinds[i] = cli.Plural(n[kind], kind)
		}
	}
	return strings.Join(kinds, ", ")
}

// log appends a verification to a copy of the site's log. board is the new board, and document what
// is published of it. The error says where the log would count otherwise than the board.
func (p *Pending) log(d *Decided, board *site.Scoreboard, document []byte, signer note.Signer) (*Logged, error) {
	s := &stage{log: p.Site.Log, next: p.Site.Log.Next(signer.Name()), logged: map[string]int64{}}
	err := s.records(p, d)
	if err == nil {
		err = s.vouched(d.ledger)
	}
	log := p.Site.Log.Clone()
	var lines, checkpoint []byte
	if err == nil {
		e := tlog.VerificationOf(p.Name, board.AsOf, document)
		e.ReceiptKeys, e.ManifestSHA256 = p.Site.Service.InForce(), p.manifest
		s.entries = append(s.entries, e)
		lines, checkpoint, err = log.Append(p.Name, s.entries, signer)
		if log.Size()-p.Site.Log.Size() > int64(len(s.entries)) {
			s.entries = append([]tlog.Entry{{Kind: tlog.Previous}}, s.entries...)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	if is, want := log.Current().Entry.Counts, board.Logged(); is != want {
		logged, shown := is.Unlike(want)
		return nil, fmt.Errorf("verify: the log would count %s, and the board %s "+
			"(run anteroom records audit, and bring back content/log from git)", logged, shown)
	}
	return &Logged{log, s.entries, lines, checkpoint}, nil
}

// stage makes the entries of a stage: new records kind by kind as they were recorded, corrections
// of records that count otherwise now, of records that are gone, and entries about agents.
type stage struct {
	log         *tlog.Log
	next        int64            // index of the first entry
	entries     []tlog.Entry     // of the stage so far
	logged      map[string]int64 // the entries of records, of the stage too, by hashes
	corrections []tlog.Entry     // which sorted adds to the entries
}

// records adds what the log does not have of the records of a store, or counts otherwise.
func (s *stage) records(p *Pending, d *Decided) error {
	for at := range s.log.Size() {
		if s.log.IsRecordAt(at) {
			s.logged[s.log.HashAt(at)] = at
		}
	}
	decided, lost, stored := d.ledger.Entries(), d.Verification.Lost != "", map[string]bool{}
	for _, found := range p.kinds {
		kind, ids := found.kind.Name, map[string]bool{}
		for _, list := range [][]Row{found.old, found.new} {
			for k := range list {
				r := &list[k]
				if ids[r.ID] || !isID(r.ID) {
					return fmt.Errorf("two %ss have the same record_id, or one has none, and the log could not tell them apart "+
						"(run anteroom records audit, which names them)", kind)
				}
				ids[r.ID] = true
				as, hash, fresh := kind, r.hash, r.by == ""
				if decided[hash].Decision == site.Own {
					as = tlog.Own
				}
				stored[hash] = true
				switch at, logged := s.logged[hash]; {
				case logged && (at >= s.next || fresh && !lost):
					return fmt.Errorf("a new record has the record_id and the commitment of entry %d of the log (run anteroom records audit)", at)
				case logged:
					s.correct(at, as)
				case fresh || lost || s.log.Current() == nil:
					s.logged[hash] = s.next + int64(len(s.entries))
					s.entries = append(s.entries, tlog.Entry{Kind: as, Hash: hash})
				default:
					return fmt.Errorf("the log has no entry %s, of a record that was verified (bring back content/log from git)", hash)
				}
			}
		}
	}
	s.sorted()
	for hash, at := range s.logged {
		if lost && !stored[hash] {
			s.correct(at, tlog.None)
		}
	}
	s.sorted()
	return nil
}

// vouched adds entries about agents that are vouched for for the first time, and corrections of
// those that are no longer vouched for, or again. An agent is identified by the registration by
// which it is known or, if that is gone or own, by the first of all that are vouched for.
func (s *stage) vouched(ledger *site.Ledger) error {
	entries, first := ledger.Entries(), map[string]int64{} // the registrations that identify agents, by these
	for hash, e := range entries {
		if e.Decision != site.Vouch {
			continue
		}
		if known, there := entries[e.Agent]; there && known.Decision != site.Own {
			hash = e.Agent
		}
		at, logged := s.logged[hash]
		if !logged {
			return fmt.Errorf("the log has no entry %s, of a registration that is vouched for (bring back content/log from git)", hash)
		}
		if before, there := first[e.Agent]; !there || at < before {
			first[e.Agent] = at
		}
	}
	now := map[int64]bool{}
	for _, registration := range first {
		now[registration] = true
	}
	at := s.log.VouchedAt()
	for _, registration := range slices.Sorted(maps.Keys(now)) {
		if _, logged := at[registration]; !logged {
			s.entries = append(s.entries, tlog.Entry{Kind: tlog.Vouched, Index: registration})
		}
	}
	for registration, entry := range at {
		as := tlog.None
		if now[registration] {
			as = tlog.Vouched
		}
		s.correct(entry, as)
	}
	s.sorted()
	return nil
}

func (s *stage) correct(at int64, as string) {
	if s.log.CountsAs(at) != as {
		s.corrections = append(s.corrections, tlog.Entry{Kind: tlog.Correction, Index: at, To: as})
	}
}

// sorted adds the corrections in the order of what they correct.
func (s *stage) sorted() {
	slices.SortFunc(s.corrections, func(a, b tlog.Entry) int { return cmp.Compare(a.Index, b.Index) })
	s.entries, s.corrections = append(s.entries, s.corrections...), nil
}
