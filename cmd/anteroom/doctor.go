package main

import (
	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/doctor"

	"github.com/spf13/cobra"
)

func doctorCommand(t *cli.Terminal) *cobra.Command {
	s := doctor.Service{}
	var store storeFlags
	cmd := &cobra.Command{
		Use: "doctor",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.Data, s.Remote, s.Open = store.data, store.remote, store.reader
			return s.Examine(cmd.Context(), t).Print(t)
		},
	}
	flags := cmd.Flags()
	contentFlag(flags, &s.Content)
	hostFlags(flags, &s.Options)
	store.add(flags)
	s.LogKey.AddFlag(flags)
	s.Webhook.AddFlag(flags)
	flags.StringVar(&s.Backups, "backups", "", "a `folder` that anteroom backup writes to")
	inboxFlag(flags, &s.Inbox)
	jsonFlag(flags, &t.JSON)
	return cmd
}
