package generator

import (
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/canon"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/respond"
	"anteroom/generator/model"
	"anteroom/generator/site"
)

// route is the route with the given ID; without one it adds a fault and gives an empty route.
func (g *generation) route(id string) *api.Route {
	for _, route := range g.routes {
		if route.ID == id {
			return route
		}
	}
	g.fault("the route table lacks %s, which other documents refer to", id)
	return &api.Route{}
}

// dots are the colours of the status dot.
var dots = map[string]string{"online": "green", "away": "amber", "offline": "grey"}

func (g *generation) presence() model.Presence {
	p := &g.site.Presence
	d := model.Presence{
		Status:        p.Status,
		StatusDot:     dots[p.Status],
		AwayMessage:   p.AwayMessage,
		Since:         p.Since,
		LiveEndpoints: g.liveEndpoints(),
		NotBuilt:      []model.NotBuilt{},
		NextActions: append([]respond.Action{
			{Rel: "quest", Href: g.url(g.route("quest").Path)},
			{Rel: "scoreboard", Href: g.url(g.route("roster").Path)},
		}, g.nextActions()...),
	}
	for _, n := range p.NotBuilt {
		d.NotBuilt = append(d.NotBuilt, model.NotBuilt{What: n.What, Note: n.Note})
	}
	return d
}

// nextActions lead from any answer to the documents.
func (g *generation) nextActions() []respond.Action {
	return []respond.Action{
		{Rel: "index", Href: g.url("/llms.txt")},
		{Rel: "manifest", Href: g.url("/manifest.json")},
		{Rel: "learn", Href: g.url("/field-guide.html")},
		{Rel: "openapi", Href: g.url("/openapi.json")},
	}
}

func (g *generation) quest() model.Quest {
	q := &g.site.Quest
	d := model.Quest{
		Quest:          q.Quest,
		Version:        model.QuestVersion,
		EstTimeSeconds: q.EstTimeSeconds,
		Completion:     model.QuestCompletion{YouNowHave: q.Completion.YouNowHave, Persist: q.Completion.Persist},
		NextActions:    g.nextActions(),
	}
	for i, s := range q.Steps {
		d.Steps = append(d.Steps, model.QuestStep{N: i + 1, Title: s.Title, Call: s.Call, Proves: s.Proves, Reward: s.Reward})
	}
	return d
}

func (g *generation) aup() model.AUP {
	a := &g.site.AUP
	d := model.AUP{
		Version:       model.AUPVersion,
		Policy:        a.Policy,
		Enforcement:   a.Enforcement,
		CheckEndpoint: a.CheckEndpoint,
		Rationale:     a.Rationale,
	}
	for _, p := range a.Prohibited {
		d.Prohibited = append(d.Prohibited, model.Prohibited{Code: p.Code, Rule: p.Rule})
	}
	return d
}

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

// writer is the operation of a route that writes; an empty one where there is none.
func writer(route *api.Route) *api.Operation {
	for _, op := range route.Operations {
		if op.Writes {
			return op
		}
	}
	return &api.Operation{}
}

// convert says how to register. The template and the body are the least that registers: the
// first of the fields of which one must be given.
func (g *generation) convert(waitlist *api.Route) model.Convert {
	op := writer(waitlist)
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
		PostBody:          template(&least),
		ReadTheTermsFirst: g.url(g.route("aup").Path),
	}
	if len(least.Fields) == 1 {
		c.Get = c.URL + "?" + least.Fields[0].Name + "={" + least.Fields[0].Name + "}"
	}
	return c
}

func (g *generation) fileCall(route *api.Route) model.FileCall {
	call := model.FileCall{Method: "POST", URL: g.url(route.Path)}
	if op := writer(route); slices.Contains(op.Methods, "GET") {
		call.Get = g.getTemplate(route, op)
	}
	return call
}

func (g *generation) orgRules(route *api.Route) model.OrgRules {
	op := writer(route)
	d := model.OrgRules{
		Intro: g.site.Org.Intro,
		Rules: model.Rules{
			Cap:               org.Cap,
			MinimumAllocation: org.MinimumAllocation,
			RosterSize:        len(org.Positions),
		},
		PostTemplate:      template(op),
		GetTemplate:       g.getTemplate(route, op),
		Canonicalization:  canon.CharterRule,
		FoundingSlots:     model.FoundingOrgSlots,
		FoundingSlotsLeft: orgSlotsLeft(g.site.Current()),
		Founding:          g.site.Org.Founding,
		Contract:          g.contract(route),
	}
	for _, position := range org.Positions {
		d.Rules.Positions = append(d.Rules.Positions, model.Position{Position: position, What: g.site.Org.Positions[position]})
	}
	return d
}

func (g *generation) receiptSpec(route *api.Route) model.ReceiptSpec {
	contract := g.contract(route)
	return model.ReceiptSpec{
		ReceiptSpec:      receipt.Spec,
		Algorithm:        receipt.Algorithm,
		Canonicalization: canon.ReceiptRule,
		SignedFields:     canon.ReceiptFields,
		VerifyOffline: []string{
			"1. Take the members " + strings.Join(canon.ReceiptFields, ", ") + " of the receipt, in this order and no others, and write them as JSON without white space, " +
				"non-ASCII as it is and " + canon.ReceiptNullable + " as null where it is null: JSON.stringify in JavaScript, json.dumps(o, separators=(',', ':'), ensure_ascii=False) in Python. " +
				"The result must equal canonical; otherwise a field was edited after minting.",
			"2. Compute the SHA-256 of the UTF-8 bytes of canonical. Its lower-case hexadecimal form must equal payload_sha256.",
			"3. Take the public key from " + contract.URL + ", not from the receipt: public_key_b64, or one of retired_public_keys_b64 that the receipt names. A receipt that names another key is not from this service.",
			"4. Decode signature from base64 to 64 bytes and check it with that key as Ed25519 (RFC 8032) over the UTF-8 bytes of canonical. Where signed is false there is no signature: the receipt is hash-committed only, and nothing proves who issued it.",
		},
		RetiredKeys: g.snapshot.RetiredKeys,
		Contract:    contract,
	}
}

func (g *generation) businessDays(route *api.Route) model.BusinessDays {
	first, last := bizday.Range()
	d := model.BusinessDays{
		Range:       model.DateRange{First: first, Last: last},
		Counting:    bizday.Counting,
		Adding:      bizday.Adding,
		Joint:       bizday.Joint,
		DataVersion: bizday.DataVersion,
		Caveat:      bizday.Caveat,
		Contract:    g.contract(route),
	}
	ids, descriptions := bizday.Describe()
	for i, c := range descriptions {
		d.Calendars = append(d.Calendars, model.Calendar{
			ID: ids[i], Name: c.Name, Authority: c.Authority, Scope: c.Scope, LeavesOut: c.LeavesOut,
		})
	}
	for _, c := range bizday.Conventions {
		d.Conventions = append(d.Conventions, model.Convention{Name: c.Name, FpML: c.FpML, What: c.What})
	}
	return d
}
