package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/cloudflare"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/cmd/anteroom/internal/project"
	"anteroom/cmd/anteroom/internal/server"
	"anteroom/edge/native/receiptkey"
	"anteroom/generator/output"

	"github.com/spf13/cobra"
)

type deployment struct {
	cloudflare.Deployment
	public  string
	host    server.Options // to find the receipt key
	webhook keys.Webhook
}

func newDeployment(t *cli.Terminal) *deployment {
	d := &deployment{}
	d.Reach, d.Waiting = reach, func(what string) { t.Warnf("%s", what) }
	d.Say = func(step, text string) {
		t.PrintLines(fmt.Sprintf("%-12s %s", step, text))
		t.Out.Flush()
	}
	return d
}

func deployCommand(t *cli.Terminal) *cobra.Command {
	var dryRun bool
	var allow, reasons []string
	d := newDeployment(t)
	cmd := &cobra.Command{
		Use: "deploy",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if d.Allowances, err = cloudflare.ReadAllowances(allow, reasons); err != nil {
				return cli.Usage(err)
			}
			if err = d.prepare(cmd.Context(), t); err != nil {
				return err
			} else if dryRun {
				return d.DryRun(cmd.Context())
			}
			return d.Run(cmd.Context())
		},
	}
	f := cmd.Flags()
	d.host.Receipt.AddFlag(f)
	d.webhook.AddFlag(f)
	f.StringVar(&d.host.Data, "data", server.DefaultData,
		"the `folder` with receipt.key")
	f.StringVar(&d.Environment, "env", cloudflare.Production, "the `environment` on Cloudflare")
	publicFlag(f, &d.public)
	f.StringVar(&d.Location, "location", "",
		"the `place` of a new database: "+strings.Join(cloudflare.LocationNames, "|"))
	f.StringVar(&d.Jurisdiction, "jurisdiction", "",
		"the `law` for a new database: "+strings.Join(cloudflare.JurisdictionNames, "|"))
	f.BoolVar(&dryRun, "dry-run", false, "compare, and let wrangler check; change nothing")
	f.StringArrayVar(&allow, "allow", nil, "the `name` of a change to allow; may be repeated")
	f.StringArrayVar(&reasons, "reason", nil, "why, in a `text` kept with the version; one for each --allow")
	cmd.MarkFlagsMutuallyExclusive("location", "jurisdiction")
	return cmd
}

func (d *deployment) prepare(ctx context.Context, t *cli.Terminal) (err error) {
	d.Now = t.Now()
	if d.Config == nil {
		if d.Config, err = cloudflare.ReadConfig(wranglerFile); err != nil {
			return err
		}
	}
	if d.Artifact == nil {
		if d.Artifact, err = output.Read(d.public, snapshotOf(d.public)); err != nil {
			return err
		}
		if err = project.RefuseForeign(d.public, d.Artifact.Foreign); err != nil {
			return err
		}
		if warning := d.Artifact.Warning(); warning != "" {
			t.Warnf("%s", warning)
		}
	}
	if err = d.readKey(t); err != nil {
		return err
	}
	if d.Webhook, err = d.webhook.Read(t); err != nil {
		return err
	}
	if d.Wrangler, err = cloudflare.FindWrangler(ctx, wranglerFile); err != nil {
		return err
	}
	return d.Compare(ctx)
}

func (d *deployment) readKey(t *cli.Terminal) (err error) {
	d.Key, err = d.host.ReadKey(t)
	if !d.host.Receipt.Given() && (err != nil || receiptkey.Public(d.Key) != d.Artifact.Snapshot.CurrentKey) {
		d.Key, err = nil, nil
	}
	return err
}

// reach returns a deployed service. Tests replace it.
var reach = func(host string) *live.Service {
	return &live.Service{Base: &url.URL{Scheme: "https", Host: host}}
}
