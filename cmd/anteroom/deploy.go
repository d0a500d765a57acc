package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/worker/cloudflare"
	"anteroom/edge/worker/deploy"
	"anteroom/generator"
	"anteroom/generator/publish"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
)

// deployFlags are the flags of deploy.
type deployFlags struct {
	content, public, bundle, wrangler, environment string
	dryRun, asJSON                                 bool
	allow, reasons                                 []string
	secret                                         keys.Receipt
}

func deployCommand(t *cli.Terminal) *cobra.Command {
	var flags deployFlags
	cmd := &cobra.Command{
		Use:   "deploy",
		Short: "Deploy the service to Cloudflare, step by step",
		Long: `Deploy puts the service of content/ on Cloudflare: the database with its tables, the documents, the
worker with its receipt key, and the hosts that lead there. What it is called and bound to stands in
wrangler.toml.

It looks first: at wrangler.toml, the content and the key, whether they agree; at the account; and at
what is live, whether anything would go backwards there. Only then it changes something. A step that is
done already is left out, so that the same command goes on where it was interrupted, and does nothing
where nothing is new. The last step tests the service as its callers use it.

The token stands in ` + cloudflare.TokenVariable + `. It needs the permissions
` + strings.ReplaceAll(deploy.Permissions, "; ", ",\n") + `.

In the end deploy says what Cloudflare does behind the service's back: settings that stop agents or
rewrite documents, mail to an address that is not verified. To look at all of that itself the token
needs, too,
` + strings.ReplaceAll(deploy.PermissionsPlatform, "; ", ",\n") + `.

What would go backwards stops a deployment, unless --allow names it with a --reason, which is kept with
the deployment:
` + strings.Join(allowable, ", ") + `.

  anteroom deploy --dry-run
  anteroom deploy --key-file receipt.key`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(cmd *cobra.Command, _ []string) error {
			allowances, err := flags.allowances()
			if err != nil {
				return cli.Usage(err)
			}
			return deployService(cmd.Context(), t, &flags, allowances)
		}),
	}
	flags.secret.AddFlag(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&flags.environment, "env", deploy.Production, "the `environment` of wrangler.toml")
	f.StringVar(&flags.wrangler, "wrangler", wranglerFile, "the `file` that says what the service is called there")
	f.StringVar(&flags.content, "content", contentFolder, "the content `folder`")
	f.StringVar(&flags.public, "public", publicFolder, "the `folder` of the documents, which must not be stale where it is there")
	f.StringVar(&flags.bundle, "bundle", "", "the `folder` of a bundle that anteroom build made, in the place of what this program carries")
	f.BoolVar(&flags.dryRun, "dry-run", false, "change nothing; say what would be done")
	f.BoolVar(&flags.asJSON, "json", false, "report as one JSON object; with --dry-run the whole plan")
	f.StringArrayVar(&flags.allow, "allow", nil, "the `name` of what may go backwards or away; may be given several times, each with a --reason")
	cmd.RegisterFlagCompletionFunc("allow", cobra.FixedCompletions(allowable, cobra.ShellCompDirectiveNoFileComp))
	f.StringArrayVar(&flags.reasons, "reason", nil, "the `text` that says why, kept with the deployment; one for each --allow")
	return cmd
}

// allowable are the names of allowances.
var allowable = append(slices.Clone(live.RegressionNames), deploy.AllowDNS, deploy.AllowDatabase)

// longestReasons is how many bytes the reasons of a deployment may have in all: Cloudflare keeps
// 1,000 bytes of what a deployment says of itself.
const longestReasons = 800

// allowances reads --allow and --reason.
func (f *deployFlags) allowances() ([]deploy.Allowance, error) {
	list := []deploy.Allowance{}
	if len(f.allow) != len(f.reasons) {
		return nil, fmt.Errorf("there are %d --allow and %d --reason (give a reason for each)", len(f.allow), len(f.reasons))
	}
	total := 0
	for i, name := range f.allow {
		reason := strings.TrimSpace(f.reasons[i])
		total += len(reason)
		switch {
		case !slices.Contains(allowable, name):
			return nil, fmt.Errorf("--allow %q is none of %s", name, strings.Join(allowable, ", "))
		case slices.ContainsFunc(list, func(a deploy.Allowance) bool { return a.Name == name }):
			return nil, fmt.Errorf("--allow %s is given twice", name)
		case reason == "" || total > longestReasons:
			return nil, fmt.Errorf("the --reason of --allow %s is empty, or the reasons have more than %d bytes", name, longestReasons)
		}
		if err := checkReason(reason); err != nil {
			return nil, err
		}
		list = append(list, deploy.Allowance{Name: name, Reason: reason})
	}
	return list, nil
}

// checkReason refuses what is not to be kept with a deployment, where others read it.
func checkReason(reason string) error {
	token := strings.TrimSpace(os.Getenv(cloudflare.TokenVariable))
	switch {
	case !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl):
		return errors.New("a --reason has control characters, or is no UTF-8 (write it in one line)")
	case cli.SecretKey.MatchString(reason), token != "" && strings.Contains(reason, token):
		return errors.New("a --reason holds a secret, and it is kept with the deployment (leave it out)")
	}
	return nil
}

