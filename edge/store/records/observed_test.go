package records

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"anteroom/edge/native/sqlite"
)

func TestObserved(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), sqlite.FileName))
	for _, day := range []string{"2026-11-20", "2026-11-18", "2026-11-19"} {
		exec(t, s, "INSERT INTO observed VALUES (?, 'tern', 'tools/call', 7), (?, '', 'handshake', 1), (?, 'tern', 'discover', 2)", day, day, day)
	}
	all := []string{"{2026-11-%d  handshake 1}", "{2026-11-%d tern discover 2}", "{2026-11-%d tern tools/call 7}"}
	for _, c := range []struct {
		days        Days
		first, last int
	}{
		{Days{}, 18, 20},
		{Days{Since: "2026-11-19"}, 19, 20},
		{Days{Through: "2026-11-19"}, 18, 19},
		{Days{Since: "2026-11-19", Through: "2026-11-19"}, 19, 19},
		{Days{Since: "2026-11-21"}, 1, 0},
	} {
		var want []string
		for day := c.first; day <= c.last; day++ {
			for _, row := range all {
				want = append(want, fmt.Sprintf(row, day))
			}
		}
		if got, err := Observed(t.Context(), s, c.days); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: %v, %v\nwant %v", c.days, got, err, want)
		}
	}
	s.Close()
	if _, err := Observed(t.Context(), s, Days{}); err == nil {
		t.Error("a closed database was read")
	}
}

// The clients of a day that were seen the least are counted together, and nothing is lost.
func TestBound(t *testing.T) {
	day := func(day string, clients int) []Observation {
		observed := []Observation{{day, "", "handshake", 1}}
		for i := range clients {
			name := fmt.Sprintf("client %03d", i)
			observed = append(observed, Observation{day, name, "initialize", 2}, Observation{day, name, "tools/call", 1})
		}
		return observed
	}
	for name, c := range map[string]struct{ observed, want []Observation }{
		"nothing":    {nil, nil},
		"few":        {day("2026-11-20", 3), day("2026-11-20", 3)},
		"as many as": {day("2026-11-20", DayClients), day("2026-11-20", DayClients)},
		"two days":   {append(day("2026-11-19", 150), day("2026-11-20", 150)...), append(day("2026-11-19", 150), day("2026-11-20", 150)...)},
		"too many": {
			append(day("2026-11-20", DayClients+3), Observation{"2026-11-20", "other", "initialize", 5}, Observation{"2026-11-20", "zoe", "discover", 4}),
			append(day("2026-11-20", DayClients-1),
				Observation{"2026-11-20", "other", "initialize", 13}, Observation{"2026-11-20", "other", "tools/call", 4}, Observation{"2026-11-20", "zoe", "discover", 4}),
		},
		"several rows of one": {
			[]Observation{{"2026-11-20", "b", "discover", 1}, {"2026-11-20", "a", "discover", 1}, {"2026-11-20", "b", "discover", 2}},
			[]Observation{{"2026-11-20", "a", "discover", 1}, {"2026-11-20", "b", "discover", 3}},
		},
	} {
		rand.Shuffle(len(c.observed), func(i, j int) { c.observed[i], c.observed[j] = c.observed[j], c.observed[i] })
		if got := Bound(c.observed); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v\nwant %v", name, got, c.want)
		}
	}
}

func TestAttention(t *testing.T) {
	got := AttentionOf([]Observation{
		{"2026-11-20", "ada", "handshake", 2}, {"2026-11-20", "ada", "initialize", 1}, {"2026-11-20", OtherClients, "handshake", 5},
		{"2026-11-20", "", "handshake", 3}, {"2026-11-20", "tern", "tools/call", 4}, {"2026-11-20", "zoe", "tools/call", 1},
	})
	if want := (Attention{NamedClientsSeen: 3, CompletedHandshake: 1, UnnamedHandshakes: 8, ToolCalls: 5, MoreClients: true}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
