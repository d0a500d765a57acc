package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/worker/cloudflare"
	"anteroom/edge/worker/deploy"

	"github.com/spf13/cobra"
)

// rollbackWait is how long a version that is deployed again may take until its host shows it, and
// rollbackPause is between two looks.
const rollbackWait = time.Minute

var rollbackPause = time.Second

func rollbackCommand(t *cli.Terminal) *cobra.Command {
	var flags historyFlags
	var allow []string
	var reason string
	var yes bool
	cmd := &cobra.Command{
		Use:   "rollback [VERSION]",
		Short: "Deploy an earlier version of the service to Cloudflare again",
		Long: `Rollback lets an earlier version answer: the one that VERSION names or begins, or the latest before the
live one that anteroom deploy made. anteroom deployments lists them. The latest 100 versions can be
reached.

A version is code, documents, bindings and secrets. Nothing else goes back: the database stays as it is,
with its migrations, and so do the cron, the domains, workers.dev and what is logged.

What would go backwards for agents stops it, unless --allow names it; --reason is kept with the deployment:
` + strings.Join(deploy.RollbackAllowances, ", ") + `.

The token in ` + cloudflare.TokenVariable + ` needs the permission
` + deploy.PermissionRollback + `.

  anteroom rollback
  anteroom rollback 0bd3bc18 --allow as_of --reason "the new board counts tests"`,
		Args: cobra.MaximumNArgs(1),
		RunE: cli.WithExitCode(func(cmd *cobra.Command, args []string) error {
			reason = strings.TrimSpace(reason)
			allowed := []deploy.Allowance{}
			for _, name := range allow {
				switch {
				case !slices.Contains(deploy.RollbackAllowances, name):
					return cli.Usage(fmt.Errorf("--allow %q is none of %s", name, strings.Join(deploy.RollbackAllowances, ", ")))
				case reason == "":
					return cli.Usage(fmt.Errorf("--allow %s has no --reason", name))
				}
				allowed = append(allowed, deploy.Allowance{Name: name, Reason: reason})
			}
			if len(reason) > longestReasons {
				return cli.Usage(fmt.Errorf("the --reason has more than %d bytes", longestReasons))
			}
			if err := checkReason(reason); err != nil {
				return cli.Usage(err)
			}
			history, end, err := flags.read(cmd.Context(), deploy.PermissionRollback)
			if err != nil {
				return err
			}
			defer end()
			version := ""
			if len(args) > 0 {
				version = args[0]
			}
			plan, err := history.Plan(cmd.Context(), version, t.Now())
			if err != nil {
				return unchanged(err)
			}
			return rollBack(cmd.Context(), t, history, plan, reason, allowed, yes)
		}),
	}
	flags.add(cmd)
	cmd.Flags().StringArrayVar(&allow, "allow", nil, "the `name` of what may go backwards; may be given several times, with a --reason")
	cmd.RegisterFlagCompletionFunc("allow", cobra.FixedCompletions(deploy.RollbackAllowances, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVar(&reason, "reason", "", "the `text` that says why, kept with the deployment")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// rollBack says what a rollback does, asks whether it is to be done, and does it.
func rollBack(ctx context.Context, t *cli.Terminal, history *deploy.History, plan *deploy.Rollback, reason string, allowed []deploy.Allowance, yes bool) error {
	t.Printf("%s (%s) goes", history.Worker, history.Environment)
	t.Printf("  from  %s", &plan.From)
	t.Printf("  to    %s", &plan.To)
	t.Printf("%s.", plan.Keeps())
	if err := plan.Refusal(allowed); err != nil {
		return unchanged(err)
	}
	for _, b := range plan.Backwards {
		t.Printf("allowed: %s: %s", b.Name, b.Text)
	}
	t.Out.Flush()
	if !yes && !t.Interactive {
		return errors.New("there is no terminal to ask at (--yes does it without a question)")
	}
	if !yes {
		sure, err := newForm(ctx, t).confirm("Deploy " + plan.To.String() + "?")
		if err == nil && !sure {
			err = errors.New("left without an answer of yes (nothing was changed)")
		}
		if err != nil {
			return err
		}
	}
	if err := plan.Do(ctx, reason, allowed); err != nil {
		return err
	}
	t.Printf("%s answers all requests.", &plan.To)
	t.Out.Flush()
	if len(history.Hosts) == 0 || plan.To.Content == "" || history.Environment == deploy.Apex {
		return nil
	}
	if err := awaitContent(t, ctx, history.Hosts[0], plan.To.Content); err != nil {
		return err
	}
	t.Printf("%s serves content %s.", history.Hosts[0], plan.To.Content)
	return nil
}

// awaitContent waits until a host serves a content. That it does not is a failure, though the
// deployment was made.
func awaitContent(t *cli.Terminal, ctx context.Context, host, content string) error {
	ctx, cancel := context.WithTimeout(ctx, rollbackWait)
	defer cancel()
	serves := "nothing that can be read"
	for {
		manifest, _, err := reach(host).Read(ctx, health.Manifest)
		if err == nil {
			if serves = manifest.Get(health.Version).Text; serves == content {
				return nil
			}
			serves = "content " + serves
		}
		cloudflare.Pause(ctx, rollbackPause)
		if ctx.Err() != nil {
			return fmt.Errorf("the version was deployed, and %s serves %s, not content %s yet (look again in some minutes: anteroom deployments)", host, serves, content)
		}
	}
}
