package verification

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/generator/model"
	"anteroom/generator/site"
)

func verificationFile(name string) string { return "verifications/" + name + ".yaml" }

func boardFile(name string) string { return "scoreboard/" + name + ".yaml" }

// change is a number of a board, before and after.
type change struct {
	path    string
	was, is int
	entered bool // by the operator, not counted from the records
	told    bool // it is not a sum of decisions
}

// board is a new file of content/scoreboard.
type board struct {
	*site.Scoreboard
	text    []byte
	changes []change // all numbers, also the unchanged ones
	wrong   *faults
}

// Places in a board with special rules.
const (
	namedClients       = "observed_attention.named_clients" // a list, whose length is a number
	completedHandshake = "observed_attention.named_clients_that_completed_a_handshake"
	toolCalls          = "observed_attention.tool_calls_by_anything_not_auditing_us"
	securityReports    = "observed_attention.security_reports_received"
	honestRead         = "observed_attention.honest_read"
	monitoredThrough   = "operations_monitored_through"
	updates            = "observed_attention.updates"
)

// newBoard copies the current board with the numbers, dates and texts of the answers. Numbers that
// are not sums of decisions go into the verification.
func (v *survey) newBoard(d *decided, a *answers, wrong *faults) *board {
	parsed, _ := site.ParseBoard("", v.board) // newSurvey has read it too
	b, day := &board{Scoreboard: parsed, wrong: wrong}, v.day()
	b.AsOf, b.VerifiedThrough, b.ObservedAttention.AsOf = day, day, day
	b.setNumbers(v, d, a)
	b.setTexts(a, day)
	b.correct(v, a, d)
	b.text = b.Encode()
	return b
}

func (b *board) setNumbers(v *survey, d *decided, a *answers) {
	left, counts, current := maps.Clone(a.Numbers), d.ledger.Counts(), v.site.Current()
	clients := current.ObservedAttention.NamedClients
	if names, given := left[namedClients]; given {
		var is bool
		if clients, is = texts(names); !is {
			b.wrong.add("numbers."+namedClients, "want a list of names")
		}
	}
	derived := v.derive(clients)
	d.verification.Told = map[string]int{}
	if through, given := left[monitoredThrough]; given {
		delete(left, monitoredThrough)
		day := fmt.Sprint(through)
		if day < current.MonitoredThrough || day > v.day() {
			b.wrong.add("numbers."+monitoredThrough, "%s is not a day from %s to %s", day, current.MonitoredThrough, v.day())
		}
		b.MonitoredThrough = day
	}
	for _, n := range site.Numbers {
		at, c := "numbers."+n.Path, change{n.Path, n.Of(current), n.Of(current), false, n.Told}
		value, given := left[n.Path]
		delete(left, n.Path)
		if known, is := derived[n.Path]; is {
			c.is = known
		}
		switch {
		case !n.Told:
			c.is = counts[n.Path]
			if given {
				b.wrong.add(at, "counted from the records: it cannot be entered")
			}
		case n.Path == namedClients:
			c.entered = given
		case given:
			if c.is, c.entered = value.(int); !c.entered || c.is < 0 {
				b.wrong.add(at, "want a number from 0 on")
			}
		}
		if n.Told {
			d.verification.Told[n.Path] = c.is
		}
		b.Set(n.Path, c.is) // except the list
		b.changes = append(b.changes, c)
	}
	b.ObservedAttention.NamedClients = clients
	for _, path := range slices.Sorted(maps.Keys(left)) {
		b.wrong.add("numbers."+path, "the board has no such number")
	}
}

func texts(value any) (list []string, ok bool) {
	items, ok := value.([]any)
	for _, item := range items {
		text, is := item.(string)
		list, ok = append(list, text), ok && is
	}
	return list, ok
}

func (b *board) setTexts(a *answers, day string) {
	for _, path := range slices.Sorted(maps.Keys(a.Texts)) {
		if strings.HasPrefix(path, updates) {
			b.wrong.add("texts."+path, "an update of an earlier date stays (what_changed makes a new one)")
		} else if !b.Set(path, a.Texts[path]) {
			b.wrong.add("texts."+path, "the board has no such text")
		}
	}
	if a.WhatChanged+a.OneAmbiguousRead == "" {
		return
	}
	list := b.ObservedAttention.Updates
	if n := len(list); n > 0 && list[n-1].Date == day { // one of a day
		list = list[:n-1]
	}
	b.ObservedAttention.Updates = append(list,
		model.Update{Date: day, WhatChanged: a.WhatChanged, OneAmbiguousRead: a.OneAmbiguousRead})
}

func (b *board) correct(v *survey, a *answers, d *decided) {
	lost := map[string]string{} // by the numbers that count the lost records
	for i, k := range v.kinds {
		if k.lost > 0 {
			lost[site.Numbers[1+i].Path] = fmt.Sprintf("%s lost: %s", cli.Plural(k.lost, "verified "+k.kind.Name),
				d.verification.Lost)
		}
	}
	b.Corrections = nil
	reason, falls := a.Correction, false
	for _, c := range b.changes {
		why := lost[c.path]
		if why == "" && c.is >= c.was {
			continue
		}
		if !c.told && d.verification.Lost != "" {
			why = cmp.Or(why, "verified records lost: "+d.verification.Lost)
		}
		if falls = falls || c.is < c.was; c.is < c.was && reason != "" {
			why = strings.TrimPrefix(why+"; "+reason, "; ")
		}
		if why == "" && (c.told || !d.faulty) {
			b.wrong.add("correction", "%s falls from %d to %d: say why, for readers", c.path, c.was, c.is)
		}
		b.Corrections = append(b.Corrections,
			model.Correction{Number: c.path, Was: c.was, Board: v.site.Current().File, Reason: why})
	}
	if reason != "" && !d.faulty && !falls {
		b.wrong.add("correction", "no number falls (the reason of a new decision belongs to its answer)")
	}
}
