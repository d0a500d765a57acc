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
	"anteroom/edge/input"
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
	"verifier":           func(g *family) templ.Component { return verifier(strings.Join(g.ReceiptKeys(), ",")) },
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
		"url":     g.URL, "endpointPath": contract.EndpointPath, "boardLink": boardLink,
		"calendarPath": output.CalendarPath, "proofPath": tlog.ProofPath, "checkpointOf": tlog.CheckpointOf,
		"installLink": g.installLink,
		"routes":      func() []*api.Route { return api.Routes }, "readsFirst": contract.ReadsFirst, "summary": g.Summary, "withItems": contract.WithItems, "fieldRules": fieldRules,
		"problemTypes": func() []*respond.ProblemType { return respond.ProblemTypes }, "faultCodes": func() []string { return api.Codes },
		"prompts": func() []api.Prompt { return api.Prompts },
		"label":   label, "historyCounts": func() []string { return historyCounts }, "mainCounts": func() []string { return mainCounts },
		"logKinds": func() []logKind { return logKinds }, "shortEntry": shortEntry, "loggedNumbers": loggedNumbers, "numberNames": numberNames,
		"orgName": func() input.Field { return org.OrgName }, "seatForm": func() string { return org.SeatForm },
		"businessDaysChoice": func() string { return businessDaysChoice }, "businessDaysOperations": func() []bizday.Operation { return bizday.Operations },
		"businessDaysConventions": func() []bizday.Convention { return bizday.Conventions }, "joint": func() string { return bizday.Joint },
	}).ParseFS(templates, "*.md"))
}

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
