package contract

import (
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// BoardDocument returns the published document of one hand verification.
func BoardDocument(s *site.Scoreboard) []byte { return output.Indented(verification(s)) }

// BoardPath returns its path.
func BoardPath(s *site.Scoreboard) string { return tlog.BoardPath(s.File) }

func verification(board *site.Scoreboard) object {
	numbers := object{{"as_of", board.AsOf}}
	for i := range site.Numbers {
		n := &site.Numbers[i]
		part, name, _ := strings.Cut(n.Place(), ".")
		group, _ := numbers.Get(part).(object)
		numbers.Set(part, append(group, output.Member{Name: name, Value: n.Of(board)}))
	}
	return numbers
}

// Roster returns the newest hand verification: the answer of GET /api/roster, and scoreboard.json.
func (g *Answers) Roster() model.Roster {
	roster := g.Site.Current().Roster
	roster.PilotWaitlist.YourPosition = roster.PilotWaitlist.VerifiedConversions + 1
	roster.PilotWaitlist.FoundingSlots = model.FoundingAgentSlots
	roster.PilotWaitlist.FoundingSlotsLeft = max(0, model.FoundingAgentSlots-roster.PilotWaitlist.VerifiedConversions)
	roster.PilotWaitlist.Convert = g.convert(Route("waitlist"))
	roster.Orgs.FoundingSlots = model.FoundingOrgSlots
	roster.Orgs.FoundingSlotsLeft = orgSlotsLeft(g.Site.Current())
	roster.Orgs.File = g.fileCall(Route("org"))
	roster.Suggestions.File = g.fileCall(Route("suggest"))
	roster.ObservedAttention.NamedClientsSeen = len(roster.ObservedAttention.NamedClients)
	roster.ObservedAttention.ByDate = map[string]model.Update{}
	for _, update := range roster.ObservedAttention.Updates {
		roster.ObservedAttention.ByDate["update_"+strings.ReplaceAll(update.Date, "-", "_")] = update
	}
	for _, endpoint := range g.liveEndpoints() {
		roster.LiveNow = append(roster.LiveNow, endpoint.Method+" "+endpoint.Path)
	}
	return roster
}

func orgSlotsLeft(s *site.Scoreboard) int {
	return max(0, model.FoundingOrgSlots-s.Orgs.ChartersFiled)
}

func (g *Answers) convert(waitlist *api.Route) model.Convert {
	op := WriteOperation(waitlist)
	least := *op
	least.Fields = nil
	for _, f := range op.Fields {
		if len(op.AnyOf) > 0 && f.Name == op.AnyOf[0] {
			least.Fields = append(least.Fields, f)
		}
	}
	convert := model.Convert{
		Methods:           op.Methods,
		URL:               g.URL(waitlist.Path),
		Minimum:           "one of " + strings.Join(op.AnyOf, ", "),
		PostBody:          BodyTemplate(&least),
		ReadTheTermsFirst: g.URL(Route("aup").Path),
	}
	if len(least.Fields) == 1 {
		convert.Get = convert.URL + "?" + least.Fields[0].Name + "={" + least.Fields[0].Name + "}"
	}
	return convert
}

func (g *Answers) fileCall(route *api.Route) model.FileCall {
	call := model.FileCall{Method: "POST", URL: g.URL(route.Path)}
	if op := WriteOperation(route); slices.Contains(op.Methods, "GET") {
		call.Get = g.GetTemplate(route, op)
	}
	return call
}

// WriteOperation returns the operation of a route that writes, or an empty one.
func WriteOperation(route *api.Route) *api.Operation {
	for _, op := range route.Operations {
		if op.Writes {
			return op
		}
	}
	return &api.Operation{}
}
