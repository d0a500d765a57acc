package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
)

func outboxListCommand(work *storeWork) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the messages of the outbox",
		Args:  cobra.NoArgs,
		RunE: work.reads(func([]string) error { return nil }, func(ctx context.Context, store records.Reader, _ []string) error {
			list, err := records.Named("outbox")
			return errors.Join(err, printList(work.t, ctx, store, list, records.Days{}, asJSON, false))
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
		Long: `Make messages of the outbox that were given up after many tries pending again, as if they were
new: those of the given records, else all. A running serve takes them up within a minute, a deployed
service within five.`,
		RunE: work.changes(checkRecordIDs, func(ctx context.Context, store records.Store, ids []string) error {
			ids = distinct(ids)
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
				return fmt.Errorf("there is no dead message of %s (anteroom records outbox list shows what there is)", strings.Join(missing, ", "))
			}
			return err
		}),
	}
}
