package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/civil"
	"anteroom/edge/jsondoc"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
		Args: cobra.ExactArgs(1),
		RunE: work.reads(func(args []string) error { return errors.Join(checkList(args[0]), checkDays(days)) },
			func(ctx context.Context, store records.Reader, args []string) error {
				return printList(t, ctx, store, records.Lists[slices.Index(listNames(), args[0])], days, asJSON, addresses)
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
func printList(t *cli.Terminal, ctx context.Context, r records.Reader, list records.List, days records.Days, asJSON, addresses bool) error {
	columns := make([]string, len(list.Columns))
	for i, c := range list.Columns {
		columns[i] = c.Name
	}
	if !asJSON {
		t.Printf("%s", strings.Join(columns, "\t"))
	}
	for row, err := range records.Rows(ctx, r, list, days) {
		if err != nil {
			return err
		}
		if !addresses {
			hide(list, row)
		}
		if asJSON {
			t.PrintJSON(rowJSON(list, row))
			continue
		}
		for i, v := range row {
			columns[i] = columnText(v)
		}
		t.Printf("%s", strings.Join(columns, "\t"))
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
						t.PrintJSON(append([]byte(`{"list":"`+list.Name+`",`), w[1:]...))
						found = true
						continue
					}
					if found {
						t.Printf("")
					}
					found = true
					t.Printf("%s", records.Lists[i].Name)
					for k, c := range list.Columns {
						t.Printf("  %-16s %s", c.Name, columnText(row[k]))
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
