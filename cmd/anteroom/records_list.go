package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/native/disk"
	"anteroom/edge/quote"
	"anteroom/edge/store/records"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// listing is a list of records, and the form in which it is written.
type listing struct {
	t         *cli.Terminal
	list      records.List
	content   string // its folder, for decisions
	days      records.Days
	addresses bool
	format    string // jsonl, csv or tabs
	mark      bool   // begin a CSV with a byte order mark
	follow    bool   // wait for more records
	visible   bool   // the words of strangers must not act on a terminal
}

const jsonl, asCSV, tabs = "jsonl", "csv", "tabs"

func recordsListCommand(work *storeWork) *cobra.Command {
	l := listing{t: work.t}
	cmd := &cobra.Command{
		Use:  "list " + strings.Join(records.ListNames(), "|"),
		RunE: work.reads(l.check, l.print),
	}
	l.addFlags(cmd.Flags())
	contentFlag(cmd.Flags(), &l.content)
	cmd.Flags().BoolVar(&l.follow, "follow", false, "wait for more records and print them, until an interrupt")
	cmd.Flags().BoolVar(&l.t.JSON, "json", false, "print one JSON object a line")
	return cmd
}

func outboxListCommand(work *storeWork) *cobra.Command {
	l := listing{t: work.t}
	cmd := &cobra.Command{
		Use:  "list",
		RunE: work.reads(func([]string) error { return l.check([]string{"outbox"}) }, l.print),
	}
	cmd.Flags().BoolVar(&l.t.JSON, "json", false, "print one JSON object a line")
	return cmd
}

