package verification

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"anteroom/edge/quote"
	"anteroom/edge/store/records"
	"anteroom/generator/site"

	"go.yaml.in/yaml/v4"
)

// maxListed is how many agents get an answer each in a template. Beyond, they are folded by patterns.
const maxListed = 500

// sheet is a file of answers while it is written.
type sheet struct{ bytes.Buffer }

// line writes a line. It may hold nothing that callers sent.
func (s *sheet) line(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }

// note writes a comment. Whatever its arguments hold, every line of it is a comment.
func (s *sheet) note(indent, format string, args ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		if line, _ = quote.Visible(line); line != "" {
			line = indent + "# " + line
		}
		s.line("%s", line)
	}
}

// answer writes the proposed answer about a record, or about the agent of one.
func (s *sheet) answer(indent, member string, r *records.Record, decision, own, rest string) {
	reason := `""`
	if own != "" {
		reason = ownReason
	}
	s.line(`%s- {decision: %s, reason: %s, %s%s: %q}`, indent, decision, reason, rest, member, r.ID)
}

// Template is the file in which an operator decides. It proposes the harmless decisions, and what callers
// sent is in its comments alone. observed is what was seen of clients.
func (p *Pending) Template(observed []records.Observation) ([]byte, error) {
	s := &sheet{}
	s.note("", "Hand verification %s of %s: everything recorded through %s.\n\n"+
		"Change what is not right, save, and leave the editor. A summary follows, and\n"+
		"nothing is written before you confirm it. To write nothing, empty this file.\n"+
		"Comments decide nothing; what callers sent is quoted in them.",
		p.Name, p.Site.Service.CanonicalHost, p.Through)
	for _, odd := range p.Odd {
		s.note("", "Odd: %s.", odd)
	}
	s.line("through: %s", p.Through)
	if len(p.Broken) > 0 {
		s.note("", "\nThe store is not as it was verified:\n  %s\nBring the records back from a backup and verify again.\n"+
			"If they are lost for good, say why; it is published.",
			strings.Join(p.Broken, "\n  "))
		s.line(`lost: ""`)
	} else {
		p.registrations(s)
		p.charters(s)
		p.suggestions(s)
	}
	p.numbers(s, observed)
	if err := p.writeTexts(s); err != nil {
		return nil, err
	}
	s.line("")
	s.note("", "For readers, if a number falls: why.")
	s.line(`correction: ""`)
	return s.Bytes(), nil
}

func (p *Pending) registrations(s *sheet) {
	var agents []*Agent
	for _, a := range p.agents {
		if len(a.New) > 0 {
			agents = append(agents, a)
		}
	}
	s.note("", "\nRegistrations: %d new, of %d agents.\n"+
		"  leave  they count as recorded, and the agent is not verified\n"+
		"  vouch  the agent counts as one verified conversion; say why, without a name\n"+
		"         or an address\n"+
		"  own    your own development, seed or test records, which are set apart\n"+
		"You may add answers, also about several agents or about what was verified before:\n"+
		`  {decision: own, agent_name: "probe *"}`+"\n"+
		"  {decision: leave, reason: WHY, earlier: true, agent_name: NAME}", p.New(0), len(agents))
	s.line("registrations:")
	if len(agents) > maxListed {
		slices.SortStableFunc(agents, func(a, b *Agent) int { return cmp.Compare(familiarity(b), familiarity(a)) })
		defer s.fold(agents[maxListed:])
		agents = agents[:maxListed]
	}
	for _, a := range agents {
		p.describe(s, a)
		decision, own := p.proposed(site.Registration, a.New[0])
		s.answer("  ", "agent", a.New[0], decision, own, "")
	}
	p.nowOwn(s)
}

// familiarity says which agents are listed first when they are too many.
func familiarity(a *Agent) int {
	switch {
	case a.vouched != "":
		return 2
	case len(a.Earlier) > 0:
		return 1
	}
	return 0
}

