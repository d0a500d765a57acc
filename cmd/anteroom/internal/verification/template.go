package verification

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/quote"
	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// What a template lists at most.
const (
	maxListed  = 500     // agents, charters or suggestions with an answer each
	maxBefore  = 5       // earlier decisions about an agent
	maxClients = 20      // names of clients
	maxTexts   = 1 << 20 // bytes of the texts of suggestions
)

// sheet is a file of answers while it is written.
type sheet struct{ bytes.Buffer }

// line writes a line, which must not contain anything that callers sent.
func (s *sheet) line(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }

// note writes a comment, whatever its arguments contain.
func (s *sheet) note(indent, format string, args ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		if line, _ = quote.Visible(line); line != "" {
			line = indent + "# " + line
		}
		s.line("%s", line)
	}
}

func (s *sheet) quote(text string) { s.note("  ", "  > %s", strings.ReplaceAll(text, "\n", "\n  > ")) }

func (v *survey) propose(s *sheet, k *scanned, r *row) {
	decision, reason := v.proposal(k, r)
	if own := v.ownRecord(k.kind.Name, r.Record); own != "" {
		s.note("  ", "  own_names lists %q", own)
	}
	s.line("  - {decision: %s, reason: %s, %s: %q}", decision, cmp.Or(reason, `""`), k.member(), r.ID)
}

func (k *scanned) member() string {
	if k.kind.Name == site.Registration {
		return "agent"
	}
	return "record_id"
}

// template proposes the harmless decisions. Only its comments contain what callers sent.
func (v *survey) template() []byte {
	s := &sheet{}
	s.note("", "Hand verification %s of %s: everything recorded through %s.\n\n"+
		"Change each wrong answer, save, and leave the editor. You then see a summary,\n"+
		"and nothing is written before you confirm it. To write nothing, empty this file.\n"+
		"Comments have no effect. They quote what callers sent.",
		v.name, v.site.Service.CanonicalHost, v.through)
	for _, odd := range v.odd {
		s.note("", "Odd: %s.", odd)
	}
	s.line("through: %s", v.through)
	proposal := answers{Through: v.through}
	if len(v.broken) > 0 {
		proposal.Lost = "lost"
		s.note("", "\nThe store differs from the verified one:\n  %s\nBring the records back from a backup "+
			"and verify again.\nIf they are lost for good, say why. The reason is published.",
			strings.Join(v.broken, "\n  "))
		s.line(`lost: ""`)
	}
	v.registrations(s)
	v.charters(s)
	v.suggestions(s)
	d := v.apply(&proposal, &faults{})
	v.numbers(s, v.newBoard(d, &proposal, &faults{}).changes)
	v.writeTexts(s)
	s.note("", "\nIf a number falls, say why, for readers.")
	s.line(`correction: ""`)
	return s.Bytes()
}

func (v *survey) registrations(s *sheet) {
	k := v.kinds[0]
	agents := slices.DeleteFunc(slices.Clone(k.subjects), func(a *subject) bool { return len(a.fresh) == 0 })
	s.note("", "\nRegistrations: %d new, of %s.\n"+
		"  leave  count them as recorded, without verifying the agent\n"+
		"  vouch  count the agent as one verified conversion; write why, without a name\n         or an address\n"+
		"  own    your own development, seed or test records; they are not counted\n"+
		"You may add answers, also about several agents or about verified records, which\n"+
		"anteroom records list registrations shows with their decisions:\n"+
		`  {decision: own, agent_name: "probe *"}`+"\n"+
		"  {decision: leave, reason: WHY, earlier: true, agent_name: NAME}", len(k.fresh), cli.Plural(len(agents), "agent"))
	s.line("registrations:")
	if len(agents) > maxListed { // vouched agents come first, then others that are known
		known := func(a *subject) int { return 2*min(1, len(a.vouched)) + min(1, len(a.old)) }
		slices.SortStableFunc(agents, func(a, b *subject) int { return cmp.Compare(known(b), known(a)) })
		defer s.note("  ", "%d more agents get the proposed decision unless you add an answer, such as for a name with *\n"+
			"(anteroom records list registrations).", len(agents)-maxListed)
		agents = agents[:maxListed]
	}
	for _, a := range agents {
		s.describe(a)
		v.propose(s, k, a.fresh[0])
	}
	v.proposeOwn(s, k)
}

func (s *sheet) describe(a *subject) {
	first, last, key, several := a.fresh[0].At, "", a.fresh[0].Values[1], false
	for _, r := range a.fresh {
		first, last, several = min(first, r.At), max(last, r.At), several || r.Values[1] != key
	}
	switch {
	case a.nameless:
		s.note("  ", "key %q, without a name", a.text)
	case several:
		s.note("  ", "%q, with several keys", a.text)
	case key != "":
		s.note("  ", "%q, key %q", a.text, key)
	default:
		s.note("  ", "%q", a.text)
	}
	if len(a.fresh) > 1 {
		s.note("  ", "  %s, %s to %s", cli.Plural(len(a.fresh), "registration"), first, last)
	} else {
		s.note("  ", "  1 registration, %s", first)
	}
	before := map[string]int{}
	for _, r := range a.old {
		before[past[r.was]+" on "+r.on]++
	}
	how := slices.Sorted(maps.Keys(before))
	for _, how := range how[:min(maxBefore, len(how))] {
		s.note("  ", "  %s verified before, %s", cli.Plural(before[how], "registration"), how)
	}
}

