package main

import (
	"context"
	"fmt"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
)

func claimsListCommand(work *storeWork) *cobra.Command {
	t := work.t
	cmd := &cobra.Command{
		Use: "list",
		RunE: work.reads(nil, func(ctx context.Context, store records.Reader, _ []string) error {
			claims, err := records.Claims(ctx, store, t.Now())
			if err != nil {
				return err
			}
			return t.Answer(append([]records.Claim{}, claims...), func() {
				for _, c := range claims {
					t.Printf("%s", claimText(&c, t.Now()))
				}
				t.Printf("%s", cli.Plural(len(claims), "claim"))
			})
		}),
	}
	jsonFlag(cmd.Flags(), &t.JSON)
	return cmd
}

func claimsCommand(w *storeWork) *cobra.Command {
	return parent("claims", claimsListCommand(w), claimsFreeCommand(w))
}

func claimsFreeCommand(work *storeWork) *cobra.Command {
	t := work.t
	return &cobra.Command{
		Use: "free RECORD_ID...",
		RunE: work.changes(nil, func(ctx context.Context, store records.Store, ids []string) error {
			n, err := records.Free(ctx, store, ids...)
			if err != nil {
				return err
			}
			t.Printf("%s freed: a call with the same key begins anew", cli.Plural(int(n), "claim"))
			return nil
		}),
	}
}

// claimText describes a claim, and where its text may be.
func claimText(c *records.Claim, now time.Time) string {
	where := "your inbox may have it, or not"
	if c.Relayed {
		where = "your inbox has it"
	}
	return fmt.Sprintf("%s  suggestion %s was begun %s ago and not recorded: %s",
		c.At.Format(time.RFC3339), c.ID, sinceThen(c.At.Format(time.RFC3339), now), where)
}

// forgotten returns the claims that no call will finish any more.
func forgotten(ctx context.Context, r records.Reader, now time.Time) ([]records.Claim, error) {
	return records.Claims(ctx, r, now.Add(-records.ForgottenAfter))
}

const hintClaims = "anteroom records claims list shows them: a repeated call finishes one; free the others"
