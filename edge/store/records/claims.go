package records

import (
	"context"
	"fmt"
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
	rows, err := r.Read(ctx, turn.Statement{
		SQL: "SELECT record_id, claimed_at, relayed_at IS NOT NULL FROM used_ids WHERE seq IS NULL AND claimed_at < ? " +
			"ORDER BY claimed_at",
		Args: []any{before.Unix()},
	})
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

// Free frees the keys of claims: a repeated call begins anew. It returns how many there were.
func Free(ctx context.Context, s Store, ids ...string) (int64, error) {
	changes, err := s.Write(ctx, turn.Statement{
		SQL:  "DELETE FROM used_ids WHERE record_id IN (SELECT value FROM json_each(?)) AND seq IS NULL",
		Args: []any{jsonList(ids)},
	})
	if err != nil {
		return 0, fmt.Errorf("free claims: %w", err)
	}
	return changes[0], nil
}
