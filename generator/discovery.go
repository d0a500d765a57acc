package generator

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/generator/site"
)

// discovery publishes what crawlers, scanners and researchers look for at fixed places.
func (g *generation) discovery() {
	g.add("/robots.txt", g.robots())
	g.add("/sitemap.xml", g.sitemap())
	if !g.site.NoSecurityTxt {
		g.add(SecurityTxtPath, g.securityTxt())
	}
	g.add("/.well-known/api-catalog", g.indentedJSON(g.apiCatalog()))
	g.add(serverCardPath, g.indentedJSON(g.serverCard()))
	g.add(aiCatalogPath, g.indentedJSON(g.aiCatalog()))
	g.skills()
	g.feeds()
	if key := g.site.Service.IndexNow.Key; key != "" {
		g.add("/"+key+".txt", []byte(key))
	}
}

// SecurityTxtPath is where security.txt is published (RFC 9116, section 3).
const SecurityTxtPath = "/.well-known/security.txt"

// scoreboardPage is the page of the counts.
const scoreboardPage = "/scoreboard.html"

// robots follows RFC 9309.
func (g *generation) robots() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Content signals: search is indexing and linking, ai-input is use in an answer, ai-train is training.\n")
	fmt.Fprintf(&b, "User-agent: *\n")
	for _, line := range g.contentPreferences() {
		fmt.Fprintf(&b, "%s\n", line)
	}
	for _, route := range g.routes {
		// A GET with a query may write, which is not for crawlers. Without a query it only reads.
		if slices.ContainsFunc(operationsWith(route, "GET"), func(op *api.Operation) bool { return op.Writes }) {
			fmt.Fprintf(&b, "Disallow: %s?\n", route.Path)
		}
	}
	fmt.Fprintf(&b, "Allow: /\n\nSitemap: %s\n", g.url("/sitemap.xml"))
	return []byte(b.String())
}

// contentPreferences say what readers may do with what they read, as lines of robots.txt and as
// header fields alike: the signals of contentsignals.org, and those of the IETF's drafts on AI
// preferences. Both are written from the same settings, so that they agree.
func (g *generation) contentPreferences() []string {
	signals := &g.site.Service.ContentSignals
	return []string{
		fmt.Sprintf("Content-Signal: search=%s, ai-input=%s, ai-train=%s",
			choose(signals.Search, "yes", "no"), choose(signals.AIInput, "yes", "no"), choose(signals.AITrain, "yes", "no")),
		fmt.Sprintf("Content-Usage: train-ai=%s, search=%s", choose(signals.AITrain, "y", "n"), choose(signals.Search, "y", "n")),
	}
}

// choose is the word for a permission.
func choose(allowed bool, yes, no string) string {
	if allowed {
		return yes
	}
	return no
}

// sitemapEntry is one address of the sitemap.
type sitemapEntry struct {
	Loc     string `xml:"loc"`
	LastMod string `xml:"lastmod,omitempty"`
}

// sitemapEntries are the documents that search engines are to index. A date is that of the content;
// documents without a date of their own have none.
func (g *generation) sitemapEntries() (entries []sitemapEntry) {
	for i := range g.site.Pages {
		p := &g.site.Pages[i]
		entries = append(entries, sitemapEntry{g.url(p.Path()), g.changed(p)})
	}
	for i := range slices.Backward(g.site.Scoreboards) {
		s := &g.site.Scoreboards[i]
		entries = append(entries, sitemapEntry{g.url(boardPath(s)), s.AsOf})
	}
	return append(entries,
		sitemapEntry{g.url("/scoreboard.json"), g.site.Current().AsOf},
		sitemapEntry{g.url(jobsPath), g.site.Jobs.AsOf},
		sitemapEntry{g.url(auditorsPath), g.site.Auditors.AsOf},
		sitemapEntry{Loc: g.url("/llms.txt")},
		sitemapEntry{Loc: g.url(openAPIPath)},
		sitemapEntry{Loc: g.url("/manifest.json")},
	)
}

// changed is the day of the last change of a page: of its text, or of the numbers and entries that
// it shows.
func (g *generation) changed(p *site.Page) string {
	shows := map[string]string{
		"index": g.site.Current().AsOf, "scoreboard": g.site.Current().AsOf, "jobs": g.site.Jobs.AsOf, "auditors": g.site.Auditors.AsOf,
	}
	if stage := g.stage(); stage != nil {
		shows[logPage] = stage.Entry.AsOf
	}
	return max(p.Updated, shows[p.Name])
}

