package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func verifyCommand(t *cli.Terminal) *cobra.Command {
	o, store := &verification.Options{}, storeFlags{}
	undo := false
	o.Open = func(ctx context.Context) (records.Reader, error) {
		if o.NewStore && store.remote == "" {
			if err := store.create(t.Logger()); err != nil {
				return nil, err
			}
		}
		return store.reader(ctx)
	}
	cmd := &cobra.Command{
		Use: "verify",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Check(); err != nil {
				return cli.Usage(err)
			}
			o.Mail = store.mail(o.Mail)
			o.Public = filepath.Join(filepath.Dir(o.Content), publicFolder)
			if undo {
				return undoVerification(cmd.Context(), t, o)
			}
			return verification.Run(cmd.Context(), t, o)
		},
	}
	flags := cmd.Flags()
	verifyFlags(flags, o, &store)
	flags.StringVar(&o.Through, "through", "",
		"cover records up to this `time`, 2026-11-22T12:00:00Z (default now)")
	flags.BoolVar(&o.Template, "template", false, "print the file in which to decide, and write nothing")
	flags.BoolVar(&o.NewStore, "new-store", false, "begin with another store, if the verified one is gone for good")
	flags.BoolVar(&undo, "undo", false, "remove the newest verification, as long as it is not public")
	return cmd
}

func undoVerification(ctx context.Context, t *cli.Terminal, o *verification.Options) error {
	o.Committed = committed
	withdraw, err := verification.Undo(ctx, t, o)
	if err != nil || !withdraw {
		return err
	}
	g := generation{
		content: o.Content, public: o.Public, snapshot: filepath.Join(filepath.Dir(o.Content), snapshotFile),
		allowed: []string{continuity.AsOf, continuity.Board, continuity.Log},
	}
	r, err := g.run(t, nil, t.Now())
	if err != nil {
		return errors.Join(err, fmt.Errorf("undo: %s still has its board (once that is mended, remove %[1]s and %s, "+
			"and run anteroom generate)", o.Public, g.snapshot))
	}
	t.Printf("Generated %s without it: %s.", o.Public, cli.Plural(r.Changes, "changed document"))
	return nil
}

func verifyFlags(flags *pflag.FlagSet, o *verification.Options, store *storeFlags) {
	store.add(flags)
	contentFlag(flags, &o.Content)
	mailFlags(flags, &o.Mail)
	o.LogKey.AddFlag(flags)
	flags.StringVar(&o.Answers, "answers", "", "decide by this `file`, without an editor; - is standard input")
	flags.BoolVar(&o.Yes, "yes", false, "write without asking; with --answers")
	flags.BoolVar(&o.Offline, "offline", false, "do not ask the service whether its content is newer")
}
