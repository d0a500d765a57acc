package pages

import (
	"fmt"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/respond"
	"anteroom/generator/contract"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

// problem is the dot of the template of that name.
type problem struct {
	*family
	*respond.ProblemType
	Words site.ProblemPage
}

func (g *family) problemPages() (pages []site.Page) {
	for _, p := range respond.ProblemTypes {
		pages = append(pages, site.Page{
			Name:        strings.TrimSuffix(strings.TrimPrefix(p.Path(), "/"), ".html"),
			Title:       p.Title,
			Description: fmt.Sprintf("Problem type of status %d: what it means and what to do next.", p.Status),
			Markdown:    []byte(g.execute("problem", &problem{g, p, g.Site.Problems.Pages[p.Slug]})),
		})
	}
	return pages
}

// Example returns an answer without the members that all answers share.
func (p *problem) Example() string {
	example := object{
		{"type", p.ProblemURL(p.ProblemType)},
		{"title", p.Title},
		{"status", p.Status},
		{"detail", p.Words.Detail},
	}
	if f := &p.Words.Fault; f.Code != "" {
		example.Set("errors", []object{{{"field", f.Field}, {"code", f.Code}, {"detail", f.Detail}}})
	}
	return strings.TrimSuffix(string(output.Indented(example)), "\n")
}

// LeftOut returns the member that the example leaves out, or "".
func (p *problem) LeftOut() string {
	switch {
	case p.Status == 400 || p.Status == 405:
		return "contract"
	case p.Status == 404:
		return "live_endpoints"
	case p.ProblemType == respond.SignalFailed:
		return "results"
	}
	return ""
}

// Answerers links to the endpoints that return the problem.
func (p *problem) Answerers() (links []string) {
	for _, route := range api.Routes {
		if slices.Contains(contract.ProblemsOf(route.Operations...), p.ProblemType) {
			links = append(links, endpointLink(route))
		}
	}
	return links
}
