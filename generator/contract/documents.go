package contract

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/canon"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/endpoint/selftest"
	"anteroom/edge/endpoint/signal"
	"anteroom/edge/endpoint/suggest"
	"anteroom/edge/endpoint/waitlist"
	"anteroom/edge/respond"
	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

func (g *Answers) documents() {
	for _, route := range api.Routes {
		for _, d := range route.Documents() {
			g.addToSnapshot(d.ID, g.document(d.ID, route))
		}
		for _, op := range route.Operations {
			g.addToSnapshot(op.Contract().ID, g.askedContract(route, op))
		}
	}
	g.addToSnapshot("endpoints", g.liveEndpoints())
}

func (g *Answers) document(id string, route *api.Route) any {
	switch id {
	case "presence":
		return g.presence()
	case "quest":
		return g.Quest()
	case "aup":
		return g.Site.AUP.AUP
	case "roster":
		return model.Roster{Scoreboard: g.Roster()}
	case "org":
		return g.OrgRules()
	case "receipt":
		return g.receiptSpec(route)
	case "business-days":
		return g.BusinessDays()
	}
	return g.Contract(route)
}

func (g *Answers) addToSnapshot(id string, v any) {
	g.Snapshot.Documents[id] = output.Compact(v)
	g.types[id] = reflect.TypeOf(v)
}

// AnswerTypes returns no type for an empty answer and for JSON-RPC.
func (g *Answers) AnswerTypes(op *api.Operation) (types []reflect.Type) {
	if op.Document != nil {
		return []reflect.Type{g.types[op.Document.ID]}
	}
	for _, answer := range answers[op.ID] {
		types = append(types, reflect.TypeOf(answer))
	}
	return types
}

var answers = map[string][]any{
	"fileCharter":             {org.Answer{}},
	"registerAgent":           {waitlist.Answer{}},
	"verifyReceipt":           {receipt.Verdict{}},
	"mintReceipt":             {receipt.Minted{}},
	"sendSuggestion":          {suggest.Answer{}},
	"fireSignal":              {signal.Fired{}},
	"readSignal":              {signal.Report{}},
	"runSelftest":             {selftest.Funnel{}, selftest.MCP{}},
	"computeManyBusinessDays": {bizday.BatchAnswer{}},
	"computeBusinessDays":     {bizday.Answer{}},
}

func (g *Answers) liveEndpoints() []model.LiveEndpoint {
	live := []model.LiveEndpoint{}
	for _, route := range api.Routes {
		for _, method := range route.Methods() {
			endpoint := model.LiveEndpoint{Method: method, Path: route.Path}
			var summaries []string
			for _, op := range OperationsWith(route, method) {
				summaries = append(summaries, g.Summary(op.ID))
				endpoint.Writes = endpoint.Writes || op.Writes
			}
			endpoint.What = strings.Join(summaries, " ")
			live = append(live, endpoint)
		}
	}
	return live
}

var statusDots = map[string]string{"online": "green", "away": "amber", "offline": "grey"}

func (g *Answers) presence() model.Presence {
	presence := g.Site.Presence
	presence.StatusDot = statusDots[presence.Status]
	presence.LiveEndpoints = g.liveEndpoints()
	presence.NextActions = []respond.Action{
		{Rel: "quest", Href: g.URL(Route("quest").Path)},
		{Rel: "index", Href: g.URL("/llms.txt")},
	}
	return presence
}

func (g *Answers) OrgRules() model.OrgRules {
	route := Route("org")
	op := WriteOperation(route)
	rules := model.OrgRules{
		Intro: g.Site.Org.Intro,
		Rules: model.Rules{
			Cap:               org.Cap,
			MinimumAllocation: org.MinimumAllocation,
			RosterSize:        len(org.Positions),
		},
		PostTemplate:      BodyTemplate(op),
		GetTemplate:       g.GetTemplate(route, op),
		Canonicalization:  canon.CharterRule,
		FoundingSlots:     model.FoundingOrgSlots,
		FoundingSlotsLeft: orgSlotsLeft(g.Site.Current()),
		Founding:          g.Site.Org.Founding,
		Contract:          g.ownContract(route, nil),
	}
	for i := range rules.Operations {
		if filing := &rules.Operations[i]; filing.ID == op.ID {
			filing.GetTemplate, filing.ExampleBody = "", nil // the document has both
		}
	}
	for _, position := range org.Positions {
		rules.Rules.Positions = append(rules.Rules.Positions,
			model.Position{Position: position, What: g.Site.Org.Positions[position]})
	}
	return rules
}

