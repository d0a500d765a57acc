package verification

import (
	"fmt"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
)

// summary shows what a verification says, and what readers will see: a line each, and whether it
// is about a number that changes.
func (p *Pending) summary(d *Decided, show func(changed bool, line string)) {
	say := func(format string, args ...any) { show(false, fmt.Sprintf(format, args...)) }
	say("Verification %s, of everything recorded through %s:", p.Name, p.Through)
	say("")
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
	changes := false
	for _, c := range d.Board.Changes {
		changes = changes || c.Was != c.Is
		show(c.Was != c.Is, fmt.Sprintf(row, c.Path, c.Was, c.Is, map[bool]string{true: "entered", false: "counted"}[c.Manual]))
	}
	say("")
	for _, found := range p.kinds {
		say("%s: %d in the store, %d new since the last verification", found.kind.Table, len(found.all), len(found.fresh))
	}
	if d.Log != nil {
		say("log: %d entries, %d of them new: %s", d.Log.Log.Size(), len(d.Log.Added), d.Log)
	}
	for _, c := range d.Site.Current().Corrections {
		say("")
		show(true, fmt.Sprintf("Readers will see of %s: it was %d, and is %d. %s", c.Number, c.Was, d.Site.Current().Number(c.Number), c.Reason))
	}
	read := d.Site.Current().ObservedAttention.HonestRead
	if changes && read == p.Site.Current().ObservedAttention.HonestRead {
		say("")
		say("Stays beside the new numbers, %s: %s", honestRead, read)
	}
	for _, odd := range p.Odd {
		say("")
		say("Odd: %s", odd)
	}
}
