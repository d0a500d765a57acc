package sitetest

import (
	"fmt"
	"testing"

	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"
)

// A log has the numbers of its boards, those that fall and rise again too.
func TestStages(t *testing.T) {
	key, signer := tlogtest.Key(t, tlog.Origin("www.base.example", 1))
	given := tlog.RecordHash("given", "payload")
	m := maker{t: t, log: tlog.New([]string{key}, nil), given: []string{given}, at: map[string][]int64{}}
	for i, want := range []tlog.Counts{
		{}, {Vouched: 2, Registrations: 5, Charters: 1, Suggestions: 3, Own: 2}, {Vouched: 1, Registrations: 4, Own: 3}, {Vouched: 3, Registrations: 4, Charters: 2},
	} {
		var is board
		is.Waitlist.Conversions, is.Waitlist.Registrations = want.Vouched, want.Registrations
		is.Orgs.Charters, is.Suggestions.Received, is.Excluded.Records = want.Charters, want.Suggestions, want.Own
		name := fmt.Sprintf("2026-11-%02d", i+1)
		entries := append(m.stage(&is), tlog.Entry{Kind: tlog.Verification, AsOf: name, Board: "/scoreboard/" + name + ".json", BoardSHA256: given})
		if _, _, err := m.log.Append(name, entries, signer); err != nil {
			t.Fatal(err)
		}
		if got := m.log.Counts(); got != want {
			t.Errorf("board %d: the log counts %+v, want %+v", i, got, want)
		}
	}
	if found := m.log.Find(map[string]bool{given: true}); len(found) != 1 || found[given] != 1 {
		t.Errorf("the registration that was given is at %v, want 1", found)
	}
}
