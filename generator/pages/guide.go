package pages

import (
	"fmt"
	"strings"

	"anteroom/edge/respond"
	"anteroom/generator/answers"
	"anteroom/generator/page"
)

// guideEndpoints list every endpoint with its operations. Each has a page of its own.
func (g *family) guideEndpoints() section {
	var b strings.Builder
	var entries []page.EndpointEntry
	for _, route := range g.Routes {
		entry := page.EndpointEntry{
			Anchor: "endpoint-" + route.ID, ID: route.ID, Path: answers.EndpointPath(route), Endpoint: route.Path,
			Methods: strings.Join(route.Methods(), ", "), Summary: g.Summary(route.ID),
		}
		fmt.Fprintf(&b, "- [%s](%s) %s: %s\n", route.Path, entry.Path, entry.Methods, markdownText(entry.Summary))
		for _, op := range answers.ReadsFirst(route) {
			entry.Operations = append(entry.Operations, page.Link{Path: entry.Path + "#" + op.ID, Text: op.ID})
		}
		entries = append(entries, entry)
	}
	return section{markdown: b.String(), html: page.EndpointList(entries)}
}

func problemLinks(types []*respond.ProblemType) string {
	return list(types, func(p *respond.ProblemType) string { return fmt.Sprintf("%d [%s](%s)", p.Status, p.Title, p.Path()) })
}

// guideProblems list every problem type, each under the anchor that was its type's URI once.
func (g *family) guideProblems() section {
	var entries []page.ProblemEntry
	for _, p := range respond.ProblemTypes {
		entries = append(entries, page.ProblemEntry{Anchor: p.Slug, Status: p.Status, Path: p.Path(), Title: p.Title})
	}
	return section{markdown: problemLinks(respond.ProblemTypes), html: page.ProblemList(entries)}
}

func (g *family) operationsSection() string {
	var rows []string
	for _, route := range g.Routes {
		for _, op := range answers.ReadsFirst(route) {
			rows = append(rows, fmt.Sprintf("[%s](%s#%s) | %s %s | %s", op.ID, answers.EndpointPath(route), op.ID,
				strings.Join(op.Methods, ", "), route.Path, markdownText(g.Summary(op.ID))))
		}
	}
	return table("Operation | Call | What it does", rows, strings.Clone)
}
