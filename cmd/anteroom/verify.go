package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/cloudflare"
	"anteroom/cmd/anteroom/internal/content"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	store                     storeFlags
	content, through, answers string
	key                       keys.Log
	template, yes, newStore   bool
}

func verifyCommand(t *cli.Terminal) *cobra.Command {
	o := verifyOptions{}
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

If service.yaml lists keys of a log, the verification also adds to content/log, the public log of what
was counted. The last of these keys signs it. --log-key-file names the file of its secret half.`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return cli.Usage(err)
			}
			return o.run(cmd.Context(), t)
		}),
	}
	flags := cmd.Flags()
	o.store.add(flags)
	contentFlag(flags, &o.content)
	flags.StringVar(&o.through, "through", "", "cover what was recorded up to this `time`, 2026-11-22T12:00:00Z (default now)")
	flags.StringVar(&o.answers, "answers", "", "decide by this `file`, without an editor; - is standard input")
	o.key.AddFlag(flags)
	flags.BoolVar(&o.template, "template", false, "print the file in which to decide, and write nothing")
	flags.BoolVar(&o.newStore, "new-store", false, "begin with another store, as the one that was verified is gone for good")
	flags.BoolVar(&o.yes, "yes", false, "write without asking; with --answers")
	return cmd
}

// check finds what is wrong with the flags.
func (o *verifyOptions) check() error {
	var faults []error
	if o.template && (o.answers != "" || o.yes) {
		faults = append(faults, errors.New("--template only prints, and excludes --answers and --yes"))
	}
	if o.yes && o.answers == "" {
		faults = append(faults, errors.New("--yes needs --answers FILE, which says what is decided"))
	}
	if o.key.File == "-" && !o.template && (!o.yes || o.answers == "-") {
		faults = append(faults, errors.New("--log-key-file - needs --answers FILE --yes, as questions are answered at standard input too"))
	}
	if _, err := parseThrough(o.through); err != nil {
		faults = append(faults, fmt.Errorf("--through %w", err))
	}
	return errors.Join(faults...)
}

func (o *verifyOptions) run(ctx context.Context, t *cli.Terminal) (err error) {
	now := t.Now()
	if info, err := os.Stat(o.content); err == nil && info.IsDir() && !o.template { // else content.Load says what is wrong
		unlock, err := verification.Lock(o.content)
		if err != nil {
			return err
		}
		defer unlock()
		if err := verification.Finish(o.content); err != nil {
			return err
		}
	}
	s, err := content.Load(o.content, now)
	if err != nil {
		return err
	}
	var key note.Signer
	if !o.template {
		if key, err = o.signer(t, s); err != nil {
			return err
		}
	}
	answers, through, err := o.read(t)
	if err != nil {
		return err
	}
	if o.newStore && o.store.remote == "" {
		if err := o.store.create(t.Logger()); err != nil {
			return err
		}
	}
	reader, err := o.store.reader(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if err := checkRemote(ctx, t, reader, s, o.content, now); err != nil {
		return err
	}
	pending, err := verification.Survey(ctx, reader, s, os.DirFS(o.content), verification.Scope{Through: through, NewStore: o.newStore}, now)
	if err != nil {
		return err
	}
	seen, err := observed(ctx, reader, records.Days{Through: pending.Through[:len(time.DateOnly)]})
	if errors.Is(err, cloudflare.ErrNoDataset) {
		t.Warnf("%v", err)
	} else if err != nil {
		return err
	}
	template, err := pending.Template(seen)
	if err == nil && o.template {
		_, err = t.Out.Write(template)
	} else if err == nil {
		err = o.decide(ctx, t, pending, key, answers, template)
	}
	return err
}