// deployReport is what a deployment did or would do, in JSON.
type deployReport struct {
	DryRun  bool          `json:"dry_run"`
	Plan    *deploy.Plan  `json:"plan,omitempty"` // with --dry-run
	Steps   []deploy.Step `json:"steps"`
	Unknown string        `json:"unknown,omitempty"` // why Cloudflare was not asked
	Live    string        `json:"live,omitempty"`    // what answers now
	Changed []string      `json:"changed"`
	// Platform is what Cloudflare does behind the service's back.
	Platform []deploy.Remark `json:"platform"`
	Error    string          `json:"error,omitempty"`
}

// deployService plans a deployment and carries it out.
func deployService(ctx context.Context, t *cli.Terminal, flags *deployFlags, allowances []deploy.Allowance) error {
	s, output, err := loadAndGenerate(flags.content)
	if err != nil {
		return err
	}
	plan, checked, err := planDeployment(ctx, t, flags, allowances, s, output)
	if err != nil {
		return err
	}
	r := &deployReport{DryRun: flags.dryRun, Steps: []deploy.Step{}, Changed: []string{}, Platform: []deploy.Remark{}}
	say := func(step deploy.Step) {
		r.Steps = append(r.Steps, step)
		if !flags.asJSON {
			sayStep(t, step)
		}
	}
	for _, step := range checked {
		say(step)
	}
	client, err := cloudflare.New(deploy.Permissions)
	if flags.dryRun {
		r.Plan = plan
		if !flags.asJSON {
			printPlan(t, plan)
		}
		if err != nil {
			r.Unknown = "what is there and what is live was not asked: " + err.Error()
		}
	}
	if err != nil && flags.dryRun {
		if flags.asJSON {
			return t.PrintObject(r)
		}
		t.Printf("%s", r.Unknown)
		return nil
	}
	if err != nil {
		return unchanged(err)
	}
	defer client.Close()
	run := &deploy.Run{Plan: plan, Client: client, Site: &liveSite{t: t, output: output}, Say: say}
	if err := run.Survey(ctx); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		if serving := run.Serving(); serving != "" {
			return fmt.Errorf("%w\nnothing was changed; live now: %s", err, serving)
		}
		return unchanged(err)
	}
	for _, a := range allowances {
		if !slices.Contains(run.Used, a) {
			t.Warnf("--allow %s was not needed, and is not noted", a.Name)
		}
	}
	if flags.dryRun {
		for _, step := range run.Steps() {
			say(step)
		}
	} else if err = run.Do(ctx); err != nil {
		r.Steps = append(checked, run.Steps()...) // those too that were not come to
	}
	r.Live, r.Changed = run.Serving(), append(r.Changed, run.Changes()...)
	// Where the test in the end fails, what the platform does may be why.
	if stopped := (*deploy.Stopped)(nil); err == nil || errors.As(err, &stopped) && stopped.Smoke() && ctx.Err() == nil {
		r.Platform = append(r.Platform, run.Platform(ctx)...)
	}
	if !flags.asJSON {
		for _, remark := range r.Platform {
			t.Printf("%-16s %-12s  %s", "platform", remark.Severity, remark)
		}
		if err == nil {
			t.Printf("live now: %s", r.Live)
		}
		return err
	}
	if err != nil {
		r.Error = err.Error()
	}
	return errors.Join(t.PrintObject(r), err)
}

// unchanged adds to an error that it came before any change.
func unchanged(err error) error {
	return fmt.Errorf("%w\nnothing was changed; what is live stays", err)
}

// planDeployment plans a deployment without asking anybody. It gives what it has checked, too.
func planDeployment(ctx context.Context, t *cli.Terminal, flags *deployFlags, allowances []deploy.Allowance, s *site.Site, output *generator.Output) (*deploy.Plan, []deploy.Step, error) {
	upToDate, err := checkPublic(t, flags, s, output)
	if err != nil {
		return nil, nil, err
	}
	key, err := flags.secret.Read(t)
	if err != nil {
		return nil, nil, err
	}
	if err := keys.RefusePublished(key, &s.Service, filepath.Join(flags.content, serviceFile)); err != nil {
		return nil, nil, err
	}
	file, err := deploy.ReadFile(flags.wrangler)
	if err != nil {
		return nil, nil, err
	}
	source := &deploy.Source{
		File: file, Environment: flags.environment, Facts: deployFacts(&s.Service),
		Content: output.Snapshot.ShortVersion(), AsOf: output.Snapshot.AsOf, Allowances: allowances,
		Unlisted: tlog.Published,
	}
	if key != nil {
		source.Key = receiptkey.Prefix + base64.StdEncoding.EncodeToString(key.Seed())
		source.KeyPublic = receiptkey.Public(key)
	}
	for _, d := range output.Documents {
		switch {
		case d.Path == "/_headers":
			source.Headers = string(d.Content())
		case d.Path == "/_redirects":
			source.Redirects = string(d.Content())
		default:
			source.Documents = append(source.Documents, d)
		}
	}
	// What is wrong with the file is said before anything is compiled.
	if err := file.Check(&source.Facts); err != nil {
		return nil, nil, unchanged(err)
	}
	if source.Bundle, err = deployBundle(ctx, t, flags.bundle); err != nil {
		return nil, nil, err
	}
	if err := addContent(source.Bundle, output.Snapshot); err != nil {
		return nil, nil, err
	}
	plan, err := deploy.NewPlan(source)
	if err != nil {
		return nil, nil, unchanged(err)
	}
	return plan, []deploy.Step{
		{Name: "content", Status: deploy.Already, Text: upToDate},
		{Name: "agreement", Status: deploy.Already, Text: "wrangler.toml says what the content says"},
	}, nil
}

