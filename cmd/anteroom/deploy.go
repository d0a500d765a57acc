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
	"anteroom/generator/publish"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// deployFlags are the flags of deploy.
type deployFlags struct {
	artifact               artifactFlags
	wrangler, environment  string
	location, jurisdiction string
	dryRun                 bool
	allow, reasons         []string
	secret                 keys.Receipt
}

func deployCommand(t *cli.Terminal) *cobra.Command {
	var flags deployFlags
	cmd := &cobra.Command{
		Use: "deploy",
		RunE: func(cmd *cobra.Command, _ []string) error {
			allowances, err := cloudflare.ReadAllowances(flags.allow, flags.reasons, cloudflare.Allowances)
			if err == nil {
				err = cloudflare.CheckPlace(flags.location, flags.jurisdiction)
			}
			if err != nil {
				return cli.Usage(err)
			}
			return flags.deploy(cmd.Context(), t, allowances)
		},
	}
	flags.secret.AddFlag(cmd.Flags())
	f := cmd.Flags()
	wranglerFlags(f, &flags.environment, &flags.wrangler)
	flags.artifact.add(f)
	f.StringVar(&flags.location, "location", "", "where to create the database: `"+strings.Join(cloudflare.LocationNames, "|")+"`")
	f.StringVar(&flags.jurisdiction, "jurisdiction", "", "what to bind the database to: `"+strings.Join(cloudflare.JurisdictionNames, "|")+"`")
	f.BoolVar(&flags.dryRun, "dry-run", false, "change nothing; compare, and let wrangler build and check everything")
	addAllow(cmd, &flags.allow, &flags.reasons, cloudflare.Allowances)
	return cmd
}

// artifactFlags say where what anteroom generate has written is.
type artifactFlags struct{ public, snapshot string }

func (a *artifactFlags) add(flags *pflag.FlagSet) { generatedFlags(flags, &a.public, &a.snapshot) }

func (a *artifactFlags) read() (*publish.Artifact, error) { return publish.Read(a.public, a.snapshot) }

// addAllow adds --allow and --reason.
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

// deploy deploys, and prints each step.
func (f *deployFlags) deploy(ctx context.Context, t *cli.Terminal, allowances []cloudflare.Allowance) error {
	config, err := cloudflare.ReadConfig(f.wrangler)
	if err != nil {
		return err
	}
	artifact, err := f.artifact.read()
	if err != nil {
		return err
	}
	d := &cloudflare.Deployment{
		Config: config, Environment: f.environment, Artifact: artifact, Allowances: allowances, Now: t.Now(),
		Location: f.location, Jurisdiction: f.jurisdiction, Reach: reach,
		Waiting: func(what string) { t.Warnf("%s", what) },
		Say: func(step, text string) {
			t.PrintLines(fmt.Sprintf("%-12s %s", step, text))
			t.Out.Flush()
		},
	}
	if d.Key, err = f.secret.Read(t); err != nil {
		return err
	}
	if d.Wrangler, err = cloudflare.FindWrangler(ctx, f.wrangler); err != nil {
		return err
	}
	if err = d.Compare(ctx); err != nil {
		return err
	} else if f.dryRun {
		return d.DryRun(ctx)
	}
	err = d.Run(ctx)
	for _, a := range d.Allowances {
		if !a.Needed {
			t.Warnf("--allow %s was not needed, and is not noted", a.Name)
		}
	}
	if err != nil {
		return errors.Join(err, fmt.Errorf("live now: %s (run the command again to carry on)", d.Live(ctx)))
	}
	remarks, err := cloudflare.Settings(ctx, f.wrangler, f.environment)
	if err != nil {
		t.Warnf("the settings on Cloudflare were not looked at: %v", err)
	}
	for _, remark := range remarks {
		t.Printf("%-12s %s", remark.Severity, remark)
	}
	t.Printf("%-12s %s", "live now", d.Live(ctx))
	return nil
}
