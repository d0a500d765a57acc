package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/worker/cloudflare"
	"anteroom/edge/worker/deploy"

	"github.com/spf13/cobra"
)

// historyFlags say of which worker a command asks what was deployed.
type historyFlags struct{ environment, wrangler string }

func (h *historyFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.environment, "env", deploy.Production, "the `environment` of wrangler.toml")
	cmd.Flags().StringVar(&h.wrangler, "wrangler", wranglerFile, "the `file` that says what the service is called on Cloudflare")
}

// read asks what was deployed, and gives what to call in the end.
func (h *historyFlags) read(ctx context.Context, permission string) (*deploy.History, func(), error) {
	file, wrong := deploy.ReadFile(h.wrangler)
	client, wrongVariables := cloudflare.New(permission)
	if wrong == nil && wrongVariables != nil {
		_, wrong = file.Worker(h.environment) // so that all that is wrong is said at once
	}
	if err := errors.Join(wrong, wrongVariables); err != nil {
		return nil, nil, err
	}
	history, err := deploy.ReadHistory(ctx, file, h.environment, client)
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	return history, client.Close, nil
}

func deploymentsCommand(t *cli.Terminal) *cobra.Command {
	var flags historyFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "deployments",
		Short: "List what was deployed to Cloudflare, and what is live",
		Long: `Deployments lists when which version of the service was deployed, by whom and why, the newest first. A
star marks the one that is live. Cloudflare tells the latest ten deployments; versions before them that
can still be deployed again follow without a time.

A version that anteroom deploy did not make does not say what it publishes.

The token in ` + cloudflare.TokenVariable + ` needs the permission
` + deploy.PermissionHistory + `.`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(cmd *cobra.Command, _ []string) error {
			history, end, err := flags.read(cmd.Context(), deploy.PermissionHistory)
			if err != nil {
				return err
			}
			defer end()
			if asJSON {
				return t.PrintObject(history)
			}
			printHistory(t, history)
			return nil
		}),
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// printHistory prints what was deployed, and what can be deployed again.
func printHistory(t *cli.Terminal, h *deploy.History) {
	t.Printf("%s (%s) at %s", h.Worker, h.Environment, orNone(strings.Join(h.Hosts, ", ")))
	t.Printf("")
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(live bool, on string, r *deploy.Release, by, note string) {
		mark := " "
		if live {
			mark = "*"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", mark, on, r.Short(), orNone(r.Content), orNone(r.AsOf), columnText(by), columnText(note))
	}
	fmt.Fprintln(table, " \tdeployed (UTC)\tversion\tcontent\tas of\tby\tsaid")
	listed := map[string]bool{}
	for i := range h.Deployments {
		d := &h.Deployments[i]
		listed[d.Release.ID] = true
		by := d.Source
		if d.By != "" {
			by = d.By + " (" + d.Source + ")"
		}
		note := d.Note()
		if d.Shares > 1 {
			note = strings.TrimPrefix(fmt.Sprintf("%s; one of %d versions", note, d.Shares), "; ")
		}
		row(d.Live, d.On.UTC().Format(time.DateTime), &d.Release, by, note)
	}
	for i := range h.Versions {
		if v := &h.Versions[i]; !listed[v.ID] {
			row(false, "", v, "", "uploaded "+v.Uploaded.UTC().Format(time.DateTime))
		}
	}
	table.Flush()
	for line := range strings.Lines(b.String()) {
		t.Printf("%s", strings.TrimRight(line, " \n"))
	}
}

// orNone is a text, or what stands in its place where there is none.
func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
