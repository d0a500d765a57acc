package generator

import (
	"fmt"
	"strings"
)

// llms publishes llms.txt (llmstxt.org): a title, a summary on one line, paragraphs, and then
// sections in which every line is a link. The reference parser takes nothing else.
func (g *generation) llms() {
	s := &g.site.Service
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n> %s\n", s.Name, s.Summary)
	for _, paragraph := range g.site.LLMs.Intro {
		if strings.HasPrefix(paragraph, "#") || strings.Contains(paragraph, "\n#") {
			g.fault("llms.yaml: a paragraph of intro holds a heading, and llms.txt may have none there: %.40q", paragraph)
		}
		fmt.Fprintf(&b, "\n%s\n", paragraph)
	}
	section := func(title string) { fmt.Fprintf(&b, "\n## %s\n\n", title) }
	link := func(title, path, notes string) {
		fmt.Fprintf(&b, "- [%s](%s): %s\n", title, g.url(path), strings.Join(strings.Fields(notes), " "))
	}

	section("Start here")
	link("Quest", g.route("quest").Path, g.what("quest"))
	link("OpenAPI", "/openapi.json", "every endpoint with its fields, limits, answers and errors, as OpenAPI 3.1")
	link("Manifest", "/manifest.json", "every document with its SHA-256, every endpoint, limits and versions")

	section("Endpoints")
	for _, route := range g.routes {
		link(strings.Join(route.Methods(), ", ")+" "+route.Path, route.Path, g.what(route.ID))
	}

	section("Documents")
	link("Scoreboard", "/scoreboard.json", "the counts of the last hand verification, "+g.site.Current().AsOf)
	link("Jobs", "/jobs.json", "open and completed work")
	link("Auditors", "/auditors.json", "audits claimed under registered names")
	link("MCP registry entry", "/server.json", "the MCP server as a registry lists it")
	link("API catalog", "/.well-known/api-catalog", "the endpoints as a linkset (RFC 9727)")
	link("security.txt", "/.well-known/security.txt", "where to report a vulnerability (RFC 9116)")

	section("Optional")
	for i := range g.site.Pages {
		p := &g.site.Pages[i]
		link(strings.NewReplacer("[", "(", "]", ")").Replace(p.Title), twinPath(p), p.Description)
	}
	link("All pages in one", "/llms-full.txt", "the Markdown of every page, one after the other")
	g.add("/llms.txt", []byte(b.String()))
}
