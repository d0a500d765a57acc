package pages

import (
	"fmt"
	"net/http"
	"strings"

	"anteroom/edge/jsondoc"
	"anteroom/generator/site"
)

func (g *family) questOverview() string {
	content := &g.Site.Quest
	var rows []string
	nothing := 0
	for i := range content.Steps {
		step := &content.Steps[i]
		sends := "Sends nothing about you"
		if step.Method() == http.MethodGet {
			if nothing == i {
				nothing++
			}
		} else if step.AnswerOf != "" {
			sends = fmt.Sprintf("Sends the answer of step %d", g.QuestStepOf(step.AnswerOf))
		} else if body, err := jsondoc.Parse([]byte(step.Body)); err == nil {
			var names []string
			for _, m := range body.Members {
				names = append(names, m.Name)
			}
			sends = "Sends " + codes(names)
		}
		rows = append(rows, fmt.Sprintf("[%d. %s](/quest.html#step-%d) | %s", i+1, markdownText(step.Title), i+1, sends))
	}
	return table("Step | What it sends", rows, strings.Clone) +
		fmt.Sprintf("\nSteps 1 to %d send nothing about you. The whole walk takes a program about %d seconds.\n", nothing, content.EstTimeSeconds)
}

func (g *family) questSteps() string {
	var b strings.Builder
	for i, step := range g.Quest().Steps {
		fmt.Fprintf(&b, "### %d. %s {#step-%d}\n\n- **It proves:** %s\n", step.N, markdownText(step.Title), step.N, markdownText(step.Proves))
		if step.Reward != "" {
			fmt.Fprintf(&b, "- **You get:** %s\n", markdownText(step.Reward))
		}
		if step.Tool != nil {
			fmt.Fprintf(&b, "- **Over MCP:** `%s` with `%s`\n", *step.Tool, step.Arguments)
		} else {
			b.WriteString("- **Over MCP:** there is no tool for it.\n")
		}
		fmt.Fprintf(&b, "\n```sh\n%s\n```\n\n", g.questCommand(&g.Site.Quest.Steps[i]))
	}
	return strings.TrimSpace(b.String())
}

func (g *family) questCommand(step *site.QuestStep) string {
	if step.Method() == http.MethodGet {
		route, op := g.Operation(step.Operation)
		return g.GetCommand(route, op)
	}
	return g.QuestCurl(step)
}

func (g *family) questEnd() string {
	end := &g.Site.Quest.Completion
	return list(end.YouNowHave, markdownText) + "\n" + markdownText(end.Persist) + "\n"
}
