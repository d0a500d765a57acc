package generator

import (
	"reflect"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/canon"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/respond"
	"anteroom/generator/model"
)

// documentMakers make the documents that the route table names, by their keys in the snapshot. A
// document whose key is not here is a contract.
var documentMakers = map[string]func(*generation, *api.Route) any{
	"presence":      func(g *generation, _ *api.Route) any { return g.presence() },
	"quest":         func(g *generation, _ *api.Route) any { return g.quest() },
	"aup":           func(g *generation, _ *api.Route) any { return g.aup() },
	"roster":        func(g *generation, _ *api.Route) any { return g.roster() },
	"org":           func(g *generation, route *api.Route) any { return g.orgRules(route) },
	"receipt":       func(g *generation, route *api.Route) any { return g.receiptSpec(route) },
	"business-days": func(g *generation, route *api.Route) any { return g.businessDays(route) },
}

// endpointDocuments puts the documents of every route into the snapshot: its contract and what its
// read operations answer. The list of live endpoints, which errors carry, is one more.
func (g *generation) endpointDocuments() {
	for _, route := range g.routes {
		for _, d := range route.Documents() {
			if maker := documentMakers[d.ID]; maker != nil {
				g.addToSnapshot(d.ID, maker(g, route))
			} else {
				g.addToSnapshot(d.ID, g.briefContract(route))
			}
		}
		for _, op := range route.Operations {
			g.addToSnapshot(op.Contract().ID, g.askedContract(route, op))
		}
	}
	g.addToSnapshot("endpoints", g.liveEndpoints())
}

// addToSnapshot puts a document into the snapshot and keeps its type, of which the OpenAPI
// description makes a schema.
func (g *generation) addToSnapshot(id string, v any) {
	g.snapshot.Documents[id] = g.compactJSON(v)
	g.documentTypes[id] = reflect.TypeOf(v)
}

// answerTypes are the types of the answers of an operation. There are none for an operation that
// answers nothing or speaks a protocol of its own.
func (g *generation) answerTypes(op *api.Operation) (types []reflect.Type) {
	if op.Document != nil {
		return []reflect.Type{g.documentTypes[op.Document.ID]}
	}
	for _, answer := range op.Answers {
		types = append(types, reflect.TypeOf(answer))
	}
	return types
}

// liveEndpoints lists every method of every route.
func (g *generation) liveEndpoints() []model.LiveEndpoint {
	live := []model.LiveEndpoint{}
	for _, route := range g.routes {
		for _, method := range route.Methods() {
			endpoint := model.LiveEndpoint{Method: method, Path: route.Path}
			var summaries []string
			for _, op := range operationsWith(route, method) {
				summaries = append(summaries, g.summary(op.ID))
				endpoint.Writes = endpoint.Writes || op.Writes
			}
			endpoint.What = strings.Join(summaries, " ")
			live = append(live, endpoint)
		}
	}
	return live
}

// statusDots are the colours of the status dot, by the operator's status.
var statusDots = map[string]string{"online": "green", "away": "amber", "offline": "grey"}

func (g *generation) presence() model.Presence {
	content := &g.site.Presence
	presence := model.Presence{
		Status:        content.Status,
		StatusDot:     statusDots[content.Status],
		AwayMessage:   content.AwayMessage,
		Since:         content.Since,
		StatusNote:    content.StatusNote,
		LiveEndpoints: g.liveEndpoints(),
		NotBuilt:      []model.NotBuilt{},
		NextActions: []respond.Action{
			{Rel: "quest", Href: g.url(g.route("quest").Path)},
			{Rel: "index", Href: g.url("/llms.txt")},
		},
	}
	for _, n := range content.NotBuilt {
		presence.NotBuilt = append(presence.NotBuilt, model.NotBuilt{What: n.What, Note: n.Note})
	}
	return presence
}

// nextActions lead from an answer to the documents.
func (g *generation) nextActions() []respond.Action {
	return []respond.Action{
		{Rel: "index", Href: g.url("/llms.txt")},
		{Rel: "manifest", Href: g.url("/manifest.json")},
		{Rel: "learn", Href: g.url("/field-guide.html")},
		{Rel: "openapi", Href: g.url(openAPIPath)},
	}
}

