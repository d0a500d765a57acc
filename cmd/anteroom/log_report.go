package main

import (
	"fmt"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/generator/tlog"
)

// logReport is what log check prints.
type logReport struct {
	OK       bool   `json:"ok"`
	Log      string `json:"log"`       // where it was read
	KeysFrom string `json:"keys_from"` // "" if they were taken on trust
	*tlog.Report
}

// err says what is wrong as a whole. own is whether the log is that of a content folder.
func (r *logReport) err(own bool, content string) error {
	switch {
	case len(r.Forks) > 0:
		return fmt.Errorf("the log of %s was forked: see the signed notes above (keep them: they prove it to anybody)", r.Log)
	case len(r.Faults) > 0 && own:
		return fmt.Errorf("the log of %s is not as it should be: %s (see above; anteroom generate --check says whether %s is what %s gives)",
			r.Log, cli.Plural(len(r.Faults), "fault"), r.Log, content)
	case len(r.Faults) > 0:
		return fmt.Errorf("the log of %s is not as it should be: %s (see above)", r.Log, cli.Plural(len(r.Faults), "fault"))
	}
	return nil
}

// print prints the report for people.
func (r *logReport) print(t *cli.Terminal) {
	entries := func(n int64) string {
		if n == 1 {
			return "1 entry"
		}
		return fmt.Sprintf("%d entries", n)
	}
	for _, tree := range r.Trees {
		t.Printf("%s: %s, root %s, %s", tree.Origin, entries(tree.Size), tree.Root, cosignedBy(tree.Cosigned))
	}
	if r.KeysFrom != "" {
		t.Printf("keys: those of %s", r.KeysFrom)
	}
	if slices.ContainsFunc(r.Trees, func(tree tlog.TreeReport) bool { return len(tree.Cosigned) > 0 }) {
		t.Printf("witnesses: those of the published policy")
	}
	switch r.Since {
	case tlog.Consistent:
		t.Printf("since the kept checkpoint: consistent, the log extends it")
	case tlog.Behind:
		t.Printf("since the kept checkpoint: behind, the log ends before it")
	case tlog.Forked:
		t.Printf("since the kept checkpoint: fork, the log does not extend it")
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
