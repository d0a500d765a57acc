package contract

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

func EndpointPage(route *api.Route) string { return "endpoints/" + route.ID }

func EndpointPath(route *api.Route) string { return "/" + EndpointPage(route) + ".html" }

func (g *Answers) GetCommand(route *api.Route, op *api.Operation) string {
	return "curl -s " + ShellQuoted(g.URL(route.Path)+exampleQuery(op))
}

func exampleQuery(op *api.Operation) string {
	body, err := jsondoc.Parse(ExampleBody(op))
	if err != nil || len(op.Fields) == 0 {
		return ""
	}
	var parameters []string
	add := func(name, value string) { parameters = append(parameters, name+"="+url.QueryEscape(value)) }
	for _, m := range body.Members {
		switch m.Value.Kind {
		case jsondoc.Array:
			var items []string
			for _, item := range m.Value.Items {
				items = append(items, item.Text)
			}
			add(m.Name, strings.Join(items, ","))
		default:
			add(m.Name, m.Value.Text)
		}
	}
	for i := range op.Fields {
		if f := &op.Fields[i]; f.QueryOnly && f.Example != "" {
			example, _ := jsondoc.Parse([]byte(f.Example))
			add(f.Name, example.Text)
		}
	}
	if len(parameters) == 0 {
		return ""
	}
	return "?" + strings.ReplaceAll(strings.Join(parameters, "&"), "%2C", ",")
}

func SeatParameter(seat *jsondoc.Value) string {
	return seat.Get("position").Text + "=" + seat.Get("agent_name").Text + ":" + seat.Get("allocation").Text
}

// ShellQuoted returns a string as one word of a POSIX shell.
func ShellQuoted(s string) string {
	if !strings.ContainsAny(s, " !\"#$&'()*;<>?[\\]^`{|}~\n") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// TwinPath returns the path of a page's Markdown twin (llmstxt.org).
func TwinPath(p *site.Page) string { return api.Twin("/" + p.Name + ".html") }

// Quest returns the document of GET /api/quest. All of a step except its texts follows from the
// operation that it calls.
func (g *Answers) Quest() model.Quest {
	content := &g.Site.Quest
	quest := model.Quest{
		Quest:          content.Quest,
		Version:        model.QuestVersion,
		EstTimeSeconds: content.EstTimeSeconds,
		HowToCall:      content.HowToCall,
		Completion:     content.Completion,
		NextActions: []respond.Action{
			{Rel: "index", Href: g.URL("/llms.txt")},
			{Rel: "manifest", Href: g.URL("/manifest.json")},
			{Rel: "learn", Href: g.URL(api.Twin("/field-guide.html"))},
			{Rel: "openapi", Href: g.URL(output.OpenAPIPath)},
		},
	}
	for i := range content.Steps {
		step := g.questStep(&content.Steps[i])
		step.N = i + 1
		quest.Steps = append(quest.Steps, step)
	}
	return quest
}

func (g *Answers) questStep(step *site.QuestStep) model.QuestStep {
	route, op := api.Find(step.Operation)
	body, arguments := step.Body, step.Body
	made := model.QuestStep{
		Title: step.Title, Call: step.Method() + " " + g.URL(route.Path),
		Proves: step.Proves, Reward: step.Reward,
	}
	tool := toolOf(op)
	if tool != nil {
		name := g.ToolName(tool)
		made.Tool = &name
	}
	if step.AnswerOf != "" {
		wrapped := "<the answer of step " + strconv.Itoa(g.QuestStepOf(step.AnswerOf)) + ">"
		field := site.WrappingField(op).Name
		body = `{"` + field + `":` + wrapped + `}`
		if tool != nil && tool.Renames == field {
			field = tool.As
		}
		arguments = string(output.Compact(object{{field, wrapped}}))
	}
	if arguments == "" {
		arguments = "{}"
	}
	made.Arguments = model.JSON(arguments)
	if body != "" {
		made.Call += " with body " + body
	}
	if step.AnswerOf != "" || g.isWrapped(step) {
		made.Curl = g.QuestCurl(step)
	}
	return made
}

// Curl returns a command without its body.
func Curl(url string) string {
	return "curl -s " + url + " -H 'content-type: " + respond.MediaJSON + "'"
}

// QuestCurl returns the command of a step with a body. The answer that a later step wraps is saved
// in a file named after its route.
func (g *Answers) QuestCurl(step *site.QuestStep) string {
	route, op := api.Find(step.Operation)
	command := Curl(g.URL(route.Path))
	if step.AnswerOf != "" {
		return `sed 's/.*/{"` + site.WrappingField(op).Name + `":&}/' ` + g.answerFile(step.AnswerOf) +
			" | " + command + " -d @-"
	}
	command += " -d " + ShellQuoted(step.Body)
	if g.isWrapped(step) {
		command += " -o " + g.answerFile(step.Operation)
	}
	return command
}

func (g *Answers) isWrapped(step *site.QuestStep) bool {
	return slices.ContainsFunc(g.Site.Quest.Steps, func(s site.QuestStep) bool { return s.AnswerOf == step.Operation })
}

func (g *Answers) answerFile(operation string) string {
	route, _ := api.Find(operation)
	return route.ID + ".json"
}

func (g *Answers) QuestStepOf(operation string) int {
	return 1 + slices.IndexFunc(g.Site.Quest.Steps, func(s site.QuestStep) bool { return s.Operation == operation })
}

func toolOf(op *api.Operation) *api.Tool {
	for i := range api.Tools {
		if api.Tools[i].Operation == op.ID {
			return &api.Tools[i]
		}
	}
	return nil
}
