package verification

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/quote"
	"anteroom/edge/store/records"
	"anteroom/generator/site"

	"go.yaml.in/yaml/v4"
)

const (
	maxListed     = 500     // agents, charters or suggestions that get an answer each in a template
	maxFolds      = 50      // patterns
	maxLookAlikes = 5       // similar names of an agent
	maxClients    = 20      // names of clients
	maxTexts      = 1 << 20 // bytes of the texts of suggestions
)

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

func (s *sheet) quote(text string) { s.note("  ", "  > %s", strings.ReplaceAll(text, "\n", "\n  > ")) }

// propose writes the proposed answer about a record, or about the agent of one: the harmless one,
// or to set apart what matches own_names.
func (p *Pending) propose(s *sheet, found *scanned, r *Row) {
	decision, reason := site.Choices[found.kind.Name][0], `""`
	if own := p.ownRecord(found.kind.Name, r.Record); own != "" {
		s.note("  ", "  own_names has %q", own)
		decision, reason = site.Own, ownReason
	}
	s.line("  - {decision: %s, reason: %s, %s: %q}", decision, reason, found.named(), r.ID)
}

func (s *scanned) named() string {
	if s.kind.Name == site.Registration {
		return "agent"
	}
	return "record_id"
}

// Template is the file in which an operator decides. It proposes the harmless decisions. Only its
// comments hold what callers sent.
func (p *Pending) Template() ([]byte, error) {
	s := &sheet{}
	s.note("", "Hand verification %s of %s: everything recorded through %s.\n\n"+
		"Change what is not right, save, and leave the editor. You then see a summary,\n"+
		"and nothing is written before you confirm it. To write nothing, empty this file.\n"+
		"Comments decide nothing. They quote what callers sent.",
		p.Name, p.Site.Service.CanonicalHost, p.Through)
	for _, odd := range p.Odd {
		s.note("", "Odd: %s.", odd)
	}
	s.line("through: %s", p.Through)
	if len(p.Broken) > 0 {
		s.note("", "\nThe store is not as it was verified:\n  %s\nBring the records back from a backup and verify again.\n"+
			"If they are lost for good, say why. The reason is published.",
			strings.Join(p.Broken, "\n  "))
		s.line(`lost: ""`)
	}
	p.registrations(s)
	p.charters(s)
	p.suggestions(s)
	p.numbers(s)
	if err := p.writeTexts(s); err != nil {
		return nil, err
	}
	s.line("")
	s.note("", "If a number falls, say why, for readers.")
	s.line(`correction: ""`)
	return s.Bytes(), nil
}

func (p *Pending) registrations(s *sheet) {
	agents := slices.DeleteFunc(slices.Clone(p.kinds[0].subjects), func(a *Subject) bool { return len(a.New) == 0 })
	s.note("", "\nRegistrations: %d new, of %d agents.\n"+
		"  leave  they count as recorded, and the agent is not verified\n"+
		"  vouch  the agent counts as one verified conversion; say why, without a name\n"+
		"         or an address\n"+
		"  own    your own development, seed or test records; they are not counted\n"+
		"You may add answers, also about several agents or about what was verified before:\n"+
		`  {decision: own, agent_name: "probe *"}`+"\n"+
		"  {decision: leave, reason: WHY, earlier: true, agent_name: NAME}", len(p.kinds[0].fresh), len(agents))
	s.line("registrations:")
	if len(agents) > maxListed { // those that were vouched for come first, then others that are known
		slices.SortStableFunc(agents, func(a, b *Subject) int {
			return cmp.Or(cmp.Compare(min(1, len(b.vouched)), min(1, len(a.vouched))), cmp.Compare(min(1, len(b.Earlier)), min(1, len(a.Earlier))))
		})
		defer s.fold(agents[maxListed:])
		agents = agents[:maxListed]
	}
	alike, byKey := p.names()
	for _, a := range agents {
		s.describe(a)
		s.others(a, "its key is that of", byKey[a.New[0].Values[1]])
		if !a.nameless {
			s.others(a, "looks like", alike[skeleton(a.text)])
		}
		p.propose(s, p.kinds[0], a.New[0])
	}
	p.proposeOwn(s, p.kinds[0])
}

