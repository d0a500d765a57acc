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

const isClaim = "seq IS NULL AND claimed_at IS NOT NULL"

// Claims returns the claims at least that old, oldest first, and claims as far in the future, from
// a clock that was ahead.
func Claims(ctx context.Context, r Reader, now time.Time, age time.Duration) (claims []Claim, err error) {
	rows, err := r.Read(ctx, turn.SQL("SELECT record_id, claimed_at, relayed_at IS NOT NULL FROM used_ids "+
		"WHERE "+isClaim+" AND abs(claimed_at - ?) >= ? ORDER BY claimed_at", now.Unix(), int64(age/time.Second)))
	if err != nil {
		return nil, fmt.Errorf("read claims: %w", err)
	}
	for _, row := range rows[0] {
		at := time.Unix(turn.Integer(row[1]), 0).UTC()
		claims = append(claims, Claim{turn.Text(row[0]), at, row[2] == int64(1)})
	}
	return claims, nil
}
