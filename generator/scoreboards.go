package generator

import (
	"maps"
	"slices"

	"anteroom/edge/jsondoc"
	"anteroom/generator/model"
	"anteroom/generator/site"
)

// scoreboards publishes the newest hand verification with all its words, and the numbers of every one.
func (g *generation) scoreboards() {
	g.answer("/scoreboard.json", g.roster())
	for i := range g.site.Scoreboards {
		s := &g.site.Scoreboards[i]
		g.add("/scoreboard/"+s.File+".json", g.indented(verification(s)))
	}
}

// verification is made of one verification's own content file and nothing else.
func verification(s *site.Scoreboard) model.Verification {
	d := model.Verification{AsOf: s.AsOf}
	d.PilotWaitlist.VerifiedConversions = s.PilotWaitlist.VerifiedConversions
	d.PilotWaitlist.RegistrationsRecorded = s.PilotWaitlist.RegistrationsRecorded
	d.Orgs.ChartersFiled = s.Orgs.ChartersFiled
	d.Suggestions.ReceivedExternal = s.Suggestions.ReceivedExternal
	d.Suggestions.OriginatedInternally = s.Suggestions.OriginatedInternally
	d.Suggestions.Shipped = s.Suggestions.Shipped
	d.Excluded.Records = s.Excluded.Records
	d.ObservedAttention.NamedClientsSeen = len(s.ObservedAttention.NamedClients)
	d.ObservedAttention.CompletedHandshake = s.ObservedAttention.CompletedHandshake
	d.ObservedAttention.ToolCalls = s.ObservedAttention.ToolCalls
	d.ObservedAttention.SecurityReports = s.ObservedAttention.SecurityReports
	return d
}

// list publishes a list that grows: its groups, and how many there are of each. It is written once, from texts that are JSON already.
func (g *generation) list(path string, l *site.List) {
	const rest = 4 << 10 // for the other members
	w := jsondoc.Writer{Buf: make([]byte, 0, l.Size()+rest)}
	w.Open('{')
	w.Str("as_of", l.AsOf)
	for _, group := range l.Groups() {
		w.Name(group)
		w.Buf = l.AppendJSON(w.Buf, group)
	}
	w.Name("counts")
	w.Open('{')
	for _, name := range slices.Sorted(maps.Keys(l.Counts)) {
		w.Int(name, int64(l.Counts[name]))
	}
	w.Close('}')
	g.snapshot.Trailer(&w, g.site.Service.CanonicalHost)
	w.Close('}')
	g.add(path, append(w.Buf, '\n'))
}
