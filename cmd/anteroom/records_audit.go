package main

import (
	"context"
	"fmt"
	"slices"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
)

func recordsAuditCommand(work *storeWork) *cobra.Command {
	t := work.t
	var content string
	cmd := &cobra.Command{
		Use: "audit",
		RunE: work.reads(func([]string) error { return nil }, func(ctx context.Context, store records.Reader, _ []string) error {
			s, err := loadContent(content, t.Now())
			if err != nil {
				return err
			}
			found, err := verification.Audit(ctx, store, s)
			if err != nil {
				return err
			}
			for _, note := range found.Notes {
				t.Printf("note: %s; it was verified so", note)
			}
			for _, own := range found.Own {
				t.Warnf("%s (anteroom verify proposes to set it apart)", own)
			}
			for _, finding := range slices.Concat(found.Changed, found.Early) {
				t.Printf("%s", finding)
			}
			if n := len(found.Changed); n > 0 {
				return fmt.Errorf("%s is not as it was verified: %s above (bring the records back from a backup; if they are lost for good, "+
					"anteroom verify asks why)", store.Name(), cli.Plural(n, "finding"))
			}
			if n := len(found.Early); n > 0 {
				return fmt.Errorf("%s came in late, and nothing that was verified is gone: the clock of the host was behind, or somebody else "+
					"wrote into %s (look at them; anteroom verify counts them)", cli.Plural(n, "record"), store.Name())
			}
			t.Printf("%s: everything is as it was verified (%s).", store.Name(), cli.Plural(len(s.Verifications), "verification"))
			return nil
		}),
	}
	contentFlag(cmd.Flags(), &content)
	return cmd
}
