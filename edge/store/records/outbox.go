package records

import (
	"context"
	"fmt"

	"anteroom/edge/turn"
)

// Outbox counts the messages to the operator that are not delivered.
type Outbox struct {
	Pending int64  `json:"pending"` // tried again
	Dead    int64  `json:"dead"`    // given up
	Error   string `json:"error"`   // of the newest message that has one, or ""
	Oldest  int64  `json:"-"`       // time of the oldest pending message in Unix seconds, or 0
}

// String returns the counts, and what to do about dead messages.
func (o *Outbox) String() string {
	text := fmt.Sprintf("%d pending, %d dead", o.Pending, o.Dead)
	if o.Dead > 0 {
		text += " (anteroom records retry tries them again)"
	}
	if o.Error != "" {
		text += ": " + o.Error
	}
	return text
}

// Undelivered counts the messages that are not delivered.
func Undelivered(ctx context.Context, r Reader) (o Outbox, err error) {
	rows, err := r.Read(ctx,
		turn.SQL("SELECT (SELECT count(*) FROM outbox WHERE state = 'pending'), "+
			"(SELECT count(*) FROM outbox WHERE state = 'dead'), "+
			"(SELECT min(created_at) FROM outbox WHERE state = 'pending')"),
		turn.SQL("SELECT last_error FROM outbox "+
			"WHERE state <> 'delivered' AND last_error IS NOT NULL ORDER BY id DESC LIMIT 1"),
	)
	if err != nil {
		return o, fmt.Errorf("count the outbox: %w", err)
	}
	counts := rows[0][0]
	o.Pending, o.Dead, o.Oldest = turn.Integer(counts[0]), turn.Integer(counts[1]), turn.Integer(counts[2])
	for _, row := range rows[1] {
		o.Error = turn.Text(row[0])
	}
	return o, nil
}
