package pages

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"anteroom/generator/site"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"
)

// The page says of each number of a board whether log check recounts it, or the operator enters it.
func TestNumberNames(t *testing.T) {
	for i := range site.Numbers {
		n := &site.Numbers[i]
		label := n.Label
		if n.Told == tlog.IsRecounted(n.Place()) || label == "" || !slices.Contains(numberNames(!n.Told), label) || slices.Contains(numberNames(n.Told), label) {
			t.Errorf("%s, told: %t: %q; %s; %s", n.Place(), n.Told, label, numberNames(true), numberNames(false))
		}
	}
}

// Each kind of entry counts in the number that the table of kinds says, and is written as there.
func TestLogKinds(t *testing.T) {
	for _, k := range logKinds {
		key, signer := tlogtest.Key(t, tlog.Origin("www.anteroom.example", 1))
		log := tlog.New([]string{key}, nil)
		var entries []tlog.Entry
		want := map[string]int{}
		switch e := k.Entry; {
		case tlog.IsRecord(e.Kind):
			entries = append(entries, tlog.Entry{Kind: e.Kind, Hash: strings.Repeat("0", 64)})
		case e.Kind == tlog.Vouched:
			entries = append(entries, tlog.Entry{Kind: tlog.Registration, Hash: strings.Repeat("0", 64)}, tlog.Entry{Kind: e.Kind})
			want["registrations_recorded"] = 1
		}
		if k.Number != "" {
			want[k.Number] = 1
		}
		entries = append(entries, tlog.Entry{
			Kind: tlog.Verification, AsOf: "2026-11-20", Board: "/scoreboard/2026-11-20.json", BoardSHA256: strings.Repeat("0", 64),
		})
		if _, _, err := log.Append("2026-11-20", entries, signer); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(log.Counts())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		for name, n := range got {
			if n != want[name] {
				t.Errorf("%s: %s is %d, want %d", k.Entry.Kind, name, n, want[name])
			}
		}
		if text := shortEntry(&k.Entry); !strings.HasPrefix(text, fmt.Sprintf(`{"kind":%q,`, k.Entry.Kind)) || strings.Contains(text, "registrations_recorded") {
			t.Errorf("%s is there as %s", k.Entry.Kind, text)
		}
	}
}
