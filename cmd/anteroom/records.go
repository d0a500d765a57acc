package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/civil"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/endpoint/suggest"
	"anteroom/edge/native"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/backup"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func recordsCommand(t *cli.Terminal) *cobra.Command {
	w := &storeWork{t: t}
	cmd := parent("records", recordsCountCommand(w), recordsListCommand(w), recordsShowCommand(w),
		recordsExportCommand(w), recordsObservedCommand(w),
		parent("outbox", outboxListCommand(w), outboxReviveCommand(w)),
		claimsCommand(w), recordsEraseCommand(w), recordsAuditCommand(w))
	w.flags.add(cmd.PersistentFlags())
	return cmd
}

// storeWork makes the RunE of commands that work on a store.
type storeWork struct {
	t     *cli.Terminal
	flags storeFlags
}

type runE = func(*cobra.Command, []string) error

// reads runs work on a store that it only reads. check, which may be nil, refuses arguments and
// flags before the store is opened.
func (w *storeWork) reads(check func(args []string) error,
	work func(context.Context, records.Reader, []string) error,
) runE {
	return onStore(w.flags.reader, check, work)
}

func (w *storeWork) changes(check func(args []string) error,
	work func(context.Context, records.Store, []string) error,
) runE {
	open := func(ctx context.Context) (records.Store, error) { return w.flags.store(ctx, w.t.Logger()) }
	return onStore(open, check, work)
}

func onStore[S records.Reader](open func(context.Context) (S, error), check func([]string) error,
	work func(context.Context, S, []string) error,
) runE {
	return func(cmd *cobra.Command, args []string) error {
		if check != nil {
			if err := check(args); err != nil {
				return cli.Usage(err)
			}
		}
		s, err := open(cmd.Context())
		if err != nil {
			return err
		}
		return errors.Join(work(cmd.Context(), s, args), s.Close())
	}
}

func sinceFlag(flags *pflag.FlagSet, since *string) {
	flags.StringVar(since, "since", "", "only records from this `date` on (UTC, YYYY-MM-DD)")
}

func throughFlag(flags *pflag.FlagSet, through *string) {
	flags.StringVar(through, "through", "", "only records up to the end of this `date` (UTC, YYYY-MM-DD)")
}

func checkDays(days records.Days) error {
	var faults []error
	for _, end := range []struct{ flag, date string }{{"since", days.Since}, {"through", days.Through}} {
		if _, ok := civil.ParseDate(end.date); end.date != "" && !ok {
			faults = append(faults, fmt.Errorf("--%s %q is not a date such as 1970-01-01", end.flag, end.date))
		}
	}
	if len(faults) == 0 && days.Through != "" && days.Since > days.Through {
		faults = append(faults, fmt.Errorf("--since %s is after --through %s", days.Since, days.Through))
	}
	return errors.Join(faults...)
}

func checkRecordIDs(args []string) error {
	var faults []error
	for _, id := range args {
		faults = append(faults, records.CheckID(id))
	}
	return errors.Join(faults...)
}

func findRecords(ctx context.Context, r records.Reader, args []string) ([]string, error) {
	ids, err := records.Find(ctx, r, args...)
	slices.Sort(ids)
	return slices.Compact(ids), err
}

func until(through string) string {
	if through == "" {
		return "now"
	}
	return "the end of " + through + " (UTC)"
}

// burstLength is the longest pause between two registrations of a burst, in words.
var burstLength = cli.Plural(records.BurstSeconds/60, "minute")

func suggestionKinds() []string {
	kind, _ := reflect.TypeFor[suggest.Answer]().FieldByName("Kind")
	return strings.Split(kind.Tag.Get("enum"), ",")
}

// outboxStates are the states of messages about which the operator may have to do something.
var outboxStates = []string{"pending", "dead"}

