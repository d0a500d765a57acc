package generator

import (
	"fmt"
	"strings"
)

// llms publishes llms.txt (llmstxt.org): a title, a summary on one line, paragraphs, and then
// sections in which every line is a link. The reference parser of llmstxt.org takes nothing else.
func (g *generation) llms() {
	service := &g.site.Service
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n> %s\n", service.Name, service.Summary)
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
	document := func(path string, more ...string) {
		p := publishedAs(path)
		link(p.title, path, strings.Join(append([]string{p.what}, more...), ", "))
	}

	section("Start here")
	link("Quest", g.route("quest").Path, g.summary("quest"))
	document(openAPIPath)
	document("/manifest.json")

	section("Endpoints")
	for _, route := range g.routes {
		link(strings.Join(route.Methods(), ", ")+" "+route.Path, route.Path, g.summary(route.ID))
	}

	section("Documents")
	document("/scoreboard.json", g.site.Current().AsOf)
	document("/jobs.json")
	document("/auditors.json")
	document("/server.json")
	document("/.well-known/api-catalog")
	if !g.site.NoSecurityTxt {
		document(SecurityTxtPath)
	}

	section("Optional")
	for i := range g.site.Pages {
		p := &g.site.Pages[i]
		link(strings.NewReplacer("[", "(", "]", ")").Replace(p.Title), twinPath(p), p.Description)
	}
	document("/llms-full.txt")
	g.add("/llms.txt", []byte(b.String()))
}
