package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
)

func outboxReviveCommand(work *storeWork) *cobra.Command {
	t := work.t
	return &cobra.Command{
		Use: "revive [RECORD_ID...]",
		RunE: work.changes(checkRecordIDs, func(ctx context.Context, store records.Store, ids []string) error {
			ids, err := records.Find(ctx, store, ids...)
			if err != nil {
				return err
			}
			slices.Sort(ids)
			ids = slices.Compact(ids)
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
