package main

import (
	"context"
	"fmt"
	"strings"

	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
)

func recordsListCommand(work *storeWork) *cobra.Command {
	l := listing{t: work.t}
	cmd := &cobra.Command{
		Use:  "list " + strings.Join(records.ListNames(), "|"),
		RunE: work.reads(l.check, l.print),
	}
	l.addFlags(cmd.Flags())
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
				return fmt.Errorf("there is no record %s in %s", args[0], store.Name())
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&t.JSON, "json", false, "print a JSON object for each row")
	addressesFlag(cmd.Flags(), &addresses)
	return cmd
}
