package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/store/records"
	"anteroom/generator/output"

	"github.com/spf13/cobra"
)

type statusOptions struct {
	public  string
	host    string
	inspect live.Options
	asJSON  bool
	store   storeFlags
	at      liveFlags
}

// status is the result. A member is null if it was not asked for.
type status struct {
	*live.Report
	Outbox *records.Outbox `json:"outbox"`
}

func statusCommand(t *cli.Terminal) *cobra.Command {
	o := statusOptions{inspect: live.Options{Now: t.Now, Waiting: func(what string) { t.Warnf("waiting: %s", what) }}}
	cmd := &cobra.Command{
		Use: "status [URL]",
		RunE: func(cmd *cobra.Command, args []string) error {
			flags := cmd.Flags()
			if o.inspect.Wait < 0 || o.inspect.Timeout <= 0 {
				return cli.Usage(errors.New("--wait and --timeout: want times such as 30s, and --timeout above 0"))
			}
			artifact, err := o.generated(cli.Chosen(flags, "public"))
			if err != nil {
				return err
			}
			address := strings.Join(args, "")
			if address == "" && flags.Changed("addr") {
				if address, err = o.at.service(o.store.remote); err != nil {
					return cli.Usage(err)
				}
			}
			if address == "" && artifact == nil {
				return cli.Usage(fmt.Errorf("no folder %s and no address of a service (name one of them)", o.public))
			} else if address == "" {
				address = artifact.Snapshot.BaseURL()
			}
			service, err := live.New(address)
			if err != nil {
				return cli.Usage(err)
			}
			service.Host = o.host
			found := status{}
			if cli.Chosen(flags, "data") || cli.Chosen(flags, "remote") {
				if err := o.askStore(cmd.Context(), &found); err != nil {
					return err
				}
			}
			if found.Report, err = service.Inspect(cmd.Context(), artifact, o.inspect); errors.Is(err, context.Canceled) {
				return errors.New("interrupted")
			} else if err != nil {
				return err
			}
			return o.print(t, &found)
		},
	}
	flags := cmd.Flags()
	publicFlag(flags, &o.public)
	flags.StringVar(&o.host, "host-header", "", "the host `name` to ask for, if the address has another")
	flags.DurationVar(&o.inspect.Wait, "wait", 0,
		"the longest `time` to wait for public/ to be live after a deployment, such as 30s")
	flags.DurationVar(&o.inspect.Timeout, "timeout", live.Timeout, "the longest `time` for one answer")
	jsonFlag(flags, &o.asJSON)
	o.store.add(flags)
	o.at.add(flags)
	return cmd
}

func (o *statusOptions) generated(chosen bool) (*output.Artifact, error) {
	if _, err := os.Stat(o.public); errors.Is(err, fs.ErrNotExist) && !chosen {
		return nil, nil
	}
	return output.Read(o.public, snapshotOf(o.public))
}

func (o *statusOptions) askStore(ctx context.Context, found *status) error {
	r, err := o.store.reader(ctx)
	if err != nil {
		return err
	}
	counted, err := records.Undelivered(ctx, r)
	found.Outbox = &counted
	return errors.Join(err, r.Close())
}

func (o *statusOptions) print(t *cli.Terminal, found *status) error {
	if o.asJSON {
		if err := t.PrintObject(found); err != nil {
			return err
		}
	} else {
		found.Print(t, o.public)
		if b := found.Outbox; b != nil {
			status := live.OK
			if b.Dead > 0 {
				status = live.Warning
			}
			t.Printf("%-13s %-8s %s", "outbox", status, b)
		}
	}
	return found.Err(o.public)
}
