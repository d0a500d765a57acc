package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/civil"
	"anteroom/edge/endpoint/suggest"
	"anteroom/edge/jsondoc"
	"anteroom/edge/records"
	"anteroom/generator/verify"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func recordsCommand(t *terminal) *cobra.Command {
	w := &storeWork{t: t}
	cmd := &cobra.Command{
		Use:   "records",
		Short: "Count, show, export, audit and erase what was recorded",
		Long: `Records reads and mends the database of a data folder, while serve runs or not, or with --remote that of
a deployed service. Names and keys in it are untrusted text of unauthenticated agents. E-mail addresses
are hidden unless --addresses asks for them.

Reading opens the database read-only, and never makes one. With --remote the token comes from the
environment, as for wrangler: CLOUDFLARE_API_TOKEN, with the permission D1 Read, or D1 Edit to erase
and revive.

Every flag can be given by the environment instead, as with serve: ANTEROOM_DATA.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	w.flags.add(cmd.PersistentFlags())
	outbox := &cobra.Command{
		Use:   "outbox",
		Short: "Look after the messages that tell you of addresses",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	outbox.AddCommand(outboxListCommand(w), outboxReviveCommand(w))
	cmd.AddCommand(recordsCountCommand(w), recordsListCommand(w), recordsShowCommand(w), recordsExportCommand(w),
		recordsObservedCommand(w), outbox, recordsEraseCommand(w), recordsAuditCommand(w))
	return cmd
}

// storeWork makes the RunE of commands that work on a store.
type storeWork struct {
	t     *terminal
	flags storeFlags
}

// reads is for a command that reads. check finds what is wrong with its arguments and flags before
// the store is opened.
func (w *storeWork) reads(check func(args []string) error, work func(context.Context, records.Reader, []string) error) func(*cobra.Command, []string) error {
	return w.on(check, func(ctx context.Context, args []string) error {
		r, err := w.flags.reader(ctx)
		if err != nil {
			return err
		}
		return errors.Join(work(ctx, r, args), r.Close())
	})
}

// mends is for a command that changes something.
func (w *storeWork) mends(check func(args []string) error, work func(context.Context, records.Store, []string) error) func(*cobra.Command, []string) error {
	return w.on(check, func(ctx context.Context, args []string) error {
		s, err := w.flags.store(ctx, w.t.log())
		if err != nil {
			return err
		}
		return errors.Join(work(ctx, s, args), s.Close())
	})
}

func (w *storeWork) on(check func(args []string) error, work func(context.Context, []string) error) func(*cobra.Command, []string) error {
	return withExitCode(func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(fromEnvironment(cmd.Flags()), check(args)); err != nil {
			return usageError{err}
		}
		return work(cmd.Context(), args)
	})
}

func recordsCountCommand(work *storeWork) *cobra.Command {
	t := work.t
	var days records.Days
	var bursts int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "count",
		Short: "Count what the next hand verification looks at",
		Long: fmt.Sprintf(`Count counts what was recorded. It vouches for nothing: which registrations are of agents that you can
vouch for, and which are tests of your own, you decide with anteroom verify.

A burst is a run of registrations of one self-chosen name, each at most %s after the one before.
It counts as one verified agent at most, and as several recorded registrations. The largest bursts have
a line each.`, burstLength),
		Args: cobra.NoArgs,
		RunE: work.reads(func([]string) error { return errors.Join(checkDays(days), t.checkPast(days.Through)) }, func(ctx context.Context, store records.Reader, _ []string) error {
			debug.SetGCPercent(100) // most of what is read is garbage at once
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
	if through == t.now().UTC().Format(time.DateOnly) {
		until = "now, so far on " + through + " (UTC), which is not over"
	} else if through != "" {
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

// checkPast refuses a day to come.
func (t *terminal) checkPast(through string) error {
	if today := t.now().UTC().Format(time.DateOnly); through > today {
		return fmt.Errorf("--through %s is to come: today is %s", through, today)
	}
	return nil
}

// listNames are the names of the lists.
func listNames() (names []string) {
	for _, list := range records.Lists {
		names = append(names, list.Name)
	}
	return names
}

// checkList refuses the name of a list that there is not.
func checkList(name string) error {
	if names := listNames(); !slices.Contains(names, name) {
		return fmt.Errorf("%q is none of %s", name, strings.Join(names, ", "))
	}
	return nil
}

func recordsListCommand(work *storeWork) *cobra.Command {
	t := work.t
	var days records.Days
	var asJSON, addresses bool
	cmd := &cobra.Command{
		Use:   "list " + strings.Join(listNames(), "|"),
		Short: "List records in the order of recording",
		Long: `List prints a line for each record, its columns separated by tabs, after a line of their names. A column
that has no value is empty. What cannot be seen in a text is shown as <U+...>. With --json a line is an
object, and holds the text as it was sent, with escapes for that.`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: listNames(),
		RunE: work.reads(func(args []string) error { return errors.Join(checkList(args[0]), checkDays(days)) },
			func(ctx context.Context, store records.Reader, args []string) error {
				return t.printList(ctx, store, records.Lists[slices.Index(listNames(), args[0])], days, asJSON, addresses)
			}),
	}
	daysFlags(cmd.Flags(), &days.Since, &days.Through)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	addressesFlag(cmd.Flags(), &addresses)
	return cmd
}

func addressesFlag(flags *pflag.FlagSet, addresses *bool) {
	flags.BoolVar(addresses, "addresses", false, "show e-mail addresses, which are hidden else")
}

// printList prints the rows of a list.
func (t *terminal) printList(ctx context.Context, r records.Reader, list records.List, days records.Days, asJSON, addresses bool) error {
	columns := make([]string, len(list.Columns))
	for i, c := range list.Columns {
		columns[i] = c.Name
	}
	if !asJSON {
		t.say("%s", strings.Join(columns, "\t"))
	}
	for row, err := range records.Rows(ctx, r, list, days) {
		if err != nil {
			return err
		}
		if !addresses {
			hide(list, row)
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
}

// hidden stands for an e-mail address that was not asked for.
const hidden = "(hidden)"

// hide replaces the e-mail addresses of a row.
func hide(list records.List, row []any) {
	for i, c := range list.Columns {
		if c.Address && row[i] != nil {
			row[i] = hidden
		}
	}
}

func recordsShowCommand(work *storeWork) *cobra.Command {
	t := work.t
	var asJSON, addresses bool
	cmd := &cobra.Command{
		Use:   "show RECORD_ID",
		Short: "Show all that is stored of one record",
		Args:  cobra.ExactArgs(1),
		RunE: work.reads(checkRecordIDs, func(ctx context.Context, store records.Reader, args []string) error {
			found := false
			for i, list := range records.Lists {
				rows, err := records.Of(ctx, store, list, args[0])
				if err != nil {
					return err
				}
				for _, row := range rows {
					if !addresses {
						hide(list, row)
					}
					if asJSON {
						w := rowJSON(list, row)
						t.sayJSON(append([]byte(`{"list":"`+list.Name+`",`), w[1:]...))
						found = true
						continue
					}
					if found {
						t.say("")
					}
					found = true
					t.say("%s", records.Lists[i].Name)
					for k, c := range list.Columns {
						t.say("  %-16s %s", c.Name, columnText(row[k]))
					}
				}
			}
			if !found {
				return fmt.Errorf("there is no record %s in %s", args[0], store.Name())
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object for each row")
	addressesFlag(cmd.Flags(), &addresses)
	return cmd
}

func recordsAuditCommand(work *storeWork) *cobra.Command {
	t := work.t
	var content string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Hold every published verification against the records",
		Long: `Audit recomputes every verification in content/verifications/ from the store, and names records that are
gone, that were changed, or that came in later and say that they are of a time before. What a
verification covers all the same is noted. The kind of a suggestion and the time of any record are held
to what was verified too.

Exit codes: 0 all is as it was verified, 1 something is not.`,
		Args: cobra.NoArgs,
		RunE: work.reads(func([]string) error { return nil }, func(ctx context.Context, store records.Reader, _ []string) error {
			debug.SetGCPercent(50)
			s, err := loadContent(content)
			if err != nil {
				return err
			}
			findings, notes, err := verify.Audit(ctx, store, s)
			if err != nil {
				return err
			}
			for _, note := range notes {
				t.say("note: %s; it was verified so", note)
			}
			for _, finding := range findings {
				t.say("%s", finding)
			}
			if len(findings) > 0 {
				return fmt.Errorf("%s is not as it was verified: %s above (bring the records back from a backup)", store.Name(), plural(len(findings), "finding"))
			}
			t.say("%s: everything is as it was verified (%s).", store.Name(), plural(len(s.Verifications), "verification"))
			return nil
		}),
	}
	cmd.Flags().StringVar(&content, "content", "content", "the content `folder`")
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

func recordsEraseCommand(work *storeWork) *cobra.Command {
	t := work.t
	var address string
	cmd := &cobra.Command{
		Use:   "erase [RECORD_ID...]",
		Short: "Erase the e-mail addresses given with records",
		Long: `Erase deletes the addresses that were given with registrations or charters: those of the given records, or
with --email every place where that address stands. It deletes from the contacts, and from the messages
that wait in the outbox. The registrations and charters stay; they hold no address.

What was delivered to your inbox is not reached: erase names the messages, which hold the record identifiers
in their text and in X-Anteroom-Record. The contact of a suggestion is in the inbox alone. Backups that were
made before hold the address still.`,
		RunE: work.mends(func(args []string) error {
			if (address == "") == (len(args) == 0) {
				return errors.New("want record identifiers, or --email ADDRESS")
			}
			return checkRecordIDs(args)
		}, func(ctx context.Context, store records.Store, ids []string) error {
			if address != "" {
				var err error
				if ids, err = records.WithAddress(ctx, store, address); err != nil {
					return err
				}
				if len(ids) == 0 {
					return errors.New("that address is on file nowhere (the contact of a suggestion is in the inbox alone)")
				}
			}
			ids = distinct(ids)
			erased, err := records.Erase(ctx, store, ids...)
			var missing []string
			var messages []string
			for i, e := range erased {
				messages = append(messages, e.Digests...)
				if e.Contacts == 0 && e.Messages == 0 {
					missing = append(missing, ids[i])
					continue
				}
				t.say("%s: erased %s and %s of the outbox", ids[i], plural(int(e.Contacts), "contact"), plural(int(e.Messages), "message"))
			}
			if len(missing) < len(ids) {
				t.say("Your inbox may hold the address too: search it for the record identifier, and delete what you find.")
				for _, id := range distinct(messages) {
					t.say("It was sent there in the message %s", id)
				}
				if remains := store.Remains(); remains != "" {
					t.say("%s", remains)
				}
			}
			if len(missing) > 0 {
				err = errors.Join(err, fmt.Errorf(
					"there is no address on file for %s (anteroom records list contacts shows what there is)",
					strings.Join(missing, ", ")))
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&address, "email", "", "erase this `address` wherever it stands, in whatever case")
	return cmd
}

func outboxListCommand(work *storeWork) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the messages of the outbox",
		Args:  cobra.NoArgs,
		RunE: work.reads(func([]string) error { return nil }, func(ctx context.Context, store records.Reader, _ []string) error {
			return work.t.printList(ctx, store, records.Lists[slices.Index(listNames(), "outbox")], records.Days{}, asJSON, false)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func outboxReviveCommand(work *storeWork) *cobra.Command {
	t := work.t
	return &cobra.Command{
		Use:   "revive [RECORD_ID...]",
		Short: "Try dead messages of the outbox again",
		Long: `Revive makes messages of the outbox that were given up after many tries pending again, as if they were
new: those of the given records, else all. A running serve takes them up within a minute, a deployed
service within five.`,
		RunE: work.mends(checkRecordIDs, func(ctx context.Context, store records.Store, ids []string) error {
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
				return fmt.Errorf("there is no dead message of %s (anteroom records outbox list shows what there is)", strings.Join(missing, ", "))
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
