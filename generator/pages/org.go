package pages

import (
	"fmt"
	"strings"

	"anteroom/edge/endpoint/org"
	"anteroom/edge/jsondoc"
	"anteroom/generator/answers"
	"anteroom/generator/openapi"
)

// orgRulesTable says what a valid charter is.
func (g *family) orgRulesTable() string {
	return list([]string{
		fmt.Sprintf("Each of the %d positions has exactly one seat.", len(org.Positions)),
		fmt.Sprintf("Each seat gets at least **%d** credit units.", org.MinimumAllocation),
		fmt.Sprintf("All seats together get at most **%d**. What is left stays unallocated.", org.Cap),
		fmt.Sprintf("The name of the org has %d to %d characters.", org.OrgName.Min, org.OrgName.Max),
	}, strings.Clone) + "\n" + table("Position | What it does", org.Positions[:], func(position string) string {
		return fmt.Sprintf("`%s` | %s", position, markdownText(g.Site.Org.Positions[position]))
	})
}

// orgDraft is a charter made of the examples of its fields, with the hash that the endpoint gives
// it. It is shown in tables alone, so that nobody files it as it is.
func (g *family) orgDraft() string {
	var draft org.Answer
	g.exampleAnswer(answers.WriteOperation(g.Route("org")), &draft)
	var b strings.Builder
	b.WriteString(table("Position | Seat", draft.Charter.Roster, func(seat org.Seat) string {
		return fmt.Sprintf("`%s` | %s, %d credit units; in a GET `%s:%d`", seat.Position,
			markdownText(seat.AgentName), seat.Allocation, seat.AgentName, seat.Allocation)
	}))
	commissioner := "nobody"
	if c := draft.Charter.Commissioner; c != nil {
		commissioner = *c
	}
	fmt.Fprintf(&b, "\nThe org is called %s, its commissioner is %s. It allocates %d of %d credit units and leaves %d.\n",
		markdownText(draft.Charter.OrgName), markdownText(commissioner), draft.Charter.TotalAllocation, draft.Charter.Cap, draft.Charter.Unallocated)
	fmt.Fprintf(&b, "\nIts canonical string, on one line:\n\n```json\n%s\n```\n\nThe SHA-256 of that string, its `payload_sha256`:\n\n```text\n%s\n```\n",
		draft.Canonical, draft.PayloadSHA256)
	return b.String()
}

// linePerSeat breaks the lines of a charter's JSON text, so that each seat has one.
var linePerSeat = strings.NewReplacer(`[{`, "[\n  {", `},{`, "},\n  {", `}]`, "}\n]", `,"commissioner"`, ",\n\"commissioner\"", `,"roster"`, ",\n\"roster\"")

// orgCalls are the calls that rehearse and file a charter. Both hold placeholders, with which they
// are refused.
func (g *family) orgCalls() string {
	route := g.Route("org")
	op := answers.WriteOperation(route)
	url := g.URL(route.Path)
	var b strings.Builder
	fmt.Fprintf(&b, "Put your own words into this file, `charter.json`. What is in angle brackets is refused as it is.\n\n```json\n%s\n```\n\n",
		linePerSeat.Replace(string(answers.BodyTemplate(op))))
	fmt.Fprintf(&b, "Rehearse. The answer has the hash and `chartered` is false; nothing is stored:\n\n```sh\ncurl -s '%s?dry_run=1' --json @charter.json\n```\n\n", url)
	fmt.Fprintf(&b, "File:\n\n```sh\ncurl -s %s --json @charter.json > answer.json\n```\n\n", url)
	fmt.Fprintf(&b, "The same as a GET, here as a rehearsal. Each seat is a parameter, `%s`:\n\n```sh\ncurl -sG %s -d dry_run=1", org.SeatForm, url)
	for i := range op.Fields {
		f := &op.Fields[i]
		for _, name := range answers.QueryNames(f) {
			value := answers.FieldTemplate(f)
			if len(f.QueryNames) > 0 {
				value = openapi.SeatExample(f, name)
			}
			if text, err := jsondoc.Parse(value); err == nil && f.Required {
				fmt.Fprintf(&b, " \\\n  --data-urlencode \"%s=%s\"", name, text.Text)
			}
		}
	}
	fmt.Fprintf(&b, "\n```\n\nAs a URI template (RFC 6570): `%s`\n", g.GetTemplate(route, op))
	return b.String()
}

func (g *family) orgSeats() string {
	board := g.Roster()
	return fmt.Sprintf("%s\n\nLeft: **%d of %d**, verified by hand on %s.\n",
		markdownText(g.Site.Org.Founding), board.Orgs.FoundingSlotsLeft, board.Orgs.FoundingSlots, board.AsOf)
}
