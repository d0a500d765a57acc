package main

import (
	"errors"
	"fmt"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/cloudflare"

	"github.com/spf13/cobra"
)

func rollbackCommand(t *cli.Terminal) *cobra.Command {
	var environment, wrangler string
	var allow, reasons []string
	var yes bool
	cmd := &cobra.Command{
		Use: "rollback [VERSION]",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			allowances, err := cloudflare.ReadAllowances(allow, reasons, cloudflare.RollbackAllowances)
			if err != nil {
				return cli.Usage(err)
			}
			w, err := cloudflare.FindWrangler(ctx, wrangler)
			if err != nil {
				return err
			}
			plan, err := w.PlanRollback(ctx, environment, strings.Join(args, ""))
			if err != nil {
				return err
			}
			t.Printf("from %s", &plan.From)
			t.Printf("to   %s", &plan.To)
			t.Out.Flush()
			if err := plan.Refusal(allowances); err != nil {
				return err
			}
			if !yes && !t.Interactive {
				return errors.New("there is no terminal to ask at (--yes rolls back without a question)")
			}
			if !yes {
				if sure, err := t.Confirm(ctx, "Roll back?"); err != nil || !sure {
					return errors.Join(err, errors.New("nothing was changed"))
				}
			}
			if err := plan.Do(ctx, w, allowances); err != nil {
				return fmt.Errorf("%w\n(wrangler deployments list says what is live)", err)
			}
			t.Printf("%s is live (anteroom status compares it with public/)", &plan.To)
			return nil
		},
	}
	wranglerFlags(cmd.Flags(), &environment, &wrangler)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	addAllow(cmd, &allow, &reasons, cloudflare.RollbackAllowances)
	return cmd
}