// describe says who an agent is, and what speaks for and against it.
func (p *Pending) describe(s *sheet, a *Agent) {
	is := a.summary()
	switch {
	case a.nameless:
		s.note("  ", "key %q, without a name", a.text)
	case len(is.keys) > 1:
		s.note("  ", "%q, with several keys", a.text)
	case is.keys[0] != "":
		s.note("  ", "%q, key %q", a.text, is.keys[0])
	default:
		s.note("  ", "%q", a.text)
	}
	if len(a.New) > 1 {
		s.note("  ", "  %s in %s, %s to %s", plural(len(a.New), "registration"), plural(is.bursts, "burst"), is.first, is.last)
	} else {
		s.note("  ", "  1 registration, %s", is.first)
	}
	if n := len(a.Earlier); n > 0 {
		s.note("  ", "  %s verified before%s", plural(n, "registration"), map[bool]string{true: "; you vouched for it"}[a.vouched != ""])
	}
	for _, name := range p.lookAlikes(a) {
		s.note("  ", "  looks like %q", name)
	}
	for _, name := range p.keyOf(a) {
		s.note("  ", "  its key is that of %q", name)
	}
	if a.Own != "" {
		s.note("  ", "  own_names has %q", a.Own)
	}
}

// fold lists by patterns the agents that get no answer each.
func (s *sheet) fold(agents []*Agent) {
	type pattern struct {
		text                  string
		agents, registrations int
	}
	patterns := map[string]*pattern{}
	for _, a := range agents {
		text := "(a key, without a name)"
		if !a.nameless {
			text = fmt.Sprintf("%q", digits(strings.ReplaceAll(a.text, "*", `\*`)))
		}
		if patterns[text] == nil {
			patterns[text] = &pattern{text: text}
		}
		patterns[text].agents++
		patterns[text].registrations += len(a.New)
	}
	list := slices.SortedFunc(maps.Values(patterns), func(a, b *pattern) int {
		return cmp.Or(cmp.Compare(b.registrations, a.registrations), cmp.Compare(a.text, b.text))
	})
	const shown = 50
	s.note("  ", "%d agents more, which get what is proposed unless you add an answer:", len(agents))
	for _, one := range list[:min(shown, len(list))] {
		s.note("  ", "  %s: %s of %s", one.text, plural(one.registrations, "registration"), plural(one.agents, "agent"))
	}
	if n := len(list) - shown; n > 0 {
		s.note("  ", "  and %d names more (anteroom records list registrations)", n)
	}
}

// digits replaces each run of digits by *.
func digits(name string) string {
	var b strings.Builder
	run := false
	for _, r := range name {
		is := '0' <= r && r <= '9'
		if is && !run {
			b.WriteByte('*')
		} else if !is {
			b.WriteRune(r)
		}
		run = is
	}
	return b.String()
}

// nowOwn proposes to set apart what was counted before own_names had its name.
func (p *Pending) nowOwn(s *sheet) {
	entries, first := p.ledger.Entries(), true
	for _, a := range p.agents {
		if a.Own == "" || !slices.ContainsFunc(a.Earlier, func(r *records.Record) bool { return entries[r.ID].Decision != site.Own }) {
			continue
		}
		if first {
			s.note("  ", "These were counted, and own_names has them now. To set one apart, remove the # before its answer.")
			first = false
		}
		s.note("  ", "  %q, %s verified before", a.text, plural(len(a.Earlier), "registration"))
		s.answer("  #", "agent", a.Earlier[0], site.Own, a.Own, "earlier: true, ")
	}
}

