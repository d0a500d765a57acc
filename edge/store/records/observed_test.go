package records

import (
	"fmt"
	"path/filepath"
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
}

func TestAttention(t *testing.T) {
	got := AttentionOf([]Observation{
		{"2026-11-20", "ada", "handshake", 2},
		{"2026-11-20", "ada", "initialize", 1},
		{"2026-11-20", OtherClients, "handshake", 5},
		{"2026-11-20", "", "handshake", 3},
		{"2026-11-20", "tern", "tools/call", 4},
		{"2026-11-20", "zoe", "tools/call", 1},
	})
	if want := (Attention{NamedClientsSeen: 3, CompletedHandshake: 1, UnnamedHandshakes: 8, ToolCalls: 5, MoreClients: true}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
