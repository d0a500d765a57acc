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
		Use:   "doctor",
		Short: "Find what this service lacks, and say how to fix it",
		Long: `Check that the content loads and public/ is current, that the keys fit, that the store opens, belongs
to this service and has room, that the mail server accepts the login, that backups are fresh, and which
records and messages wait. Doctor changes and sends nothing. Each line ends with the fix in brackets.

Give it the flags and the environment of anteroom serve, and run it as the user of the service, or as
root. With --remote it examines a store on Cloudflare instead of the one in --data.

  anteroom doctor --data /var/lib/anteroom --key-file receipt.key

Exit codes: 0 no fault, 1 a fault, 2 called wrongly.`,
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
	flags.StringVar(&s.Backups, "backups", "", "a `folder` that anteroom backup writes to")
	jsonFlag(flags, &t.JSON)
	return cmd
}
