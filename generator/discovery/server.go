package discovery

import (
	"slices"
	"strings"

	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/generator/output"
)

const serverSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// maxRegistryText is the longest title or description that the registry takes, in characters.
const maxRegistryText = 100

func (g *family) registryName() string {
	labels := strings.Split(g.Site.Service.ApexHost, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".") + "/" + g.Site.MCP.Name
}

func (g *family) registryDescription() string {
	description := g.Site.Service.Summary
	if first, _, more := strings.Cut(description, ". "); more && len([]rune(description)) > maxRegistryText {
		description = first + "."
	}
	return description
}

func (g *family) registryIcons() []object {
	return []object{{{"src", g.URL(output.IconPath)}, {"mimeType", output.MediaSVG}, {"sizes", []string{"any"}}}}
}

func (g *family) serverJSON() {
	service := &g.Site.Service
	description := g.registryDescription()
	for _, text := range []string{service.Name, description} {
		if len([]rune(text)) > maxRegistryText {
			g.Fail("server.json: a registry takes at most %d characters, and this has more: "+
				"shorten name or the first sentence of summary in service.yaml: %.40q", maxRegistryText, text)
		}
	}
	g.AddJSON("/server.json", object{
		{"$schema", serverSchema},
		{"name", g.registryName()},
		{"title", service.Name},
		{"description", description},
		{"version", protocol.ServerVersion},
		{"websiteUrl", g.URL("/")},
		{"icons", g.registryIcons()},
		{"remotes", []object{{{"type", "streamable-http"}, {"url", g.URL(protocol.Path)}}}},
	})
}
