package verification

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/endpoint/suggest"
	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// proposed returns a number that the operator enters as the records have it, and why. Without a
// reason it is the last number. names are the clients on the new board.
func (v *survey) proposed(path string, was int, names []string) (n int, why string) {
	since := v.site.Current().AsOf
	switch n = was; path {
	case securityReports:
		for _, r := range v.kinds[2].fresh {
			if r.Values[0] == suggest.KindSecurity && (r.answer == nil || r.answer.Decision != site.Own) {
				n++
			}
		}
		return n, cli.Plural(n-was, "new suggestion") + " of kind " + suggest.KindSecurity
	case namedClients:
		n += len(v.newClients())
	case completedHandshake, toolCalls:
		all := v.observed(path, names, "")
		n = max(was, min(all, was+all-v.observed(path, names, since)))
	default:
		return n, ""
	}
	return n, fmt.Sprintf("%d more observed since %s", n-was, since)
}

// observed counts tool calls, or calls by names that completed a handshake, before a day or ever.
func (v *survey) observed(path string, names []string, before string) int {
	list := slices.DeleteFunc(slices.Clone(v.seen), func(o records.Observation) bool {
		return before != "" && o.Day >= before || path == completedHandshake && !slices.Contains(names, o.Client)
	})
	a := records.AttentionOf(list)
	if path == toolCalls {
		return int(a.ToolCalls)
	}
	return a.CompletedHandshake
}

// clients returns the names of clients, those with the most requests first, with their requests.
func (v *survey) clients() (names []string, requests map[string]int64) {
	requests = map[string]int64{}
	for _, o := range v.seen {
		if o.Client != "" {
			requests[o.Client] += o.N
		}
	}
	return slices.SortedFunc(maps.Keys(requests), func(a, b string) int {
		return cmp.Or(cmp.Compare(requests[b], requests[a]), cmp.Compare(a, b))
	}), requests
}

// The list of names is published, and a name is a stranger's words: only what can be neither a
// sentence nor an address is proposed.
var (
	tame    = regexp.MustCompile(`^[A-Za-z0-9 ._/-]{1,40}$`)
	address = regexp.MustCompile(`(?i)\bwww\b|\.[a-z]{2}`)
)

// newClients returns the names that the board does not have, of clients first seen since the last
// verification: at most maxClients.
func (v *survey) newClients() []string {
	known, current := map[string]bool{records.OtherClients: true}, v.site.Current()
	for _, o := range v.seen {
		known[o.Client] = known[o.Client] || o.Day < current.AsOf
	}
	names, _ := v.clients()
	names = slices.DeleteFunc(names, func(name string) bool {
		return known[name] || slices.Contains(current.ObservedAttention.NamedClients, name) ||
			!tame.MatchString(name) || address.MatchString(name) || v.ownName(name) != ""
	})
	return names[:min(maxClients, len(names))]
}

// doubt explains why an entered number may be a slip. names are the clients on the new board.
func (v *survey) doubt(c change, names []string) string {
	expected, why := v.proposed(c.path, c.was, names)
	a := records.AttentionOf(v.seen)
	most, observed := map[string]int{
		completedHandshake: a.CompletedHandshake, toolCalls: int(a.ToolCalls),
	}[c.path]
	if c.path == namedClients && v.seen != nil {
		known, _ := v.clients()
		known = append(known, v.site.Current().ObservedAttention.NamedClients...)
		var unseen []string
		for _, name := range names {
			if !slices.Contains(known, name) {
				unseen = append(unseen, strconv.Quote(name))
			}
		}
		if len(unseen) > 0 {
			return fmt.Sprintf("no client named %s was seen", strings.Join(unseen, " or "))
		}
	}
	switch {
	case c.is < c.was: // a correction explains it
	case why != "" && (c.is < expected || c.is > expected && c.path == securityReports):
		return fmt.Sprintf("got %d, expected %d: %s", c.is, expected, why)
	case observed && v.seen != nil && c.is > max(c.was, most):
		return fmt.Sprintf("got %d, observed %d", c.is, most)
	case c.is > 10*max(1, c.was) && c.is != expected:
		return fmt.Sprintf("got %d, more than ten times the last %d", c.is, c.was)
	}
	return ""
}

// A sentence that denies, and words with which it speaks of the time until now.
var (
	denial = regexp.MustCompile(`(?i)[^.!?]*\b(nobody|no one|none|nothing|never|zero|no [a-z]+)\b[^.!?]*`)
	soFar  = regexp.MustCompile(`(?i)\b(yet|so far|until now)\b`)
)

// contradictions adds questions about texts that deny a first count. The honest read is about all
// numbers. In other texts only a sentence about the time until now denies something: the rest are
// rules, such as "no activity is generated". A dated update stays true of its day.
func (b *board) contradictions(a *answers) {
	for _, path := range b.texts {
		if strings.HasPrefix(path, updates) || slices.Contains(a.Confirm, "texts."+path) {
			continue
		}
		for _, sentence := range denial.FindAllString(b.values[path].Value, -1) {
			var rise []string
			for _, c := range b.changes {
				section := sectionOf(c.path)
				if c.was == 0 && c.is > 0 && (section == sectionOf(path) && soFar.MatchString(sentence) ||
					path == honestRead && section != ownRecords) {
					rise = append(rise, fmt.Sprintf("%s rises from 0 to %d", c.path, c.is))
				}
			}
			if len(rise) > 0 {
				b.wrong.add("texts."+path, "contains %q, but %s: rewrite it, or add confirm: [texts.%s]",
					strings.TrimSpace(sentence), strings.Join(rise, ", "), path)
				break
			}
		}
	}
}

func sectionOf(path string) string {
	section, _, _ := strings.Cut(path, ".")
	return section
}
