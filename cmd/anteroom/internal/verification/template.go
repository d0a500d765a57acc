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
	"unicode"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/quote"
	"anteroom/edge/store/records"
	"anteroom/generator/site"

	"go.yaml.in/yaml/v4"
	"golang.org/x/text/unicode/norm"
)

// What a template lists at most.
const (
	maxListed     = 500     // agents, charters or suggestions with an answer each
	maxFolds      = 50      // patterns
	maxVouched    = 50      // agents that were vouched for
	maxLookAlikes = 5       // similar names of an agent
	maxClients    = 20      // names of clients
	maxTexts      = 1 << 20 // bytes of the texts of suggestions
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
		s.note("  ", "  own_names has %q", own)
	}
	s.line("  - {decision: %s, reason: %s, %s: %q}", decision, cmp.Or(reason, `""`), k.member(), r.ID)
}

func (k *scanned) member() string {
	if k.kind.Name == site.Registration {
		return "agent"
	}
	return "record_id"
}

// template returns the file in which an operator decides. It proposes the harmless decisions. Only
// its comments contain what callers sent.
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
	v.writeTexts(s, v.numbers(s, d.ledger.Counts()))
	s.line("")
	s.note("", "Places of numbers and texts that are right although a fault questions them.")
	s.line("confirm: []")
	s.line("")
	s.note("", "If a number falls, say why, for readers.")
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
		"You may add answers, also about several agents or about verified records:\n"+
		`  {decision: own, agent_name: "probe *"}`+"\n"+
		"  {decision: leave, reason: WHY, earlier: true, agent_name: NAME}", len(k.fresh), cli.Plural(len(agents), "agent"))
	s.line("registrations:")
	if len(agents) > maxListed { // vouched agents come first, then others that are known
		known := func(a *subject) int { return 2*min(1, len(a.vouched)) + min(1, len(a.old)) }
		slices.SortStableFunc(agents, func(a, b *subject) int { return cmp.Compare(known(b), known(a)) })
		defer s.fold(agents[maxListed:])
		agents = agents[:maxListed]
	}
	alike, byKey := k.names()
	for _, a := range agents {
		s.describe(a)
		s.others(a, "has the key of", byKey[a.fresh[0].Values[1]])
		if !a.nameless {
			s.others(a, "looks like", alike[skeleton(a.text)])
		}
		v.propose(s, k, a.fresh[0])
	}
	v.proposeOwn(s, k)
	s.vouched(k)
}

func (s *sheet) others(a *subject, how string, names []string) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !a.nameless && name == a.text })
	for _, name := range names[:min(maxLookAlikes, len(names))] {
		s.note("  ", "  %s %q", how, name)
	}
}

func (k *scanned) names() (alike, byKey map[string][]string) {
	alike, byKey = map[string][]string{}, map[string][]string{}
	for _, a := range k.subjects {
		if a.nameless {
			continue
		}
		looks := skeleton(a.text)
		alike[looks] = append(alike[looks], a.text)
		for _, r := range slices.Concat(a.old, a.fresh) {
			key := r.Values[1]
			if list := byKey[key]; key != "" && (len(list) == 0 || list[len(list)-1] != a.text) {
				byKey[key] = append(list, a.text)
			}
		}
	}
	return alike, byKey
}

func (s *sheet) describe(a *subject) {
	bursts, first, last, newest := 0, a.fresh[0].At, "", time.Time{}
	key, several := a.fresh[0].Values[1], false
	for _, r := range a.fresh {
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
	if len(a.fresh) > 1 {
		s.note("  ", "  %s in %s, %s to %s", cli.Plural(len(a.fresh), "registration"), cli.Plural(bursts, "burst"),
			first, last)
	} else {
		s.note("  ", "  1 registration, %s", first)
	}
	before := map[string]int{}
	for _, r := range a.old {
		before[past[r.was]+" on "+r.on]++
	}
	how := slices.Sorted(maps.Keys(before))
	for _, how := range how[:min(maxLookAlikes, len(how))] {
		s.note("  ", "  %s verified before, %s", cli.Plural(before[how], "registration"), how)
	}
}

// past are decisions about registrations, in the past tense.
var past = map[string]string{site.Leave: "left", site.Vouch: "vouched for", site.Own: "set apart as your own"}

// vouched lists the agents that were vouched for, with what would change that.
func (s *sheet) vouched(k *scanned) {
	n := 0
	for _, a := range k.subjects {
		i := slices.IndexFunc(a.old, func(r *row) bool { return r.was == site.Vouch })
		if i < 0 {
			continue
		}
		if n++; n == 1 {
			s.note("  ", "Vouched for before. To change that, remove a # and say why:")
		} else if n > maxVouched {
			continue
		}
		about := fmt.Sprintf("agent_name: %q", a.text)
		// A name that is written otherwise, that is a pattern or that YAML would trim.
		if a.nameless || about != `agent_name: "`+strings.TrimSpace(a.text)+`"` || strings.Contains(a.text, "*") {
			s.note("  ", "%q", a.text)
			about = fmt.Sprintf("agent: %q", a.old[i].ID)
		}
		s.line(`  #- {decision: leave, earlier: true, reason: "", %s}`, about)
	}
	if n > maxVouched {
		s.note("  ", "and %d more (anteroom records list registrations)", n-maxVouched)
	}
}

var digits = regexp.MustCompile(`[0-9]+`)

func (s *sheet) fold(agents []*subject) {
	type pattern struct{ agents, registrations int }
	patterns := map[string]pattern{}
	for _, a := range agents {
		text := "(a key, without a name)"
		if !a.nameless {
			text = fmt.Sprintf("%q", digits.ReplaceAllString(strings.ReplaceAll(a.text, "*", `\*`), "*"))
		}
		n := patterns[text]
		patterns[text] = pattern{n.agents + 1, n.registrations + len(a.fresh)}
	}
	list := slices.SortedFunc(maps.Keys(patterns), func(a, b string) int {
		return cmp.Or(cmp.Compare(patterns[b].registrations, patterns[a].registrations), cmp.Compare(a, b))
	})
	s.note("  ", "%d more agents get the proposed decision unless you add an answer:", len(agents))
	for _, text := range list[:min(maxFolds, len(list))] {
		n := patterns[text]
		s.note("  ", "  %s: %s of %s", text, cli.Plural(n.registrations, "registration"), cli.Plural(n.agents, "agent"))
	}
	if n := len(list) - maxFolds; n > 0 {
		s.note("  ", "  and %d more names (anteroom records list registrations)", n)
	}
}

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
		if text := v.texts[r.ID]; text != "" && shown+len(text) <= maxTexts {
			shown += len(text)
			s.quote(text)
		}
	})
}