func (s *sheet) others(a *Subject, how string, names []string) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !a.nameless && name == a.text })
	for _, name := range names[:min(maxLookAlikes, len(names))] {
		s.note("  ", "  %s %q", how, name)
	}
}

// names gives the names of agents that look alike, by their skeletons, and those that have
// registered with a key, by that.
func (p *Pending) names() (alike, byKey map[string][]string) {
	alike, byKey = map[string][]string{}, map[string][]string{}
	for _, a := range p.kinds[0].subjects {
		if a.nameless {
			continue
		}
		looks := skeleton(a.text)
		alike[looks] = append(alike[looks], a.text)
		for _, r := range slices.Concat(a.Earlier, a.New) {
			key := r.Values[1]
			if list := byKey[key]; key != "" && (len(list) == 0 || list[len(list)-1] != a.text) {
				byKey[key] = append(list, a.text)
			}
		}
	}
	return alike, byKey
}

// describe says who an agent is, and how often and when it registered. A burst is a run of
// registrations, each at most records.BurstSeconds after the one before.
func (s *sheet) describe(a *Subject) {
	bursts, first, last, newest := 0, a.New[0].At, "", time.Time{}
	key, several := a.New[0].Values[1], false
	for _, r := range a.New {
		at, _ := time.Parse(time.RFC3339, r.At)
		if bursts == 0 || at.Sub(newest) > records.BurstSeconds*time.Second {
			bursts++
		}
		if at.After(newest) {
			newest = at
		}
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
	if len(a.New) > 1 {
		s.note("  ", "  %s in %s, %s to %s", cli.Plural(len(a.New), "registration"), cli.Plural(bursts, "burst"), first, last)
	} else {
		s.note("  ", "  1 registration, %s", first)
	}
	if n := len(a.Earlier); n > 0 {
		s.note("  ", "  %s verified before%s", cli.Plural(n, "registration"), map[bool]string{true: "; you vouched for it"}[a.vouched != ""])
	}
}

// digits are the runs of digits, which a pattern has * for.
var digits = regexp.MustCompile(`[0-9]+`)

// fold lists by patterns the agents that get no answer each.
func (s *sheet) fold(agents []*Subject) {
	type pattern struct{ agents, registrations int }
	patterns := map[string]pattern{}
	for _, a := range agents {
		text := "(a key, without a name)"
		if !a.nameless {
			text = fmt.Sprintf("%q", digits.ReplaceAllString(strings.ReplaceAll(a.text, "*", `\*`), "*"))
		}
		n := patterns[text]
		patterns[text] = pattern{n.agents + 1, n.registrations + len(a.New)}
	}
	list := slices.SortedFunc(maps.Keys(patterns), func(a, b string) int {
		return cmp.Or(cmp.Compare(patterns[b].registrations, patterns[a].registrations), cmp.Compare(a, b))
	})
	s.note("  ", "%d agents more, which get what is proposed unless you add an answer:", len(agents))
	for _, text := range list[:min(maxFolds, len(list))] {
		n := patterns[text]
		s.note("  ", "  %s: %s of %s", text, cli.Plural(n.registrations, "registration"), cli.Plural(n.agents, "agent"))
	}
	if n := len(list) - maxFolds; n > 0 {
		s.note("  ", "  and %d names more (anteroom records list registrations)", n)
	}
}

func (p *Pending) proposeOwn(s *sheet, found *scanned) {
	ids, said := p.nowOwn(found)
	for i, id := range ids {
		s.note("  ", "%s. To set it apart, remove the # before its answer:", said[i])
		s.line("  #- {decision: %s, reason: %s, earlier: true, %s: %q}", site.Own, ownReason, found.named(), id)
	}
}

// section writes an answer for each new record of a kind, with what describe notes of it.
func (p *Pending) section(s *sheet, found *scanned, intro string, describe func(*Row)) {
	s.note("", intro, len(found.fresh))
	s.line("%ss:", found.kind.Name)
	listed := found.new
	if n := len(listed) - maxListed; n > 0 {
		s.note("  ", "%d more after these get what is proposed unless you add an answer (anteroom records list).", n)
		listed = listed[:maxListed]
	}
	for i := range listed {
		describe(&listed[i])
		p.propose(s, found, &listed[i])
	}
	p.proposeOwn(s, found)
}

// seat is a seat of a charter.
type seat struct {
	Position   string      `json:"position"`
	AgentName  string      `json:"agent_name"`
	Allocation json.Number `json:"allocation"`
}

func seats(r *records.Record) (list []seat) {
	_ = json.Unmarshal([]byte(r.Values[2]), &list) // a roster that was changed is found by its commitment
	return list
}

func (p *Pending) charters(s *sheet) {
	p.section(s, p.kinds[1], "\nCharters: %d new. Each is counted, or your own.", func(r *Row) {
		s.note("  ", "%q, filed %s", r.Values[0], r.At)
		if r.Values[1] != "" {
			s.note("  ", "  commissioned by %q", r.Values[1])
		}
		for _, seat := range seats(r.Record) {
			s.note("  ", "  %.40q %q, %s", seat.Position, seat.AgentName, seat.Allocation)
		}
	})
}

func (p *Pending) suggestions(s *sheet) {
	shown := 0
	p.section(s, p.kinds[2], "\nSuggestions: %d new. Each is external, or your own. Your inbox has their texts\nunder these identifiers.", func(r *Row) {
		s.note("  ", "%q, filed as %q %s\n  SHA-256 of the text %s", r.Values[0], r.Values[1], r.At, r.SHA256)
		if text := p.texts[r.ID]; text != "" && shown+len(text) <= maxTexts {
			shown += len(text)
			s.quote(text)
		}
	})
}

func (p *Pending) numbers(s *sheet) {
	a := records.AttentionOf(p.seen)
	s.note("", "\nNumbers that you enter. Seen over MCP so far (anteroom records observed), by\n"+
		"clients that name themselves as they like: %s, %d known to have\ncompleted a handshake, %s.",
		cli.Plural(a.NamedClientsSeen, "named client"), a.CompletedHandshake, cli.Plural(int(a.ToolCalls), "tool call"))
	totals := map[string]int64{}
	for _, o := range p.seen {
		if o.Client != "" {
			totals[o.Client] += o.N
		}
	}
	clients := slices.SortedFunc(maps.Keys(totals), func(a, b string) int {
		return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b))
	})
	for _, client := range clients[:min(maxClients, len(clients))] {
		s.note("", "  %q: %s", client, cli.Plural(int(totals[client]), "request"))
	}
	s.line("numbers:")
	current := p.Site.Current()
	for _, n := range site.Numbers {
		switch {
		case n.Path == namedClients:
			list, _ := json.Marshal(append([]string{}, current.ObservedAttention.NamedClients...)) // texts do not fail
			s.line("  %s: %s", n.Path, list)
		case n.Told:
			s.line("  %s: %d", n.Path, n.Of(current))
		}
	}
	s.note("  ", "the day up to which you have watched whether the service answers")
	s.line("  %s: %s", monitoredThrough, current.MonitoredThrough)
}

