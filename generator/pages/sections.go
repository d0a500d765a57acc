package pages

import (
	"embed"
	"reflect"
	"strings"
	"text/template"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/respond"
	"anteroom/generator/contract"
	"anteroom/generator/markdown"
	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/tlog"

	"github.com/a-h/templ"
)

// The template of a marker has its name and gets the family. Templates "endpoint" and "problem"
// make whole pages.
//
//go:embed *.md
var templates embed.FS

func (g *family) makeComponents() map[string][]component {
	service, newest := &g.Site.Service, g.Board()
	example, mintCommand := g.BusinessDaysExample(), g.execute("mint-command", g)
	filled, unfilled := businessDaysFields(example.Asked)
	seats, others := g.boardRows()
	draft := g.Draft()
	numbers, isSigned := g.mainNumbers(), service.ReceiptKeys.Current != ""
	all := map[string][]component{
		"status": {{statusLine(&g.Site.Presence, service.Epoch), above}},
		"start": {
			{agentPrompt(g.execute("prompt", g), g.execute("prompt-rest", g)), inText},
			{mint(g, mintCommand), beside},
		},
		"counts":             {{strip(numbers, newest.AsOf), below}},
		"board":              {{board(numbers, seats, others, newest.AsOf), below}},
		"board-history":      here(history(g.history(), g.Stage() != nil)),
		"board-corrections":  here(corrections(g.Corrected())),
		"endpoints":          here(endpointList()),
		"problems":           here(problemList()),
		"guide-facts":        {{facts("first", "Before your first call", g.GuideRows()), beside}},
		"api-facts":          {{apiSlip(g.APIRows()), beside}},
		"quest-overview":     {{g.fromTemplate("quest-paste", g), inText}, {questHead(g, len(g.QuestPaste())), beside}},
		"terms-rationale":    {{g.fromTemplate("terms-rationale", g), inText}, {policySlip(&g.Site.AUP.AUP), beside}},
		"terms-codes":        here(termsRules(g.Site.AUP.Prohibited)),
		"jobs":               here(jobs(g.Jobs(), exampleJob(&g.Site.Jobs))),
		"job-offer":          here(jobOffer(g, g.execute("job-words", g))),
		"audits":             here(entryGroups(g.Audits())),
		"business-days-form": {{businessDaysForm(filled, unfilled, example), below}},
		"verifier":           {{verifier(g.execute("check-command", g), mintCommand), below}},
		"org-draft":          {{orgForm(g, &draft), below}},
		"waitlist-form":      {{waitlistForm(g, g.waitlistRows(), isSigned), below}},
		"verdicts":           here(outcomes(verdicts)),
		"install":            {{clients(g.Site.MCP.Install, g.installBlocks()), inText}, {mcpServer(g.serverRows()), beside}},
	}
	for _, part := range []string{"read", "receipt", "leave"} {
		all["quest-"+part] = here(questPart(g, part))
	}
	for _, part := range []string{"read", "compute", "write", "mcp"} {
		all["calls-"+part] = here(callTable(g.CallsOf(part)))
	}
	if g.Stage() != nil {
		all["log-check"] = here(logCheckForm(g.execute("counted-command", g)))
	}
	return all
}

func here(c templ.Component) []component { return []component{{c, inText}} }

func (g *family) parse() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"text": markdown.Text, "codes": codes, "enumeration": enumeration,
		// A fence of backticks has none in the words after it.
		"caption": func(words string) string { return markdown.Text(strings.ReplaceAll(words, "`", "'")) },
		"trim":    strings.TrimSpace, "join": strings.Join, "lower": lower, "backward": backward,
		"compact": func(text string) string { return string(output.Compact(model.JSON(text))) },

		"url": g.URL, "endpointPath": contract.EndpointPath, "boardLink": boardLink, "installLink": g.installLink,
		"calendarPath": output.CalendarPath, "checkpointOf": tlog.CheckpointOf,

		"summary": g.Summary, "label": label, "withItems": contract.WithItems,
		"fieldRules": fieldRules, "remedy": remedy,

		"routes":                  constant(api.Routes),
		"problemTypes":            constant(respond.ProblemTypes),
		"faultCodes":              constant(api.Codes),
		"prompts":                 constant(api.Prompts),
		"historyCounts":           historyCounts,
		"mainCounts":              constant(mainCounts),
		"boardGroups":             constant(boardGroups),
		"verdicts":                constant(verdicts),
		"seatForm":                constant(org.SeatForm),
		"businessDaysChoice":      constant(businessDaysChoice),
		"businessDaysOperations":  constant(bizday.Operations),
		"businessDaysConventions": constant(bizday.Conventions),
		"joint":                   constant(bizday.Joint),
	}).ParseFS(templates, "*.md"))
}

func constant[T any](v T) func() T { return func() T { return v } }

func (g *family) execute(name string, data any) string {
	var b strings.Builder
	if err := g.templates.ExecuteTemplate(&b, name, data); err != nil {
		g.Fail("%w", err)
	}
	return strings.Trim(b.String(), "\n")
}

func backward(list any) any {
	from := reflect.ValueOf(list)
	to := reflect.MakeSlice(from.Type(), 0, from.Len())
	for i := range from.Len() {
		to = reflect.Append(to, from.Index(from.Len()-1-i))
	}
	return to.Interface()
}

func lower(words string) string { return strings.ToLower(words[:1]) + words[1:] }

func codes(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }
