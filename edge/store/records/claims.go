package records

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"anteroom/edge/turn"
)

// Claim is a suggestion that a call with an Idempotency-Key began to relay and did not record. A
// repeated call finishes it.
type Claim struct {
	ID      string    `json:"record_id"`
	At      time.Time `json:"claimed_at"`
	Relayed bool      `json:"relayed"` // the operator's inbox has it; otherwise that is not known
}

// ForgottenAfter is the age of a claim that no call will finish any more.
const ForgottenAfter = time.Hour

// Claims returns the claims that were made before a time, oldest first.
func Claims(ctx context.Context, r Reader, before time.Time) (claims []Claim, err error) {
	rows, err := r.Read(ctx, turn.SQL("SELECT record_id, claimed_at, relayed_at IS NOT NULL FROM used_ids "+
		"WHERE seq IS NULL AND claimed_at < ? ORDER BY claimed_at", before.Unix()))
	if err != nil {
		return nil, fmt.Errorf("read claims: %w", err)
	}
	for _, row := range rows[0] {
		id, _ := row[0].(string)
		at, _ := row[1].(int64)
		relayed, _ := row[2].(int64)
		claims = append(claims, Claim{id, time.Unix(at, 0).UTC(), relayed == 1})
	}
	return claims, nil
}

// Free frees the keys of claims, by their record identifiers or the first digits of these: a
// repeated call begins anew. It returns how many there were, or an error, and then frees none, if
// one is not a claim.
func Free(ctx context.Context, s Store, texts ...string) (int64, error) {
	claims, err := Claims(ctx, s, time.Unix(math.MaxInt32, 0))
	if err != nil {
		return 0, err
	}
	var ids []string
	var faults []error
	for _, text := range texts {
		id, err := Unique(text, func(yield func(string) bool) {
			for i := 0; i < len(claims) && yield(claims[i].ID); i++ {
			}
		})
		if err == nil && !slices.ContainsFunc(claims, func(c Claim) bool { return c.ID == id }) {
			err = fmt.Errorf("no claim %s", id)
		}
		ids, faults = append(ids, id), append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return 0, fmt.Errorf("free claims: %w (anteroom records list claims shows them)", err)
	}
	changes, err := s.Write(ctx, turn.SQL("DELETE FROM used_ids WHERE record_id IN (SELECT value FROM json_each(?)) "+
		"AND seq IS NULL", jsonList(ids)))
	if err != nil {
		return 0, fmt.Errorf("free claims: %w", err)
	}
	return changes[0], nil
}
