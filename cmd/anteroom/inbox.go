package main

import (
	"cmp"
	"context"
	"path/filepath"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/content"
	"anteroom/cmd/anteroom/internal/inbox"
	"anteroom/edge/native"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exitWaiting is the exit code of inbox if something waits.
const exitWaiting = 3

func inboxCommand(t *cli.Terminal) *cobra.Command {
	w := &storeWork{t: t}
	var folder string
	var mail inbox.Mail
	cmd := &cobra.Command{
		Use: "inbox",
		RunE: w.reads(func([]string) error { return nil }, func(ctx context.Context, r records.Reader, _ []string) error {
			s, err := content.Load(folder, t.Now())
			if err != nil {
				return err
			}
			found, err := inbox.Look(ctx, r, s, w.flags.mail(mail), t.Now())
			if err == nil {
				err = t.Answer(found, func() { found.Print(t) })
			}
			if err == nil && found.Waits() {
				err = cli.Failure{Code: exitWaiting, Err: cli.ErrSilent}
			}
			return err
		}),
	}
	w.flags.add(cmd.Flags())
	contentFlag(cmd.Flags(), &folder)
	mailFlags(cmd.Flags(), &mail)
	jsonFlag(cmd.Flags(), &t.JSON)
	return cmd
}

func mailFlags(flags *pflag.FlagSet, mail *inbox.Mail) {
	inboxFlag(flags, &mail.Inbox)
	flags.StringVar(&mail.Outbox, "outbox", "", "the `folder` that serve writes mail or copies of it to (default mail in the data folder)")
}

func inboxFlag(flags *pflag.FlagSet, folder *string) {
	flags.StringVar(folder, "inbox", "", "the `folder` of the mail that you read, a Maildir")
}

// mail is where the mail is, of which only some may be named.
func (s *storeFlags) mail(named inbox.Mail) inbox.Mail {
	named.Outbox = cmp.Or(named.Outbox, filepath.Join(s.data, native.MailFolder))
	return named
}
