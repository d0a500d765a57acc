package generator

import (
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/generator/model"
	"anteroom/generator/site"
)

// scoreboards publishes the newest hand verification with all its words, and the numbers of every
// one.
func (g *generation) scoreboards() {
	g.addWithTrailer("/scoreboard.json", g.roster())
	for i := range g.site.Scoreboards {
		s := &g.site.Scoreboards[i]
		g.add("/scoreboard/"+s.File+".json", g.indentedJSON(verification(s)))
	}
}

// verification holds the numbers of one hand verification. It is made of that verification's own
// content file alone: a published verification never changes, whatever else does.
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

// roster is the newest hand verification: the answer of GET /api/roster and scoreboard.json.
func (g *generation) roster() model.Roster {
	s := g.site.Current()
	waitlist, org, suggest := g.route("waitlist"), g.route("org"), g.route("suggest")
	d := model.Roster{
		Board:            s.Board,
		AsOf:             s.AsOf,
		VerifiedThrough:  s.VerifiedThrough,
		CountsAgeNote:    s.CountsAgeNote,
		MonitoredThrough: s.MonitoredThrough,
		MonitoringNote:   s.MonitoringNote,
		CountingPolicy:   s.CountingPolicy,
		PilotWaitlist: model.PilotWaitlist{
			VerifiedConversions:   s.PilotWaitlist.VerifiedConversions,
			RegistrationsRecorded: s.PilotWaitlist.RegistrationsRecorded,
			IdentityNote:          s.PilotWaitlist.IdentityNote,
			YourPosition:          s.PilotWaitlist.VerifiedConversions + 1,
			FoundingSlots:         model.FoundingAgentSlots,
			FoundingSlotsLeft:     max(0, model.FoundingAgentSlots-s.PilotWaitlist.VerifiedConversions),
			Convert:               g.convert(waitlist),
		},
		Orgs: model.Orgs{
			ChartersFiled:     s.Orgs.ChartersFiled,
			FoundingSlots:     model.FoundingOrgSlots,
			FoundingSlotsLeft: orgSlotsLeft(s),
			File:              g.fileCall(org),
			Rules:             s.Orgs.Rules,
			OfferHistory:      s.Orgs.OfferHistory,
		},
		Suggestions: model.Suggestions{
			ReceivedExternal:     s.Suggestions.ReceivedExternal,
			OriginatedInternally: s.Suggestions.OriginatedInternally,
			Shipped:              s.Suggestions.Shipped,
			Reconciliation:       s.Suggestions.Reconciliation,
			File:                 g.fileCall(suggest),
			Deal:                 s.Suggestions.Deal,
		},
		Excluded: model.Excluded{Records: s.Excluded.Records, Note: s.Excluded.Note},
		ObservedAttention: model.ObservedAttention{
			AsOf:               s.ObservedAttention.AsOf,
			WhatThisIs:         s.ObservedAttention.WhatThisIs,
			WhatTheyAre:        s.ObservedAttention.WhatTheyAre,
			HonestRead:         s.ObservedAttention.HonestRead,
			NamedClientsSeen:   len(s.ObservedAttention.NamedClients),
			CompletedHandshake: s.ObservedAttention.CompletedHandshake,
			NamedClients:       s.ObservedAttention.NamedClients,
			ToolCalls:          s.ObservedAttention.ToolCalls,
			ToolCallsNote:      s.ObservedAttention.ToolCallsNote,
			SecurityReports:    s.ObservedAttention.SecurityReports,
			Updates:            map[string]model.Update{},
		},
		WhatItMeans: s.WhatThisNumberMeans,
		LiveNow:     []string{},
	}
	for _, u := range s.ObservedAttention.Updates {
		d.ObservedAttention.Updates["update_"+strings.ReplaceAll(u.Date, "-", "_")] = model.Update{
			WhatChanged: u.WhatChanged, OneAmbiguousRead: u.OneAmbiguousRead,
		}
	}
	for _, e := range g.liveEndpoints() {
		d.LiveNow = append(d.LiveNow, e.Method+" "+e.Path)
	}
	return d
}

func orgSlotsLeft(s *site.Scoreboard) int {
	return max(0, model.FoundingOrgSlots-s.Orgs.ChartersFiled)
}

// convert says how to register. The URI template and the body show the least that registers: the
// first of the fields of which at least one must be given.
func (g *generation) convert(waitlist *api.Route) model.Convert {
	op := writeOperation(waitlist)
	least := *op
	least.Fields = nil
	for _, f := range op.Fields {
		if len(op.AnyOf) > 0 && f.Name == op.AnyOf[0] {
			least.Fields = append(least.Fields, f)
		}
	}
	c := model.Convert{
		Methods:           op.Methods,
		URL:               g.url(waitlist.Path),
		Minimum:           "one of " + strings.Join(op.AnyOf, ", "),
		PostBody:          bodyTemplate(&least),
		ReadTheTermsFirst: g.url(g.route("aup").Path),
	}
	if len(least.Fields) == 1 {
		c.Get = c.URL + "?" + least.Fields[0].Name + "={" + least.Fields[0].Name + "}"
	}
	return c
}

// fileCall says how to file something at a route.
func (g *generation) fileCall(route *api.Route) model.FileCall {
	call := model.FileCall{Method: "POST", URL: g.url(route.Path)}
	if op := writeOperation(route); slices.Contains(op.Methods, "GET") {
		call.Get = g.getTemplate(route, op)
	}
	return call
}

// writeOperation is the operation of a route that writes, and an empty one where there is none.
func writeOperation(route *api.Route) *api.Operation {
	for _, op := range route.Operations {
		if op.Writes {
			return op
		}
	}
	return &api.Operation{}
}
