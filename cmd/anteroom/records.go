package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/civil"
	"anteroom/edge/endpoint/suggest"
	"anteroom/edge/jsondoc"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/records"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func recordsCommand(t *terminal) *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "records",
		Short: "Count, list and erase what was recorded",
		Long: `Records reads and mends the database of a data folder, while serve runs or not. Names and keys in it
are untrusted text of unauthenticated agents.

Every flag can be given by the environment instead, as with serve: ANTEROOM_DATA.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&data, "data", "data", "the `folder` of the database")
	with := func(check func(args []string) error, f storeWork) func(*cobra.Command, []string) error {
		return withExitCode(func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags()); err != nil {
				return usageError{err}
			}
			if err := check(args); err != nil {
				return usageError{err}
			}
			path := filepath.Join(data, sqlite.FileName)
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("there is no database %s (anteroom serve makes it; name its folder with --data)", path)
			}
			store, err := sqlite.Open(path, t.log())
			if err != nil {
				return err
			}
			return errors.Join(f(cmd.Context(), store, args), store.Close())
		})
	}
	cmd.AddCommand(recordsCountCommand(t, with), recordsListCommand(t, with), recordsEraseCommand(t, with), recordsReviveCommand(t, with))
	cmd.AddCommand(recordsObservedCommand(t, with))
	return cmd
}

// storeWork is what a command does with the open database.
type storeWork func(ctx context.Context, store records.Store, args []string) error

// onStore makes the RunE of a command that works on the database. check finds what is wrong with
// the command's arguments and flags before the database is opened.
type onStore func(check func(args []string) error, f storeWork) func(*cobra.Command, []string) error

func recordsCountCommand(t *terminal, with onStore) *cobra.Command {
	var days records.Days
	var bursts int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "count",
		Short: "Count what the next hand verification looks at",
		Long: fmt.Sprintf(`Count counts what was recorded. It vouches for nothing: which registrations are of agents that you can
vouch for, and which are tests of your own, you decide, and write into content/scoreboard/.

