package generator

import (
	"slices"

	"anteroom/generator/site"

	"github.com/go-json-experiment/json/jsontext"
)

// linkedData describes a page in the terms of schema.org (JSON-LD). It is "" for a page that none
// of these terms fits: work for agents is no JobPosting, which is for people.
func (g *generation) linkedData(p *site.Page) string {
	var data object
	switch p.Name {
	case "index":
		data = g.webAPI()
	case "scoreboard":
		data = g.dataset(p)
	default:
		return ""
	}
	doc, err := jsontext.AppendFormat(nil, g.compactJSON(slices.Concat(object{{"@context", "https://schema.org"}}, data)), jsontext.EscapeForHTML(true))
	if err != nil {
		g.fault("linked data of %s: %w", p.Path(), err)
	}
	return string(doc)
}

// webAPI is the service with its operator.
func (g *generation) webAPI() object {
	service := &g.site.Service
	return object{
		{"@type", "WebAPI"},
		{"name", service.Name},
		{"description", service.Summary},
		{"url", g.url("/")},
		{"documentation", g.url("/field-guide.html")},
		{"termsOfService", g.url("/terms.html")},
		{"isAccessibleForFree", true},
		{"provider", append(g.organization(), member{"email", service.Contact})},
	}
}

// dataset is the scoreboard with all its boards.
func (g *generation) dataset(p *site.Page) object {
	download := func(name, path, date string) object {
		return object{
			{"@type", "DataDownload"}, {"name", name}, {"encodingFormat", mediaJSON}, {"contentUrl", g.url(path)}, {"dateModified", date},
		}
	}
	current := g.site.Current().AsOf
	all := []object{download("scoreboard.json", "/scoreboard.json", current)}
	for i := range slices.Backward(g.site.Scoreboards) {
		s := &g.site.Scoreboards[i]
		all = append(all, download(s.File, boardPath(s), s.AsOf))
	}
	return object{
		{"@type", "Dataset"},
		{"name", g.site.Service.Name + ": " + p.Title},
		{"description", p.Description},
		{"url", g.url(p.Path())},
		{"license", "https://spdx.org/licenses/" + g.site.Service.License + ".html"},
		{"isAccessibleForFree", true},
		{"creator", g.organization()},
		{"dateModified", current},
		{"temporalCoverage", g.site.Scoreboards[0].AsOf + "/" + current},
		{"distribution", all},
	}
}

// organization is the operator.
func (g *generation) organization() object {
	return object{{"@type", "Organization"}, {"name", g.site.Service.Operator}, {"url", g.url("/")}}
}
