package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/generator/tlog"
)

// logReport is the output of log check.
type logReport struct {
	OK       bool   `json:"ok"`
	Log      string `json:"log"`       // the address or folder
	KeysFrom string `json:"keys_from"` // "" if they were taken on trust
	*tlog.Report
}

func (r *logReport) err(hint string) error {
	switch {
	case r.OK:
		return nil
	case len(r.Forks) > 0:
		return fmt.Errorf("the log of %s was forked: see the signed notes above (keep them: they prove it "+
			"to anyone)", r.Log)
	}
	return fmt.Errorf("the log of %s has %s (%s)", r.Log, cli.Plural(len(r.Faults), "fault"), hint)
}

// sinceKept describes the relation of the log to a kept checkpoint.
var sinceKept = map[string]string{
	tlog.Consistent: "extends it", tlog.Behind: "ends before it",
	tlog.Forked: "does not extend it",
}

func (r *logReport) print(t *cli.Terminal) {
	for _, tree := range r.Trees {
		t.Printf("%s: %s, root %s, %s", tree.Origin, cli.Plural(int(tree.Size), "entry"), tree.Root,
			cosignedBy(tree.Cosigned))
	}
	if r.KeysFrom != "" {
		t.Printf("keys: from %s", r.KeysFrom)
	}
	if slices.ContainsFunc(r.Trees, func(tree tlog.TreeReport) bool { return len(tree.Cosigned) > 0 }) {
		t.Printf("witnesses: from the published policy, and --policy or --witness")
	}
	if r.Since != "" {
		t.Printf("since the kept checkpoint: %s, the log %s", r.Since, sinceKept[r.Since])
	}
	for _, v := range r.Verifications {
		c, of, cosigned := v.Counts, "", ""
		if len(r.Trees) > 1 {
			of = " of " + v.Origin
		}
		if len(v.Cosigned) > 0 {
			cosigned = "; " + cosignedBy(v.Cosigned)
		}
		t.Printf("%s: %s%s: %s, %s, %s, %s, %d of the operator's own%s", v.Name, cli.Plural(int(v.Size), "entry"), of,
			cli.Plural(c.Vouched, "verified conversion"), cli.Plural(c.Registrations, "registration"),
			cli.Plural(c.Charters, "charter"),
			cli.Plural(c.Suggestions, "suggestion"), c.Own, cosigned)
	}
	if p := r.Promise; p != nil {
		t.Printf("the promise to count the record by %s: %s%s; signed by %s of %s",
			p.By, p.State, countedAs(p), p.SignedBy, p.IssuedBy)
	}
	for _, fault := range r.Faults {
		t.Printf("fault: %s: %s", fault.Path, fault.What)
		printNotes(t, fault.Notes)
	}
	for _, fork := range r.Forks {
		t.Printf("fork of %s: %s", fork.Origin, fork.What)
		printNotes(t, fork.Notes)
	}
	verdict := "ok"
	if !r.OK {
		verdict = "not ok"
	}
	t.Printf("%s: %s; %s read, %s", r.Log, verdict, cli.Plural(int(r.Files), "file"), cli.ByteSize(r.Bytes))
}

func printNotes(t *cli.Terminal, notes []string) {
	for _, note := range notes {
		t.PrintLines("\n" + note)
	}
	if len(notes) > 0 {
		t.Printf("")
	}
}

// provedReport is the output of a proof as JSON.
type provedReport struct {
	Kind         string             `json:"kind"`
	CountsAs     *string            `json:"counts_as"` // null if unknown
	Standing     *string            `json:"standing"`  // the day of the verification that signed counts_as, or null
	Entry        string             `json:"entry"`
	Index        int64              `json:"index"` // in its tree
	Verification string             `json:"verification"`
	AsOf         string             `json:"as_of"`
	Origin       string             `json:"origin"`
	Size         int64              `json:"size"`
	Cosigned     []tlog.Cosignature `json:"cosigned"`  // each proves that the entry existed by then
	Keys         string             `json:"keys_from"` // "" if they were taken on trust
	Proof        string             `json:"proof"`
}

func reportOf(p *tlog.Proved, from string) *provedReport {
	return &provedReport{
		Kind: p.Entry.Kind, Entry: p.Entry.Hash, Index: p.Proof.Index, Verification: p.Verification.Board,
		AsOf:   p.Verification.AsOf,
		Origin: p.Checkpoint.Origin, Size: p.Checkpoint.Size,
		Cosigned: append([]tlog.Cosignature{}, p.Checkpoint.Cosigned...),
		Keys:     from, Proof: string(p.Proof.Append(nil)), CountsAs: orNull(p.CountsAs),
	}
}

func (r *provedReport) err() error {
	if r.Kind == tlog.Own {
		return errSetApart(r.AsOf)
	}
	return nil
}

// String describes the proved facts.
func (r *provedReport) String() string {
	text := fmt.Sprintf("entry %d of %s: a record that counts as %s, by the hand verification as of %s (%s)\n"+
		"signed with the first %d entries, %s", r.Index, r.Origin, r.Kind, r.AsOf, r.Verification, r.Size,
		cosignedBy(r.Cosigned))
	switch corrected := r.CountsAs != nil && *r.CountsAs != r.Kind; {
	case r.Standing != nil:
		text += fmt.Sprintf("\nit counts as %s now, signed by the verification as of %s", *r.CountsAs, *r.Standing)
	case corrected:
		text += "\ncorrected since: it counts as " + *r.CountsAs
	}
	return text
}

func countedAs(p *tlog.PromiseReport) string {
	if p.Verification == "" {
		return ""
	}
	return fmt.Sprintf(", the verification of %s counted it as %s", p.Verification, p.Kind)
}

func cosignedBy(all []tlog.Cosignature) string {
	if len(all) == 0 {
		return "not witnessed"
	}
	var names []string
	for _, s := range all {
		names = append(names, s.At.Format(time.RFC3339)+" by "+s.Witness)
	}
	return "witnessed at " + strings.Join(names, ", at ")
}
