package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/cloudflare"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/cmd/anteroom/internal/server"
	"anteroom/edge/native/receiptkey"
	"anteroom/generator/output"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// deployment is a deployment, and the files that it is made from.
type deployment struct {
	cloudflare.Deployment
	wrangler string
	artifact artifactFlags
	host     server.Options // that the key is of
	webhook  keys.Webhook
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
			if d.Allowances, err = cloudflare.ReadAllowances(allow, reasons, cloudflare.Allowances); err == nil {
				err = cloudflare.CheckPlace(d.Location, d.Jurisdiction)
			}
			if err != nil {
				return cli.Usage(err)
			}
			if err = d.prepare(cmd.Context(), t); err != nil {
				return err
			} else if dryRun {
				return d.DryRun(cmd.Context())
			}
			return d.run(cmd.Context(), t)
		},
	}
	f := cmd.Flags()
	d.host.Receipt.AddFlag(f)
	d.webhook.AddFlag(f)
	f.StringVar(&d.host.Data, "data", server.DefaultData, "the `folder` whose receipt.key to use, if the documents publish it")
	wranglerFlags(f, &d.Environment, &d.wrangler)
	d.artifact.add(f)
	f.StringVar(&d.Location, "location", "", "where to create the database: `"+strings.Join(cloudflare.LocationNames, "|")+"`")
	f.StringVar(&d.Jurisdiction, "jurisdiction", "", "what to bind the database to: `"+strings.Join(cloudflare.JurisdictionNames, "|")+"`")
	f.BoolVar(&dryRun, "dry-run", false, "change nothing; compare, and let wrangler build and check everything")
	addAllow(cmd, &allow, &reasons, cloudflare.Allowances)
	return cmd
}

// prepare reads the files that the caller has not read, and compares them with the live service.
func (d *deployment) prepare(ctx context.Context, t *cli.Terminal) (err error) {
	d.Now = t.Now()
	if d.Config == nil {
		if d.Config, err = cloudflare.ReadConfig(d.wrangler); err != nil {
			return err
		}
	}
	if d.Artifact == nil {
		if d.Artifact, err = d.artifact.read(); err != nil {
			return err
		}
	}
	if err = d.readKey(t); err != nil {
		return err
	}
	if d.Webhook, err = d.webhook.Read(t); err != nil {
		return err
	}
	if d.Wrangler, err = cloudflare.FindWrangler(ctx, d.wrangler); err != nil {
		return err
	}
	return d.Compare(ctx)
}

// readKey reads the receipt key that is named, or the one in the data folder if it is the published
// one.
func (d *deployment) readKey(t *cli.Terminal) (err error) {
	d.Key, err = d.host.ReadKey(t)
	if !d.host.Receipt.Given() && (err != nil || receiptkey.Public(d.Key) != d.Artifact.Snapshot.CurrentKey) {
		d.Key, err = nil, nil
	}
	return err
}

func (d *deployment) run(ctx context.Context, t *cli.Terminal) error {
	err := d.Run(ctx)
	for _, a := range d.Allowances {
		if !a.Needed {
			t.Warnf("--allow %s was not needed, and is not noted", a.Name)
		}
	}
	if err != nil {
		return errors.Join(err, fmt.Errorf("live now: %s (run the command again to carry on)", d.Live(ctx)))
	}
	remarks, err := d.Config.Settings(ctx, d.Environment)
	if err != nil {
		t.Warnf("the settings on Cloudflare were not looked at: %v", err)
	}
	for _, remark := range remarks {
		t.Printf("%-12s %s", remark.Severity, remark)
	}
	t.Printf("%-12s %s", "live now", d.Live(ctx))
	return nil
}

// artifactFlags say where what anteroom generate has written is.
type artifactFlags struct{ public, snapshot string }

func (a *artifactFlags) add(flags *pflag.FlagSet) { generatedFlags(flags, &a.public, &a.snapshot) }

func (a *artifactFlags) read() (*output.Artifact, error) { return output.Read(a.public, a.snapshot) }

func addAllow(cmd *cobra.Command, allow, reasons *[]string, names []string) {
	f := cmd.Flags()
	f.StringArrayVar(allow, "allow", nil, "the `name` of what may go back; may be given several times, each with a --reason")
	cmd.RegisterFlagCompletionFunc("allow", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	f.StringArrayVar(reasons, "reason", nil, "the `text` that says why, kept with the version; one for each --allow")
}

// reach is the way to a deployed host. It is a variable so that tests can lead elsewhere.
var reach = func(host string) *live.Service {
	return &live.Service{Base: &url.URL{Scheme: "https", Host: host}}
}
