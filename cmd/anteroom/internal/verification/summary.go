package verification

import (
	"fmt"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
)

// show prints the summary, and what readers will see changed in colour.
func (p *Pending) show(t *cli.Terminal, d *Decided) {
	for line := range strings.Lines(p.Summary(d)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, readersSee) || slices.ContainsFunc(d.Board.Changes, func(c Change) bool {
			return c.Was != c.Is && strings.HasPrefix(line, c.Path+" ")
		}) {
			t.Highlight(line)
		} else {
			t.Printf("%s", line)
		}
	}
}

// readersSee begins the line of a public correction.
const readersSee = "Readers will see of "

// Summary shows what a verification says, and what readers will see.
func (p *Pending) Summary(d *Decided) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("Verification %s, of everything recorded through %s:\n", p.Name, p.Through)
	for _, decision := range d.Verification.Decisions {
		what := decision.Decision
		if decision.Corrects != "" {
			what += ", otherwise than in " + decision.Corrects
		}
		if decision.Reason != "" {
			what += ": " + decision.Reason
		}
		say("  %s: %s", cli.Plural(strings.Count(decision.Records, "\n"), decision.Kind), what)
	}
	if len(d.Verification.Decisions) > 0 {
		say("")
	}
	const row = "%-59s %5v %5v  %s" // within 80 columns
	say(row, "number", "was", "is", "from")
	for _, c := range d.Board.Changes {
		say(row, c.Path, c.Was, c.Is, map[bool]string{true: "entered", false: "counted"}[c.Manual])
	}
	say("")
	for _, found := range p.kinds {
		say("%s: %d in the store, %d new since the last verification", found.kind.Table, len(found.all), len(found.fresh))
	}
	if d.Log != nil {
		say("log: %d entries, %d of them new: %s", d.Log.Log.Size(), len(d.Log.Added), d.Log)
	}
	for _, c := range d.Site.Current().Corrections {
		say("\n"+readersSee+"%s: it was %d, and is %d. %s", c.Number, c.Was, d.Site.Current().Number(c.Number), c.Reason)
	}
	read := d.Site.Current().ObservedAttention.HonestRead
	if read == p.Site.Current().ObservedAttention.HonestRead && slices.ContainsFunc(d.Board.Changes, func(c Change) bool { return c.Was != c.Is }) {
		say("\nStays beside the new numbers, %s: %s", honestRead, read)
	}
	for _, odd := range p.Odd {
		say("\nOdd: %s", odd)
	}
	return b.String()
}
