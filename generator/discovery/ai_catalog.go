package discovery

import (
	"slices"

	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/generator/output"
)

const serverCardSchema = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"

const aiCatalogVersion = "1.0"

func (g *family) serverCard() object {
	return object{
		{"$schema", serverCardSchema},
		{"name", g.registryName()},
		{"title", g.Site.Service.Name},
		{"version", protocol.ServerVersion},
		{"description", g.registryDescription()},
		{"websiteUrl", g.URL("/")},
		{"icons", g.registryIcons()},
		{"remotes", []object{{
			{"type", "streamable-http"},
			{"url", g.URL(protocol.Path)},
			{"supportedProtocolVersions", slices.Concat([]string{protocol.Stateless}, protocol.Versions)},
		}}},
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
