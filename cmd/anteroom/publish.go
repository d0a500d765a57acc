package main

import (
	"context"
	"errors"
	"fmt"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/store/records"
	"anteroom/generator/output"
	"anteroom/generator/site"

	"github.com/spf13/cobra"
)

// publication is one run of anteroom publish. What is done is seen in the files, in git and in what
// is live: nothing else remembers it.
type publication struct {
	t                 *cli.Terminal
	verify            *verification.Options
	store             *storeFlags
	generation        generation
	deployment        *deployment
	reload, live      string
	address           string // of the server on this machine
	noCommit, noLive  bool
	site              *site.Site
	public            verification.Published
	records           records.Reader // the store
	artifact          *output.Artifact
	service           *live.Service
	waiting           int64 // records that no verification covers
	written, deployed bool  // whether a verification is not yet public; whether this run has deployed
	changed           bool  // whether this run has changed the content
	close             []func() error
}

func publishCommand(t *cli.Terminal) *cobra.Command {
	p := &publication{t: t, store: &storeFlags{}, deployment: newDeployment(t)}
	p.verify = &verification.Options{Publishing: true}
	cmd := &cobra.Command{
		Use: "publish",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.verify.Check(); err != nil {
				return cli.Usage(err)
			}
			return p.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	verifyFlags(flags, p.verify, p.store)
	generatedFlags(flags, &p.generation.public, &p.generation.snapshot)
	p.deployment.host.Receipt.AddFlag(flags)
	flags.StringVar(&p.reload, "reload", "", "the `command` that has the server read the new documents")
	flags.StringVar(&p.address, "addr", defaultAddress, "the `address` at which the server on this machine listens")
	flags.StringVar(&p.live, "live", "", "the `URL` of the service (default the server at --addr or, with --remote, the canonical host)")
	flags.BoolVar(&p.noCommit, "no-commit", false, "commit nothing")
	flags.BoolVar(&p.noLive, "no-live", false, "neither reload nor deploy, and do not look at what is live then")
	return cmd
}

// run takes all steps in their order. Each does only what is due.
func (p *publication) run(ctx context.Context) (err error) {
	defer func() {
		for _, end := range p.close {
			err = errors.Join(err, end())
		}
	}()
	d := p.deployment
	p.verify.Mail = p.store.mail(p.verify.Mail)
	p.verify.Open = func(context.Context) (records.Reader, error) { return p.records, nil }
	p.verify.Public, p.generation.content, p.generation.secret = p.generation.public, p.verify.Content, d.host.Receipt
	d.wrangler, d.Environment, d.host.Data = p.store.wrangler, p.store.remote, p.store.data
	for _, step := range []struct {
		name string
		take func(context.Context) (string, error)
		not  bool // left out
	}{
		{"look", p.look, false},
		{"verify", p.decide, false},
		{"witness", p.cosign, false},
		{"generate", p.generate, false},
		{"commit", p.commit, p.noCommit},
		{"live", p.goLive, p.noLive},
		{"check", p.check, p.noLive},
	} {
		did, err := "left out", ctx.Err()
		if err == nil && !step.not {
			did, err = step.take(ctx)
		}
		if errors.Is(err, context.Canceled) {
			err = cli.ErrInterrupted
		}
		if err != nil {
			return errors.Join(err, fmt.Errorf("publish stopped at %s (run anteroom publish again: it carries on from there)", step.name))
		}
		if did != "" {
			p.t.Printf("%-9s %s", step.name, did)
		}
		if err := p.t.Out.Flush(); err != nil {
			return err
		}
	}
	p.t.Printf("")
	for _, number := range site.Numbers {
		p.t.Printf("%-65s %5d", number.Path, number.Of(p.site.Current()))
	}
	return nil
}

// cosign asks the witnesses of the public log that have not cosigned it, if it has any. One that
// fails holds nothing up: the next run asks it again.
func (p *publication) cosign(ctx context.Context) (string, error) {
	if len(p.site.Log.Witnesses) == 0 || p.site.Log.Current() == nil {
		return "", nil
	}
	c, err := askWitnesses(ctx, p.verify.Content, p.site)
	p.changed = p.changed || c != nil && c.Written
	if c == nil || ctx.Err() != nil {
		return "", err
	}
	if err != nil {
		p.t.Warnf("%v (the next anteroom publish asks again)", err)
	}
	n := 0
	for _, w := range c.Witnesses {
		if w.Cosigned {
			n++
		}
	}
	return fmt.Sprintf("the log has %d of %d cosignatures", n, len(c.Witnesses)), nil
}

func (p *publication) generate(context.Context) (string, error) {
	now := p.t.Now()
	var err error
	if p.changed { // so what is published is what is committed
		if p.site, err = loadContent(p.verify.Content, now); err != nil {
			return "", err
		}
	}
	r, err := p.generation.run(p.t, p.site, now)
	if err == nil {
		p.artifact, err = output.Read(p.generation.public, p.generation.snapshot)
	}
	if err != nil {
		return "", err
	}
	if r.Changes == 0 {
		return p.generation.public + " is current", nil
	}
	return cli.Plural(r.Changes, "changed document"), nil
}
