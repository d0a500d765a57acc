package verification

import (
	"context"

	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

type Decisions struct {
	named map[string]site.Decided
	all   []site.Verification
}

// DecisionsOf returns the decisions about the records of a store. After an error there are none.
func DecisionsOf(ctx context.Context, r records.Reader, s *site.Site) (d Decisions, err error) {
	if _, err = Measure(ctx, r, s, false); err == nil {
		err = records.Behind(ctx, r, s.Segments())
	}
	if err != nil {
		return d, err
	}
	return Decisions{s.Ledger().Entries(), s.SinceLoss()}, nil
}

// About returns the decision about a record, and its board. Both are "" for a record that no
// verification covers.
func (d *Decisions) About(kind string, seq int64, id, commitment string) (decision, board string) {
	if e, is := d.named[site.RecordHash(kind, id, commitment)]; is {
		return e.Decision, e.File
	}
	for i := range d.all {
		if seq <= int64(d.all[i].Covers(kind).Last) {
			return site.Choices[kind][0], d.all[i].File
		}
	}
	return "", ""
}