// past are decisions about registrations, in the past tense.
var past = map[string]string{site.Leave: "left", site.Vouch: "vouched for", site.Own: "set apart as your own"}

func (v *survey) proposeOwn(s *sheet, k *scanned) {
	ids, remarks := v.nowOwn(k)
	for i, id := range ids {
		s.note("  ", "%s. To set it apart, remove the # before its answer:", remarks[i])
		s.line("  #- {decision: %s, reason: %s, earlier: true, %s: %q}", site.Own, ownReason, k.member(), id)
	}
}

func (v *survey) section(s *sheet, k *scanned, intro string, describe func(*row)) {
	s.note("", intro, len(k.fresh))
	s.line("%ss:", k.kind.Name)
	listed := k.fresh
	if n := len(listed) - maxListed; n > 0 {
		s.note("  ", "%d more after these get the proposed decision unless you add an answer (anteroom records list).", n)
		listed = listed[:maxListed]
	}
	for _, r := range listed {
		describe(r)
		v.propose(s, k, r)
	}
	v.proposeOwn(s, k)
}

type seat struct {
	Position   string      `json:"position"`
	AgentName  string      `json:"agent_name"`
	Allocation json.Number `json:"allocation"`
}

func seats(r *records.Record) (list []seat) {
	_ = json.Unmarshal([]byte(r.Values[2]), &list) // a changed roster does not match its commitment
	return list
}

func (v *survey) charters(s *sheet) {
	v.section(s, v.kinds[1], "\nCharters: %d new. Each is counted, or your own.", func(r *row) {
		s.note("  ", "%q, filed %s", r.Values[0], r.At)
		if r.Values[1] != "" {
			s.note("  ", "  commissioned by %q", r.Values[1])
		}
		for _, seat := range seats(r.Record) {
			s.note("  ", "  %.40q %q, %s", seat.Position, seat.AgentName, seat.Allocation)
		}
	})
}

func (v *survey) suggestions(s *sheet) {
	shown := 0
	v.section(s, v.kinds[2], "\nSuggestions: %d new. Each is external, or your own. Your inbox has their "+
		"texts\nunder these identifiers.", func(r *row) {
		s.note("  ", "%q, filed as %q %s\n  SHA-256 of the text %s", r.Values[0], r.Values[1], r.At, r.SHA256)
		if text := v.mail[r.ID]; text != "" && shown+len(text) <= maxTexts {
			shown += len(text)
			s.quote(text)
		}
	})
}

// numbers lists the numbers that only the operator knows, and in comments those that change by the
// proposed decisions.
func (v *survey) numbers(s *sheet, changes []change) {
	current := v.site.Current()
	derived := v.derive(current.ObservedAttention.NamedClients)
	s.note("", "\nNumbers. The others follow from the records, the observed clients and your\n"+
		"decisions; give one here only to publish another number. As proposed:")
	for _, c := range changes {
		if c.is != c.was {
			s.note("", "  %s: %d, and was %d", c.path, c.is, c.was)
		}
	}
	if v.unseen != nil {
		s.note("", "Clients were not observed: %v.", v.unseen)
	}
	s.line("numbers:")
	for _, n := range site.Numbers {
		if _, known := derived[n.Path]; n.Path == namedClients {
			v.clients(s)
		} else if n.Told && !known {
			s.line("  %s: %d", n.Path, n.Of(current))
		}
	}
	s.note("  ", "the day up to which you have watched whether the service responds")
	s.line("  %s: %s", monitoredThrough, current.MonitoredThrough)
}

// clients lists the names on the board, and in comments the names of new clients: a name is a
// stranger's words, and the operator decides whether it is published.
func (v *survey) clients(s *sheet) {
	s.line("  %s: [", namedClients)
	for _, name := range v.site.Current().ObservedAttention.NamedClients {
		s.line("    %q,", name)
	}
	added := v.newClients()
	if len(added) > 0 {
		s.note("    ", "New ones, as they named themselves. To publish one, remove its #:")
	}
	for _, name := range added {
		s.note("    ", "%q,", name)
	}
	s.line("    ]")
}

// writeTexts proposes nothing: only the operator changes texts.
func (v *survey) writeTexts(s *sheet) {
	seen := v.site.Current().ObservedAttention
	s.note("", "\nWhat changed, for readers: an update of this day. Left empty, the board gets none.")
	if n := len(seen.Updates); n > 0 {
		s.note("", "The last one, of %s: %s", seen.Updates[n-1].Date, seen.Updates[n-1].WhatChanged)
	}
	s.line(`what_changed: ""`)
	s.line(`one_ambiguous_read: ""`)
	s.note("", "\nTexts that are no longer true, by their places in %s, such as\n{%s: NEW TEXT}. It is now:\n  %s",
		boardFile(v.site.Current().File), honestRead, seen.HonestRead)
	s.line("texts: {}")
}
