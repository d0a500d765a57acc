package verification

import (
	"fmt"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
)

func (v *survey) summary(d *decided, show func(changed bool, line string)) {
	say := func(format string, args ...any) { show(false, fmt.Sprintf(format, args...)) }
	say("Verification %s, of everything recorded through %s:", v.name, v.through)
	say("")
	for _, one := range d.verification.Decisions {
		what := one.Decision
		if one.Corrects != "" {
			what += ", corrects " + one.Corrects
		}
		if one.Reason != "" {
			what += ": " + one.Reason
		}
		say("  %s: %s", cli.Plural(strings.Count(one.Records, "\n"), one.Kind), what)
	}
	if len(d.verification.Decisions) > 0 {
		say("")
	}
	const line = "%-59s %5v %5v  %s" // within 80 columns
	say(line, "number", "was", "is", "from")
	changes := false
	for _, c := range d.board.changes {
		from := "counted"
		if c.entered {
			from = "entered"
		}
		changes = changes || c.was != c.is
		show(c.was != c.is, fmt.Sprintf(line, c.path, c.was, c.is, from))
	}
	say("")
	for _, k := range v.kinds {
		say("%s: %d in the store, %d new since the last verification", k.kind.Table, len(k.all), len(k.fresh))
	}
	if d.log != nil {
		say("log: %d entries, %d of them new: %s", d.log.log.Size(), len(d.log.added), d.log)
	}
	for _, c := range d.site.Current().Corrections {
		say("")
		show(true, fmt.Sprintf("Readers will see of %s: it was %d, and is %d. %s", c.Number, c.Was,
			d.site.Current().Number(c.Number), c.Reason))
	}
	read := d.site.Current().ObservedAttention.HonestRead
	if changes && read == v.site.Current().ObservedAttention.HonestRead {
		say("")
		say("Unchanged next to the new numbers, %s: %s", honestRead, read)
	}
	for _, odd := range v.odd {
		say("")
		say("Odd: %s", odd)
	}
}
