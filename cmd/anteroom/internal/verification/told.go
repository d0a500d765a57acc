package verification

import (
	"cmp"
	"maps"
	"slices"

	"anteroom/edge/endpoint/suggest"
	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// derive returns the numbers, except the counts, that follow from the records and the observations
// of clients, for a board that names these clients.
func (v *survey) derive(clients []string) map[string]int {
	current := v.site.Current()
	numbers := map[string]int{namedClients: len(clients)}
	for _, path := range []string{completedHandshake, toolCalls} {
		if v.unseen != nil {
			break
		}
		was, all := current.Number(path), v.observed(path, clients, "")
		// Of the day of the last verification some were counted then.
		numbers[path] = max(was, min(all, was+all-v.observed(path, clients, current.AsOf)))
	}
	reports := current.Number(securityReports)
	for _, r := range v.kinds[2].all {
		if r.Values[0] != suggest.KindSecurity {
			continue
		}
		if r.by != "" && r.was != site.Own {
			reports--
		}
		if r.decision() != site.Own {
			reports++
		}
	}
	numbers[securityReports] = reports
	return numbers
}

func (r *row) decision() string {
	if r.answer != nil {
		return r.answer.Decision
	}
	return r.was
}

// observed counts tool calls, or calls by names that completed a handshake, before a day or ever.
// The operator's own clients do not count.
func (v *survey) observed(path string, names []string, before string) int {
	a := records.AttentionOf(slices.DeleteFunc(slices.Clone(v.seen), func(o records.Observation) bool {
		return before != "" && o.Day >= before || path == completedHandshake && !slices.Contains(names, o.Client) ||
			v.ownName(o.Client) != ""
	}))
	if path == toolCalls {
		return int(a.ToolCalls)
	}
	return a.CompletedHandshake
}

// newClients returns the names that the board does not have, of clients first seen since the last
// verification: at most maxClients, those with the most requests first.
func (v *survey) newClients() []string {
	known, requests, current := map[string]bool{records.OtherClients: true}, map[string]int64{}, v.site.Current()
	for _, o := range v.seen {
		known[o.Client] = known[o.Client] || o.Day < current.AsOf
		requests[o.Client] += o.N
	}
	names := slices.SortedFunc(maps.Keys(requests), func(a, b string) int {
		return cmp.Or(cmp.Compare(requests[b], requests[a]), cmp.Compare(a, b))
	})
	names = slices.DeleteFunc(names, func(name string) bool {
		return known[name] || slices.Contains(current.ObservedAttention.NamedClients, name) ||
			v.ownName(name) != ""
	})
	return names[:min(maxClients, len(names))]
}
