package main

import (
	"context"
	"path/filepath"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
)

func verifyCommand(t *cli.Terminal) *cobra.Command {
	o, store := &verification.Options{}, storeFlags{}
	o.Open = func(ctx context.Context) (records.Reader, error) {
		if o.NewStore && store.remote == "" {
			if err := store.create(t.Logger()); err != nil {
				return nil, err
			}
		}
		return store.reader(ctx)
	}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify by hand what was recorded, and write the next board",
		Long: `Open a file in your editor ($VISUAL, $EDITOR, else vi) with everything that was recorded since
the last hand verification. Say in it what you vouch for and what was your own. A summary follows.
If you confirm it, verify writes content/verifications/DATE.yaml and content/scoreboard/DATE.yaml,
whose counts are the sums of what you decided. Nothing is published before anteroom generate.

The file proposes to leave every registration, which counts it as recorded and not as verified, and to
set apart what matches own_names of service.yaml. Its comments say what else you can decide or correct.
If something is wrong, the file opens again with the faults in it. Your answers are kept until they are
written. To drop them, empty the file.

If the store is gone for good and there is no backup, --new-store begins with another one, and makes an
empty database in a folder that has none. It asks why, and publishes the loss.

Without a terminal, --template prints the same file, and --answers FILE --yes decides by it. Its line
through: TIME says up to when. What was recorded later waits for the next verification.

Verify asks the canonical host for its boards and its log, and refuses content that is behind them, such as
an old checkout. --offline leaves that out.

If service.yaml lists keys of a log, the verification also adds to content/log, the public log of what
was counted. The last of these keys signs it. --log-key-file names the file of its secret half.`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(cmd *cobra.Command, _ []string) error {
			if err := o.Check(); err != nil {
				return cli.Usage(err)
			}
			o.Public = filepath.Join(filepath.Dir(o.Content), publicFolder)
			return verification.Run(cmd.Context(), t, o)
		}),
	}
	flags := cmd.Flags()
	store.add(flags)
	contentFlag(flags, &o.Content)
	flags.StringVar(&o.Through, "through", "", "cover what was recorded up to this `time`, 2026-11-22T12:00:00Z (default now)")
	flags.StringVar(&o.Answers, "answers", "", "decide by this `file`, without an editor; - is standard input")
	o.LogKey.AddFlag(flags)
	flags.BoolVar(&o.Template, "template", false, "print the file in which to decide, and write nothing")
	flags.BoolVar(&o.NewStore, "new-store", false, "begin with another store, as the one that was verified is gone for good")
	flags.BoolVar(&o.Offline, "offline", false, "do not ask the service whether it publishes more than the content has")
	flags.BoolVar(&o.Yes, "yes", false, "write without asking; with --answers")
	return cmd
}
