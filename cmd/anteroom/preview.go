package main

import (
	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/preview"

	"github.com/spf13/cobra"
)

func previewCommand(t *cli.Terminal) *cobra.Command {
	var folder, address string
	cmd := &cobra.Command{
		Use:   "preview",
		Short: "Show the pages of content/ while you write it",
		Long: `Generate the content in memory and serve it to this machine alone. When a file of the content changes,
preview does so again, and open pages reload. It prints the faults of the content, and shows the last
pages without a fault until you have corrected them. It writes no documents: run anteroom generate when
you are done. What you send to the endpoints is thrown away at the end.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return preview.Run(cmd.Context(), t, folder, address)
		},
	}
	contentFlag(cmd.Flags(), &folder)
	cmd.Flags().StringVar(&address, "addr", "127.0.0.1:8081", "the loopback `address` to listen at")
	return cmd
}
