package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
)

func logProveCommand(t *cli.Terminal) *cobra.Command {
	var o logTarget
	var out string
	cmd := &cobra.Command{
		Use: "prove FILE|HASH",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.url == "" && (len(o.keys)+len(o.witnesses) > 0 || o.policy != "") {
				return cli.Usage(errors.New("--key, --policy and --witness are for a proof from a service, which --url names"))
			}
			if err := o.checkReceiptKeys(); err != nil {
				return err
			}
			hash, promise, err := readRecord(t.In, args[0])
			if err != nil {
				return err
			}
			r, err := prove(cmd.Context(), t, &o, hash, promise)
			if err != nil {
				return fmt.Errorf("prove %s: %w", args[0], err)
			}
			return errors.Join(printProved(t, r, out), r.err())
		},
	}
	flags := cmd.Flags()
	o.addFlags(cmd)
	o.addReceiptKeys(flags)
	flags.StringVar(&out, "out", "", "write the proof to this new `file`")
	flags.BoolVar(&t.JSON, "json", false, "print one JSON object, with the proof in it")
	return cmd
}

// proving is a proof from a content folder or a service.
type proving struct {
	*tlog.Proved        // nil if the record is not logged
	from         string // where the keys of the log come from
	standing     string // the day of the verification that signed the present kind; "" if none has
	hosts        []string
	receiptKeys  []string // that the service names
}

func prove(
	ctx context.Context, t *cli.Terminal, o *logTarget, hash string, promise *tlog.Promised,
) (*provedReport, error) {
	var found proving
	var err error
	if o.url == "" {
		found, err = proveFromContent(o.content, hash, t.Now())
	} else {
		found, err = proveFromService(ctx, t, o, hash)
	}
	notLogged := errors.Is(err, tlog.ErrNotLogged)
	if err != nil && !notLogged {
		return nil, hintKeys(err)
	}
	if promise != nil {
		if why := promise.Unverified(found.hosts, slices.Concat(found.receiptKeys, o.receiptKeys)); why != "" {
			return nil, errUnverified(why)
		}
	}
	if notLogged {
		return nil, fmt.Errorf("%w (each hand verification counts the records before it; try again after the next)", err)
	}
	r := reportOf(found.Proved, found.from)
	r.Standing = orNull(found.standing)
	return r, nil
}

func proveFromContent(content, hash string, now time.Time) (found proving, err error) {
	if _, err := os.Stat(content); errors.Is(err, fs.ErrNotExist) {
		return found, cli.Unusable("no content folder %s (name the service with --url, or the folder with --content)",
			content)
	}
	s, err := loadContent(content, now)
	if err != nil {
		return found, err
	}
	if s.Log.Current() == nil {
		return found, fmt.Errorf("%s has no log yet "+
			"(begin one with anteroom key rotate --log and anteroom publish, or name a service with --url)", content)
	}
	found = proving{from: content, hosts: []string{s.Service.CanonicalHost}, receiptKeys: s.Service.InForce()}
	found.Proved, err = s.Log.Prove(hash)
	return found, err
}

func proveFromService(ctx context.Context, t *cli.Terminal, o *logTarget, hash string) (found proving, err error) {
	read, _, err := o.service(ctx)
	if err != nil {
		return found, err
	}
	trusted, err := o.trust()
	if err == nil && len(trusted.Keys) == 0 {
		trusted.Keys, err = tlog.PublishedKeys(read)
		warnTrusted(t, trusted.Keys)
	}
	if err == nil {
		found.from = trusted.From
		found.hosts, found.receiptKeys, err = namedIn(read)
	}
	if err != nil {
		return found, err
	}
	p, err := tlog.ReadProof(read, hash, trusted.Keys, trusted.Witnesses)
	if err == nil && trusted.Policy != nil {
		err = trusted.Policy.Check(p.Proof.Checkpoint)
	}
	if err != nil && !errors.Is(err, tlog.ErrNotLogged) {
		return found, err
	}
	as, newest, wrong := tlog.Standing(read, hash, trusted.Keys)
	found.receiptKeys = append(found.receiptKeys, newest.ReceiptKeys...)
	switch {
	case wrong != nil:
		err = wrong
	case p != nil && as == "" || p == nil && as != "":
		err = fmt.Errorf("lookup of verification %s does not match the entries", newest.AsOf)
	case p != nil:
		p.CountsAs, found.Proved, found.standing = as, p, newest.AsOf
	default:
		err = fmt.Errorf("%w, proved by verification %s", err, newest.AsOf)
	}
	return found, err
}

func printProved(t *cli.Terminal, r *provedReport, out string) error {
	if out != "" {
		f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			_, err = f.WriteString(r.Proof)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return fmt.Errorf("write proof: %w (name another file with --out)", err)
		}
	}
	return t.Answer(r, func() {
		if out != "" {
			t.PrintLines(r.String())
			return
		}
		t.Complain("", r.String())
		t.Out.WriteString(r.Proof)
	})
}
