// Package discovery makes the documents by which programs find the service and what it publishes:
// llms.txt, the manifest, the sitemap, feeds and catalogs, and the headers under which a CDN serves
// them.
package discovery

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"path"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/respond"
	"anteroom/generator/answers"
	"anteroom/generator/kit"
	"anteroom/generator/ordered"
	"anteroom/generator/published"
	"anteroom/generator/vectors"
)

type object = ordered.Object

type family struct{ answers.Family }

// Files makes what crawlers, scanners and researchers look for at fixed places, the server's entry
// for a registry, the verification kit and the conformance vectors.
func Files(a *answers.Answers) ([]published.File, error) {
	g := &family{answers.Family{Answers: a}}
	g.Add("/robots.txt", g.robots())
	g.Add("/sitemap.xml", g.sitemap())
	g.Add(published.SecurityTxtPath, g.securityTxt())
	g.Add("/.well-known/api-catalog", ordered.Indented(g.apiCatalog()))
	g.Add(published.ServerCardPath, ordered.Indented(g.serverCard()))
	g.Add(published.AICatalogPath, ordered.Indented(g.aiCatalog()))
	g.skills()
	g.feeds()
	if key := a.Site.Service.IndexNow.Key; key != "" {
		g.Add("/"+key+".txt", []byte(key))
	}
	g.serverJSON()
	for _, p := range respond.Kit {
		text, err := kit.Program(path.Base(p), a.Base, a.ReceiptKeys(), a.Site.Service.Log.Keys)
		if err != nil {
			g.Fail("%s: %w", p, err)
		}
		g.Add(p, text)
	}
	g.Add(published.VectorsPath, vectors.CanonV0)
	return g.Result()
}

func (g *family) robots() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Content signals: search is indexing and linking, ai-input is use in an answer, ai-train is training.\n")
	fmt.Fprintf(&b, "User-agent: *\n")
	for _, line := range g.contentPreferences() {
		fmt.Fprintf(&b, "%s\n", line)
	}
	for _, route := range g.Routes {
		// A GET with a query may write, which is not for crawlers. Without a query it only reads.
		if slices.ContainsFunc(answers.OperationsWith(route, "GET"), func(op *api.Operation) bool { return op.Writes }) {
			fmt.Fprintf(&b, "Disallow: %s?\n", route.Path)
		}
	}
	fmt.Fprintf(&b, "Allow: /\n\nSitemap: %s\n", g.URL("/sitemap.xml"))
	return []byte(b.String())
}

// contentPreferences say what readers may do with what they read, as lines of robots.txt and as
// header fields alike: the signals of contentsignals.org, and those of the IETF's drafts on AI
// preferences. Both are written from the same settings, so that they agree.
func (g *family) contentPreferences() []string {
	signals := &g.Site.Service.ContentSignals
	return []string{
		fmt.Sprintf("Content-Signal: search=%s, ai-input=%s, ai-train=%s",
			Choose(signals.Search, "yes", "no"), Choose(signals.AIInput, "yes", "no"), Choose(signals.AITrain, "yes", "no")),
		fmt.Sprintf("Content-Usage: train-ai=%s, search=%s", Choose(signals.AITrain, "y", "n"), Choose(signals.Search, "y", "n")),
	}
}

// Choose is the word for a permission.
func Choose(allowed bool, yes, no string) string {
	if allowed {
		return yes
	}
	return no
}

func (g *family) sitemap() []byte {
	set := struct {
		XMLName xml.Name               `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
		Entries []answers.SitemapEntry `xml:"url"`
	}{Entries: g.SitemapEntries()}
	return g.xml("/sitemap.xml", &set)
}

func (g *family) xml(path string, v any) []byte {
	doc, err := xml.MarshalIndent(v, "", "  ")
	if err != nil {
		g.Fail("%s: %w", path, err)
	}
	return slices.Concat([]byte(xml.Header), doc, []byte("\n"))
}

// securityTxt follows RFC 9116. It names both hosts in Canonical: the apex host redirects here, and
// a reader compares Canonical with the address that the reader asked for (section 2.5.2).
func (g *family) securityTxt() []byte {
	service := &g.Site.Service
	var b bytes.Buffer
	for _, contact := range service.Security.Contacts {
		fmt.Fprintf(&b, "Contact: %s\n", contact)
	}
	fmt.Fprintf(&b, published.ExpiresField+"%s\n", service.Security.Expires)
	if service.Security.Languages != "" {
		fmt.Fprintf(&b, "Preferred-Languages: %s\n", service.Security.Languages)
	}
	for _, host := range []string{service.CanonicalHost, service.ApexHost} {
		fmt.Fprintf(&b, "Canonical: https://%s%s\n", host, published.SecurityTxtPath)
	}
	return b.Bytes()
}

// apiCatalog is a linkset (RFC 9264) of the endpoints and of the documents that describe them (RFC
// 9727, RFC 8631).
func (g *family) apiCatalog() object {
	link := func(path, mediaType string) object {
		return object{{"href", g.URL(path)}, {"type", mediaType}}
	}
	items := []object{}
	for _, route := range g.Routes {
		items = append(items, object{{"href", g.URL(route.Path)}, {"title", g.Summary(route.ID)}})
	}
	describe := func(list, schema string) object {
		return object{{"anchor", g.URL(list)}, {"describedby", []object{link(schema, published.MediaSchema)}}}
	}
	return object{{"linkset", []object{
		{{"anchor", g.URL("/.well-known/api-catalog")}, {"item", items}},
		{
			{"anchor", g.URL("/api/")},
			{"service-desc", []object{link(published.OpenAPIPath, published.OpenAPIMedia)}},
			{"service-doc", []object{link("/llms.txt", "text/plain"), link("/field-guide.html", "text/html")}},
			{"service-meta", []object{link("/manifest.json", published.MediaJSON), link(published.AICatalogPath, published.MediaAICatalog)}},
			{"status", []object{link(g.Route("presence").Path, published.MediaJSON)}},
			{"terms-of-service", []object{link(g.Route("aup").Path, published.MediaJSON), link("/terms.html", "text/html")}},
			{"privacy-policy", []object{link("/privacy.html", "text/html")}},
		},
		{
			{"anchor", g.URL(protocol.Path)},
			{"service-doc", []object{link("/mcp.html", "text/html")}},
			{"service-meta", []object{link(published.ServerCardPath, published.MediaServerCard), link("/server.json", published.MediaJSON)}},
		},
		{
			{"anchor", g.URL("/scoreboard.json")},
			{"alternate", []object{link(published.JSONFeedPath, published.MediaJSONFeed), link(published.AtomFeedPath, published.MediaAtom), link(published.ScoreboardPage, "text/html")}},
		},
		describe(published.JobsPath, published.JobsSchemaPath),
		describe(published.AuditorsPath, published.AuditorsSchemaPath),
	}}}
}
