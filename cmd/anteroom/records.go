package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/civil"
	"anteroom/edge/native"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/quote"
	"anteroom/edge/store/backup"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

func recordsCommand(t *cli.Terminal) *cobra.Command {
	w := &storeWork{t: t}
	cmd := parent("records", recordsListCommand(w), recordsEraseCommand(w), recordsRetryCommand(w), recordsAuditCommand(w))
	w.flags.add(cmd.PersistentFlags())
	return cmd
}

// storeWork makes the RunE of commands that work on a store.
type storeWork struct {
	t     *cli.Terminal
	flags storeFlags
}

type runE = func(*cobra.Command, []string) error

func (w *storeWork) reads(work func(context.Context, records.Reader, []string) error) runE {
	return onStore(w.flags.reader, work)
}

func (w *storeWork) changes(work func(context.Context, records.Store, []string) error) runE {
	return onStore(func(ctx context.Context) (records.Store, error) { return w.flags.store(ctx, w.t.Logger()) }, work)
}

func onStore[S records.Reader](
	open func(context.Context) (S, error), work func(context.Context, S, []string) error,
) runE {
	return func(cmd *cobra.Command, args []string) error {
		s, err := open(cmd.Context())
		if err != nil {
			return err
		}
		return errors.Join(work(cmd.Context(), s, args), s.Close())
	}
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

func checkRecordIDs(_ *cobra.Command, args []string) error {
	var faults []error
	for _, id := range args {
		faults = append(faults, records.CheckID(id))
	}
	return errors.Join(faults...)
}

func findRecords(ctx context.Context, r records.Reader, args []string) ([]string, error) {
	ids, err := records.Find(ctx, r, args...)
	return unique(ids), err
}

func unique(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// listing is a list of records and its output format.
type listing struct {
	t         *cli.Terminal
	list      records.List
	content   string // its folder, for decisions
	days      records.Days
	addresses bool
	format    string // jsonl, csv or tabs
	out       string // a new file
	visible   bool   // the words of strangers must not act on a terminal
}

const jsonl, asCSV, tabs = "jsonl", "csv", "tabs"

// Lists that are no tables of records.
var otherLists = []records.List{
	{Name: "claims", Columns: []records.Column{{Name: "record_id"}, {Name: "claimed_at"}, {Name: "relayed"}}},
	{Name: "observed", Columns: []records.Column{{Name: "day"}, {Name: "client"}, {Name: "kind"}, {Name: "n"}}},
}

func recordsListCommand(work *storeWork) *cobra.Command {
	l := listing{t: work.t}
	cmd := &cobra.Command{
		Use:     "list LIST [RECORD_ID...]",
		PreRunE: func(_ *cobra.Command, args []string) error { return l.check(args) },
		RunE: work.reads(func(ctx context.Context, r records.Reader, args []string) error {
			if l.out != "" {
				err := disk.Create(l.out, func(w io.Writer) error { return l.write(ctx, r, w, args[1:]) })
				if errors.Is(err, fs.ErrExist) {
					err = errors.New("file exists (name another one)")
				}
				if err != nil {
					err = fmt.Errorf("write %s: %w", l.out, err)
				}
				return err
			}
			f, is := l.t.Stdout.(*os.File)
			l.visible = l.format == tabs || is && isatty.IsTerminal(f.Fd())
			return l.write(ctx, r, l.t.Out, args[1:])
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&l.days.Since, "since", "", "only records from this `date` on (UTC, YYYY-MM-DD)")
	flags.StringVar(&l.days.Through, "through", "", "only records up to the end of this `date` (UTC, YYYY-MM-DD)")
	flags.BoolVar(&l.addresses, "addresses", false, "show e-mail addresses, which are hidden otherwise")
	contentFlag(flags, &l.content)
	flags.StringVar(&l.format, "format", tabs, "the format of the records: `tabs|jsonl|csv`")
	flags.BoolVar(&l.t.JSON, "json", false, "the same as --format jsonl")
	flags.StringVar(&l.out, "out", "", "the new `file` to write (default standard output)")
	return cmd
}

func (l *listing) check(args []string) (err error) {
	lists := slices.Concat(records.Lists, otherLists)
	var names []string
	for _, list := range lists {
		names = append(names, list.Name)
	}
	switch i := slices.Index(names, args[0]); {
	case i < 0:
		err = fmt.Errorf("list: got %q, want one of %s", args[0], strings.Join(names, ", "))
	case i >= len(records.Lists) && len(args) > 1:
		err = fmt.Errorf("%s is listed as a whole", args[0])
	default:
		l.list = lists[i]
	}
	if l.t.JSON {
		l.format = jsonl
	}
	if l.format != jsonl && l.format != asCSV && l.format != tabs {
		err = errors.Join(err, fmt.Errorf("--format %q is neither tabs, jsonl nor csv", l.format))
	}
	if l.out != "" {
		err = errors.Join(err, refusePublic("--out", l.out, publicFolder))
	}
	return errors.Join(err, checkDays(l.days), checkRecordIDs(nil, args[1:]))
}

func (l *listing) rows(ctx context.Context, r records.Reader, query records.List, ids []string) iter.Seq2[[]any, error] {
	var rows [][]any
	var err error
	switch {
	case query.Name == "claims":
		var claims []records.Claim
		claims, err = records.Claims(ctx, r, l.t.Now(), 0)
		for _, c := range claims {
			rows = append(rows, []any{c.ID, c.At.Format(time.RFC3339), fmt.Sprint(c.Relayed)})
		}
	case query.Name == "observed":
		var seen []records.Observation
		seen, err = records.Observed(ctx, r, l.days)
		for _, o := range seen {
			rows = append(rows, []any{o.Day, o.Client, o.Kind, o.N})
		}
	case len(ids) == 0:
		return records.Rows(ctx, r, query, l.days, l.addresses)
	default:
		ids, err = records.Find(ctx, r, ids...)
		for i := 0; err == nil && i < len(ids); i++ {
			var found [][]any
			if found, err = records.Of(ctx, r, query, ids[i], l.addresses); err == nil && len(found) == 0 {
				err = fmt.Errorf("no record %s in %s of %s", ids[i], query.Name, r.Name())
			}
			rows = append(rows, found...)
		}
	}
	return func(yield func([]any, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func (l *listing) write(ctx context.Context, r records.Reader, w io.Writer, ids []string) error {
	query := l.list
	decide := l.withDecisions(ctx, r)
	lines, cells := csv.NewWriter(w), l.list.Names()
	line := func() error { return lines.Write(cells) }
	if l.format == tabs {
		line = func() error {
			_, err := fmt.Fprintln(w, strings.Join(cells, "\t"))
			return err
		}
	}
	if l.format != jsonl {
		if err := line(); err != nil {
			return err
		}
	}
	for row, err := range l.rows(ctx, r, query, ids) {
		if err == nil {
			err = l.row(w, decide(row), cells, line)
		}
		if err != nil {
			return err
		}
	}
	lines.Flush()
	return lines.Error()
}

func (l *listing) row(w io.Writer, row []any, cells []string, line func() error) error {
	if l.format == jsonl {
		_, err := w.Write(append(cli.VisibleJSON(l.list.JSON(row)), '\n'))
		return err
	}
	for i, v := range row {
		if cells[i] = records.Text(v); l.format == asCSV {
			cells[i] = defused(v)
		}
		if l.visible {
			cells[i], _ = quote.Visible(cells[i])
		}
	}
	return line()
}

// withDecisions adds the columns decision and board to a list of verified records, and returns a
// function that adds their values to a row. Such a list begins with number and identifier, and ends
// with the commitment.
func (l *listing) withDecisions(ctx context.Context, r records.Reader) func(row []any) []any {
	i := slices.IndexFunc(records.Kinds, func(k records.Kind) bool { return k.Table == l.list.Name })
	if i < 0 {
		return func(row []any) []any { return row }
	}
	l.list.Columns = append(slices.Clone(l.list.Columns), records.Column{Name: "decision"}, records.Column{Name: "board"})
	var decisions verification.Decisions
	s, err := loadContent(l.content, l.t.Now())
	if err == nil {
		decisions, err = verification.DecisionsOf(ctx, r, s)
	}
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n") // the first fault of the content
		l.t.Warnf("the decisions are not shown: %s", why)
	}
	return func(row []any) []any {
		decision, board := decisions.About(records.Kinds[i].Name,
			turn.Integer(row[0]), turn.Text(row[1]), turn.Text(row[len(row)-1]))
		if decision != "" {
			return append(row, decision, board)
		}
		return append(row, nil, nil)
	}
}

// defused returns a value as a cell of a spreadsheet, which would calculate a string that begins
// like a formula (OWASP, CSV injection).
func defused(v any) string {
	text, is := v.(string)
	if !is {
		return records.Text(v)
	}
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + text
	}
	return text
}

func recordsRetryCommand(work *storeWork) *cobra.Command {
	t := work.t
	return &cobra.Command{
		Use:     "retry [RECORD_ID...]",
		PreRunE: checkRecordIDs,
		RunE: work.changes(func(ctx context.Context, store records.Store, args []string) error {
			ids, err := findRecords(ctx, store, args)
			if err != nil {
				return err
			}
			retried, err := records.Retry(ctx, store, ids...)
			for i, n := range retried {
				switch {
				case n.Claims > 0:
					t.Printf("%s freed: a call with the same key starts anew", cli.Plural(n.Claims, "claim"))
				case n.Messages == 0 && len(ids) > 0:
					err = errors.Join(err, fmt.Errorf("no dead message and no claim of %s (anteroom records list outbox, "+
						"and claims, show all)", ids[i]))
				default:
					t.Printf("%s pending again", cli.Plural(n.Messages, "message"))
				}
			}
			return err
		}),
	}
}

func claimText(c *records.Claim, now time.Time) string {
	where := "your inbox may have it, or not"
	if c.Relayed {
		where = "your inbox has it"
	}
	at := c.At.Format(time.RFC3339)
	begun := sinceThen(at, now) + " ago"
	if c.At.After(now) {
		begun = "by a clock that was ahead"
	}
	return fmt.Sprintf("%s  suggestion %s was started %s and not recorded: %s", at, c.ID, begun, where)
}

const hintClaims = "a repeated call finishes one; anteroom records retry ID frees the others"

func recordsEraseCommand(work *storeWork) *cobra.Command {
	t := work.t
	var address string
	cmd := &cobra.Command{
		Use: "erase [RECORD_ID...]",
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if (address == "") == (len(args) == 0) {
				return errors.New("want record identifiers, or --email ADDRESS")
			}
			return checkRecordIDs(cmd, args)
		},
		RunE: work.changes(func(ctx context.Context, store records.Store, args []string) (err error) {
			ids, err := findRecords(ctx, store, args)
			if err == nil && address != "" {
				var named int64
				if ids, named, err = records.WithAddress(ctx, store, address); named > 0 {
					t.Printf("kept: %d with that address as their name, as registrations and charters are never erased", named)
				}
				ids = unique(ids)
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
				t.Printf("erased observations of clients with that name: %s", cli.Plural(observed, "row"))
			} else if len(ids) == 0 && err == nil {
				return errors.New("no record has that address (only the inbox has the contact of a suggestion)")
			}
			var missing, messages []string
			for i, e := range erased {
				messages = append(messages, e.Digests...)
				if e.Contacts == 0 && e.Messages == 0 {
					missing = append(missing, ids[i])
					continue
				}
				t.Printf("%s: erased %s and %s of the outbox", ids[i], cli.Plural(e.Contacts, "contact"),
					cli.Plural(e.Messages, "message"))
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
	for _, id := range unique(messages) {
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
// no longer reads: copies from before a migration, messages and backups whose writer was killed,
// and messages about these records.
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
		RunE: work.reads(func(ctx context.Context, store records.Reader, _ []string) error {
			s, err := loadContent(content, t.Now())
			if err != nil {
				return err
			}
			found, err := verification.Audit(ctx, store, s)
			if err != nil {
				return err
			}
			claims, err := records.Claims(ctx, store, t.Now(), records.ForgottenAfter)
			if err != nil {
				return err
			}
			for _, c := range claims {
				t.Warnf("%s (%s)", claimText(&c, t.Now()), hintClaims)
			}
			for _, own := range found.Own {
				t.Warnf("%s (the next anteroom publish proposes to set it apart)", own)
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
					"if they are lost for good, anteroom publish asks why)", store.Name(), cli.Plural(n, "finding"))
			} else if n := len(found.Early); n > 0 {
				err = fmt.Errorf("%s arrived late, but every verified record remains: the host's clock was behind, "+
					"or another program wrote into %s (look at them; anteroom publish counts them)",
					cli.Plural(n, "record"), store.Name())
			}
			return err
		}),
	}
	contentFlag(cmd.Flags(), &content)
	jsonFlag(cmd.Flags(), &t.JSON)
	return cmd
}