func recordsCountCommand(work *storeWork) *cobra.Command {
	t := work.t
	var days records.Days
	var bursts int
	cmd := &cobra.Command{
		Use: "count",
		RunE: work.reads(func([]string) error {
			err := checkDays(days)
			if today := t.Now().UTC().Format(time.DateOnly); days.Through > today && err == nil {
				err = fmt.Errorf("--through %s is in the future: today is %s", days.Through, today)
			}
			return err
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
	throughFlag(cmd.Flags(), &days.Through)
	cmd.Flags().IntVar(&bursts, "bursts", 20, "the number of bursts to list")
	jsonFlag(cmd.Flags(), &t.JSON)
	return cmd
}

func printCounts(t *cli.Terminal, c *records.Counts, through string) {
	end := until(through)
	if through == t.Now().UTC().Format(time.DateOnly) {
		end = "now, so far on " + through + " (UTC), which is not over"
	}
	number := func(what string, n int64) { t.Printf("%-42s %8d", what, n) }
	t.Printf("Recorded until %s. None of it is verified: you decide which agents you vouch for.", end)
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
	t.Printf("%s of one name, each registration at most %s after the one before:",
		cli.Plural(int(c.Bursts), "burst"), burstLength)
	for _, b := range c.Largest {
		t.Printf("%8d  %s to %s  %s", b.Registrations, b.First, b.Last, records.Text(b.Name))
	}
	if left := int(c.Bursts) - len(c.Largest); left > 0 {
		t.Printf("and %s more (--bursts %d shows all)", cli.Plural(left, "burst"), c.Bursts)
	}
}

func recordsObservedCommand(work *storeWork) *cobra.Command {
	t := work.t
	var days records.Days
	cmd := &cobra.Command{
		Use: "observed",
		RunE: work.reads(func([]string) error { return checkDays(days) },
			func(ctx context.Context, store records.Reader, _ []string) error {
				seen, err := records.Observed(ctx, store, days)
				if err != nil {
					return err
				}
				seen = records.Bound(seen)
				a := records.AttentionOf(seen)
				object := struct {
					Since   *string `json:"since"`
					Through *string `json:"through"`
					records.Attention
					Observed []records.Observation `json:"observed"`
				}{orNull(days.Since), orNull(days.Through), a, append([]records.Observation{}, seen...)}
				return t.Answer(object, func() {
					t.Printf("Seen over MCP until %s. It is evidence: clients name themselves as they like, and some of it "+
						"may be lost.", until(days.Through))
					t.Printf("")
					printClients(t, seen)
					t.Printf("%-42s %8d", "named clients seen", a.NamedClientsSeen)
					t.Printf("%-42s %8d", "  known to have completed a handshake", a.CompletedHandshake)
					t.Printf("%-42s %8d", "handshakes of clients without a name", a.UnnamedHandshakes)
					t.Printf("%-42s %8d", "tool calls", a.ToolCalls)
					if a.MoreClients {
						t.Printf("There were more names: those beyond %d a day are counted as %q.", records.DayClients,
							records.OtherClients)
					}
				})
			}),
	}
	sinceFlag(cmd.Flags(), &days.Since)
	throughFlag(cmd.Flags(), &days.Through)
	jsonFlag(cmd.Flags(), &t.JSON)
	return cmd
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

func outboxReviveCommand(work *storeWork) *cobra.Command {
	t := work.t
	return &cobra.Command{
		Use: "revive [RECORD_ID...]",
		RunE: work.changes(checkRecordIDs, func(ctx context.Context, store records.Store, args []string) error {
			ids, err := findRecords(ctx, store, args)
			if err != nil {
				return err
			}
			revived, err := records.Revive(ctx, store, ids...)
			if len(ids) == 0 && err == nil {
				t.Printf("%s pending again", cli.Plural(int(revived[0]), "message"))
				return nil
			}
			var missing []string
			for i, n := range revived {
				if n == 0 {
					missing = append(missing, ids[i])
					continue
				}
				t.Printf("%s: %s pending again", ids[i], cli.Plural(int(n), "message"))
			}
			if len(missing) > 0 {
				return fmt.Errorf("no dead message for %s (anteroom records outbox list shows all)", strings.Join(missing, ", "))
			}
			return err
		}),
	}
}

func recordsEraseCommand(work *storeWork) *cobra.Command {
	t := work.t
	var address string
	cmd := &cobra.Command{
		Use: "erase [RECORD_ID...]",
		RunE: work.changes(func(args []string) error {
			if (address == "") == (len(args) == 0) {
				return errors.New("want record identifiers, or --email ADDRESS")
			}
			return checkRecordIDs(args)
		}, func(ctx context.Context, store records.Store, args []string) (err error) {
			ids, err := findRecords(ctx, store, args)
			if err == nil && address != "" {
				var named int64
				if ids, named, err = records.WithAddress(ctx, store, address); named > 0 {
					t.Printf("kept: %d with that address as their name, as registrations and charters are never erased", named)
				}
				slices.Sort(ids)
				ids = slices.Compact(ids)
			}
			if err == nil && work.flags.remote == "" {
				err = backup.NoteErased(work.flags.data, t.Now(), ids)
			}
			if err != nil {
				return err
			}
			erased, observed, err := records.Erase(ctx, store, address, ids...)
			if err == nil {
				defer func() { err = errors.Join(err, store.Forget(ctx)) }()
			}
			if observed > 0 {
				t.Printf("erased observations of clients with that name: %s", cli.Plural(int(observed), "row"))
			} else if len(ids) == 0 && err == nil {
				return errors.New("no record has that address (the contact of a suggestion is in the inbox alone)")
			}
			var missing, messages []string
			for i, e := range erased {
				messages = append(messages, e.Digests...)
				if e.Contacts == 0 && e.Messages == 0 {
					missing = append(missing, ids[i])
					continue
				}
				t.Printf("%s: erased %s and %s of the outbox", ids[i], cli.Plural(int(e.Contacts), "contact"),
					cli.Plural(int(e.Messages), "message"))
			}
			if len(missing) < len(ids) {
				work.printLeftovers(store, ids, messages)
			}
			if len(missing) > 0 {
				err = errors.Join(err, fmt.Errorf("no address on file for %s (anteroom records list contacts shows all)",
					strings.Join(missing, ", ")))
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&address, "email", "", "erase this `address` everywhere, in upper or lower case")
	return cmd
}

func (w *storeWork) printLeftovers(store records.Store, ids, messages []string) {
	w.t.Printf("Your inbox may hold the address too: search it for the record identifier, and delete what you find.")
	slices.Sort(messages)
	for _, id := range slices.Compact(messages) {
		w.t.Printf("It was sent there in the message %s", id)
	}
	if remains := store.RetentionNote(); remains != "" {
		w.t.Printf("%s", remains)
	}
	for _, file := range w.leftovers(ids) {
		w.t.Printf("%s may hold it too: remove it when you need it no longer", file)
	}
}

// leftovers lists the files of the data folder that may contain the addresses and that the server
// reads no more: copies from before a migration, messages and backups whose writer was killed, and
// messages about these records.
func (w *storeWork) leftovers(ids []string) (files []string) {
	if w.flags.remote != "" {
		return nil
	}
	const messages = native.MailFolder + "/[cn]*/*" // cur and new
	data := os.DirFS(w.flags.data)
	for _, pattern := range []string{
		sqlite.FileName + ".before-*", ".anteroom-draft-*", native.MailFolder + "/tmp/*", messages,
	} {
		names, _ := fs.Glob(data, pattern)
		for _, name := range names {
			about := func(id string) bool {
				text, err := fs.ReadFile(data, name)
				return err == nil && bytes.Contains(text, []byte(id))
			}
			if pattern != messages || slices.ContainsFunc(ids, about) {
				files = append(files, filepath.Join(w.flags.data, name))
			}
		}
	}
	return files
}

func recordsAuditCommand(work *storeWork) *cobra.Command {
	t := work.t
	var content string
	cmd := &cobra.Command{
		Use: "audit",
		RunE: work.reads(nil, func(ctx context.Context, store records.Reader, _ []string) error {
			s, err := loadContent(content, t.Now())
			if err != nil {
				return err
			}
			found, err := verification.Audit(ctx, store, s)
			if err != nil {
				return err
			}
			claims, err := forgotten(ctx, store, t.Now())
			if err != nil {
				return err
			}
			for _, c := range claims {
				t.Warnf("%s (%s)", claimText(&c, t.Now()), hintClaims)
			}
			for _, own := range found.Own {
				t.Warnf("%s (anteroom verify proposes to set it apart)", own)
			}
			err = t.Answer(found, func() {
				for _, note := range found.Notes {
					t.Printf("note: %s; it was verified so", note)
				}
				for _, finding := range slices.Concat(found.Changed, found.Early) {
					t.Printf("%s", finding)
				}
				if len(found.Changed)+len(found.Early) == 0 {
					t.Printf("%s: all records match their verifications (%s).", store.Name(),
						cli.Plural(found.Verifications, "verification"))
				}
			})
			if n := len(found.Changed); n > 0 {
				err = fmt.Errorf("%s differs from its verifications: %s above (bring the records back from a backup; "+
					"if they are lost for good, anteroom verify asks why)", store.Name(), cli.Plural(n, "finding"))
			} else if n := len(found.Early); n > 0 {
				err = fmt.Errorf("%s arrived late, but every verified record remains: the host's clock was behind, "+
					"or another program wrote into %s (look at them; anteroom verify counts them)",
					cli.Plural(n, "record"), store.Name())
			}
			return err
		}),
	}
	contentFlag(cmd.Flags(), &content)
	jsonFlag(cmd.Flags(), &t.JSON)
	return cmd
}
