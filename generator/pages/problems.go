package pages

import (
	"fmt"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/respond"
	"anteroom/generator/answers"
	"anteroom/generator/ordered"
	"anteroom/generator/site"
)

// problemPages are a page for each type of problem. The type's URI leads to it.
func (g *family) problemPages() (pages []site.Page) {
	for _, p := range respond.ProblemTypes {
		pages = append(pages, site.Page{
			Name:        strings.TrimSuffix(strings.TrimPrefix(p.Path(), "/"), ".html"),
			Title:       p.Title,
			Description: fmt.Sprintf("Problem type of status %d: what it means and what to do next.", p.Status),
			Markdown:    []byte(g.problemSection(p)),
		})
	}
	return pages
}

func (g *family) problemSection(p *respond.ProblemType) string {
	var b strings.Builder
	words := g.Site.Problems.Pages[p.Slug]
	part := func(id, title, text string) {
		fmt.Fprintf(&b, "\n## %s {#%s}\n\n%s\n", title, id, strings.TrimSpace(text))
	}
	b.WriteString(markdownText(g.Site.Problems.Types[p.Slug]) + "\n")
	part("why", "Why it happens", words.Why)
	part("next", "What to do next", words.Next)
	part("recorded", "Was anything recorded?", words.Recorded)
	if p == respond.InvalidInput {
		part("codes", "Codes of faults", "Each entry of `errors` has one of these codes. They are stable.\n\n"+list(api.Codes, func(code string) string {
			return fmt.Sprintf("`%s`: %s", code, markdownText(g.Site.Problems.Codes[code]))
		}))
	}
	part("example", "Example", g.problemExample(p, &words))
	part("endpoints", "Which endpoints answer it", g.answerers(p))
	b.WriteString("\n[All problem types](/field-guide.html#problems)\n")
	return b.String()
}

// problemExample shows an answer of a problem type, without the members that all answers share.
func (g *family) problemExample(p *respond.ProblemType, words *site.ProblemPage) string {
	example := object{{"type", g.ProblemURL(p)}, {"title", p.Title}, {"status", p.Status}, {"detail", words.Detail}}
	left := "the [trailer](/field-guide.html#trailer)"
	if f := &words.Fault; f.Code != "" {
		example.Set("errors", []object{{{"field", f.Field}, {"code", f.Code}, {"detail", f.Detail}}})
	}
	switch p.Status {
	case 400, 405:
		left = "`contract` and " + left
	case 404:
		left = "`live_endpoints` and " + left
	}
	if p == respond.SignalFailed {
		left = "`results` and " + left
	}
	return fmt.Sprintf("Left out here: `contract_url`, %s.\n\n```json\n%s\n```", left, strings.TrimSuffix(string(ordered.Indented(example)), "\n"))
}

func (g *family) answerers(p *respond.ProblemType) string {
	var links []string
	for _, route := range g.Routes {
		if slices.Contains(answers.ProblemsOf(route.Operations...), p) {
			links = append(links, fmt.Sprintf("[%s](%s)", route.Path, answers.EndpointPath(route)))
		}
	}
	switch len(links) {
	case 0:
		return "None: it is the answer of a path that is no endpoint."
	case len(g.Routes):
		return "All of them: " + strings.Join(links, ", ") + "."
	}
	return strings.Join(links, ", ") + "."
}