func (g *generation) aup() model.AUP {
	content := &g.site.AUP
	policy := model.AUP{
		Version:       model.AUPVersion,
		Policy:        content.Policy,
		Enforcement:   content.Enforcement,
		CheckEndpoint: content.CheckEndpoint,
		Rationale:     content.Rationale,
	}
	for _, prohibited := range content.Prohibited {
		policy.Prohibited = append(policy.Prohibited, model.Prohibited{Code: prohibited.Code, Rule: prohibited.Rule})
	}
	return policy
}

func (g *generation) orgRules(route *api.Route) model.OrgRules {
	op := writeOperation(route)
	rules := model.OrgRules{
		Intro: g.site.Org.Intro,
		Rules: model.Rules{
			Cap:               org.Cap,
			MinimumAllocation: org.MinimumAllocation,
			RosterSize:        len(org.Positions),
		},
		PostTemplate:      bodyTemplate(op),
		GetTemplate:       g.getTemplate(route, op),
		Canonicalization:  canon.CharterRule,
		FoundingSlots:     model.FoundingOrgSlots,
		FoundingSlotsLeft: orgSlotsLeft(g.site.Current()),
		Founding:          g.site.Org.Founding,
		Contract:          g.ownContract(route, nil),
	}
	for i := range rules.Operations {
		if filing := &rules.Operations[i]; filing.ID == op.ID {
			filing.GetTemplate, filing.ExampleBody = "", nil // they stand above
		}
	}
	for _, position := range org.Positions {
		rules.Rules.Positions = append(rules.Rules.Positions, model.Position{Position: position, What: g.site.Org.Positions[position]})
	}
	return rules
}

func (g *generation) receiptSpec(route *api.Route) model.ReceiptSpec {
	contract := g.ownContract(route, nil)
	return model.ReceiptSpec{
		ReceiptSpec:      receipt.Spec,
		Algorithm:        receipt.Algorithm,
		Canonicalization: canon.ReceiptRule,
		SignedFields:     canon.ReceiptFields,
		VerifyOffline: []string{
			"1. Take the members " + strings.Join(canon.ReceiptFields, ", ") + " of the receipt, in this order and no others, " +
				"and write them as JSON without white space, " +
				"non-ASCII as it is and " + canon.ReceiptNullable + " as null where it is null: " +
				"JSON.stringify in JavaScript, json.dumps(o, separators=(',', ':'), ensure_ascii=False) in Python. " +
				"The result must equal canonical; otherwise a field was edited after minting.",
			"2. Compute the SHA-256 of the UTF-8 bytes of canonical. Its lower-case hexadecimal form must equal payload_sha256.",
			"3. Take the public key from " + g.url(route.Path) + ", not from the receipt: " +
				"public_key_b64, or one of retired_public_keys_b64 that the receipt names. " +
				"A receipt that names another key is not from this service.",
			"4. Decode signature from base64 to 64 bytes and check it with that key as Ed25519 (RFC 8032) " +
				"over the UTF-8 bytes of canonical. " +
				"Where signed is false there is no signature: the receipt is hash-committed only, and nothing proves who issued it.",
		},
		RetiredKeys: g.snapshot.RetiredKeys,
		VerifyKit:   g.kitURLs(),
		Contract:    contract,
	}
}

func (g *generation) businessDays(route *api.Route) model.BusinessDays {
	first, last := bizday.Range()
	answer := model.BusinessDays{
		Range:       model.DateRange{First: first, Last: last},
		Counting:    bizday.Counting,
		Adding:      bizday.Adding,
		DataVersion: bizday.DataVersion,
		Caveat:      bizday.Caveat,
		Contract:    g.ownContract(route, map[string]string{bizday.Calendar: "calendars", bizday.Applied: "conventions"}),
	}
	ids, descriptions := bizday.Describe()
	for i, c := range descriptions {
		answer.Calendars = append(answer.Calendars, model.Calendar{
			ID: ids[i], Name: c.Name, Authority: c.Authority, Scope: c.Scope, LeavesOut: c.LeavesOut,
		})
	}
	for _, c := range bizday.Conventions {
		answer.Conventions = append(answer.Conventions, model.Convention{Name: c.Name, What: c.What})
	}
	return answer
}
