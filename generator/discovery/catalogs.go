package discovery

import (
	"slices"
	"strings"

	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/generator/output"
)

const serverCardSchema = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"

func (g *family) serverCard() object {
	versions := slices.Concat([]string{protocol.Stateless}, protocol.Versions)
	return g.server(serverCardSchema, output.Member{Name: "supportedProtocolVersions", Value: versions})
}

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
