package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func recordsListCommand(work *storeWork) *cobra.Command {
	t := work.t
	var days records.Days
	var asJSON, addresses bool
	var list records.List
	cmd := &cobra.Command{
		Use:   "list " + strings.Join(records.ListNames(), "|"),
		Short: "List records in the order of recording",
		Long: `Print a line for each record, its columns separated by tabs, after a line of their names. A column
that has no value is empty. What cannot be seen in a text is shown as <U+...>. With --json a line is an
object, and holds the text as it was sent, with escapes for that.`,
		Args: cobra.ExactArgs(1),
		RunE: work.reads(func(args []string) (err error) {
			list, err = records.Named(args[0])
			return errors.Join(err, checkDays(days))
		}, func(ctx context.Context, store records.Reader, _ []string) error {
			return printList(t, ctx, store, list, days, asJSON, addresses)
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
	columns := list.Names()
	if !asJSON {
		t.Printf("%s", strings.Join(columns, "\t"))
	}
	for row, err := range records.Rows(ctx, r, list, days, addresses) {
		if err != nil {
			return err
		}
		if asJSON {
			t.PrintJSON(list.JSON(row))
			continue
		}
		for i, v := range row {
			columns[i] = records.Text(v)
		}
		t.Printf("%s", strings.Join(columns, "\t"))
	}
	return nil
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
			for _, list := range records.Lists {
				rows, err := records.Of(ctx, store, list, args[0], addresses)
				if err != nil {
					return err
				}
				for _, row := range rows {
					if asJSON {
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
				return fmt.Errorf("there is no record %s in %s", args[0], store.Name())
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object for each row")
	addressesFlag(cmd.Flags(), &addresses)
	return cmd
}
