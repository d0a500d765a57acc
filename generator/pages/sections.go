package pages

import (
	"embed"
	"reflect"
	"strings"
	"text/template"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/endpoint/receipt"
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

// components replace markers in HTML, unless there are none; the twin has the Markdown of the
// template.
var components = map[string]func(*family) []component{
	"status": func(g *family) []component {
		return []component{{statusLine(&g.Site.Presence, g.Site.Service.Epoch), above}}
	},
	"start": func(g *family) []component {
		return []component{
			{agentPrompt(g.execute("prompt", g), g.execute("prompt-rest", g)), inText},
			{mint(g.mintRows(), g.Site.Receipt != nil, len(g.Site.Service.InForce()) > 0, g.execute("mint-command", g), receipt.MintFields), beside},
		}
	},
	"counts": func(g *family) []component {
		return []component{{strip(g.mainNumbers(), g.Board().AsOf), below}}
	},
	"board": func(g *family) []component {
		return []component{{board(g.mainNumbers(), g.boardRows(), g.Board().AsOf), below}}
	},
	"board-charts":      func(g *family) []component { return here(charts(g.series())) },
	"board-corrections": func(g *family) []component { return here(corrections(g.Corrected())) },
	"endpoints":         func(g *family) []component { return here(endpointList(g.EndpointEntries())) },
	"problems":          func(*family) []component { return here(problemList(respond.ProblemTypes)) },
	"jobs":              func(g *family) []component { return here(entryGroups(g.Jobs())) },
	"audits":            func(g *family) []component { return here(entryGroups(g.Audits())) },
	"business-days-form": func(g *family) []component {
		example := g.BusinessDaysExample()
		return []component{{businessDaysForm(businessDaysFormFor(example.Asked), example), below}}
	},
	"verifier": func(g *family) []component {
		keys := strings.Join(g.Site.Service.InForce(), ",")
		check, mint := g.execute("check-command", g), g.execute("mint-command", g)
		return []component{{verifier(keys, check, mint, receipt.MintFields), below}}
	},
	"verdicts": func(*family) []component { return here(outcomes(verdicts)) },
	"install": func(g *family) []component {
		return []component{{clients(g.folds()), inText}, {mcpServer(g.serverRows()), beside}}
	},
	"log-check": func(g *family) []component {
		if g.Stage() == nil {
			return nil
		}
		newest := g.Stage()
		return here(logCheckForm(newest.Name, newest.Size, g.execute("counted-command", g)))
	},
	"log-verdicts": func(g *family) []component { return here(outcomes(logVerdicts)) },
	"log-state": func(g *family) []component {
		if g.Stage() == nil {
			return []component{{noCheckpoint(), beside}}
		}
		rows, cosigners := g.checkpointRows()
		return []component{{checkpoint(rows, cosigners, g.Stage().Tree.Path()), beside}}
	},
}

func here(c templ.Component) []component { return []component{{c, inText}} }

func (g *family) parse() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"text": markdown.Text, "codes": codes, "enumeration": enumeration, "firstSentence": contract.FirstSentence,
		// A fence of backticks has none in the words after it.
		"caption": func(words string) string { return markdown.Text(strings.ReplaceAll(words, "`", "'")) },
		"trim":    strings.TrimSpace, "join": strings.Join, "lower": lower, "backward": backward,
		"compact": func(text string) string { return string(output.Compact(model.JSON(text))) },

		"url": g.URL, "endpointPath": contract.EndpointPath, "boardLink": boardLink, "installLink": g.installLink,
		"calendarPath": output.CalendarPath, "proofPath": tlog.ProofPath, "checkpointOf": tlog.CheckpointOf,

		"summary": g.Summary, "label": label, "readsFirst": contract.ReadsFirst, "withItems": contract.WithItems,
		"fieldRules": fieldRules, "shortEntry": shortEntry, "loggedNumbers": loggedNumbers, "numberNames": numberNames,

		"routes":                  constant(api.Routes),
		"problemTypes":            constant(respond.ProblemTypes),
		"faultCodes":              constant(api.Codes),
		"prompts":                 constant(api.Prompts),
		"historyCounts":           constant(historyCounts),
		"mainCounts":              constant(mainCounts),
		"logKinds":                constant(logKinds),
		"verdicts":                constant(verdicts),
		"logVerdicts":             constant(logVerdicts),
		"orgName":                 constant(org.OrgName),
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
