package verification

import (
	"context"

	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// Decisions returns the decision about a record, and its board. Both are "" for a record
// that no verification covers.
type Decisions func(kind string, seq int64, id, commitment string) (decision, board string)

// DecisionsOf returns the decisions about the records of a store. After an error there are none.
func DecisionsOf(ctx context.Context, r records.Reader, s *site.Site) (Decisions, error) {
	named, all := s.Ledger().Entries(), sinceLoss(s.Verifications)
	extent, err := records.Measure(ctx, r, nil)
	if err == nil {
		err = Belongs(extent, s, false)
	}
	if err != nil {
		named, all = nil, nil
	}
	return func(kind string, seq int64, id, commitment string) (decision, board string) {
		if e, is := named[site.RecordHash(kind, id, commitment)]; is {
			return e.Decision, e.File
		}
		for i := range all {
			if seq <= int64(all[i].Covers(kind).Last) {
				return site.Choices[kind][0], all[i].File
			}
		}
		return "", ""
	}, err
}

// sinceLoss returns the verifications from the last one with which the coverage began again.
func sinceLoss(all []site.Verification) []site.Verification {
	for i := len(all) - 1; i > 0; i-- {
		if all[i].Lost != "" {
			return all[i:]
		}
	}
	return all
}
