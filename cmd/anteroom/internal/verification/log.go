package verification

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"anteroom/generator/contract"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"golang.org/x/mod/sumdb/note"
)

// logged is the log of a site with the stage of a new verification.
type logged struct {
	log               *tlog.Log
	added             []tlog.Entry // entries of the stage
	lines, checkpoint []byte       // of the stage, as the content has them
}

func (v *survey) appendLog(d *decided, board *site.Scoreboard, signer note.Signer) (*logged, error) {
	s := &stage{log: v.site.Log, next: v.site.Log.Size(), logged: v.site.Log.Records()}
	err := s.records(v, d)
	if err == nil {
		err = s.vouched(d.ledger)
	}
	log := v.site.Log.Clone()
	var lines, checkpoint []byte
	if err == nil {
		e := tlog.VerificationOf(v.name, board.AsOf, contract.BoardDocument(board))
		e.ReceiptKeys = v.site.Service.InForce()
		s.entries = append(s.entries, e)
		lines, checkpoint, err = log.Append(v.name, s.entries, signer)
	}
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	counts := log.Counts()
	for _, logged := range counts.Places() {
		if is := board.Number(logged.Place); is != logged.N {
			return nil, fmt.Errorf("verify: the log would count %d as %s, the board %d "+
				"(run anteroom records audit, and bring back content/log from git)", logged.N, logged.Place, is)
		}
	}
	return &logged{log, s.entries, lines, checkpoint}, nil
}

// stage makes the entries of a stage: new records kind by kind in recorded order, corrections of
// records that now count differently or are gone, and entries about agents.
type stage struct {
	log         *tlog.Log
	next        int64            // index of the first entry
	entries     []tlog.Entry     // of the stage so far
	logged      map[string]int64 // the entries of records, of the stage too, by hashes
	corrections []tlog.Entry     // which endCorrections adds to the entries
}

func (s *stage) records(v *survey, d *decided) error {
	lost, stored := d.verification.Lost != "", map[string]bool{}
	for _, k := range v.kinds {
		ids := map[string]bool{}
		for _, r := range slices.Concat(k.old, k.fresh) {
			if ids[r.ID] || !isID(r.ID) {
				return fmt.Errorf("a %s has an invalid or duplicate record_id, which the log cannot name (run anteroom "+
					"records audit)", k.kind.Name)
			}
			ids[r.ID], stored[r.hash] = true, true
			as, fresh := k.kind.Name, r.by == ""
			if d.ledger.Entries()[r.hash].Decision == site.Own {
				as = tlog.Own
			}
			switch at, logged := s.logged[r.hash]; {
			case logged && (at >= s.next || fresh && !lost):
				return fmt.Errorf("a new record has the record_id and the commitment of entry %d of the log (run "+
					"anteroom records audit)", at)
			case logged:
				s.correct(at, as)
			case fresh || lost || s.log.Current() == nil:
				s.logged[r.hash] = s.next + int64(len(s.entries))
				s.entries = append(s.entries, tlog.Entry{Kind: as, Hash: r.hash})
			default:
				return fmt.Errorf("entry %s, a verified record, is missing from the log "+
					"(bring back content/log from git)", r.hash)
			}
		}
	}
	s.endCorrections()
	for hash, at := range s.logged {
		if lost && !stored[hash] {
			s.correct(at, tlog.None)
		}
	}
	s.endCorrections()
	return nil
}

// vouched adds entries about newly vouched agents, and corrections of agents that are no longer, or
// once more, vouched for. An agent is identified by the registration it is known by or, if that is
// gone or own, by its first vouched one.
func (s *stage) vouched(ledger *site.Ledger) error {
	entries, first := ledger.Entries(), map[string]int64{} // entries of registrations, by agents
	for hash, e := range entries {
		if e.Decision != site.Vouch {
			continue
		}
		if known, exists := entries[e.Agent]; exists && known.Decision != site.Own {
			hash = e.Agent
		}
		at, logged := s.logged[hash]
		if !logged {
			return fmt.Errorf("entry %s, a vouched registration, is missing from the log "+
				"(bring back content/log from git)", hash)
		}
		if before, exists := first[e.Agent]; !exists || at < before {
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
	s.endCorrections()
	return nil
}

func (s *stage) correct(at int64, as string) {
	if s.log.CountsAs(at) != as {
		s.corrections = append(s.corrections, tlog.Entry{Kind: tlog.Correction, Index: at, To: as})
	}
}

func (s *stage) endCorrections() {
	slices.SortFunc(s.corrections, func(a, b tlog.Entry) int { return cmp.Compare(a.Index, b.Index) })
	s.entries, s.corrections = append(s.entries, s.corrections...), nil
}
