package main

import (
	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/live"

	"github.com/spf13/cobra"
)

func healthcheckCommand(t *cli.Terminal) *cobra.Command {
	var at liveFlags
	cmd := &cobra.Command{
		Use: "healthcheck",
		RunE: func(cmd *cobra.Command, _ []string) error {
			address, err := at.service("")
			if err != nil {
				return cli.Usage(err)
			}
			service, err := live.New(address)
			if err != nil {
				return cli.Usage(err)
			}
			if err := service.Ready(cmd.Context()); err != nil {
				return err
			}
			t.Printf("%s is ready", service)
			return nil
		},
	}
	at.add(cmd.Flags())
	return cmd
}
