package contract

import (
	"slices"

	"anteroom/generator/output"
	"anteroom/generator/site"
)

type SitemapEntry struct {
	Loc     string `xml:"loc"`
	LastMod string `xml:"lastmod,omitempty"`
}

func (g *Answers) SitemapEntries() (entries []SitemapEntry) {
	for i := range g.Site.Pages {
		p := &g.Site.Pages[i]
		entries = append(entries, SitemapEntry{g.URL(p.Path()), g.Changed(p)})
	}
	for i := range slices.Backward(g.Site.Scoreboards) {
		s := &g.Site.Scoreboards[i]
		entries = append(entries, SitemapEntry{g.URL(BoardPath(s)), s.AsOf})
	}
	return append(entries,
		SitemapEntry{g.URL("/scoreboard.json"), g.Site.Current().AsOf},
		SitemapEntry{g.URL(output.JobsPath), g.Site.Jobs.AsOf},
		SitemapEntry{g.URL(output.AuditorsPath), g.Site.Auditors.AsOf},
		SitemapEntry{Loc: g.URL("/llms.txt")},
		SitemapEntry{Loc: g.URL(output.OpenAPIPath)},
		SitemapEntry{Loc: g.URL("/manifest.json")},
	)
}

// Changed returns the day on which a page's text, or a number or entry it shows, last changed.
func (g *Answers) Changed(p *site.Page) string {
	shows := map[string]string{
		"index":      g.Site.Current().AsOf,
		"scoreboard": g.Site.Current().AsOf,
		"jobs":       max(g.Site.Jobs.AsOf, g.Site.Auditors.AsOf),
	}
	if stage := g.Stage(); stage != nil {
		shows[LogPage] = stage.Entry.AsOf
	}
	return max(p.Updated, shows[p.Name])
}

const LogPage = "log"