A burst is a run of registrations of one self-chosen name, each at most %s after the one before.
It counts as one verified agent at most, and as several recorded registrations. The largest bursts have
a line each.`, burstLength),
		Args: cobra.NoArgs,
		RunE: with(func([]string) error { return checkDays(days) }, func(ctx context.Context, store records.Store, _ []string) error {
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
			if asJSON {
				return t.printCountsJSON(c, days.Through)
			}
			t.printCounts(c, days.Through)
			return nil
		}),
	}
	daysFlags(cmd.Flags(), nil, &days.Through)
	cmd.Flags().IntVar(&bursts, "bursts", 20, "how many bursts get a line")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// burstLength is the longest pause between two registrations of a burst, in words.
var burstLength = plural(records.BurstSeconds/60, "minute")

// suggestionKinds are the kinds of suggestions, in the order in which the answer's schema lists
// them.
func suggestionKinds() []string {
	kind, _ := reflect.TypeFor[suggest.Answer]().FieldByName("Kind")
	return strings.Split(kind.Tag.Get("enum"), ",")
}

// outboxStates are the states of the outbox in which somebody may have to act on a message.
var outboxStates = []string{"pending", "dead"}

// printCounts prints the counts as a table.
func (t *terminal) printCounts(c *records.Counts, through string) {
	until := "now"
	if through != "" {
		until = "the end of " + through + " (UTC)"
	}
	number := func(what string, n int64) { t.say("%-42s %8d", what, n) }
	t.say("Recorded until %s. Nothing of it is verified: you decide which agents you vouch for.", until)
	t.say("")
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
	if c.OutboxError != "" {
		t.say("newest error of the outbox: %s", columnText(c.OutboxError))
	}
	if c.Bursts == 0 {
		return
	}
	t.say("")
	t.say("%s of one name, each registration at most %s after the one before:", plural(int(c.Bursts), "burst"), burstLength)
	for _, b := range c.Largest {
		t.say("%8d  %s to %s  %s", b.Registrations, b.First, b.Last, columnText(b.Name))
	}
	if left := int(c.Bursts) - len(c.Largest); left > 0 {
		t.say("and %s more (--bursts %d shows all)", plural(left, "burst"), c.Bursts)
	}
}

// printCountsJSON prints the counts as one JSON object. A member that scoreboard.json has too has
// the same name here.
func (t *terminal) printCountsJSON(c *records.Counts, through string) error {
	object := struct {
		Through       *string          `json:"through"`
		Registrations int64            `json:"registrations_recorded"`
		Names         int64            `json:"distinct_agent_names"`
		Nameless      int64            `json:"registrations_without_name"`
		Bursts        int64            `json:"bursts"`
		InBursts      int64            `json:"registrations_in_bursts"`
		BurstSeconds  int              `json:"burst_seconds"`
		Largest       []records.Burst  `json:"largest_bursts"`
		Charters      int64            `json:"charters_filed"`
		Suggestions   map[string]int64 `json:"suggestions_by_kind"`
		Contacts      int64            `json:"contacts_on_file"`
		Outbox        map[string]int64 `json:"outbox_by_state"`
		OutboxError   *string          `json:"outbox_newest_error"`
	}{
		Registrations: c.Registrations, Names: c.Names, Nameless: c.Nameless,
		Bursts: c.Bursts, InBursts: c.InBursts, BurstSeconds: records.BurstSeconds, Largest: append([]records.Burst{}, c.Largest...),
		Charters: c.Charters, Suggestions: c.Suggestions, Contacts: c.Contacts, Outbox: c.Outbox,
	}
	if through != "" {
		object.Through = &through
	}
	if c.OutboxError != "" {
		object.OutboxError = &c.OutboxError
	}
	text, err := json.MarshalIndent(object, "", "  ")
	if err == nil {
		t.sayJSON(text)
	}
	return err
}

func recordsListCommand(t *terminal, with onStore) *cobra.Command {
	var days records.Days
	var asJSON bool
	names := make([]string, len(records.Lists))
	for i, list := range records.Lists {
		names[i] = list.Name
	}
	cmd := &cobra.Command{
		Use:   "list " + strings.Join(names, "|"),
		Short: "List records in the order of recording",
		Long: `List prints a line for each record, its columns separated by tabs, after a line of their names. A column
that has no value is empty. What cannot be seen in a text is shown as <U+...>. With --json a line is an
object, and holds the text as it was sent, with escapes for that.`,
		Args: cobra.ExactArgs(1),
		RunE: with(func(args []string) error {
			if !slices.Contains(names, args[0]) {
				return fmt.Errorf("%q is none of %s", args[0], strings.Join(names, ", "))
			}
			return checkDays(days)
		}, func(ctx context.Context, store records.Store, args []string) error {
			list := records.Lists[slices.Index(names, args[0])]
			columns := make([]string, len(list.Columns))
			for i, c := range list.Columns {
				columns[i] = c.Name
			}
			if !asJSON {
				t.say("%s", strings.Join(columns, "\t"))
			}
			for row, err := range records.Rows(ctx, store, list, days) {
				if err != nil {
					return err
				}
				if asJSON {
					t.sayJSON(rowJSON(list, row))
					continue
				}
				for i, v := range row {
					columns[i] = columnText(v)
				}
				t.say("%s", strings.Join(columns, "\t"))
			}
			return nil
		}),
	}
	daysFlags(cmd.Flags(), &days.Since, &days.Through)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// columnText is a value of a record as the text of a column, and "" for nil. A tab would begin the
// next column, so it is shown as <U+0009>.
func columnText(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return strings.ReplaceAll(v, "\t", "<U+0009>")
	}
	return ""
}

// rowJSON is a row of a list as a JSON object.
func rowJSON(list records.List, row []any) []byte {
	w := jsondoc.Writer{}
	w.Open('{')
	for i, c := range list.Columns {
		switch v := row[i].(type) {
		case int64:
			w.Int(c.Name, v)
		case string:
			if c.JSON {
				w.Raw(c.Name, v)
			} else {
				w.Str(c.Name, v)
			}
		default:
			w.Raw(c.Name, "null")
		}
	}
	w.Close('}')
	return w.Buf
}

// daysFlags adds the flags for the days. since may be nil.
func daysFlags(flags *pflag.FlagSet, since, through *string) {
	if since != nil {
		flags.StringVar(since, "since", "", "only what was recorded from this `date` on (UTC, YYYY-MM-DD)")
	}
	flags.StringVar(through, "through", "", "only what was recorded up to the end of this `date` (UTC, YYYY-MM-DD)")
}

func checkDays(days records.Days) error {
	var faults []error
	for _, end := range []struct{ flag, date string }{{"since", days.Since}, {"through", days.Through}} {
		if _, ok := civil.ParseDate(end.date); end.date != "" && !ok {
			faults = append(faults, fmt.Errorf("--%s %q is not a date such as %s", end.flag, end.date, time.Unix(0, 0).UTC().Format(time.DateOnly)))
		}
	}
	if len(faults) == 0 && days.Through != "" && days.Since > days.Through {
		faults = append(faults, fmt.Errorf("--since %s is after --through %s", days.Since, days.Through))
	}
	return errors.Join(faults...)
}

func recordsEraseCommand(t *terminal, with onStore) *cobra.Command {
	return &cobra.Command{
		Use:   "erase RECORD_ID...",
		Short: "Erase the e-mail addresses given with records",
		Long: `Erase deletes the addresses that were given with registrations or charters: from the contacts, and from the