// numbers proposes the numbers that the operator enters, and returns the sections of the board in
// which a number changes. counts are the numbers that follow from the proposed decisions.
func (v *survey) numbers(s *sheet, counts map[string]int) (changed map[string]bool) {
	a := records.AttentionOf(v.seen)
	s.note("", "\nNumbers that you enter. Seen over MCP so far (anteroom records observed), by\n"+
		"clients that name themselves as they like: %s, %d known to have\ncompleted a handshake, %s.",
		cli.Plural(a.NamedClientsSeen, "named client"), a.CompletedHandshake, cli.Plural(int(a.ToolCalls), "tool call"))
	current := v.site.Current()
	listed := append(append([]string{}, current.ObservedAttention.NamedClients...), v.newClients()...)
	clients, requests := v.clients()
	for _, client := range clients[:min(maxClients, len(clients))] {
		how := ""
		if client != records.OtherClients && !slices.Contains(listed, client) {
			how = "; not in " + namedClients
		}
		s.note("", "  %q: %s%s", client, cli.Plural(int(requests[client]), "request"), how)
	}
	s.line("numbers:")
	changed = map[string]bool{}
	for _, n := range site.Numbers {
		was, is, why := n.Of(current), counts[n.Path], ""
		if n.Told {
			is, why = v.proposed(n.Path, n.Of(current), listed)
		}
		if changed[sectionOf(n.Path)] = changed[sectionOf(n.Path)] || was != is; !n.Told {
			continue
		}
		if was != is {
			s.note("  ", "%d before, and %s", was, why)
		}
		value, _ := json.Marshal(is) // a number or texts do not fail
		if n.Path == namedClients {
			value, _ = json.Marshal(listed)
		}
		s.line("  %s: %s", n.Path, value)
	}
	s.note("  ", "the day up to which you have watched whether the service responds")
	s.line("  %s: %s", monitoredThrough, current.MonitoredThrough)
	return changed
}

func (v *survey) writeTexts(s *sheet, changed map[string]bool) {
	b := v.currentBoard()
	file := boardFile(v.site.Current().File)
	if !slices.Contains(slices.Collect(maps.Values(changed)), true) {
		s.note("", "\nNo number of the board changes, and its texts stay. To change one, list it here by its\n"+
			"place in %s: {%s: NEW TEXT}", file, honestRead)
		s.line("texts: {}")
		return
	}
	texts := mapping([3]string{newWhatChanged, "!!str", unchanged}, [3]string{newAmbiguous, "!!str", unchanged})
	last := fmt.Sprintf("%s[%d].", updates, len(b.values[updates].Content)-1)
	for _, path := range b.texts {
		if strings.HasPrefix(path, updates+"[") && !strings.HasPrefix(path, last) ||
			path != honestRead && !changed[sectionOf(path)] {
			continue
		}
		text := scalar("!!str", b.values[path].Value)
		text.Style = yaml.FoldedStyle
		texts.Content = append(texts.Content, scalar("!!str", path), text)
	}
	text, _ := yaml.Dump(map[string]*yaml.Node{"texts": texts}, yaml.WithIndent(2), yaml.WithLineWidth(78))
	s.note("", "\nTexts next to numbers that change. Rewrite every outdated one. You confirm those\n"+
		"you leave. %s and\n%s add an update of this day.\n"+
		"The other texts stay: list one here by its place in %s\nto change it.", newWhatChanged, newAmbiguous, file)
	s.Write(text)
}

// skeleton maps names that look the same to one text: without case, white space, invisible
// characters and marks, and with one letter for those that look the same (compare UTS 39, section
// 4). It is evidence for a person, and decides nothing.
func skeleton(name string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(name) {
		if unicode.IsSpace(r) || quote.Invisible(r) || r >= 0x80 && unicode.In(r, unicode.Mn, unicode.Cf, unicode.Me) {
			continue
		}
		r = unicode.ToLower(r)
		if like := alike[r]; like != "" {
			b.WriteString(like)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// alike maps characters, in lower case, to the ASCII letters they look like.
var alike = func() map[rune]string {
	by := map[rune]string{}
	for like, letters := range map[string]string{
		"a": "аαɑ", "b": "вβ", "c": "с", "d": "ԁđ", "e": "еε", "g": "ɡց", "h": "һнħհ", "j": "ј", "k": "кκ",
		"l": "1i|!іӏιıł", "n": "пηո", "o": "0оοøօ", "p": "рρ", "q": "ԛ", "r": "г", "rn": "mм", "s": "5ѕ", "t": "тτ",
		"u": "υս", "v": "ν", "vv": "wԝω", "x": "хχ", "y": "уүγ", "3": "з", "6": "б", "-": "‐‑–—−",
	} {
		for _, r := range letters {
			by[r] = like
		}
	}
	return by
}()