// writeTexts writes the texts of the board, to be confirmed or rewritten. Of the dated updates it
// has the last one.
func (p *Pending) writeTexts(s *sheet) error {
	doc, err := p.document()
	if err != nil {
		return err
	}
	texts := mapping([3]string{newWhatChanged, "!!str", Unchanged}, [3]string{newAmbiguous, "!!str", Unchanged})
	const updates = "observed_attention.updates["
	last := fmt.Sprintf("%s%d].", updates, len(p.Site.Current().ObservedAttention.Updates)-1)
	eachText(doc.Content[0], "", func(path string, node *yaml.Node) {
		if strings.HasPrefix(path, updates) && !strings.HasPrefix(path, last) {
			return
		}
		text := scalar("!!str", node.Value)
		text.Style = yaml.FoldedStyle
		texts.Content = append(texts.Content, scalar("!!str", path), text)
	})
	text, err := yaml.Dump(map[string]*yaml.Node{"texts": texts}, yaml.WithIndent(2), yaml.WithLineWidth(78))
	if err != nil {
		return fmt.Errorf("write the texts of the board: %w", err)
	}
	s.note("", "\nTexts of the board. Rewrite what is no longer true. You confirm what you leave.\n"+
		"%s and\n%s add an update of this day.", newWhatChanged, newAmbiguous)
	s.Write(text)
	return nil
}
