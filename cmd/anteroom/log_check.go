package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
)

// logCheckOptions are the flags of log check.
type logCheckOptions struct {
	logFlags
	out, since, proof string
	asJSON            bool
}

func logCheckCommand(t *cli.Terminal) *cobra.Command {
	var o logCheckOptions
	cmd := &cobra.Command{
		Use:   "check [FILE|HASH]",
		Short: "Check the whole public log, or a proof that was kept",
		Long: `Check reads every published file of the log, in the folder of the documents or with --url from a service,
and recomputes all of it: keys and signatures, every tile and bundle, every checkpoint, the proof of every
verification, the look-up, the counts of every verification against its board. It says what is wrong, where.

--since FILE is a checkpoint, or a proof, that was kept from earlier: the log must go on from it. Only what
came after it is read then, unless an entry there is about an earlier one. So that a record was counted both
before and after shows only without --since. Two signed trees of which one does not go on from the other are a
fork: both signed notes are printed, as the evidence. Keep both.

Who has cosigned is told by the witnesses' keys in the published policy: compare them with what the witnesses
publish themselves.

--proof PROOF checks without a network that a proof of anteroom log prove is about the record of an answer,
FILE or HASH.

Exit codes: 0 as it should be, 1 not as it should be, 2 it cannot be checked, or called wrongly.`,
		Example: `  anteroom log check
  anteroom log check --url https://www.anteroom.example --since checkpoint
  anteroom log check --proof answer.tlog-proof answer.json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // a file
		RunE: cli.WithExitCode(func(cmd *cobra.Command, args []string) error {
			switch {
			case o.proof != "" && (len(args) == 0 || o.url != "" || o.since != ""):
				return cli.Usage(errors.New("--proof checks one answer, FILE or HASH, and excludes --url and --since"))
			case o.proof != "":
				return o.checkProof(t, args[0])
			case len(args) > 0:
				return cli.Usage(errors.New("an answer is checked with --proof PROOF"))
			}
			return o.check(cmd.Context(), t)
		}),
	}
	flags := cmd.Flags()
	o.add(flags)
	flags.StringVar(&o.out, "out", publicFolder, "the `folder` of the documents that is checked without --url")
	flags.StringVar(&o.since, "since", "", "the `file` of a checkpoint that was kept from earlier")
	flags.StringVar(&o.proof, "proof", "", "the `file` of a proof, to be checked against an answer")
	flags.SetAnnotation("proof", cli.OnlyHere, nil)
	flags.BoolVar(&o.asJSON, "json", false, "print one JSON object")
	return cmd
}

// checkProof checks a proof against an answer, without a network.
func (o *logCheckOptions) checkProof(t *cli.Terminal, answer string) error {
	hash, err := recordHash(t.In, answer)
	if err != nil {
		return err
	}
	text, err := readFile(t.In, o.proof, maxKept)
	if err != nil {
		return cli.Exit(cli.ExitUsage, fmt.Errorf("read proof: %w", err))
	}
	trusted, err := o.trusted()
	if err != nil {
		return err
	}
	if len(trusted.keys) == 0 {
		return cli.Exit(cli.ExitUsage, errors.New("there is no key to check the proof with (give the one of the log with --key)"))
	}
	p, err := tlog.VerifyProof(text, hash, trusted.keys, trusted.witnesses)
	if err != nil {
		return fmt.Errorf("check %s: it does not prove %s: %w", o.proof, answer, hintKeys(err))
	}
	r := reportOf(p, trusted.from)
	if o.asJSON {
		return t.PrintObject(r)
	}
	for _, line := range r.lines() {
		t.Printf("%s", line)
	}
	return nil
}

// logReport is what log check prints.
type logReport struct {
	OK       bool   `json:"ok"`
	Log      string `json:"log"`       // where it was read
	KeysFrom string `json:"keys_from"` // "" where they were taken on trust
	*tlog.Report
}

// check checks the whole log.
func (o *logCheckOptions) check(ctx context.Context, t *cli.Terminal) error {
	trusted, err := o.trusted()
	if err != nil {
		return err
	}
	checking := &tlog.Checking{Keys: trusted.keys, AtOnce: o.filesAtOnce()}
	where := o.out
	if o.url != "" {
		service, err := o.service()
		if err != nil {
			return err
		}
		where, checking.Read = service.String(), readFrom(ctx, service)
	} else {
		if _, err := os.Stat(o.out); err != nil {
			return cli.Exit(cli.ExitUsage, fmt.Errorf("check log: %w (anteroom generate makes it; --out names another, --url a service)", err))
		}
		checking.Read = readIn(o.out)
	}
	if o.since != "" {
		if checking.Kept, err = readKept(t, o.since); err != nil {
			return cli.Exit(cli.ExitUsage, fmt.Errorf("read the checkpoint that was kept: %w", err))
		}
	}
	report, err := tlog.Check(checking)
	if len(trusted.keys) == 0 {
		warnTrusted(t, report.Keys)
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case errors.Is(err, tlog.ErrKept):
		return cli.Exit(cli.ExitUsage, fmt.Errorf("check the log of %s: %w (give %s as it was read then, or a proof)", where, err, tlog.CheckpointPath(tlog.Folder)))
	case errors.Is(err, tlog.ErrNoLog):
		return cli.Exit(cli.ExitUsage, fmt.Errorf("check %s: %w", where, err))
	case err != nil && report.OK():
		return cli.Exit(cli.ExitUsage, fmt.Errorf("check the log of %s: %w", where, err))
	case err != nil:
		t.Warnf("check the log of %s: not all of it was read: %v", where, err)
	}
	r := &logReport{report.OK(), where, trusted.from, report}
	if o.asJSON {
		if err := t.PrintObject(r); err != nil {
			return err
		}
	} else {
		printLog(t, r, o.since != "")
	}
	switch faults := len(report.Faults) + report.MoreFaults; {
	case len(report.Forks) > 0:
		return fmt.Errorf("the log of %s was forked: see the signed notes above (keep them: they prove it to anybody)", where)
	case faults > 0 && o.url == "" && trusted.from == o.content:
		return fmt.Errorf("the log of %s is not as it should be: %s (see above; anteroom generate --check says whether %s is what %s gives)",
			where, cli.Plural(faults, "fault"), where, o.content)
	case faults > 0:
		return fmt.Errorf("the log of %s is not as it should be: %s (see above)", where, cli.Plural(faults, "fault"))
	}
	return nil
}

// readKept reads a checkpoint, or takes it out of a proof.
func readKept(t *cli.Terminal, name string) ([]byte, error) {
	text, err := readFile(t.In, name, maxKept)
	if err != nil {
		return nil, err
	}
	if p, err := tlog.ParseProof(text); err == nil {
		return p.Checkpoint, nil
	}
	return text, nil
}

// entries says how many entries a tree has.
func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// printLog prints what a check has found. kept is whether it was held to a checkpoint that was
// kept.
func printLog(t *cli.Terminal, r *logReport, kept bool) {
	for _, tree := range r.Trees {
		t.Printf("%s: %s, root %s, %s", tree.Origin, entries(tree.Size), tree.Root, cosignedBy(tree.Cosigned))
	}
	if r.KeysFrom != "" {
		t.Printf("keys: those of %s", r.KeysFrom)
	}
	if slices.ContainsFunc(r.Trees, func(tree tlog.TreeReport) bool { return len(tree.Cosigned) > 0 }) {
		t.Printf("witnesses: those of the published policy")
	}
	switch {
	case kept && r.OK && r.From > 0:
		t.Printf("goes on from the %d entries of the checkpoint that was kept", r.From)
	case kept && r.OK:
		t.Printf("goes on from the checkpoint that was kept, and was read from its beginning on")
	}
	for _, v := range r.Verifications {
		c, of, cosigned := v.Counts, "", ""
		if len(r.Trees) > 1 {
			of = " of " + v.Origin
		}
		if len(v.Cosigned) > 0 {
			cosigned = "; " + cosignedBy(v.Cosigned)
		}
		t.Printf("%s: %s%s: %s, %s, %s, %s, %d of the operator's own%s", v.Name, entries(v.Size), of,
			cli.Plural(c.Vouched, "verified conversion"), cli.Plural(c.Registrations, "registration"), cli.Plural(c.Charters, "charter"),
			cli.Plural(c.Suggestions, "suggestion"), c.Own, cosigned)
	}
	for _, fault := range r.Faults {
		t.Printf("fault: %s: %s", fault.Path, fault.What)
	}
	if r.MoreFaults > 0 {
		t.Printf("and %s more", cli.Plural(r.MoreFaults, "fault"))
	}
	for _, fork := range r.Forks {
		t.Printf("fork of %s: %s", fork.Origin, fork.What)
		for _, note := range fork.Notes {
			t.Printf("")
			for line := range strings.Lines(note) {
				t.Printf("%s", strings.TrimSuffix(line, "\n"))
			}
		}
		t.Printf("")
	}
	verdict := "as it should be"
	if !r.OK {
		verdict = "not as it should be"
	}
	t.Printf("%s: %s; %s read, %s", r.Log, verdict, cli.Plural(int(r.Files), "file"), cli.ByteSize(r.Bytes))
}
