package discovery

import (
	"fmt"
	"net/http"

	"anteroom/edge/assets"
	"anteroom/generator/output"
)

const skillsSchema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

const maxSkillDescription = 1024

func (g *family) skills() {
	skill := g.text("SKILL.md")
	g.Add(output.SkillPath, skill)
	g.AddJSON(output.SkillsIndexPath, object{
		{"$schema", skillsSchema},
		{"skills", []object{{
			{"name", output.SkillName},
			{"type", "skill-md"},
			{"description", g.SkillDescription()},
			{"url", g.URL(output.SkillPath)},
			{"digest", "sha256:" + assets.SumOf(skill)},
		}}},
	})
}

// An agent decides by the SkillDescription alone.
func (g *family) SkillDescription() string {
	service := &g.Site.Service
	text := fmt.Sprintf("Get to know %s (%s), a service for agents, in %d steps over plain HTTP: read "+
		"its rules and counts, mint and verify "+
		"a receipt, and, only if the user agrees, send a suggestion or register. Use it when asked to "+
		"try, check or join %s. No key and no "+
		"account are needed.", service.Name, service.CanonicalHost, len(g.Site.Quest.Steps), service.Name)
	if n := len([]rune(text)); n > maxSkillDescription {
		g.Fail("%s: the description has %d characters, and an index of skills takes %d: shorten name in "+
			"service.yaml", output.SkillPath, n, maxSkillDescription)
	}
	return text
}

// SkillCall returns the call of step i: a command if it sends something.
func (g *family) SkillCall(i int) string {
	if step := &g.Site.Quest.Steps[i]; step.Method() != http.MethodGet {
		return g.QuestCurl(step)
	}
	return g.Quest().Steps[i].Call
}
