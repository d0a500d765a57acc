package main

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/generator/output"

	"github.com/spf13/cobra"
)

func statusCommand(t *cli.Terminal) *cobra.Command {
	var public, host string
	var at liveFlags
	o := live.Options{Waiting: func(what string) { t.Warnf("waiting: %s", what) }}
	cmd := &cobra.Command{
		Use: "status [URL]",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Wait < 0 || o.Timeout <= 0 {
				return cli.Usage(errors.New("--wait and --timeout: want times such as 30s, and --timeout above 0"))
			}
			artifact, err := output.Read(public, snapshotOf(public))
			if err != nil {
				return err
			}
			address := strings.Join(args, "")
			if address == "" && cmd.Flags().Changed("addr") {
				if address, err = at.service(""); err != nil {
					return cli.Usage(err)
				}
			}
			service, err := live.New(cmp.Or(address, artifact.Snapshot.BaseURL()))
			if err != nil {
				return cli.Usage(err)
			}
			service.Host = host
			found, err := service.Inspect(cmd.Context(), artifact, o)
			if errors.Is(err, context.Canceled) {
				return errors.New("interrupted")
			} else if err != nil {
				return err
			}
			if err := t.Answer(found, func() { found.Print(t, public) }); err != nil {
				return err
			}
			return found.Err(public)
		},
	}
	flags := cmd.Flags()
	publicFlag(flags, &public)
	flags.StringVar(&host, "host-header", "", "the host `name` to send, not the address's")
	flags.DurationVar(&o.Wait, "wait", 0, "the longest `time` to wait until public/ is live, such as 30s")
	flags.DurationVar(&o.Timeout, "timeout", live.Timeout, "the `time` limit for each answer")
	jsonFlag(flags, &t.JSON)
	at.add(flags)
	return cmd
}
