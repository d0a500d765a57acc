package discovery

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"anteroom/edge/assets"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/generator/output"
)

const serverCardSchema = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"

const aiCatalogVersion = "1.0"

func (g *family) serverCard() object {
	versions := slices.Concat([]string{protocol.Stateless}, protocol.Versions)
	return g.server(serverCardSchema, output.Member{Name: "supportedProtocolVersions", Value: versions})
}

// server describes the MCP server. Both of its documents take these members.
func (g *family) server(schema string, ofRemote ...output.Member) object {
	labels := strings.Split(g.Site.Service.ApexHost, ".")
	slices.Reverse(labels)
	return object{
		{"$schema", schema},
		{"name", strings.Join(labels, ".") + "/" + g.Site.MCP.Name},
		{"title", g.Site.Service.Name},
		{"version", protocol.ServerVersion},
		{"description", g.registryDescription()},
		{"websiteUrl", g.URL("/")},
		{"icons", []object{{{"src", g.URL(output.IconPath)}, {"mimeType", output.MediaSVG}, {"sizes", []string{"any"}}}}},
		{"remotes", []object{append(object{{"type", "streamable-http"}, {"url", g.URL(protocol.Path)}}, ofRemote...)}},
	}
}

func (g *family) aiCatalog() object {
	identifier := func(kind, name string) string {
		return "urn:air:" + g.Site.Service.ApexHost + ":" + kind + ":" + name
	}
	return object{
		{"specVersion", aiCatalogVersion},
		{"host", object{{"displayName", g.Site.Service.Name}, {"documentationUrl", g.URL("/field-guide.html")}}},
		{"entries", []object{
			{
				{"identifier", identifier("mcp", g.Site.MCP.Name)},
				{"type", output.MediaServerCard},
				{"url", g.URL(output.ServerCardPath)},
				{"displayName", g.Site.Service.Name},
				{"description", g.registryDescription()},
				{"version", protocol.ServerVersion},
			},
			{
				{"identifier", identifier("skill", output.SkillName)},
				{"type", "application/agent-skills+md"},
				{"url", g.URL(output.SkillPath)},
				{"displayName", g.Site.Quest.Quest},
				{"description", g.SkillDescription()},
			},
		}},
	}
}

const serverSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// maxRegistryText is the longest title or description that the registry takes, in characters.
const maxRegistryText = 100

func (g *family) registryDescription() string {
	description := g.Site.Service.Summary
	if first, _, more := strings.Cut(description, ". "); more && len([]rune(description)) > maxRegistryText {
		description = first + "."
	}
	return description
}

func (g *family) serverJSON() {
	for _, text := range []string{g.Site.Service.Name, g.registryDescription()} {
		if len([]rune(text)) > maxRegistryText {
			g.Fail("server.json: a registry takes at most %d characters, and this has more: "+
				"shorten name or the first sentence of summary in service.yaml: %.40q", maxRegistryText, text)
		}
	}
	g.AddJSON("/server.json", g.server(serverSchema))
}

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
		"try, check or join %s. No key or "+
		"account is needed.", service.Name, service.CanonicalHost, len(g.Site.Quest.Steps), service.Name)
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
