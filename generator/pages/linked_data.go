package pages

import (
	"slices"

	"anteroom/generator/contract"
	"anteroom/generator/output"
	"anteroom/generator/site"

	"github.com/go-json-experiment/json/jsontext"
)

// linkedData describes a page in the terms of schema.org. A JobPosting is for people, so the jobs
// have none.
func (g *family) linkedData(p *site.Page) string {
	var data object
	switch p.Name {
	case "index":
		data = g.webAPI()
	case "scoreboard":
		data = g.dataset(p)
	default:
		return ""
	}
	data = append(object{{"@context", "https://schema.org"}}, data...)
	doc, err := jsontext.AppendFormat(nil, output.Compact(data), jsontext.EscapeForHTML(true))
	if err != nil {
		g.Fail("linked data of %s: %w", p.Path(), err)
	}
	return string(doc)
}

func (g *family) webAPI() object {
	service := &g.Site.Service
	return object{
		{"@type", "WebAPI"},
		{"name", service.Name},
		{"description", service.Summary},
		{"url", g.URL("/")},
		{"documentation", g.URL("/field-guide.html")},
		{"termsOfService", g.URL("/terms.html")},
		{"isAccessibleForFree", true},
		{"provider", append(g.organization(), output.Member{"email", service.Contact})},
	}
}

func (g *family) dataset(p *site.Page) object {
	download := func(name, path, date string) object {
		return object{
			{"@type", "DataDownload"},
			{"name", name},
			{"encodingFormat", output.MediaJSON},
			{"contentUrl", g.URL(path)},
			{"dateModified", date},
		}
	}
	current := g.Site.Current().AsOf
	all := []object{download("scoreboard.json", "/scoreboard.json", current)}
	for i := range slices.Backward(g.Site.Scoreboards) {
		s := &g.Site.Scoreboards[i]
		all = append(all, download(s.File, contract.BoardPath(s), s.AsOf))
	}
	return object{
		{"@type", "Dataset"},
		{"name", g.Site.Service.Name + ": " + p.Title},
		{"description", p.Description},
		{"url", g.URL(p.Path())},
		{"license", "https://spdx.org/licenses/" + g.Site.Service.License + ".html"},
		{"isAccessibleForFree", true},
		{"creator", g.organization()},
		{"dateModified", current},
		{"temporalCoverage", g.Site.Scoreboards[0].AsOf + "/" + current},
		{"distribution", all},
	}
}

func (g *family) organization() object {
	return object{{"@type", "Organization"}, {"name", g.Site.Service.Operator}, {"url", g.URL("/")}}
}
