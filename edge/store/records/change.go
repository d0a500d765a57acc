package records

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"anteroom/edge/turn"
)

// Erased counts the erased rows of a record.
type Erased struct {
	Contacts int64    // 0 or 1
	Messages int64    // of the outbox
	Digests  []string // known Message-IDs of messages to the operator that had the address
}

// WithAddress returns the records with an e-mail address, and the number of registrations and
// charters that have it as a name, which is never erased. Case is ignored.
func WithAddress(ctx context.Context, r Reader, address string) (recordIDs []string, named int64, err error) {
	rows, err := r.Read(ctx,
		turn.SQL("SELECT record_id FROM contacts WHERE lower(address) = lower(?)", address),
		turn.SQL("SELECT record_id FROM outbox WHERE lower(json_extract(payload, '$.address')) = lower(?)", address),
		turn.SQL("SELECT (SELECT count(*) FROM registrations WHERE lower(agent_name) = lower(?)) + "+
			"(SELECT count(*) FROM charters WHERE lower(org_name) = lower(?) OR lower(commissioner) = lower(?))",
			address, address, address),
	)
	if err != nil {
		return nil, 0, fmt.Errorf("find an address: %w", err)
	}
	for _, row := range slices.Concat(rows[:2]...) {
		recordIDs = append(recordIDs, turn.Text(row[0]))
	}
	return recordIDs, turn.Integer(rows[2][0][0]), nil
}

// Erase deletes the e-mail addresses of records from the contacts and the outbox, and notes the
// records as erased. Registrations and charters stay: their commitments are public. If address is
// not "", Erase also deletes observed clients with it in their name, and returns the number of
// their rows. A message that is being sent is not recalled. Traces remain until Store.Forget.
//
// Accepts: other writers wait meanwhile, for about a second if thousands of records have the
// address.
func Erase(
	ctx context.Context, s Store, address string, recordIDs ...string,
) (erased []Erased, observed int64, err error) {
	const of = " WHERE record_id = json_each.value)"
	found, err := s.Read(ctx, turn.SQL("SELECT (SELECT count(*) FROM contacts"+of+", (SELECT count(*) FROM outbox"+of+
		", (SELECT group_concat(digest, ' ') FROM outbox"+of+" FROM json_each(?) ORDER BY key", jsonList(recordIDs)))
	if err != nil {
		return nil, 0, fmt.Errorf("erase records: %w", err)
	}
	const client = "? <> '' AND instr(lower(client), lower(?)) > 0"
	changes, err := s.Write(ctx, append(Erasure(recordIDs...), addErased(recordIDs),
		turn.SQL("DELETE FROM observed WHERE "+client, address, address))...)
	if err != nil {
		return nil, 0, fmt.Errorf("erase records: %w", err)
	}
	for _, row := range found[0] {
		digests := strings.Fields(turn.Text(row[2]))
		erased = append(erased, Erased{turn.Integer(row[0]), turn.Integer(row[1]), digests})
	}
	return erased, changes[len(changes)-1], nil
}

// Erasure returns the statements that delete the addresses of records.
func Erasure(recordIDs ...string) []turn.Statement {
	return erasure("SELECT value FROM json_each(?)", jsonList(recordIDs))
}

func erasure(of string, arguments ...any) []turn.Statement {
	these := " WHERE record_id IN (" + of + ")"
	return []turn.Statement{
		turn.SQL("DELETE FROM contacts"+these, arguments...), turn.SQL("DELETE FROM outbox"+these, arguments...),
	}
}

func jsonList(ids []string) string {
	if len(ids) == 0 {
		return "[]"
	}
	return `["` + strings.Join(ids, `","`) + `"]`
}

func addErased(ids []string) turn.Statement {
	return turn.SQL("INSERT OR IGNORE INTO erased SELECT value, unixepoch() FROM json_each(?)", jsonList(ids))
}

// SelectErased selects the identifiers of erased records.
const SelectErased = "SELECT record_id FROM erased"

// EraseAgain deletes the addresses of the store's erased records and of recordIDs, as an older copy
// of the database may have brought them back. It returns the number of contacts and messages.
func EraseAgain(ctx context.Context, s Store, recordIDs []string) (int64, error) {
	changes, err := s.Write(ctx, slices.Concat([]turn.Statement{addErased(recordIDs)}, erasure(SelectErased))...)
	if err != nil {
		return 0, fmt.Errorf("repeat erasures: %w", err)
	}
	return changes[1] + changes[2], nil
}

const (
	revive = "UPDATE outbox SET state = 'pending', tries = 0, next_try_at = unixepoch(), " +
		"digest = NULL WHERE state = 'dead'"
	free = "DELETE FROM used_ids WHERE " + isClaim + " AND record_id = ?"
)

// Retried counts what Retry changed.
type Retried struct {
	Messages int64 // of the outbox, due at once with no tries
	Claims   int64 // whose keys are free: a repeated call starts anew
}

// Retry makes the dead messages of records due, and frees the keys of claims. Without records it
// makes all dead messages due. It returns the changes of each record, or of all.
func Retry(ctx context.Context, s Store, recordIDs ...string) (retried []Retried, err error) {
	var statements []turn.Statement
	for _, id := range recordIDs {
		statements = append(statements, turn.SQL(revive+" AND record_id = ?", id), turn.SQL(free, id))
	}
	if len(recordIDs) == 0 {
		statements = []turn.Statement{turn.SQL(revive), turn.SQL(free, "")}
	}
	changes, err := s.Write(ctx, statements...)
	if err != nil {
		return nil, fmt.Errorf("retry messages: %w", err)
	}
	for both := range slices.Chunk(changes, 2) {
		retried = append(retried, Retried{both[0], both[1]})
	}
	return retried, nil
}
