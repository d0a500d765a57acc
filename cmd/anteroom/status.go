package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/cloudflare"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/store/records"
	"anteroom/generator"

	"github.com/spf13/cobra"
)

// statusOptions are the flags of status.
type statusOptions struct {
	content       string
	contentChosen bool // whether a flag names the content
	host          string
	wait, timeout time.Duration
	asJSON        bool
	store         storeFlags
	storeChosen   bool // whether a flag names a store
}

// status is what status prints: what a service shows to everybody, and what its operator can find
// out besides. A member is null where nothing was asked about it.
type status struct {
	*live.Report
	Outbox *records.Outbox `json:"outbox"`
	// Settings are those on Cloudflare that spoil the service.
	Settings []cloudflare.Remark `json:"settings"`
}

func statusCommand(t *cli.Terminal) *cobra.Command {
	o := statusOptions{}
	cmd := &cobra.Command{
		Use:   "status [URL]",
		Short: "Compare a running service with the content",
		Long: `Status asks a running service, on a machine or on Cloudflare, for everything that it publishes, and says
what is not as the content has it: documents and their headers, the endpoints, the newest board, the
receipt key, readiness, a rehearsed write, the self-test. It needs no token and changes nothing there.
Of the files of a public log it asks for the newest ones and a few others, which are others with each content.

URL is the address of the service, https:// and the canonical host of the content where none is given.
Where there is no content folder, the service is compared with its own manifest.

With --data or --remote it also counts the messages to you that are not delivered. With --remote it looks
for settings on Cloudflare that spoil the service, too: mail that is refused, and bot protection that stops
agents. The token in ` + cloudflare.TokenVariable + ` then needs D1 Read and, for the settings,
` + strings.ReplaceAll(cloudflare.PermissionsSettings, "; ", ",\n") + `.

Exit codes: 0 nothing differs, 1 something differs or the service cannot be compared, 2 called wrongly.`,
		Example: `  anteroom status
  anteroom status http://127.0.0.1:8080 --data data
  anteroom status --wait 1m --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: cli.WithExitCode(func(cmd *cobra.Command, args []string) error {
			flags := cmd.Flags()
			if o.wait < 0 || o.timeout <= 0 {
				return cli.Usage(errors.New("--wait and --timeout are times such as 30s, and --timeout is more than 0"))
			}
			o.contentChosen = flags.Changed("content")
			o.storeChosen = flags.Changed("data") || flags.Changed("remote")
			address := ""
			if len(args) > 0 {
				address = args[0]
			}
			return showStatus(cmd.Context(), t, address, &o)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.content, "content", contentFolder, "the content `folder`")
	flags.StringVar(&o.host, "host-header", "", "the host `name` to ask for, where the address has another")
	flags.DurationVar(&o.wait, "wait", 0, "how long to wait for the content to be live, as after a deployment (a `time` such as 30s)")
	flags.DurationVar(&o.timeout, "timeout", live.Timeout, "the longest `time` for one answer")
	flags.BoolVar(&o.asJSON, "json", false, "print one JSON object")
	o.store.add(flags)
	return cmd
}

// showStatus compares a service and prints what it finds. It is an error where something differs.
func showStatus(ctx context.Context, t *cli.Terminal, address string, o *statusOptions) error {
	output, err := o.output()
	if err != nil {
		return err
	}
	if address == "" {
		if output == nil {
			return cli.Usage(fmt.Errorf("there is no content folder %s, and no address of a service was given", o.content))
		}
		address = output.Snapshot.BaseURL()
	}
	service, err := live.New(address)
	if err != nil {
		return cli.Usage(err)
	}
	service.Host = o.host
	found := status{}
	if o.storeChosen {
		var wrong error
		found.Outbox, wrong = o.outbox(ctx)
		found.Settings, err = o.settings(ctx)
		if err := errors.Join(wrong, err); err != nil {
			return err
		}
	}
	found.Report, err = service.Inspect(ctx, output, live.Options{
		Wait: o.wait, Timeout: o.timeout, Now: t.Now, Waiting: func(what string) { t.Warnf("waiting: %s", what) },
	})
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	} else if err != nil {
		return err
	}
	if o.asJSON {
		if err := t.PrintObject(found); err != nil {
			return err
		}
	} else {
		printStatus(t, &found, o)
	}
	differing := len(found.Differences())
	switch {
	case found.OK && slices.ContainsFunc(found.Settings, func(r cloudflare.Remark) bool { return r.Severity == cloudflare.Fault }):
		return errors.New("settings on Cloudflare spoil the service (see above)")
	case found.OK:
		return nil
	case !found.Compared:
		return fmt.Errorf("%s does not fit itself: %s (see above; deploy it again)", service, cli.Plural(differing, "difference"))
	}
	return fmt.Errorf("%s is not as %s has it: %s (see above; deploy the content, or start its server again)",
		service, o.content, cli.Plural(differing, "difference"))
}

// output is what the content publishes. It is nil where there is no content folder and none was
// asked for.
func (o *statusOptions) output() (*generator.Output, error) {
	if _, err := os.Stat(o.content); errors.Is(err, fs.ErrNotExist) && !o.contentChosen {
		return nil, nil
	}
	_, output, err := loadAndGenerate(o.content)
	return output, err
}

// outbox counts the messages of the store that a flag names.
func (o *statusOptions) outbox(ctx context.Context) (*records.Outbox, error) {
	r, err := o.store.reader(ctx)
	if err != nil {
		return nil, err
	}
	counted, err := records.Undelivered(ctx, r)
	return &counted, errors.Join(err, r.Close())
}

// settings are those on Cloudflare that spoil the environment that a flag names.
func (o *statusOptions) settings(ctx context.Context) ([]cloudflare.Remark, error) {
	if o.store.remote == "" {
		return nil, nil
	}
	config, err := cloudflare.ReadConfig(o.store.wrangler)
	if err != nil {
		return nil, err
	}
	return cloudflare.Settings(ctx, config, o.store.remote)
}

// printSettings prints the settings that spoil a service that was deployed, if the token may look.
func printSettings(ctx context.Context, t *cli.Terminal, config *cloudflare.Config, environment string) {
	found, err := cloudflare.Settings(ctx, config, environment)
	if err != nil {
		t.Warnf("the settings on Cloudflare were not looked at: %v", err)
	}
	for _, remark := range found {
		t.Printf("%-12s %s", remark.Severity, remark)
	}
}

// shownDifferences is how many differences of one check get a line.
const shownDifferences = 10

// printStatus prints a table: a line for each check, and below it what differs.
func printStatus(t *cli.Terminal, s *status, o *statusOptions) {
	against := "no content was compared"
	if s.Compared {
		against = fmt.Sprintf("compared with %s, %s", o.content, s.Wanted)
	}
	t.Printf("%s: %s", s.URL, against)
	line := func(name string, status live.Status, detail string) { t.Printf("%-13s %-8s %s", name, status, detail) }
	for _, c := range s.Checks {
		line(c.Name, c.Status, c.Detail)
		if len(c.Differences) < 2 { // the detail says it all
			continue
		}
		for n, d := range c.Differences {
			if n == shownDifferences {
				t.Printf("%-22s and %d more (--json lists all)", "", len(c.Differences)-n)
				break
			}
			t.Printf("%-22s %s %s", "", d.Path, d.What)
		}
	}
	if b := s.Outbox; b != nil {
		status, detail := live.OK, fmt.Sprintf("%d pending, %d dead", b.Pending, b.Dead)
		if b.Dead > 0 {
			status, detail = live.Warning, detail+" (anteroom records outbox revive tries them again)"
		}
		if b.Error != "" {
			detail += ": " + b.Error
		}
		line("outbox", status, detail)
	}
	for _, remark := range s.Settings {
		line("cloudflare", live.Status(remark.Severity), remark.String())
	}
}
