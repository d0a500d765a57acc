package answers

import (
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/generator/model"
	"anteroom/generator/ordered"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// BoardDocument is the published document of one hand verification.
func BoardDocument(s *site.Scoreboard) []byte { return ordered.Indented(Verification(s)) }

// BoardPath is where the numbers of one hand verification are published.
func BoardPath(s *site.Scoreboard) string { return tlog.BoardPath(s.File) }

// Verification holds the numbers of one hand verification. It is made of that verification's own
// content file alone: a published verification never changes, whatever else does.
func Verification(board *site.Scoreboard) model.Verification {
	numbers := model.Verification{AsOf: board.AsOf}
	numbers.PilotWaitlist.VerifiedConversions = board.PilotWaitlist.VerifiedConversions
	numbers.PilotWaitlist.RegistrationsRecorded = board.PilotWaitlist.RegistrationsRecorded
	numbers.Orgs.ChartersFiled = board.Orgs.ChartersFiled
	numbers.Suggestions.ReceivedExternal = board.Suggestions.ReceivedExternal
	numbers.Suggestions.OriginatedInternally = board.Suggestions.OriginatedInternally
	numbers.Suggestions.Shipped = board.Suggestions.Shipped
	numbers.Excluded.Records = board.Excluded.Records
	numbers.ObservedAttention.NamedClientsSeen = len(board.ObservedAttention.NamedClients)
	numbers.ObservedAttention.CompletedHandshake = board.ObservedAttention.CompletedHandshake
	numbers.ObservedAttention.ToolCalls = board.ObservedAttention.ToolCalls
	numbers.ObservedAttention.SecurityReports = board.ObservedAttention.SecurityReports
	return numbers
}

// Roster is the newest hand verification: the answer of GET /api/roster and scoreboard.json.
func (g *Answers) Roster() model.Roster {
	board := g.Site.Current()
	waitlist, org, suggest := g.Route("waitlist"), g.Route("org"), g.Route("suggest")
	roster := model.Roster{
		Board:            board.Board,
		AsOf:             board.AsOf,
		VerifiedThrough:  board.VerifiedThrough,
		CountsAgeNote:    board.CountsAgeNote,
		MonitoredThrough: board.MonitoredThrough,
		MonitoringNote:   board.MonitoringNote,
		CountingPolicy:   board.CountingPolicy,
		PilotWaitlist: model.PilotWaitlist{
			VerifiedConversions:   board.PilotWaitlist.VerifiedConversions,
			RegistrationsRecorded: board.PilotWaitlist.RegistrationsRecorded,
			IdentityNote:          board.PilotWaitlist.IdentityNote,
			YourPosition:          board.PilotWaitlist.VerifiedConversions + 1,
			FoundingSlots:         model.FoundingAgentSlots,
			FoundingSlotsLeft:     max(0, model.FoundingAgentSlots-board.PilotWaitlist.VerifiedConversions),
			Convert:               g.convert(waitlist),
		},
		Orgs: model.Orgs{
			ChartersFiled:     board.Orgs.ChartersFiled,
			FoundingSlots:     model.FoundingOrgSlots,
			FoundingSlotsLeft: orgSlotsLeft(board),
			File:              g.fileCall(org),
			Rules:             board.Orgs.Rules,
			OfferHistory:      board.Orgs.OfferHistory,
		},
		Suggestions: model.Suggestions{
			ReceivedExternal:     board.Suggestions.ReceivedExternal,
			OriginatedInternally: board.Suggestions.OriginatedInternally,
			Shipped:              board.Suggestions.Shipped,
			Reconciliation:       board.Suggestions.Reconciliation,
			File:                 g.fileCall(suggest),
			Deal:                 board.Suggestions.Deal,
		},
		Excluded: model.Excluded{Records: board.Excluded.Records, Note: board.Excluded.Note},
		ObservedAttention: model.ObservedAttention{
			AsOf:               board.ObservedAttention.AsOf,
			WhatThisIs:         board.ObservedAttention.WhatThisIs,
			WhatTheyAre:        board.ObservedAttention.WhatTheyAre,
			HonestRead:         board.ObservedAttention.HonestRead,
			NamedClientsSeen:   len(board.ObservedAttention.NamedClients),
			CompletedHandshake: board.ObservedAttention.CompletedHandshake,
			NamedClients:       board.ObservedAttention.NamedClients,
			ToolCalls:          board.ObservedAttention.ToolCalls,
			ToolCallsNote:      board.ObservedAttention.ToolCallsNote,
			SecurityReports:    board.ObservedAttention.SecurityReports,
			Updates:            map[string]model.Update{},
		},
		WhatItMeans: board.WhatThisNumberMeans,
		LiveNow:     []string{},
	}
	for _, c := range board.Corrections {
		roster.Corrections = append(roster.Corrections, model.Correction(c))
	}
	for _, update := range board.ObservedAttention.Updates {
		roster.ObservedAttention.Updates["update_"+strings.ReplaceAll(update.Date, "-", "_")] = model.Update{
			WhatChanged: update.WhatChanged, OneAmbiguousRead: update.OneAmbiguousRead,
		}
	}
	for _, endpoint := range g.liveEndpoints() {
		roster.LiveNow = append(roster.LiveNow, endpoint.Method+" "+endpoint.Path)
	}
	return roster
}

func orgSlotsLeft(s *site.Scoreboard) int {
	return max(0, model.FoundingOrgSlots-s.Orgs.ChartersFiled)
}

// convert says how to register. The URI template and the body show the least that registers: the
// first of the fields of which at least one must be given.
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
		ReadTheTermsFirst: g.URL(g.Route("aup").Path),
	}
	if len(least.Fields) == 1 {
		convert.Get = convert.URL + "?" + least.Fields[0].Name + "={" + least.Fields[0].Name + "}"
	}
	return convert
}

// fileCall says how to file something at a route.
func (g *Answers) fileCall(route *api.Route) model.FileCall {
	call := model.FileCall{Method: "POST", URL: g.URL(route.Path)}
	if op := WriteOperation(route); slices.Contains(op.Methods, "GET") {
		call.Get = g.GetTemplate(route, op)
	}
	return call
}

// WriteOperation is the operation of a route that writes, and an empty one if there is none.
func WriteOperation(route *api.Route) *api.Operation {
	for _, op := range route.Operations {
		if op.Writes {
			return op
		}
	}
	return &api.Operation{}
}
