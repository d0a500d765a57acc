package main

import (
	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/preview"

	"github.com/spf13/cobra"
)

func previewCommand(t *cli.Terminal) *cobra.Command {
	var folder, address string
	cmd := &cobra.Command{
		Use: "preview",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return preview.Run(cmd.Context(), t, folder, address)
		},
	}
	contentFlag(cmd.Flags(), &folder)
	cmd.Flags().StringVar(&address, "addr", "127.0.0.1:8081", "the loopback `address` to listen at")
	return cmd
}
