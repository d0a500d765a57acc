// Package verification makes hand verifications: the operator decides about every record made since
// the last one, and a file of these decisions and a board with the counts that follow are written.
//
//	newSurvey reads the store and the content once and compares them (survey.go, scan.go)
//	template  writes a YAML file that lists the new records and proposes decisions (template.go)
//	edit      opens it in an editor until its answers are accepted (editor.go, answers.go)
//	decide    makes verification, board and log stage (decide.go, board.go, told.go, log.go)
//	write     puts the files into the content folder (write.go)
//
// Audit compares a store with the verifications, and changes nothing.
//
// # Coverage
//
// A verification covers records by their sequence numbers: of each kind all up to a last one. A
// request gets its time when it arrives, and its number when it is committed. A record committed
// after a verification belongs to the next one by its number, even if its time is a little earlier.
//
// # Digests
//
// A verification has a digest for each kind of record: the SHA-256 of the previous verification's
// digest, a line feed, and a line for each new record in the order of numbers. The line is number,
// record_id, time and commitment (for a suggestion also its kind and filed_as) with spaces between,
// and ends with a line feed. Without new records the digest stays. The digest before the first is
// the SHA-256 of nothing. So each digest covers all records up to its own, and each segment of
// records can be checked by itself.
package verification

import (
	"context"

	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

type Audited struct {
	Verifications int      `json:"verifications"`
	Changed       []string `json:"changed"` // verified records that are gone or changed, and records no host writes
	Early         []string `json:"early"`   // new records whose time was verified already
	Notes         []string `json:"notes"`   // such records that a verification covers: the operator was warned of them then
	Own           []string `json:"own"`     // records counted before own_names had their names
}

func Audit(ctx context.Context, r records.Reader, s *site.Site) (*Audited, error) {
	v := surveyOf(s)
	if err := v.compare(ctx, r, scope{}); err != nil {
		return nil, err
	}
	a := &Audited{len(s.Verifications), append([]string{}, v.broken...), []string{}, []string{}, []string{}}
	for _, k := range v.kinds {
		_, own := v.nowOwn(k)
		a.Changed, a.Early = append(a.Changed, k.altered...), append(a.Early, k.early...)
		a.Notes, a.Own = append(a.Notes, k.notes...), append(a.Own, own...)
	}
	return a, nil
}