func recordsShowCommand(work *storeWork) *cobra.Command {
	t := work.t
	var addresses bool
	var content string
	cmd := &cobra.Command{
		Use: "show RECORD_ID",
		RunE: work.reads(checkRecordIDs, func(ctx context.Context, store records.Reader, args []string) error {
			ids, err := records.Find(ctx, store, args...)
			if err != nil {
				return err
			}
			found := false
			for _, list := range records.Lists {
				rows, err := records.Of(ctx, store, list, ids[0], addresses)
				if err != nil {
					return err
				}
				for _, row := range rows {
					row = withDecisions(ctx, t, content, store, &list)(row)
					if t.JSON {
						t.PrintJSON(append([]byte(`{"list":"`+list.Name+`",`), list.JSON(row)[1:]...))
						found = true
						continue
					}
					if found {
						t.Printf("")
					}
					found = true
					t.Printf("%s", list.Name)
					for k, c := range list.Columns {
						t.Printf("  %-16s %s", c.Name, records.Text(row[k]))
					}
				}
			}
			if !found {
				return fmt.Errorf("no record %s in %s", args[0], store.Name())
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&t.JSON, "json", false, "print a JSON object for each row")
	contentFlag(cmd.Flags(), &content)
	addressesFlag(cmd.Flags(), &addresses)
	return cmd
}

func recordsExportCommand(work *storeWork) *cobra.Command {
	t := work.t
	l := listing{t: t}
	var out, public string
	cmd := &cobra.Command{
		Use: "export " + strings.Join(records.ListNames(), "|"),
		RunE: work.reads(func(args []string) error {
			err := l.check(args)
			if out != "" {
				err = errors.Join(err, refusePublic("--out", out, public))
			}
			if l.format != jsonl && l.format != asCSV {
				err = errors.Join(err, fmt.Errorf("--format %q is neither jsonl nor csv", l.format))
			}
			if l.mark && l.format != asCSV {
				err = errors.Join(err, errors.New("--bom is for --format csv"))
			}
			return err
		}, func(ctx context.Context, store records.Reader, _ []string) error {
			if out == "" {
				f, is := t.Stdout.(*os.File)
				l.visible = is && isatty.IsTerminal(f.Fd())
				return l.write(ctx, store, t.Out)
			}
			err := disk.Create(out, func(w io.Writer) error { return l.write(ctx, store, w) })
			switch {
			case errors.Is(err, fs.ErrExist):
				err = errors.New("file exists (name another one)")
			case errors.Is(err, fs.ErrPermission):
				err = fmt.Errorf("%w (give this user access to its folder)", err)
			}
			if err != nil {
				err = fmt.Errorf("write %s: %w", out, err)
			}
			return err
		}),
	}
	l.addFlags(cmd.Flags())
	contentFlag(cmd.Flags(), &l.content)
	cmd.Flags().StringVar(&l.format, "format", jsonl, "the format of the records: `jsonl|csv`")
	cmd.Flags().BoolVar(&l.mark, "bom", false, "begin a CSV with a byte order mark, by which Excel reads it as UTF-8")
	cmd.Flags().StringVar(&out, "out", "", "the new `file` to write (default standard output)")
	cmd.Flags().StringVar(&public, "public", publicFolder, "the `folder` of the documents, where no export is written")
	return cmd
}

// withDecisions adds the columns decision and board to a list of records that are verified, and
// returns what adds their values to a row. The first columns of such a list are the number and the
// identifier, and the last one is the commitment.
func withDecisions(ctx context.Context, t *cli.Terminal, content string, r records.Reader,
	list *records.List,
) func(row []any) []any {
	i := slices.IndexFunc(records.Kinds, func(k records.Kind) bool { return k.Table == list.Name })
	if i < 0 {
		return func(row []any) []any { return row }
	}
	list.Columns = append(slices.Clone(list.Columns), records.Column{Name: "decision"}, records.Column{Name: "board"})
	var decisions verification.Decisions
	s, err := loadContent(content, t.Now())
	if err == nil {
		decisions, err = verification.DecisionsOf(ctx, r, s)
	}
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n") // the first fault of the content
		t.Warnf("the decisions are not shown: %s", why)
	}
	return func(row []any) []any {
		seq, _ := row[0].(int64)
		id, _ := row[1].(string)
		commitment, _ := row[len(row)-1].(string)
		if decision, board := decisions.About(records.Kinds[i].Name, seq, id, commitment); decision != "" {
			return append(row, decision, board)
		}
		return append(row, nil, nil)
	}
}

func (l *listing) addFlags(flags *pflag.FlagSet) {
	sinceFlag(flags, &l.days.Since)
	throughFlag(flags, &l.days.Through)
	addressesFlag(flags, &l.addresses)
}

func addressesFlag(flags *pflag.FlagSet, addresses *bool) {
	flags.BoolVar(addresses, "addresses", false, "show e-mail addresses, which are hidden otherwise")
}

func (l *listing) check(args []string) (err error) {
	l.list, err = records.Named(args[0])
	return errors.Join(err, checkDays(l.days))
}

func (l *listing) print(ctx context.Context, r records.Reader, _ []string) error {
	if l.format, l.visible = tabs, true; l.t.JSON {
		l.format = jsonl
	}
	return l.write(ctx, r, l.t.Out)
}

func (l *listing) write(ctx context.Context, r records.Reader, w io.Writer) error {
	query := l.list
	decide := withDecisions(ctx, l.t, l.content, r, &l.list)
	lines, cells := csv.NewWriter(w), l.list.Names()
	line := func() error { return lines.Write(cells) }
	if l.format == tabs {
		line = func() error {
			_, err := fmt.Fprintln(w, strings.Join(cells, "\t"))
			return err
		}
	}
	if l.mark {
		if _, err := io.WriteString(w, "\ufeff"); err != nil {
			return err
		}
	}
	if l.format != jsonl {
		if err := line(); err != nil {
			return err
		}
	}
	var place records.Place
	for {
		err := l.rows(ctx, r, w, query, decide, cells, line, &place)
		if lines.Flush(); err == nil {
			err = lines.Error()
		}
		if err != nil && ctx.Err() == nil || !l.follow {
			return err
		}
		if err := l.t.Out.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

func (l *listing) rows(ctx context.Context, r records.Reader, w io.Writer, query records.List,
	decide func([]any) []any, cells []string, line func() error, place *records.Place,
) error {
	for row, err := range records.Rows(ctx, r, query, l.days, l.addresses, place) {
		if err != nil {
			return err
		}
		row = decide(row)
		if l.format == jsonl {
			_, err = w.Write(append(cli.VisibleJSON(l.list.JSON(row)), '\n'))
		} else {
			for i, v := range row {
				if cells[i] = records.Text(v); l.format == asCSV {
					cells[i] = defused(v)
				}
				if l.visible {
					cells[i], _ = quote.Visible(cells[i])
				}
			}
			err = line()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// defused returns a value as a cell of a spreadsheet, which would calculate a text that begins like
// a formula (OWASP, CSV injection).
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
