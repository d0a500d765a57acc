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

// components replace markers in HTML, unless they are nil; the twin has the Markdown of the
// template.
var components = map[string]func(*family) templ.Component{
	"start": func(g *family) templ.Component {
		return start(g.execute("prompt", g), g.execute("mint-command", g), receipt.MintFields)
	},
	"endpoints":          func(g *family) templ.Component { return endpointList(g.EndpointEntries()) },
	"problems":           func(*family) templ.Component { return problemList(respond.ProblemTypes) },
	"jobs":               func(g *family) templ.Component { return entryGroups(g.Jobs()) },
	"audits":             func(g *family) templ.Component { return entryGroups(g.Audits()) },
	"board-charts":       func(g *family) templ.Component { return charts(g.series()) },
	"business-days-form": func(g *family) templ.Component { return businessDaysForm(g.businessDaysForm()) },
	"verifier":           func(g *family) templ.Component { return verifier(strings.Join(g.Site.Service.InForce(), ",")) },
	"install":            func(g *family) templ.Component { return folds(g.folds()) },
	"log-check": func(g *family) templ.Component {
		if g.Stage() == nil {
			return nil
		}
		return g.logCheck()
	},
}

func (g *family) parse() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"text": markdown.Text, "codes": codes, "enumeration": enumeration, "firstSentence": contract.FirstSentence,
		"trim": strings.TrimSpace, "join": strings.Join, "lower": lower, "backward": backward,
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
