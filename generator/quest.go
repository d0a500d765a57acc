package generator

import (
	"slices"
	"strconv"

	"anteroom/edge/api"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/generator/model"
	"anteroom/generator/site"
)

// quest is the answer of the quest. All of a step but its words follows from the operation that it
// calls.
func (g *generation) quest() model.Quest {
	content := &g.site.Quest
	quest := model.Quest{
		Quest:          content.Quest,
		Version:        model.QuestVersion,
		EstTimeSeconds: content.EstTimeSeconds,
		HowToCall:      content.HowToCall,
		Completion:     model.QuestCompletion{YouNowHave: content.Completion.YouNowHave, Persist: content.Completion.Persist},
		NextActions:    g.nextActions(),
	}
	for i := range content.Steps {
		step := g.questStep(&content.Steps[i])
		step.N = i + 1
		quest.Steps = append(quest.Steps, step)
	}
	return quest
}

func (g *generation) questStep(step *site.QuestStep) model.QuestStep {
	route, op := g.operation(step.Operation)
	body, arguments := step.Body, step.Body
	made := model.QuestStep{Title: step.Title, Call: step.Method() + " " + g.url(route.Path), Proves: step.Proves, Reward: step.Reward}
	tool := toolOf(op)
	if tool != nil {
		name := g.toolName(tool)
		made.Tool = &name
	}
	if step.AnswerOf != "" {
		wrapped := "<the answer of step " + strconv.Itoa(g.questStepOf(step.AnswerOf)) + ">"
		field := site.WrappingField(op).Name
		body = `{"` + field + `":` + wrapped + `}`
		if tool != nil && tool.Renames == field {
			field = tool.As
		}
		arguments = string(jsonObject(field, wrapped))
	}
	if arguments == "" {
		arguments = "{}"
	}
	made.Arguments = model.JSON(arguments)
	if body != "" {
		made.Call += " with body " + body
	}
	if step.AnswerOf != "" || g.isWrapped(step) {
		made.Curl = g.questCurl(step)
	}
	return made
}

// curl is a command that posts to an address, up to the body.
func curl(url string) string {
	return "curl -s " + url + " -H 'content-type: " + respond.MediaJSON + "'"
}

// questCurl is the command of a step with a body. The answer that a later step wraps goes into a
// file, which is named after the route that gave it.
func (g *generation) questCurl(step *site.QuestStep) string {
	route, op := g.operation(step.Operation)
	command := curl(g.url(route.Path))
	if step.AnswerOf != "" {
		return `sed 's/.*/{"` + site.WrappingField(op).Name + `":&}/' ` + g.answerFile(step.AnswerOf) + " | " + command + " -d @-"
	}
	command += " -d " + shellQuoted(step.Body)
	if g.isWrapped(step) {
		command += " -o " + g.answerFile(step.Operation)
	}
	return command
}

// isWrapped reports whether a later step wraps the answer of a step.
func (g *generation) isWrapped(step *site.QuestStep) bool {
	return slices.ContainsFunc(g.site.Quest.Steps, func(s site.QuestStep) bool { return s.AnswerOf == step.Operation })
}

// answerFile is the file that holds the answer of an operation.
func (g *generation) answerFile(operation string) string {
	route, _ := g.operation(operation)
	return route.ID + ".json"
}

// questStepOf is the number of the step that calls an operation.
func (g *generation) questStepOf(operation string) int {
	return 1 + slices.IndexFunc(g.site.Quest.Steps, func(s site.QuestStep) bool { return s.Operation == operation })
}

// operation is the operation with the given ID, and its route. Where there is none, operation adds
// a fault and gives empty ones, so that generation goes on.
func (g *generation) operation(id string) (*api.Route, *api.Operation) {
	for _, route := range g.routes {
		if op := route.Operation(id); op != nil {
			return route, op
		}
	}
	g.fault("the route table lacks the operation %s", id)
	return &api.Route{}, &api.Operation{Answers: []any{struct{}{}}}
}

// toolOf is the first tool of an operation; nil where there is none.
func toolOf(op *api.Operation) *api.Tool {
	for i := range api.Tools {
		if api.Tools[i].Operation == op.ID {
			return &api.Tools[i]
		}
	}
	return nil
}

// jsonObject is an object with one member, whose value is a text.
func jsonObject(name, text string) []byte {
	w := jsondoc.Writer{}
	w.Open('{')
	w.Str(name, text)
	w.Close('}')
	return w.Buf
}
