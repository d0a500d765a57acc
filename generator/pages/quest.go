package pages

import (
	"fmt"
	"net/http"

	"anteroom/edge/api"
	"anteroom/edge/jsondoc"
)

// Sends describes what step i sends about its caller.
func (g *family) Sends(i int) string {
	step := &g.Site.Quest.Steps[i]
	body, err := jsondoc.Parse([]byte(step.Body))
	switch {
	case step.Method() == http.MethodGet:
		return "Sends nothing about you"
	case step.AnswerOf != "":
		return fmt.Sprintf("Sends the answer of step %d", g.QuestStepOf(step.AnswerOf))
	case err != nil:
		g.Fail("the body of step %d of the quest: %w", i+1, err)
	}
	var names []string
	for _, m := range body.Members {
		names = append(names, m.Name)
	}
	return "Sends " + codes(names)
}

// NothingSent counts the steps before the first that sends something.
func (g *family) NothingSent() (n int) {
	for n < len(g.Site.Quest.Steps) && g.Site.Quest.Steps[n].Method() == http.MethodGet {
		n++
	}
	return n
}

// QuestCommand returns the command that makes the call of step i.
func (g *family) QuestCommand(i int) string {
	step := &g.Site.Quest.Steps[i]
	if step.Method() == http.MethodGet {
		route, op := api.Find(step.Operation)
		return g.GetCommand(route, op)
	}
	return g.QuestCurl(step)
}
