package main

import (
	"bytes"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/store/records"
)

// What is printed does not depend on the order of the observations. Clients without a name are not
// counted as named, and neither are those that were counted together.
func TestPrintObserved(t *testing.T) {
	var out bytes.Buffer
	term := cli.New(nil, &out, nil)
	observed := []records.Observation{
		{Day: "2026-11-20", Client: "tern", Kind: "tools/call", N: 3},
		{Day: "2026-11-19", Client: "tern", Kind: "handshake", N: 4},
		{Day: "2026-11-20", Client: "other", Kind: "initialize", N: 9},
		{Day: "2026-11-20", Client: "other", Kind: "handshake", N: 2},
		{Day: "2026-11-20", Client: "", Kind: "handshake", N: 5},
		{Day: "2026-11-20", Client: "lark", Kind: "of a newer program", N: 6},
		{Day: "2026-11-20", Client: "tern", Kind: "tools/call", N: 1},
	}
	if err := printObserved(term, observed, records.Days{}); err != nil {
		t.Fatal(err)
	}
	term.Out.Flush()
	if got, want := out.String(), strings.TrimPrefix(`
Seen over MCP until now. It is evidence: clients name themselves as they like, and some of it may be lost.

day         initialize    discover   handshake  tools/call  client
2026-11-19           0           0           4           0  tern
2026-11-20           0           0           5           0  (not named)
2026-11-20           0           0           0           0  lark
2026-11-20           9           0           2           0  other
2026-11-20           0           0           0           4  tern

named clients seen                                2
  known to have completed a handshake             1
handshakes of clients without a name              7
tool calls                                        4
There were more names: those beyond 200 a day are counted as "other".
`, "\n"); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}
