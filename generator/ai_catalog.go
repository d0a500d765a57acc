package generator

import (
	"slices"

	"anteroom/edge/endpoint/mcp/protocol"
)

// The documents for programs that look for agents' services.
const (
	serverCardPath = "/.well-known/mcp/server-card.json"
	aiCatalogPath  = "/.well-known/ai-catalog.json"
)

// serverCardSchema is the format of a server card of the MCP (SEP-2127).
const serverCardSchema = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"

// aiCatalogVersion is the version of the AI Catalog format.
const aiCatalogVersion = "1.0"

// serverCard says where the MCP server is and which revisions it speaks. What it offers is asked of
// the server itself.
func (g *generation) serverCard() object {
	return object{
		{"$schema", serverCardSchema},
		{"name", g.registryName()},
		{"title", g.site.Service.Name},
		{"version", protocol.ServerVersion},
		{"description", g.registryDescription()},
		{"websiteUrl", g.url("/")},
		{"icons", g.registryIcons()},
		{"remotes", []object{{
			{"type", "streamable-http"},
			{"url", g.url(protocol.Path)},
			{"supportedProtocolVersions", slices.Concat([]string{protocol.Stateless}, protocol.Versions)},
		}}},
	}
}

// aiCatalog lists what there is for agents to use: the MCP server and the skill. The endpoints are
// in the API catalog.
func (g *generation) aiCatalog() object {
	identifier := func(kind, name string) string {
		return "urn:air:" + g.site.Service.ApexHost + ":" + kind + ":" + name
	}
	return object{
		{"specVersion", aiCatalogVersion},
		{"host", object{{"displayName", g.site.Service.Name}, {"documentationUrl", g.url("/field-guide.html")}}},
		{"entries", []object{
			{
				{"identifier", identifier("mcp", g.site.MCP.Name)},
				{"type", mediaServerCard},
				{"url", g.url(serverCardPath)},
				{"displayName", g.site.Service.Name},
				{"description", g.registryDescription()},
				{"version", protocol.ServerVersion},
			},
			{
				{"identifier", identifier("skill", skillName)},
				{"type", "application/agent-skills+md"},
				{"url", g.url(skillPath)},
				{"displayName", g.site.Quest.Quest},
				{"description", g.skillDescription()},
			},
		}},
	}
}
