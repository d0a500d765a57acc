// Package verification makes hand verifications: it finds what a store of records holds that no
// verification has covered, turns the operator's decisions about it into the files that publish a
// verification, and checks what was published against the store ever after.
//
// Survey reads the store and the content once. Pending.Template writes the file in which an operator
// decides, Pending.Decide applies it, and Write puts the files of the result into the content folder.
//
// # What is covered
//
// A verification covers records by their sequence numbers: of each kind all up to a last one. Requests
// get their time when they arrive and their number when they are committed, so a write that was committed
// a little after its time belongs to the next verification, by its number, and is neither missed nor
// counted twice.
//
// # Digests
//
// A verification's digest of a kind of record is the SHA-256 of the digest in the verification before, a
// line feed, and a line for each record that is newly covered, in the order of their numbers: number,
// record_id, time and commitment with spaces between (for a suggestion its kind and filed_as too), and a
// line feed. With nothing new the digest stays. The digest before the first is the SHA-256 of nothing. So
// each digest covers all records up to its own, and each segment of records can be checked by itself.
//
// # Log
//
// If the content lists a key of a log, a verification also adds a stage to it: see Pending.entries and
// package tlog. The log then counts what the board says, or nothing is made.
package verification

import (
	"context"
	"fmt"

	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// since are the verifications whose coverage is checked against the store: those since records were last
// lost for good.
func since(all []site.Verification) []site.Verification {
	for i := len(all) - 1; i > 0; i-- {
		if all[i].Lost != "" {
			return all[i:]
		}
	}
	return all
}

// storeOf is the store that the verifications of a site are of, "" if none has looked at one.
func storeOf(s *site.Site) string {
	if n := len(s.Verifications); n > 0 {
		return s.Verifications[n-1].Store
	}
	return ""
}

// Audit checks every verification of a site against the store, and gives what is not as it was verified:
// records that are gone, were changed, or came in later under an earlier time. Notes are records of an
// earlier time that a verification covers: it was made after a warning about them.
func Audit(ctx context.Context, r records.Reader, s *site.Site) (findings, notes []string, err error) {
	extent, err := records.Measure(ctx, r, "", true, make([]int64, len(records.Kinds)))
	if err != nil {
		return nil, nil, err
	}
	if want := storeOf(s); want != "" && extent.Store != want {
		return nil, nil, fmt.Errorf("audit: this is store %s, and the verifications are of store %s "+
			"(name the right one with --data or --remote)", extent.Store, want)
	}
	ledger := s.Ledger()
	for i := range records.Kinds {
		list, err := records.Scan(ctx, r, &records.Kinds[i], extent.Last[i])
		if err != nil {
			return nil, nil, err
		}
		found := scan(&records.Kinds[i], list, extent.Last[i], since(s.Verifications), ledger)
		findings = append(append(findings, found.broken...), found.odd...)
		notes = append(notes, found.notes...)
	}
	return findings, notes, nil
}
