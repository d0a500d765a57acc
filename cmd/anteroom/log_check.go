package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"anteroom/cmd/anteroom/internal/cli"
	healthz "anteroom/edge/endpoint/health"
	"anteroom/edge/jsondoc"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
)

type logCheckOptions struct {
	logTarget
	out, since, proof, promise string
}

func logCheckCommand(t *cli.Terminal) *cobra.Command {
	var o logCheckOptions
	cmd := &cobra.Command{
		Use: "check [FILE|HASH]",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.checkReceiptKeys(); err != nil {
				return err
			}
			switch {
			case o.proof != "" && len(args) == 0:
				return cli.Usage(errors.New("--proof checks one answer, FILE or HASH"))
			case o.proof != "":
				return o.checkProof(cmd.Context(), t, args[0])
			case len(args) > 0:
				return cli.Usage(errors.New("an answer is checked with --proof PROOF"))
			}
			return o.check(cmd.Context(), t)
		},
	}
	flags := cmd.Flags()
	o.addFlags(cmd)
	flags.StringVar(&o.out, "out", publicFolder, "the `folder` of documents to check without --url")
	flags.StringVar(&o.since, "since", "", "the `file` of a checkpoint that was kept from earlier")
	flags.StringVar(&o.promise, "promise", "", "the `file` of an answer, whose promise the log must keep; - is "+
		"standard input")
	o.addReceiptKeys(flags)
	flags.StringVar(&o.proof, "proof", "", "the `file` of a proof, to be checked against an answer")
	jsonFlag(flags, &t.JSON)
	for _, other := range []string{"since", "promise", "out"} {
		cmd.MarkFlagsMutuallyExclusive("proof", other)
	}
	cmd.MarkFlagsMutuallyExclusive("url", "out")
	return cmd
}

func (o *logCheckOptions) checkProof(ctx context.Context, t *cli.Terminal, answer string) error {
	hash, _, err := readRecord(t.In, answer)
	if err != nil {
		return err
	}
	text, err := cli.ReadText(t.In, o.proof, maxLogInput)
	if err != nil {
		return cli.Unusable("read proof: %w", err)
	}
	if _, err := tlog.ParseProof(text); err != nil {
		return cli.Unusable("check %s: %w (anteroom log prove makes one)", o.proof, err)
	}
	trusted, err := o.trust()
	if err == nil && len(trusted.Keys) == 0 {
		err = cli.Unusable("check proof: no key of the log (give it with --key; its service shows it at %s)",
			tlog.KeysPath)
	}
	if err != nil {
		return err
	}
	p, err := tlog.VerifyProof(text, hash, trusted.Keys, trusted.Witnesses, trusted.Ends)
	if o.url != "" && (err == nil || errors.Is(err, tlog.ErrRetired)) {
		read, _, wrong := o.service(ctx)
		if wrong != nil {
			return wrong
		}
		err = tlog.Compare(read, p, trusted.Keys)
	}
	if err == nil && trusted.Policy != nil {
		err = trusted.Policy.Check(p.Proof.Checkpoint)
	}
	if errors.Is(err, tlog.ErrRetired) {
		err = fmt.Errorf("%w (give its end, as in --key KEY@SIZE:ROOT, or ask the log with --url)", err)
	}
	if err != nil {
		return fmt.Errorf("check %s: no proof of %s: %w", o.proof, answer, hintKeys(err))
	}
	r := reportOf(p, trusted.From)
	if err := t.Answer(r, func() { t.PrintLines(r.String()) }); err != nil {
		return err
	}
	return r.err()
}

func (o *logCheckOptions) check(ctx context.Context, t *cli.Terminal) error {
	trusted, err := o.trust()
	if err != nil {
		return err
	}
	r := &logReport{Log: o.out, KeysFrom: trusted.From}
	what := tlog.Checking{
		Read: logFolder(o.out), List: logFiles(o.out), Keys: trusted.Keys, Policy: trusted.Policy,
		Now: t.Now(),
	}
	if o.url != "" {
		what.List = nil
		if what.Read, r.Log, err = o.service(ctx); err != nil {
			return err
		}
	} else if _, err := os.Stat(o.out); err != nil {
		return cli.Unusable("check log: %w (anteroom generate makes it; --out names another, --url a service)", err)
	}
	if o.since != "" {
		kept, err := cli.ReadText(t.In, o.since, maxLogInput)
		if err != nil {
			return cli.Unusable("read the kept checkpoint: %w", err)
		}
		what.Kept = [][]byte{kept}
	}
	if o.promise != "" {
		if what.Promised, err = readPromise(t.In, o.promise); err != nil {
			return cli.Unusable("read the promise: %w", err)
		}
		if what.Hosts, what.ReceiptKeys, err = namedIn(what.Read); err != nil {
			return cli.Unusable("check the log of %s: %w", r.Log, err)
		}
		what.ReceiptKeys = append(what.ReceiptKeys, o.receiptKeys...)
	}
	r.Report, err = tlog.Check(what)
	if r.OK = r.Report.OK(); len(trusted.Keys) == 0 {
		warnTrusted(t, r.Report.Keys)
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case errors.Is(err, tlog.ErrKept):
		return cli.Unusable("check the log of %s: %w (give the %s that was kept, or a proof)", r.Log, err,
			tlog.CheckpointPath(tlog.Folder))
	case errors.Is(err, tlog.ErrNoLog):
		return cli.Unusable("check the log of %s: %w (anteroom key rotate --log begins one; "+
			"--url names a service that has one)", r.Log, err)
	case err != nil && r.OK:
		return cli.Unusable("check the log of %s: %w", r.Log, err)
	case err != nil:
		t.Warnf("check the log of %s: the check is incomplete: %v", r.Log, err)
	}
	if err := t.Answer(r, func() { r.print(t) }); err != nil {
		return err
	}
	hint := "see above"
	if o.url == "" && trusted.From == o.content {
		hint = fmt.Sprintf("see above; anteroom generate --check compares %s with %s", o.out, o.content)
	}
	if err := r.err(hint); err != nil || r.Promise == nil {
		return err
	}
	return promiseError(r.Promise)
}

// promiseError returns an error if a promise is no evidence, or is about the operator's own record.
func promiseError(p *tlog.PromiseReport) error {
	switch p.State {
	case tlog.Unverified:
		return errUnverified(p.Why)
	case tlog.SetApart:
		return errSetApart(p.Verification)
	}
	return nil
}

func errUnverified(why string) error {
	return cli.Unusable("the promise is unverified: %s "+
		"(anyone could have made it; --receipt-key names further keys of the service)", why)
}

func errSetApart(verification string) error {
	return fmt.Errorf("%s: verification %s set the record apart", tlog.SetApart, verification)
}

// namedIn returns the host and the receipt key that the manifest of a service names.
func namedIn(read tlog.Source) (hosts, keys []string, err error) {
	text, err := read(healthz.Manifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil // a copy of the log alone
	}
	var document jsondoc.Value
	if err == nil {
		document, err = jsondoc.Parse(text)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", healthz.Manifest, err)
	}
	if host := document.Get("canonical_host").Text; host != "" {
		hosts = []string{host}
	}
	if key := document.Get("receipt_key").Text; key != "" {
		keys = []string{key}
	}
	return hosts, keys, nil
}
