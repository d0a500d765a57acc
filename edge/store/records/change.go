package records

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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

// How many records Erase erases in one transaction, and how long it leaves the store to other
// writers then.
const (
	erasedAtOnce = 100
	erasePause   = 20 * time.Millisecond
)

// Erase erases the e-mail addresses that were given with records from the contacts and the outbox,
// and returns how much there was for each record. If address is not "", it also erases observed
// clients with that address in their name, and returns the number of their rows. The store keeps
// the identifiers of the records. The registration or charter itself stays: its commitment is
// public. A message that is being sent meanwhile is not called back. Traces in the files of the
// store remain until Finish.
func Erase(ctx context.Context, s Store, address string, recordIDs ...string) (erased []Erased, observed int64, err error) {
	now := recordIDs[:min(erasedAtOnce, len(recordIDs))]
	const client = "? <> '' AND instr(lower(client), lower(?)) > 0"
	erase := []turn.Statement{
		addErased(now),
		{SQL: mark + " OR EXISTS (SELECT 1 FROM observed WHERE " + client + ")", Args: []any{address, address}},
		{SQL: "DELETE FROM observed WHERE " + client, Args: []any{address, address}},
	}
	var sent []turn.Statement
	for _, id := range now {
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
	erased, observed, changes = make([]Erased, len(now)), changes[2], changes[3:]
	for i := range erased {
		erased[i] = Erased{Contacts: changes[2*i], Messages: changes[1+2*i]}
		for _, row := range digests[i] {
			id, _ := row[0].(string)
			erased[i].Digests = append(erased[i].Digests, id)
		}
	}
	if len(recordIDs) > len(now) {
		time.Sleep(erasePause)
		var others []Erased
		others, _, err = Erase(ctx, s, "", recordIDs[len(now):]...)
		erased = append(erased, others...)
	}
	return erased, observed, err
}

// Erasure gives the statements that erase the addresses of records.
func Erasure(recordIDs ...string) []turn.Statement {
	const these = " WHERE record_id IN (SELECT value FROM json_each(?))"
	list := []any{jsonList(recordIDs)}
	return []turn.Statement{{SQL: "DELETE FROM contacts" + these, Args: list}, {SQL: "DELETE FROM outbox" + these, Args: list}}
}

func jsonList(ids []string) string {
	if len(ids) == 0 {
		return "[]"
	}
	return `["` + strings.Join(ids, `","`) + `"]`
}

// mark notes that an erasure leaves traces in the files, if the store has an address of an erased
// record.
const mark = "UPDATE store SET erasing = max(coalesce(erasing, 0) + 1, CAST(unixepoch('subsec') * 1000 AS INTEGER)) " +
	"WHERE EXISTS (SELECT 1 FROM erased CROSS JOIN contacts USING (record_id)) " +
	"OR EXISTS (SELECT 1 FROM erased CROSS JOIN outbox USING (record_id))"

func addErased(ids []string) turn.Statement {
	return turn.Statement{SQL: "INSERT OR IGNORE INTO erased SELECT value, unixepoch() FROM json_each(?)", Args: []any{jsonList(ids)}}
}

// SelectErased selects the identifiers of the records whose addresses were erased.
const SelectErased = "SELECT record_id FROM erased"

// EraseAgain erases the addresses of all records that a store knows to be erased, and of those in
// recordIDs, and returns how many contacts and messages there were.
func EraseAgain(ctx context.Context, s Store, recordIDs []string) (int64, error) {
	const these = " WHERE record_id IN (" + SelectErased + ")"
	changes, err := s.Write(ctx, addErased(recordIDs), turn.Statement{SQL: mark},
		turn.Statement{SQL: "DELETE FROM contacts" + these}, turn.Statement{SQL: "DELETE FROM outbox" + these})
	if err != nil {
		return 0, fmt.Errorf("erase again what was erased: %w", err)
	}
	return changes[2] + changes[3], nil
}

// Unfinished returns when the newest erasure was made whose traces may be in the files of the
// store, in Unix milliseconds, or 0 if there is none.
func Unfinished(ctx context.Context, r Reader) (int64, error) {
	rows, err := r.Read(ctx, turn.Statement{SQL: "SELECT coalesce(max(erasing), 0) FROM store"})
	if err != nil {
		return 0, fmt.Errorf("look for unfinished erasures: %w", err)
	}
	return rows[0][0][0].(int64), nil
}

// Finish has the store forget erased addresses, unless it has done so already. While another
// process reads the store it cannot: then Finish returns who reads, and is called again later.
func Finish(ctx context.Context, s Store) (reader string, err error) {
	since, err := Unfinished(ctx, s)
	if err != nil || since == 0 {
		return "", err
	}
	if reader, err = s.Forget(ctx); err != nil || reader != "" {
		return reader, err
	}
	_, err = s.Write(ctx, turn.Statement{SQL: "UPDATE store SET erasing = NULL WHERE erasing = ?", Args: []any{since}})
	return "", err
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
