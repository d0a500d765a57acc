package records

import (
	"context"
	"errors"
	"fmt"

	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/turn"
)

// Observation counts what a client did on a day.
type Observation struct {
	Day    string `json:"day"`    // YYYY-MM-DD, UTC
	Client string `json:"client"` // its own name for itself, or ""
	Kind   string `json:"kind"`   // see package protocol
	N      int64  `json:"n"`
}

// Clients choose their names: the native host counts at most DayClients of a day by name, and the
// others as OtherClients.
const (
	DayClients   = 200
	OtherClients = "other"
)

// ErrNotObserved means that a store keeps no observations.
var ErrNotObserved = errors.New("no observations of clients")

// Observed returns the observations of the given days, ordered by day, client and kind. Some may be
// lost. A store may keep them elsewhere, and then has the method Observed.
func Observed(ctx context.Context, s Reader, days Days) ([]Observation, error) {
	if elsewhere, is := s.(interface {
		Observed(ctx context.Context, since, through string) ([]Observation, error)
	}); is {
		return elsewhere.Observed(ctx, days.Since, days.Through)
	}
	since, through := days.bounds()
	rows, err := s.Read(ctx, turn.SQL("SELECT day, client, kind, n FROM observed "+
		"WHERE day BETWEEN ? AND ? ORDER BY day, client, kind", since, through))
	if err != nil {
		return nil, fmt.Errorf("read observations: %w", err)
	}
	observed := make([]Observation, len(rows[0]))
	for i, row := range rows[0] {
		observed[i] = Observation{row[0].(string), row[1].(string), row[2].(string), row[3].(int64)}
	}
	return observed, nil
}

// Attention sums up observations. A member that scoreboard.json has too has the same name.
type Attention struct {
	NamedClientsSeen   int   `json:"named_clients_seen"`
	CompletedHandshake int   `json:"named_clients_that_completed_a_handshake"`
	UnnamedHandshakes  int64 `json:"handshakes_without_a_name"`
	ToolCalls          int64 `json:"tool_calls"`
	MoreClients        bool  `json:"more_clients_than_named"` // there are OtherClients
}

// AttentionOf returns the sums of observations.
func AttentionOf(observed []Observation) (a Attention) {
	seen, completed := map[string]bool{}, map[string]bool{}
	for _, o := range observed {
		named := o.Client != "" && o.Client != OtherClients
		if named {
			seen[o.Client] = true
		}
		a.MoreClients = a.MoreClients || o.Client == OtherClients
		switch {
		case o.Kind == protocol.SeenCall:
			a.ToolCalls += o.N
		case o.Kind == protocol.SeenHandshake && named:
			completed[o.Client] = true
		case o.Kind == protocol.SeenHandshake:
			a.UnnamedHandshakes += o.N
		}
	}
	a.NamedClientsSeen, a.CompletedHandshake = len(seen), len(completed)
	return a
}
