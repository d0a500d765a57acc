package main

import (
	"context"
	"fmt"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
)

func recordsAuditCommand(work *storeWork) *cobra.Command {
	t := work.t
	var content string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Check every published verification against the records",
		Long: `Recompute every verification in content/verifications/ from the store, and name records that are gone, that
were changed, or that came in later and say that they are of a time before. Those that a verification covers
are noted. The kind of a suggestion and the time of any record are checked too.

Exit codes: 0 all is as it was verified, 1 something is not.`,
		Args: cobra.NoArgs,
		RunE: work.reads(func([]string) error { return nil }, func(ctx context.Context, store records.Reader, _ []string) error {
			s, err := loadContent(content)
			if err != nil {
				return err
			}
			findings, notes, err := verification.Audit(ctx, store, s)
			if err != nil {
				return err
			}
			for _, note := range notes {
				t.Printf("note: %s; it was verified so", note)
			}
			for _, finding := range findings {
				t.Printf("%s", finding)
			}
			if len(findings) > 0 {
				return fmt.Errorf("%s is not as it was verified: %s above (bring the records back from a backup)",
					store.Name(), cli.Plural(len(findings), "finding"))
			}
			t.Printf("%s: everything is as it was verified (%s).", store.Name(), cli.Plural(len(s.Verifications), "verification"))
			return nil
		}),
	}
	contentFlag(cmd.Flags(), &content)
	return cmd
}
