package records

import (
	"context"
	"fmt"
	"slices"

	"anteroom/edge/turn"
)

// Erased is how much was erased of a record.
type Erased struct {
	Contacts int64 // rows of the contacts, 0 or 1
	Messages int64 // rows of the outbox
	// Digests are the Message-IDs of the messages to the operator that held the address, if the outbox
	// knows them.
	Digests []string
}

// WithAddress gives the records that an e-mail address was given with, and the number of
// registrations and charters that have it as their very name, in whatever case. Names are never
// erased: their commitments are public.
func WithAddress(ctx context.Context, r Reader, address string) (recordIDs []string, named int64, err error) {
	rows, err := r.Read(ctx,
		turn.Statement{SQL: "SELECT record_id FROM contacts WHERE lower(address) = lower(?)", Args: []any{address}},
		turn.Statement{SQL: "SELECT record_id FROM outbox WHERE lower(json_extract(payload, '$.address')) = lower(?)", Args: []any{address}},
		turn.Statement{
			SQL: "SELECT (SELECT count(*) FROM registrations WHERE lower(agent_name) = lower(?)) + " +
				"(SELECT count(*) FROM charters WHERE lower(org_name) = lower(?) OR lower(commissioner) = lower(?))",
			Args: []any{address, address, address},
		},
	)
	if err != nil {
		return nil, 0, fmt.Errorf("find an address: %w", err)
	}
	for _, row := range slices.Concat(rows[:2]...) {
		id, _ := row[0].(string)
		recordIDs = append(recordIDs, id)
	}
	named, _ = rows[2][0][0].(int64)
	return recordIDs, named, nil
}

// Erase erases the e-mail addresses that were given with records, from the contacts and from the
// outbox, and says for each record what there was. If address is not "", it also erases what was
// observed of clients with that address in their name, and says how many rows that were. All is one
// transaction. The registration or charter itself stays: its commitment is public. A message that
// is being sent meanwhile is not called back.
//
// Erase ends with Store.Vacuum, even if it found no address: Vacuum may have failed in
// a former call. If Vacuum fails, Erase gives both what it erased and the error.
func Erase(ctx context.Context, s Store, address string, recordIDs ...string) (erased []Erased, observed int64, err error) {
	erase := []turn.Statement{{
		SQL: "DELETE FROM observed WHERE ? <> '' AND instr(lower(client), lower(?)) > 0", Args: []any{address, address},
	}}
	var sent []turn.Statement
	for _, id := range recordIDs {
		erase = append(erase, Erasure(id)...)
		sent = append(sent, turn.Statement{
			SQL:  "SELECT coalesce(digest, lease) FROM outbox WHERE record_id = ? AND coalesce(digest, lease) IS NOT NULL",
			Args: []any{id},
		})
	}
	digests, err := s.Read(ctx, sent...)
	if err != nil {
		return nil, 0, fmt.Errorf("erase records: %w", err)
	}
	changes, err := s.Write(ctx, erase...)
	if err != nil {
		return nil, 0, fmt.Errorf("erase records: %w", err)
	}
	erased = make([]Erased, len(recordIDs))
	for i := range erased {
		erased[i] = Erased{Contacts: changes[1+2*i], Messages: changes[2+2*i]}
		for _, row := range digests[i] {
			id, _ := row[0].(string)
			erased[i].Digests = append(erased[i].Digests, id)
		}
	}
	return erased, changes[0], s.Vacuum(ctx)
}

// Erasure gives the statements that erase the address of a record.
func Erasure(recordID string) []turn.Statement {
	return []turn.Statement{
		{SQL: "DELETE FROM contacts WHERE record_id = ?", Args: []any{recordID}},
		{SQL: "DELETE FROM outbox WHERE record_id = ?", Args: []any{recordID}},
	}
}

const revive = "UPDATE outbox SET state = 'pending', tries = 0, next_try_at = unixepoch(), lease = NULL, digest = NULL " +
	"WHERE state = 'dead'"

// Revive makes the dead messages of the given records pending again, due at once and with no tries;
// without records all of them. It does so in one transaction, and says how many there were of each
// record, or of all.
func Revive(ctx context.Context, s Store, recordIDs ...string) ([]int64, error) {
	statements := []turn.Statement{{SQL: revive}}
	if len(recordIDs) > 0 {
		statements = nil
	}
	for _, id := range recordIDs {
		statements = append(statements, turn.Statement{SQL: revive + " AND record_id = ?", Args: []any{id}})
	}
	changes, err := s.Write(ctx, statements...)
	if err != nil {
		return nil, fmt.Errorf("revive messages: %w", err)
	}
	return changes, nil
}
