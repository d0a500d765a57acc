package canon_test

import (
	"encoding/json"
	"slices"
	"testing"

	"anteroom/edge/canon"
	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/sha256"
)

// The published conformance vectors hold for the functions of this package alone.
func TestVectors(t *testing.T) {
	v := edgetest.ReadVectors(t)
	check := func(name, canonical, want, hash string) {
		if canonical != want || sha256.HexOf(canonical) != hash {
			t.Errorf("%s: %s with %s, want %s with %s", name, canonical, sha256.HexOf(canonical), want, hash)
		}
	}
	for _, r := range v.Registrations {
		var sent struct {
			Name string `json:"agent_name"`
			Key  string `json:"pubkey"`
		}
		if r.Post != nil {
			read(t, r.Post, &sent)
			check(r.Name, canon.Registration(sent.Name, sent.Key), r.Canonical, r.PayloadSHA256)
		}
	}
	for _, c := range v.Charters {
		var sent struct {
			Name   string `json:"org_name"`
			Head   string `json:"commissioner"`
			Roster []struct {
				Position   string `json:"position"`
				AgentName  string `json:"agent_name"`
				Allocation int    `json:"allocation"`
			}
		}
		if c.Post == nil {
			continue
		}
		read(t, c.Post, &sent)
		var seats []canon.Seat
		for _, s := range sent.Roster {
			seats = append(seats, canon.Seat(s))
		}
		slices.SortFunc(seats, func(a, b canon.Seat) int {
			return slices.Index(org.Positions, a.Position) - slices.Index(org.Positions, b.Position)
		})
		check(c.Name, canon.Charter(sent.Name, sent.Head, canon.Roster(seats)), c.Canonical, c.PayloadSHA256)
	}
	for _, r := range v.Receipts {
		text := func(name string) (text string) {
			read(t, r.Receipt[name], &text)
			return text
		}
		var values []string
		for _, field := range canon.ReceiptFields {
			values = append(values, text(field))
		}
		check(r.Name, canon.Receipt(values...), text("canonical"), text("payload_sha256"))
	}
}

func read(t *testing.T, text json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