// sitemap follows the protocol of sitemaps.org, version 0.9.
func (g *generation) sitemap() []byte {
	set := struct {
		XMLName xml.Name       `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
		Entries []sitemapEntry `xml:"url"`
	}{Entries: g.sitemapEntries()}
	doc, err := xml.MarshalIndent(&set, "", "  ")
	if err != nil {
		g.fault("sitemap.xml: %w", err)
	}
	return slices.Concat([]byte(xml.Header), doc, []byte("\n"))
}

// securityTxt follows RFC 9116. It names both hosts in Canonical: the apex host redirects here, and
// a reader compares Canonical with the address that the reader asked for (section 2.5.2).
func (g *generation) securityTxt() []byte {
	service := &g.site.Service
	var b bytes.Buffer
	for _, contact := range service.Security.Contacts {
		fmt.Fprintf(&b, "Contact: %s\n", contact)
	}
	fmt.Fprintf(&b, expiresField+"%s\n", service.Security.Expires)
	if service.Security.Languages != "" {
		fmt.Fprintf(&b, "Preferred-Languages: %s\n", service.Security.Languages)
	}
	for _, host := range []string{service.CanonicalHost, service.ApexHost} {
		fmt.Fprintf(&b, "Canonical: https://%s%s\n", host, SecurityTxtPath)
	}
	return b.Bytes()
}

const expiresField = "Expires: "

// SecurityTxtExpires reads from a published security.txt when it expires. The zero time stands for
// a text that does not say so.
func SecurityTxtExpires(text []byte) time.Time {
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, expiresField); is {
			expires, _ := time.Parse(time.RFC3339, strings.TrimSpace(value))
			return expires
		}
	}
	return time.Time{}
}

// unlinkSecurityTxt leaves of the links that pages have to security.txt their texts alone.
func (g *generation) unlinkSecurityTxt() {
	link := regexp.MustCompile(`\[([^\]]*)\]\(<?(?:` + regexp.QuoteMeta(g.base) + `)?` + regexp.QuoteMeta(SecurityTxtPath) + `>?\)`)
	for i := range g.site.Pages {
		p := &g.site.Pages[i]
		p.Markdown = link.ReplaceAll(p.Markdown, []byte("$1"))
	}
}

// apiCatalog is a linkset (RFC 9264) of the endpoints and of the documents that describe them (RFC
// 9727, RFC 8631).
func (g *generation) apiCatalog() object {
	link := func(path, mediaType string) object {
		return object{{"href", g.url(path)}, {"type", mediaType}}
	}
	items := []object{}
	for _, route := range g.routes {
		items = append(items, object{{"href", g.url(route.Path)}, {"title", g.summary(route.ID)}})
	}
	schema := func(list, schema string) object {
		return object{{"anchor", g.url(list)}, {"describedby", []object{link(schema, mediaSchema)}}}
	}
	return object{{"linkset", []object{
		{{"anchor", g.url("/.well-known/api-catalog")}, {"item", items}},
		{
			{"anchor", g.url("/api/")},
			{"service-desc", []object{link(openAPIPath, openAPIMedia)}},
			{"service-doc", []object{link("/llms.txt", "text/plain"), link("/field-guide.html", "text/html")}},
			{"service-meta", []object{link("/manifest.json", mediaJSON), link(aiCatalogPath, mediaAICatalog)}},
			{"status", []object{link(g.route("presence").Path, mediaJSON)}},
			{"terms-of-service", []object{link(g.route("aup").Path, mediaJSON), link("/terms.html", "text/html")}},
			{"privacy-policy", []object{link("/privacy.html", "text/html")}},
		},
		{
			{"anchor", g.url(protocol.Path)},
			{"service-doc", []object{link("/mcp.html", "text/html")}},
			{"service-meta", []object{link(serverCardPath, mediaServerCard), link("/server.json", mediaJSON)}},
		},
		{
			{"anchor", g.url("/scoreboard.json")},
			{"alternate", []object{link(jsonFeedPath, mediaJSONFeed), link(atomFeedPath, mediaAtom), link(scoreboardPage, "text/html")}},
		},
		schema(jobsPath, jobsSchemaPath),
		schema(auditorsPath, auditorsSchemaPath),
	}}}
}
