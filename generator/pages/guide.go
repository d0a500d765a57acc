package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
	"anteroom/generator/contract"
)

type listedCall struct {
	*api.Operation
	Path, Returns, Page string
	IsWrite             bool
}

// CallsOf returns the operations in a section of the page: read, compute, write or mcp.
func (g *family) CallsOf(part string) (calls []listedCall) {
	for _, route := range api.Routes {
		for _, op := range route.Operations {
			if callPart(route, op) == part {
				calls = append(calls, listedCall{
					op, route.Path, g.returns(op), contract.EndpointPath(route) + "#" + op.ID,
					stores(route, op),
				})
			}
		}
	}
	return calls
}

func (g *family) returns(op *api.Operation) string {
	first := contract.FirstSentence(g.Description(op.ID))
	if what, is := strings.CutPrefix(first, "Returns "); is {
		return contract.Capital(what)
	}
	return first
}

func callPart(route *api.Route, op *api.Operation) string {
	switch {
	case route == contract.Route("mcp"):
		return "mcp"
	case stores(route, op):
		return "write"
	case slices.Contains(op.Methods, http.MethodPost):
		return "compute"
	}
	return "read"
}

func (g *family) APIRows() []slipRow {
	return []slipRow{
		{Name: "Address", Value: g.URL("/api/")},
		{Name: "From a browser", Value: "any origin (CORS)"},
		{Name: "Bodies", Value: fmt.Sprint("JSON, at most ", thousands(turn.MaxBody), " bytes")},
		{Name: "Writes", Value: fmt.Sprintf("%d in %d s for one address", g.Site.Service.Limits.WritesPerMinute, api.Window)},
		{Name: "Try without storing", Value: "?" + api.DryRun.Name + "=1"},
		{Name: "Repeat safely", Value: api.Key.Name},
		{Name: "Errors", Value: "problem+json, RFC 9457"},
	}
}

// ErrorExample is an answer of the service, without the members that all answers share.
func (g *family) ErrorExample() string {
	p := respond.InvalidInput
	return (&problem{g, p, g.Site.Problems.Pages[p.Slug]}).Example()
}

// problemGroup has the problems after which a caller does the same.
type problemGroup struct {
	Do       string
	Problems []*respond.ProblemType
}

var problemGroups = groupedProblems()

func groupedProblems() []problemGroup {
	groups := []problemGroup{{Do: "Change the request"}, {Do: "Wait, then repeat it"}, {Do: "Repeat it later, or tell the operator"}}
	for _, p := range respond.ProblemTypes {
		group := &groups[0]
		switch p.Status {
		case http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusServiceUnavailable:
			group = &groups[1]
		case http.StatusInternalServerError, http.StatusBadGateway:
			group = &groups[2]
		}
		group.Problems = append(group.Problems, p)
	}
	return groups
}