messages that wait in the outbox. The registrations and charters stay; they hold no address.

What was delivered to your inbox is not touched: search it for the record identifiers, which stand in
each message and in its X-Anteroom-Record header. The contact of a suggestion is in the inbox alone.`,
		Args: cobra.MinimumNArgs(1),
		RunE: with(checkRecordIDs, func(ctx context.Context, store records.Store, ids []string) error {
			ids = distinct(ids)
			erased, err := records.Erase(ctx, store, ids...)
			var missing []string
			for i, e := range erased {
				if e == (records.Erased{}) {
					missing = append(missing, ids[i])
					continue
				}
				t.say("%s: erased %s and %s of the outbox", ids[i], plural(int(e.Contacts), "contact"), plural(int(e.Messages), "message"))
			}
			if len(missing) < len(erased) {
				t.say("Your inbox may hold the address too: search it for the record identifier.")
			}
			if len(missing) > 0 {
				err = errors.Join(err, fmt.Errorf(
					"there is no address on file for %s (anteroom records list contacts shows what there is)",
					strings.Join(missing, ", ")))
			}
			return err
		}),
	}
}

func recordsReviveCommand(t *terminal, with onStore) *cobra.Command {
	return &cobra.Command{
		Use:   "revive [RECORD_ID...]",
		Short: "Try dead messages of the outbox again",
		Long: `Revive makes messages of the outbox that were given up after many tries pending again, as if they were
new: those of the given records, else all. A running serve takes them up within a minute.`,
		RunE: with(checkRecordIDs, func(ctx context.Context, store records.Store, ids []string) error {
			if len(ids) == 0 {
				n, err := records.ReviveAll(ctx, store)
				if err == nil {
					t.say("%s pending again", plural(int(n), "message"))
				}
				return err
			}
			ids = distinct(ids)
			revived, err := records.Revive(ctx, store, ids...)
			var missing []string
			for i, n := range revived {
				if n == 0 {
					missing = append(missing, ids[i])
					continue
				}
				t.say("%s: %s pending again", ids[i], plural(int(n), "message"))
			}
			if len(missing) > 0 {
				return fmt.Errorf("there is no dead message of %s (anteroom records list outbox shows what there is)", strings.Join(missing, ", "))
			}
			return err
		}),
	}
}

// checkRecordIDs names every argument that is not a record identifier: 32 lower-case hexadecimal
// digits.
func checkRecordIDs(args []string) error {
	var faults []error
	for _, id := range args {
		if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
			faults = append(faults, fmt.Errorf("%q is no record identifier, 32 digits of 0-9 and a-f", id))
		}
	}
	return errors.Join(faults...)
}

// distinct leaves out identifiers that are given again.
func distinct(ids []string) (list []string) {
	for _, id := range ids {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}
