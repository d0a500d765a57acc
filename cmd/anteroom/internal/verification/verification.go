// Package verification makes hand verifications. A verification takes everything that was recorded
// since the last one, has the operator decide about it, and writes a file of these decisions and a
// board with the counts that follow from them.
//
// # The walk
//
//	Survey   reads the store and the content once and compares them: a Pending (scan.go, survey.go)
//	Template writes a YAML file that lists what is new and proposes decisions (template.go)
//	Edit     opens it in an editor until its answers are accepted (editor.go, answers.go)
//	Decide   applies the answers and makes the verification, its board and its stage of the log:
//	         a Decided (decide.go, board.go, log.go)
//	summary  shows what was decided (summary.go)
//	Write    puts the files into the content folder, all or none (write.go)
//
// Run does all of it for the command, after it has compared the content with what is published
// (run.go). Audit compares a store with the verifications, and changes nothing.
//
// A record is a records.Record throughout, a Subject is the registrations of one agent or the
// charters of one org, an Answer is what the operator says, and a site.Decision is what is
// published. Whatever is wrong with answers is a Fault, which names its place in the file. To ask
// for something more, write it in Template, give Answers a member, and read that in Decide. To show
// something more, write it in summary.
//
// # What is covered
//
// A verification covers records by their sequence numbers: of each kind all up to a last one. A
// request gets its time when it arrives, and its number when it is committed. What was committed
// after a verification belongs to the next one by its number, even if its time is a little earlier.
//
// # Digests
//
// A verification has a digest for each kind of record: the SHA-256 of the digest in the
// verification before, a line feed, and a line for each new record in the order of numbers. The
// line is number, record_id, time and commitment (for a suggestion also its kind and filed_as) with
// spaces between, and ends with a line feed. With nothing new the digest stays. The digest before
// the first is the SHA-256 of nothing. So each digest covers all records up to its own, and each
// segment of records can be checked by itself.
//
// # Log
//
// If the content lists a key of a log, a verification also adds a stage to it (see package tlog).
// The log then counts what the board says, or Decide fails.
package verification

import (
	"context"

	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// Audited is how a store compares with the verifications.
type Audited struct {
	Changed []string // what is gone, was changed, or is not as a host records it
	Early   []string // new records of a time that was verified already
	Notes   []string // such records that a verification covers: the operator was warned of them then
	Own     []string // what was counted before own_names had its name
}

// Audit checks every verification of a site against the store.
func Audit(ctx context.Context, r records.Reader, s *site.Site) (*Audited, error) {
	p := newPending(s)
	if err := p.compare(ctx, r, Scope{}); err != nil {
		return nil, err
	}
	a := &Audited{Changed: p.Broken}
	for _, found := range p.kinds {
		_, own := p.nowOwn(found)
		a.Changed, a.Early = append(a.Changed, found.altered...), append(a.Early, found.early...)
		a.Notes, a.Own = append(a.Notes, found.notes...), append(a.Own, own...)
	}
	return a, nil
}

// since gives the verifications whose coverage is checked against the store: those since records
// were last lost for good.
func since(all []site.Verification) []site.Verification {
	for i := len(all) - 1; i > 0; i-- {
		if all[i].Lost != "" {
			return all[i:]
		}
	}
	return all
}
