package records

import (
	"fmt"

	"anteroom/edge/kernel"
	"anteroom/edge/native/sqlite"
)

// Erased is how much was erased of a record.
type Erased struct {
	Contacts int64 // rows of the contacts, 0 or 1
	Messages int64 // rows of the outbox
}

// Erase erases the e-mail addresses that were given with records, from the contacts and from the
// outbox, in one transaction, and says for each record what there was. The registration or charter
// itself stays: its commitment is public. A message that is being sent meanwhile is not called
// back.
//
// Erase ends with sqlite.Store.Rewrite, also where it found no address: Rewrite may have failed in
// a former call. Where Rewrite fails, Erase gives both what it erased and the error.
func Erase(s *sqlite.Store, recordIDs ...string) ([]Erased, error) {
	erase := kernel.Exec{}
	for _, id := range recordIDs {
		erase.Statements = append(erase.Statements,
			kernel.Statement{SQL: "DELETE FROM contacts WHERE record_id = ?", Args: []any{id}},
			kernel.Statement{SQL: "DELETE FROM outbox WHERE record_id = ?", Args: []any{id}})
	}
	result := s.Exec(erase)
	if result.Failure != kernel.None {
		return nil, fmt.Errorf("erase records: %w", failed(result.Failure))
	}
	erased := make([]Erased, len(recordIDs))
	for i := range erased {
		erased[i] = Erased{result.Changes[2*i], result.Changes[2*i+1]}
	}
	return erased, s.Rewrite()
}

const revive = "UPDATE outbox SET state = 'pending', tries = 0, next_try_at = unixepoch(), lease = NULL, lease_until = 0, digest = NULL WHERE state = 'dead'"

// Revive makes the dead messages of the given records pending again, due at once and with no tries.
// It does so in one transaction, and says how many there were of each record.
func Revive(s *sqlite.Store, recordIDs ...string) ([]int64, error) {
	all := kernel.Exec{}
	for _, id := range recordIDs {
		all.Statements = append(all.Statements, kernel.Statement{SQL: revive + " AND record_id = ?", Args: []any{id}})
	}
	return reviveIn(s, all)
}

// ReviveAll is Revive for every dead message. It says how many there were.
func ReviveAll(s *sqlite.Store) (int64, error) {
	revived, err := reviveIn(s, kernel.Exec{Statements: []kernel.Statement{{SQL: revive}}})
	if err != nil {
		return 0, err
	}
	return revived[0], nil
}

func reviveIn(s *sqlite.Store, exec kernel.Exec) ([]int64, error) {
	result := s.Exec(exec)
	if result.Failure != kernel.None {
		return nil, fmt.Errorf("revive messages: %w", failed(result.Failure))
	}
	return result.Changes, nil
}

// failed is the error of an Exec that failed.
func failed(f kernel.Failure) error {
	return fmt.Errorf("the database did not do it: %s (the log says why)", f)
}
