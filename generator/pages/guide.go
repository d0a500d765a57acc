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
	Route   *api.Route
	Returns string
}

func (c listedCall) Stores() bool { return stores(c.Route, c.Operation) }

func (c listedCall) Page() string { return contract.EndpointPath(c.Route) + "#" + c.ID }

// CallsOf returns the operations in a section of the page: read, compute, write or mcp.
func (g *family) CallsOf(part string) (calls []listedCall) {
	for _, route := range api.Routes {
		for _, op := range route.Operations {
			if callPart(route, op) == part {
				calls = append(calls, listedCall{op, route, contract.FirstSentence(g.Description(op.ID))})
			}
		}
	}
	return calls
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

// GuideRows are the rules that a first call may break, each with its place.
func (g *family) GuideRows() []slipRow {
	var byGet []string
	for _, route := range g.WrittenByGet() {
		byGet = append(byGet, route.ID)
	}
	return []slipRow{
		{Name: "A GET writes", Value: strings.Join(byGet, ", "), Link: "/field-guide.html#get"},
		{Name: "Try without storing", Value: "?" + api.DryRun.Name + "=1", Link: "/field-guide.html#dry-run"},
		{Name: "Repeat safely", Value: api.Key.Name, Link: "/field-guide.html#retention"},
		{Name: "Paths", Value: "match exactly", Link: "/field-guide.html#conventions"},
		{Name: "Faults", Value: "match the code", Link: "/field-guide.html#errors"},
	}
}

func (g *family) InvalidInput() *problem {
	return &problem{g, respond.InvalidInput, g.Site.Problems.Pages[respond.InvalidInput.Slug]}
}

var remedies = []string{"Change the request", "Wait, then repeat", "Repeat later, or tell the operator"}

func remedy(p *respond.ProblemType) string {
	switch p.Status {
	case http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return remedies[1]
	case http.StatusInternalServerError, http.StatusBadGateway:
		return remedies[2]
	}
	return remedies[0]
}
