package contract

import (
	"slices"

	"anteroom/edge/respond"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

// SitemapEntry is one address of the sitemap.
type SitemapEntry struct {
	Loc     string `xml:"loc"`
	LastMod string `xml:"lastmod,omitempty"`
}

// SitemapEntries are the documents that search engines are to index. A date is that of the content;
// documents without a date of their own have none.
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

// Changed is the day of the last change of a page: of its text, or of the numbers and entries that
// it shows.
func (g *Answers) Changed(p *site.Page) string {
	shows := map[string]string{
		"index": g.Site.Current().AsOf, "scoreboard": g.Site.Current().AsOf, "jobs": max(g.Site.Jobs.AsOf, g.Site.Auditors.AsOf),
	}
	if stage := g.Stage(); stage != nil {
		shows[LogPage] = stage.Entry.AsOf
	}
	return max(p.Updated, shows[p.Name])
}

// ReceiptKeys are the keys that the content publishes, as the kit reads them, the current one
// first. There are none where the content has no current one: what knew the retired keys alone
// would take a new receipt for a stranger's.
func (g *Answers) ReceiptKeys() []string { return g.Site.Service.InForce() }

func (g *Answers) kitURLs() (urls []string) {
	for _, p := range respond.Kit {
		urls = append(urls, g.URL(p))
	}
	return urls
}

// LogPage is the name of the page about the public log.
const LogPage = "log"
