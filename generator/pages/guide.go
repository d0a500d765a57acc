package pages

import (
	"fmt"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/respond"
	"anteroom/generator/answers"
	"anteroom/generator/page"
)

// endpointAnchor is the identifier of a route's entry in the field guide.
func endpointAnchor(route *api.Route) string { return "endpoint-" + route.ID }

// guideEndpoints list every endpoint with its operations. Each has a page of its own.
func (g *family) guideEndpoints() section {
	var b strings.Builder
	var entries []page.EndpointEntry
	for _, route := range g.Routes {
		entry := page.EndpointEntry{
			Anchor: endpointAnchor(route), ID: route.ID, Path: answers.EndpointPath(route), Endpoint: route.Path,
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

// guideProblems list every problem type, each under the anchor that was its type's URI once.
func (g *family) guideProblems() section {
	var b strings.Builder
	var entries []page.ProblemEntry
	for _, p := range respond.ProblemTypes {
		fmt.Fprintf(&b, "- %d [%s](%s)\n", p.Status, p.Title, p.Path())
		entries = append(entries, page.ProblemEntry{Anchor: p.Slug, Status: p.Status, Path: p.Path(), Title: p.Title})
	}
	return section{markdown: b.String(), html: page.ProblemList(entries)}
}

// operationsSection lists the operations of every endpoint. Their pages describe them.
func (g *family) operationsSection() string {
	var b strings.Builder
	row := beginTable(&b, "Operation", "Call", "What it does")
	for _, route := range g.Routes {
		for _, op := range answers.ReadsFirst(route) {
			row(fmt.Sprintf("[%s](%s#%s)", op.ID, answers.EndpointPath(route), op.ID), strings.Join(op.Methods, ", ")+" "+route.Path, markdownText(g.Summary(op.ID)))
		}
	}
	return b.String()
}