func (g *Answers) receiptSpec(route *api.Route) model.ReceiptSpec {
	contract, retired, kit := g.ownContract(route, nil), []model.RetiredKey{}, []string{}
	for _, path := range respond.Kit {
		kit = append(kit, g.URL(path))
	}
	for _, key := range g.Snapshot.RetiredKeys {
		retired = append(retired, model.RetiredKey(key))
	}
	return model.ReceiptSpec{
		ReceiptSpec:      receipt.Spec,
		Algorithm:        receipt.Algorithm,
		Canonicalization: canon.ReceiptRule,
		SignedFields:     canon.ReceiptFields,
		VerifyOffline: []string{
			"1. Take the members " + strings.Join(canon.ReceiptFields, ", ") + " of the receipt, in this order and no others, " +
				"and write them as JSON without white space, " +
				"non-ASCII unescaped and " + canon.ReceiptNullable + " as null where it is null: " +
				"JSON.stringify in JavaScript, json.dumps(o, separators=(',', ':'), ensure_ascii=False) in Python. " +
				"The result must equal canonical; otherwise a field was edited after minting.",
			"2. Compute the SHA-256 of the UTF-8 bytes of canonical. Its lower-case hexadecimal form must equal payload_sha256.",
			"3. Take the public key from " + g.URL(route.Path) + ", not from the receipt: " +
				"public_key_b64, or one of retired_keys that the receipt names. A retired key is valid for an " +
				"issued_at from its current_from to " +
				"the end of its retired_on, and a revoked key never; an issued_at more than " +
				strconv.Itoa(receipt.MaxAhead/60) + " minutes in the future is never valid. " +
				"A receipt that names another key is not from this service.",
			"4. Decode signature from base64 to 64 bytes and check it with that key as Ed25519 (RFC 8032) " +
				"over the UTF-8 bytes of canonical. " +
				"If signed is false there is no signature: the receipt is hash-committed only, and does not " +
				"prove who issued it.",
		},
		RetiredKeys: retired,
		VerifyKit:   kit,
		Contract:    contract,
	}
}

func (g *Answers) BusinessDays() model.BusinessDays {
	route := Route("business-days")
	first, last := bizday.Range()
	answer := model.BusinessDays{
		Calendars:   model.Calendars(),
		Range:       model.DateRange{First: first, Last: last},
		Counting:    bizday.Counting,
		Adding:      bizday.Adding,
		DataVersion: bizday.DataVersion,
		Caveat:      bizday.Caveat,
		Contract:    g.ownContract(route, map[string]string{bizday.Calendar: "calendars", bizday.Applied: "conventions"}),
	}
	for _, c := range bizday.Conventions {
		answer.Conventions = append(answer.Conventions, model.Convention{Name: c.Name, What: c.What})
	}
	return answer
}

func BoardDocument(s *site.Scoreboard) []byte { return output.Indented(verification(s)) }

func BoardPath(s *site.Scoreboard) string { return tlog.BoardPath(s.File) }

func verification(board *site.Scoreboard) object {
	numbers := object{{"as_of", board.AsOf}}
	for i := range site.Numbers {
		n := &site.Numbers[i]
		part, name, _ := strings.Cut(n.Place(), ".")
		numbers.Set(part, append(numbers.Object(part), output.Member{Name: name, Value: n.Of(board)}))
	}
	return numbers
}

func (g *Answers) Roster() model.Scoreboard {
	roster := g.Site.Current().Scoreboard
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
	least.Fields = op.Fields[:1] // the first of AnyOf
	name, url := op.AnyOf[0], g.URL(waitlist.Path)
	return model.Convert{
		Methods:           op.Methods,
		URL:               url,
		Minimum:           "one of " + strings.Join(op.AnyOf, ", "),
		Get:               url + "?" + name + "={" + name + "}",
		PostBody:          BodyTemplate(&least),
		ReadTheTermsFirst: g.URL(Route("aup").Path),
	}
}

func (g *Answers) fileCall(route *api.Route) model.FileCall {
	call := model.FileCall{Method: "POST", URL: g.URL(route.Path)}
	if op := WriteOperation(route); slices.Contains(op.Methods, "GET") {
		call.Get = g.GetTemplate(route, op)
	}
	return call
}

// WriteOperation returns an empty operation if none writes.
func WriteOperation(route *api.Route) *api.Operation {
	for _, op := range route.Operations {
		if op.Writes {
			return op
		}
	}
	return &api.Operation{}
}
