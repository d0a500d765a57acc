package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
)

func logProveCommand(t *cli.Terminal) *cobra.Command {
	var o logFlags
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "prove FILE|HASH",
		Short: "Prove that a hand verification has counted a record",
		Long: `Prove prints the proof that a registration or charter was counted, as a tlog-proof (C2SP) that anyone can
check without the service: anteroom log check --proof. FILE is the JSON answer that the caller received, - is
standard input; HASH is the SHA-256 that names the entry: of the record_id, a line feed and the
payload_sha256.

It proves from the content folder, and with --url from what a service publishes, with six files of at most
100 KB together.

Exit codes: 0 proved, 1 not counted yet or not to be proved, 2 there is no answer to prove, or called wrongly.`,
		Example: `  anteroom log prove answer.json --url https://www.anteroom.example --out answer.tlog-proof
  anteroom log check --proof answer.tlog-proof answer.json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // a file
		RunE: cli.WithExitCode(func(cmd *cobra.Command, args []string) error {
			if o.url == "" && len(o.keys) > 0 {
				return cli.Usage(errors.New("--key is for a proof from a service, which --url names"))
			}
			hash, err := recordHash(t.In, args[0])
			if err != nil {
				return err
			}
			r, err := o.prove(cmd.Context(), t, hash)
			if errors.Is(err, errNoLog) {
				return fmt.Errorf("prove %s: %w", args[0], err)
			}
			if errors.Is(err, tlog.ErrNotLogged) {
				return fmt.Errorf("prove %s: %w (each hand verification counts what was recorded up to then; try again after the next)", args[0], err)
			}
			if err != nil {
				return fmt.Errorf("prove %s: %w", args[0], hintKeys(err))
			}
			return printProved(t, r, out, asJSON)
		}),
	}
	flags := cmd.Flags()
	o.add(flags)
	flags.StringVar(&out, "out", "", "write the proof to this new `file`")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object, with the proof in it")
	return cmd
}

// errNoLog is the error about a content without a log.
var errNoLog = fmt.Errorf("%w (anteroom key rotate --log and anteroom verify begin one; --url names a service that has one)", tlog.ErrNotLogged)

// prove proves the entry of a record from a service, or from the content.
func (o *logFlags) prove(ctx context.Context, t *cli.Terminal, hash string) (*provedReport, error) {
	if o.url == "" {
		if _, err := os.Stat(o.content); errors.Is(err, fs.ErrNotExist) {
			return nil, cli.Exit(cli.ExitUsage, fmt.Errorf("there is no content folder %s (name the service with --url, or the folder with --content)", o.content))
		}
		s, err := loadContent(o.content)
		if err != nil {
			return nil, err
		}
		if s.Log.Current() == nil {
			return nil, fmt.Errorf("%s has no log yet: %w", o.content, errNoLog)
		}
		p, err := s.Log.Prove(hash)
		if err != nil {
			return nil, err
		}
		return reportOf(p, o.content), nil
	}
	service, err := o.service()
	if err != nil {
		return nil, err
	}
	trusted, err := o.trusted()
	if err != nil {
		return nil, err
	}
	read := readFrom(ctx, service)
	if len(trusted.keys) == 0 {
		if trusted.keys, err = tlog.PublishedKeys(read); err != nil {
			return nil, err
		}
		warnTrusted(t, trusted.keys)
	}
	p, err := tlog.ReadProof(read, hash, trusted.keys, trusted.witnesses)
	if err != nil {
		return nil, err
	}
	return reportOf(p, trusted.from), nil
}

// printProved prints a proof or writes it to a new file, and says what it proves.
func printProved(t *cli.Terminal, r *provedReport, out string, asJSON bool) error {
	if out != "" {
		if err := writeSynced(out, []byte(r.Proof)); errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("write proof: %w (name another file with --out)", err)
		} else if err != nil {
			return fmt.Errorf("write proof: %w", err)
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
