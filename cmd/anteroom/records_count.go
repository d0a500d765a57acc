package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/endpoint/suggest"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
)

func recordsCountCommand(work *storeWork) *cobra.Command {
	t := work.t
	var days records.Days
	var bursts int
	cmd := &cobra.Command{
		Use: "count",
		RunE: work.reads(func([]string) error {
			return errors.Join(checkDays(days), checkPast(t, days.Through))
		}, func(ctx context.Context, store records.Reader, _ []string) error {
			c, err := records.Count(ctx, store, days.Through, bursts)
			if err != nil {
				return err
			}
			for _, kind := range suggestionKinds() {
				c.Suggestions[kind] += 0 // makes the key, so that the output has every kind
			}
			for _, state := range outboxStates {
				c.Outbox[state] += 0
			}
			return t.Answer(c, func() { printCounts(t, c, days.Through) })
		}),
	}
	daysFlags(cmd.Flags(), nil, &days.Through)
	cmd.Flags().IntVar(&bursts, "bursts", 20, "how many bursts get a line")
	jsonFlag(cmd.Flags(), &t.JSON)
	return cmd
}

// burstLength is the longest pause between two registrations of a burst, in words.
var burstLength = cli.Plural(records.BurstSeconds/60, "minute")

// suggestionKinds are the kinds of suggestions, in the order in which the answer's schema lists
// them.
func suggestionKinds() []string {
	kind, _ := reflect.TypeFor[suggest.Answer]().FieldByName("Kind")
	return strings.Split(kind.Tag.Get("enum"), ",")
}

// outboxStates are the states of the outbox in which somebody may have to act on a message.
var outboxStates = []string{"pending", "dead"}

func printCounts(t *cli.Terminal, c *records.Counts, through string) {
	until := "now"
	if through == t.Now().UTC().Format(time.DateOnly) {
		until = "now, so far on " + through + " (UTC), which is not over"
	} else if through != "" {
		until = "the end of " + through + " (UTC)"
	}
	number := func(what string, n int64) { t.Printf("%-42s %8d", what, n) }
	t.Printf("Recorded until %s. Nothing of it is verified: you decide which agents you vouch for.", until)
	t.Printf("")
	number("registrations recorded", c.Registrations)
	number("  distinct agent names", c.Names)
	number("  without a name, by public key alone", c.Nameless)
	number("  in bursts of one name", c.InBursts)
	number("  with each burst taken as one", c.Registrations-c.InBursts+c.Bursts)
	number("charters filed", c.Charters)
	for _, kind := range suggestionKinds() {
		number("suggestions recorded, kind "+kind, c.Suggestions[kind])
	}
	number("contacts on file", c.Contacts)
	for _, state := range outboxStates {
		number("messages in the outbox, "+state, c.Outbox[state])
	}
	if c.OutboxError != nil {
		t.Printf("newest error of the outbox: %s", records.Text(*c.OutboxError))
	}
	if c.Bursts == 0 {
		return
	}
	t.Printf("")
	t.Printf("%s of one name, each registration at most %s after the one before:", cli.Plural(int(c.Bursts), "burst"), burstLength)
	for _, b := range c.Largest {
		t.Printf("%8d  %s to %s  %s", b.Registrations, b.First, b.Last, records.Text(b.Name))
	}
	if left := int(c.Bursts) - len(c.Largest); left > 0 {
		t.Printf("and %s more (--bursts %d shows all)", cli.Plural(left, "burst"), c.Bursts)
	}
}

func checkPast(t *cli.Terminal, through string) error {
	if today := t.Now().UTC().Format(time.DateOnly); through > today {
		return fmt.Errorf("--through %s is to come: today is %s", through, today)
	}
	return nil
}
