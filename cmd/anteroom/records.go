package main

import (
	"context"
	"errors"
	"fmt"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/civil"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func recordsCommand(t *cli.Terminal) *cobra.Command {
	w := &storeWork{t: t}
	cmd := parent("records", recordsCountCommand(w), recordsListCommand(w), recordsShowCommand(w), recordsExportCommand(w),
		recordsObservedCommand(w), parent("outbox", outboxListCommand(w), outboxReviveCommand(w)), recordsEraseCommand(w), recordsAuditCommand(w))
	w.flags.add(cmd.PersistentFlags())
	return cmd
}

// storeWork makes the RunE of commands that work on a store.
type storeWork struct {
	t     *cli.Terminal
	flags storeFlags
}

// runE is what cobra runs.
type runE = func(*cobra.Command, []string) error

// reads is for a command that reads. check finds what is wrong with its arguments and flags before
// the store is opened.
func (w *storeWork) reads(check func(args []string) error, work func(context.Context, records.Reader, []string) error) runE {
	return onStore(w.flags.reader, check, work)
}

func (w *storeWork) changes(check func(args []string) error, work func(context.Context, records.Store, []string) error) runE {
	open := func(ctx context.Context) (records.Store, error) { return w.flags.store(ctx, w.t.Logger()) }
	return onStore(open, check, work)
}

func onStore[S records.Reader](open func(context.Context) (S, error), check func([]string) error,
	work func(context.Context, S, []string) error,
) runE {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(args); err != nil {
			return cli.Usage(err)
		}
		s, err := open(cmd.Context())
		if err != nil {
			return err
		}
		return errors.Join(work(cmd.Context(), s, args), s.Close())
	}
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
			faults = append(faults, fmt.Errorf("--%s %q is not a date such as 1970-01-01", end.flag, end.date))
		}
	}
	if len(faults) == 0 && days.Through != "" && days.Since > days.Through {
		faults = append(faults, fmt.Errorf("--since %s is after --through %s", days.Since, days.Through))
	}
	return errors.Join(faults...)
}
