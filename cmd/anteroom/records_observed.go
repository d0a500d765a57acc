package main

import (
	"cmp"
	"context"
	"fmt"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
)

func recordsObservedCommand(work *storeWork) *cobra.Command {
	t := work.t
	var days records.Days
	cmd := &cobra.Command{
		Use: "observed",
		RunE: work.reads(func([]string) error { return checkDays(days) }, func(ctx context.Context, store records.Reader, _ []string) error {
			seen, err := records.Observed(ctx, store, days)
			if err != nil {
				return err
			}
			return printObserved(t, seen, days)
		}),
	}
	daysFlags(cmd.Flags(), &days.Since, &days.Through)
	jsonFlag(cmd.Flags(), &t.JSON)
	return cmd
}

// printObserved prints a line for each client of a day, and what all of it comes to, whatever store
// it comes from.
func printObserved(t *cli.Terminal, observed []records.Observation, days records.Days) error {
	observed = records.Bound(observed)
	a := records.AttentionOf(observed)
	object := struct {
		Since   *string `json:"since"`
		Through *string `json:"through"`
		records.Attention
		Observed []records.Observation `json:"observed"`
	}{orNull(days.Since), orNull(days.Through), a, append([]records.Observation{}, observed...)}
	return t.Answer(object, func() {
		until := "now"
		if days.Through != "" {
			until = "the end of " + days.Through + " (UTC)"
		}
		t.Printf("Seen over MCP until %s. It is evidence: clients name themselves as they like, and some of it may be lost.", until)
		t.Printf("")
		printClients(t, observed)
		t.Printf("%-42s %8d", "named clients seen", a.NamedClientsSeen)
		t.Printf("%-42s %8d", "  known to have completed a handshake", a.CompletedHandshake)
		t.Printf("%-42s %8d", "handshakes of clients without a name", a.UnnamedHandshakes)
		t.Printf("%-42s %8d", "tool calls", a.ToolCalls)
		if a.MoreClients {
			t.Printf("There were more names: those beyond %d a day are counted as %q.", records.DayClients, records.OtherClients)
		}
	})
}

func printClients(t *cli.Terminal, observed []records.Observation) {
	columns := func(day string, column func(kind string) any, client string) {
		text := fmt.Sprintf("%-10s", day)
		for _, kind := range protocol.SeenKinds {
			text += fmt.Sprintf("  %10v", column(kind))
		}
		t.Printf("%s  %s", text, client)
	}
	if len(observed) > 0 {
		columns("day", func(kind string) any { return kind }, "client")
		defer t.Printf("")
	}
	for i := 0; i < len(observed); {
		first, counts := observed[i], map[string]int64{}
		for ; i < len(observed) && observed[i].Day == first.Day && observed[i].Client == first.Client; i++ {
			counts[observed[i].Kind] += observed[i].N
		}
		columns(first.Day, func(kind string) any { return counts[kind] }, cmp.Or(records.Text(first.Client), "(not named)"))
	}
}
