package main

import (
	"errors"
	"os"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/server"

	"github.com/spf13/cobra"
)

func serveCommand(t *cli.Terminal) *cobra.Command {
	o := server.Options{}
	var writesPerMinute int64
	cmd := &cobra.Command{
		Use: "serve",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.SMTP != os.Getenv("ANTEROOM_SMTP") && strings.Contains(o.SMTP, "@") && server.HasPassword(o.SMTP) {
				return cli.Usage(errors.New("--smtp contains a password, which every user of this machine could see " +
					"(give the URL in ANTEROOM_SMTP, or the name of a private file with it)"))
			}
			if cmd.Flags().Changed("write-limit") {
				o.WritesPerMinute = &writesPerMinute
			}
			program := thisProgram()
			o.Version, o.Commit = program.version, program.commit
			o.Snapshot = snapshotOf(o.Public)
			if err := o.Check(); err != nil {
				return cli.Usage(err)
			}
			return server.Run(cmd.Context(), t, &o)
		},
	}
	flags := cmd.Flags()
	hostFlags(flags, &o)
	flags.StringVar(&o.Address, "addr", defaultAddress, "listen at this `address`")
	flags.StringVar(&o.Data, "data", server.DefaultData, "the `folder` of records and mail")
	flags.BoolVar(&o.Create, "create", false, "create a missing database")
	flags.StringVar(&o.TakeOver, "take-over", "", "adopt the database of another `host`")
	flags.StringVar(&o.ClientIPHeader, "client-ip-header", "", "the header `name` with the caller's address")
	flags.StringSliceVar(&o.Hosts, "host", nil, "another host `name`; may be repeated")
	flags.Int64Var(&writesPerMinute, "write-limit", 0,
		"writes a minute for a caller, 0 for no limit (default in service.yaml)")
	flags.StringVar(&o.LogFormat, "log-format", server.LogText, "the log as `text|json`")
	flags.StringVar(&o.MetricsAddress, "metrics-addr", "", "serve Prometheus metrics at this `address`")
	return cmd
}