func (p *Pending) charters(s *sheet) {
	fresh := p.kinds[1].fresh
	s.note("", "\nCharters: %d new. Each is counted, or your own.", len(fresh))
	s.line("charters:")
	for i := range fresh {
		r := &fresh[i]
		decision, own := p.proposed(site.Charter, r)
		s.note("  ", "%q, filed %s", r.Values[0], r.At)
		if r.Values[1] != "" {
			s.note("  ", "  commissioned by %q", r.Values[1])
		}
		for _, seat := range seats(r) {
			s.note("  ", "  %.40q %q, %s", seat.Position, seat.AgentName, seat.Allocation)
		}
		if own != "" {
			s.note("  ", "  own_names has %q", own)
		}
		s.answer("  ", "record_id", r, decision, own, "")
	}
}

func (p *Pending) suggestions(s *sheet) {
	fresh := p.kinds[2].fresh
	s.note("", "\nSuggestions: %d new. Each is external, or your own. Your inbox has their texts,\nunder these identifiers.", len(fresh))
	s.line("suggestions:")
	for i := range fresh {
		r := &fresh[i]
		decision, own := p.proposed(site.Suggestion, r)
		s.note("  ", "%q, filed as %q %s\n  SHA-256 of the text %s", r.Values[0], r.Values[1], r.At, r.SHA256)
		s.answer("  ", "record_id", r, decision, own, "")
	}
}

// numbers writes the numbers that are entered by hand, beside what was observed.
func (p *Pending) numbers(s *sheet, observed []records.Observation) {
	a := records.AttentionOf(observed)
	s.note("", "\nNumbers that you enter. Seen over MCP so far (anteroom records observed), by\n"+
		"clients that name themselves as they like: %s, %d known to have\ncompleted a handshake, %s.",
		plural(a.NamedClientsSeen, "named client"), a.CompletedHandshake, plural(int(a.ToolCalls), "tool call"))
	totals := map[string]int64{}
	for _, o := range observed {
		if o.Client != "" {
			totals[o.Client] += o.N
		}
	}
	clients := slices.SortedFunc(maps.Keys(totals), func(a, b string) int {
		return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b))
	})
	for _, client := range clients[:min(20, len(clients))] {
		s.note("", "  %q: %s", client, plural(int(totals[client]), "request"))
	}
	s.line("numbers:")
	current := p.Site.Current()
	for _, n := range site.Numbers {
		switch {
		case n.Path == NamedClients:
			list, _ := json.Marshal(append([]string{}, current.ObservedAttention.NamedClients...)) // texts do not fail
			s.line("  %s: %s", n.Path, list)
		case n.Told:
			s.line("  %s: %d", n.Path, n.Of(current))
		}
	}
	s.note("  ", "the day until which you have looked whether the service answers")
	s.line("  %s: %s", MonitoredThrough, current.MonitoredThrough)
}

// writeTexts writes the texts of the board, to be confirmed or rewritten.
func (p *Pending) writeTexts(s *sheet) error {
	nodes, paths, err := p.texts()
	if err != nil {
		return err
	}
	texts := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	put := func(path, value string, style yaml.Style) {
		texts.Content = append(texts.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: path},
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: style})
	}
	put(NewWhatChanged, Unchanged, 0)
	put(NewAmbiguous, Unchanged, 0)
	last := fmt.Sprintf("observed_attention.updates[%d].", len(p.Site.Current().ObservedAttention.Updates)-1)
	for i, node := range nodes {
		if strings.HasPrefix(paths[i], "observed_attention.updates[") && !strings.HasPrefix(paths[i], last) {
			continue // an older update
		}
		put(paths[i], node.Value, yaml.FoldedStyle)
	}
	name := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "texts"}
	text, err := yaml.Dump(&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{name, texts}}, yaml.WithIndent(2), yaml.WithLineWidth(78))
	if err != nil {
		return fmt.Errorf("write the texts of the board: %w", err)
	}
	s.note("", "\nTexts of the board. Rewrite what is no longer true; what you leave is confirmed.\n"+
		"%s and\n%s add an update of this day.", NewWhatChanged, NewAmbiguous)
	s.Write(text)
	return nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
