package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
			hash, err := recordHash(t.In, args[0])
			if err != nil {
				return err
			}
			r, err := prove(cmd.Context(), t, &o, hash)
			if err != nil {
				return fmt.Errorf("prove %s: %w", args[0], err)
			}
			return printProved(t, r, out)
		},
	}
	flags := cmd.Flags()
	o.addFlags(cmd)
	flags.StringVar(&out, "out", "", "write the proof to this new `file`")
	flags.BoolVar(&t.JSON, "json", false, "print one JSON object, with the proof in it")
	return cmd
}

func prove(ctx context.Context, t *cli.Terminal, o *logTarget, hash string) (r *provedReport, err error) {
	var p *tlog.Proved
	from, standing := o.content, ""
	if o.url == "" {
		p, err = proveFromContent(o.content, hash, t.Now())
	} else {
		p, from, standing, err = proveFromService(ctx, t, o, hash)
	}
	if errors.Is(err, tlog.ErrNotLogged) {
		err = fmt.Errorf("%w (each hand verification counts the records before it; try again after the next)", err)
	}
	if err != nil {
		return nil, hintKeys(err)
	}
	r = reportOf(p, from)
	r.Standing = orNull(standing)
	return r, nil
}

func proveFromContent(content, hash string, now time.Time) (*tlog.Proved, error) {
	if _, err := os.Stat(content); errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Unusable("no content folder %s (name the service with --url, or the folder with --content)",
			content)
	}
	s, err := loadContent(content, now)
	if err != nil {
		return nil, err
	}
	if s.Log.Current() == nil {
		return nil, fmt.Errorf("%s has no log yet "+
			"(begin one with anteroom key rotate --log and anteroom verify, or name a service with --url)", content)
	}
	return s.Log.Prove(hash)
}

// proveFromService proves the entry of a record and its present kind. standing is the day of the
// verification that signed that kind; "" if none has yet.
func proveFromService(
	ctx context.Context, t *cli.Terminal, o *logTarget, hash string,
) (p *tlog.Proved, from, standing string, err error) {
	read, _, err := o.service(ctx)
	if err != nil {
		return nil, "", "", err
	}
	trusted, err := o.trust()
	if err == nil && len(trusted.Keys) == 0 {
		trusted.Keys, err = tlog.PublishedKeys(read)
		warnTrusted(t, trusted.Keys)
	}
	if err != nil {
		return nil, "", "", err
	}
	p, err = tlog.ReadProof(read, hash, trusted.Keys, trusted.Witnesses)
	if err == nil && trusted.Policy != nil {
		err = trusted.Policy.Check(p.Proof.Checkpoint)
	}
	if err != nil && !errors.Is(err, tlog.ErrNotLogged) {
		return nil, "", "", err
	}
	as, newest, wrong := tlog.Standing(read, hash, trusted.Keys)
	switch {
	case wrong != nil:
		err = wrong
	case p != nil && as == "" || p == nil && as != "":
		err = fmt.Errorf("lookup of verification %s does not match the entries", newest.AsOf)
	case p != nil:
		p.CountsAs, standing = as, newest.AsOf
	default:
		err = fmt.Errorf("%w, proved by verification %s", err, newest.AsOf)
	}
	return p, trusted.From, standing, err
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
