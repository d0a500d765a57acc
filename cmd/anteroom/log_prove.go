package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/logsource"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
)

func logProveCommand(t *cli.Terminal) *cobra.Command {
	var o logsource.Target
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "prove FILE|HASH",
		Short: "Prove that a hand verification has counted a record",
		Long: `Print the proof that a registration or charter was counted, as a tlog-proof (C2SP) that anyone can
check without the service: anteroom log check --proof. FILE is the JSON answer that the caller received, - is
standard input; HASH is the SHA-256 that names the entry: of the record_id, a line feed and the
payload_sha256.

The proof is made from the content folder, or with --url from what a service publishes: nine small files
at most.

Exit codes: 0 proved, 1 not counted yet, or not proved, 2 no answer to prove, or called wrongly.`,
		Example: `  anteroom log prove answer.json --url https://www.anteroom.example --out answer.tlog-proof
  anteroom log check --proof answer.tlog-proof answer.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.URL == "" && len(o.Keys) > 0 {
				return cli.Usage(errors.New("--key is for a proof from a service, which --url names"))
			}
			hash, err := logsource.RecordHash(t.In, args[0])
			if err != nil {
				return err
			}
			r, err := prove(cmd.Context(), t, &o, hash)
			switch {
			case errors.Is(err, errNoLog):
				return fmt.Errorf("prove %s: %w", args[0], err)
			case errors.Is(err, tlog.ErrNotLogged):
				return fmt.Errorf("prove %s: %w (each hand verification counts what was recorded before it; try again after the next)", args[0], err)
			case err != nil:
				return fmt.Errorf("prove %s: %w", args[0], logsource.HintKeys(err))
			}
			return printProved(t, r, out, asJSON)
		},
	}
	flags := cmd.Flags()
	o.AddFlags(flags, contentFolder)
	flags.StringVar(&out, "out", "", "write the proof to this new `file`")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object, with the proof in it")
	return cmd
}

// errNoLog is the error about a content without a log.
var errNoLog = fmt.Errorf("%w (anteroom key rotate --log and anteroom verify begin one; --url names a service that has one)",
	tlog.ErrNotLogged)

// prove proves the entry of a record from a service, or from the content.
func prove(ctx context.Context, t *cli.Terminal, o *logsource.Target, hash string) (*provedReport, error) {
	if o.URL == "" {
		if _, err := os.Stat(o.Content); errors.Is(err, fs.ErrNotExist) {
			return nil, cli.Exit(cli.ExitUsage,
				fmt.Errorf("there is no content folder %s (name the service with --url, or the folder with --content)", o.Content))
		}
		s, err := loadContent(o.Content)
		if err != nil {
			return nil, err
		}
		if s.Log.Current() == nil {
			return nil, fmt.Errorf("%s has no log yet: %w", o.Content, errNoLog)
		}
		p, err := s.Log.Prove(hash)
		if err != nil {
			return nil, err
		}
		return reportOf(p, o.Content), nil
	}
	read, _, err := o.Service(ctx)
	if err != nil {
		return nil, err
	}
	trusted, err := o.Trusted()
	if err != nil {
		return nil, err
	}
	if len(trusted.Keys) == 0 {
		if trusted.Keys, err = tlog.PublishedKeys(read); err != nil {
			return nil, err
		}
		logsource.WarnTrusted(t, trusted.Keys)
	}
	p, err := tlog.ReadProof(read, hash, trusted.Keys, trusted.Witnesses)
	if err != nil {
		return nil, err
	}
	return reportOf(p, trusted.From), nil
}

// printProved prints a proof or writes it to a new file, and says what it proves.
func printProved(t *cli.Terminal, r *provedReport, out string, asJSON bool) error {
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
	switch {
	case asJSON:
		return t.PrintObject(r)
	case out == "":
		for _, line := range r.lines() {
			t.Complain("", line)
		}
		_, err := t.Out.WriteString(r.Proof)
		return err
	}
	for _, line := range r.lines() {
		t.Printf("%s", line)
	}
	return nil
}