// deployFacts are what the content says that wrangler.toml says too.
func deployFacts(c *site.Service) deploy.Facts {
	return deploy.Facts{
		CanonicalHost: c.CanonicalHost, ApexHost: c.ApexHost, PreviewHosts: c.PreviewHosts,
		RelayTo: c.Relay.To, RelayFrom: c.Relay.From, WritesPerMinute: int64(c.Limits.WritesPerMinute),
		ReceiptKey: c.ReceiptKeys.Current,
	}
}

// checkPublic refuses a folder of documents that is stale: its diff is what the operator reads
// before a deployment. Where there is none, the documents are those of the content all the same.
func checkPublic(t *cli.Terminal, flags *deployFlags, s *site.Site, output *generator.Output) (string, error) {
	version := "content " + output.Snapshot.ShortVersion()
	if _, err := os.Stat(flags.public); errors.Is(err, fs.ErrNotExist) {
		warnings, err := checkExpiry(s)
		for _, warning := range warnings {
			t.Warnf("%s", warning)
		}
		return fmt.Sprintf("%s, without a folder %s", version, flags.public), err
	}
	r, err := publishTo(t, flags.public, s, output, true)
	if err != nil {
		return "", err
	}
	if r.Changes > 0 {
		return "", fmt.Errorf("%s is stale: %s not as %s has it; nothing was changed, and what is live stays (run anteroom generate, and look at the diff)",
			flags.public, cli.Plural(r.Changes, "document"), flags.content)
	}
	for _, e := range r.Documents {
		if e.Status == publish.Kept {
			t.Warnf("%s%s is not of the content, and is not deployed", flags.public, e.Path)
		}
	}
	return fmt.Sprintf("%s, and %s is up to date", version, flags.public), nil
}

// deployBundle gives the files of the worker that depend on no content: those of a bundle in a
// folder where one is named.
func deployBundle(ctx context.Context, t *cli.Terminal, folder string) (map[string][]byte, error) {
	if folder == "" {
		files, _, err := workerFiles(ctx, t)
		return files, err
	}
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no bundle %s (make it with anteroom build, or leave --bundle out)", folder)
	} else if err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(folder, entry.Name())); err != nil {
			return nil, fmt.Errorf("read bundle: %w", err)
		}
	}
	return files, nil
}

// sayStep prints a step, at once.
func sayStep(t *cli.Terminal, step deploy.Step) {
	t.Printf("%-16s %-10s  %s", step.Name, step.Status, step.Text)
	t.Out.Flush()
}

// printPlan prints what a deployment sends.
func printPlan(t *cli.Terminal, plan *deploy.Plan) {
	for _, w := range plan.Workers {
		hosts := strings.Join(w.Hosts, ", ")
		t.Printf("")
		t.Printf("worker %s at %s, from %s, %s", w.Name, hosts, w.Metadata.CompatibilityDate, strings.Join(w.Metadata.CompatibilityFlags, " "))
		for _, m := range w.Modules {
			t.Printf("  %-16s %10s  %-32s %.12s", m.Name, cli.ByteSize(int64(m.Size)), m.MediaType, m.SHA256)
		}
		for _, b := range w.Metadata.Bindings {
			t.Printf("  env.%-12s %s", b.Name, describeBinding(b))
		}
		if n := len(w.Assets); n > 0 {
			size := 0
			for _, a := range w.Assets {
				size += a.Size
			}
			t.Printf("  %s, %s; the worker is first at %s", cli.Plural(n, "document"), cli.ByteSize(int64(size)), strings.Join(w.Metadata.Assets.Config.RunWorkerFirst, " "))
		}
		for _, cron := range w.Crons {
			t.Printf("  cron %s", cron)
		}
	}
	t.Printf("")
}

func describeBinding(b deploy.Binding) string {
	text := b.Type
	for _, value := range append([]string{b.ID, b.Destination, b.Namespace, b.Service, b.Dataset, b.Text}, append(b.Destinations, b.Senders...)...) {
		if value != "" {
			text += " " + value
		}
	}
	if b.Simple != nil {
		text += fmt.Sprintf(", %d in %d seconds", b.Simple.Limit, b.Simple.Period)
	}
	return text
}
