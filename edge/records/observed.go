package records

import (
	"context"
	"fmt"

	"anteroom/edge/kernel"
)

// Observation is how often a client was seen on a day.
type Observation struct {
	Day    string `json:"day"`    // YYYY-MM-DD, UTC
	Client string `json:"client"` // as it names itself; "" where it does not
	Kind   string `json:"kind"`   // what it did, see package protocol
	N      int64  `json:"n"`
}

// OtherClients stands for the clients of a day that have no row of their own.
const OtherClients = "other"

// Observed gives what was observed of clients on the given days, in the order of days, clients and
// kinds. Some of it may be lost, and clients name themselves as they like.
func Observed(ctx context.Context, s Reader, days Days) ([]Observation, error) {
	since, through := days.bounds()
	rows, err := s.Read(ctx, kernel.Statement{
		SQL:  "SELECT day, client, kind, n FROM observed WHERE day BETWEEN ? AND ? ORDER BY day, client, kind",
		Args: []any{since, through},
	})
	if err != nil {
		return nil, fmt.Errorf("read what was observed: %w", err)
	}
	observed := make([]Observation, len(rows[0]))
	for i, row := range rows[0] {
		observed[i] = Observation{row[0].(string), row[1].(string), row[2].(string), row[3].(int64)}
	}
	return observed, nil
}
