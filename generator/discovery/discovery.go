// Package discovery makes the documents that lead programs to the service: llms.txt, the manifest,
// the sitemap, feeds and catalogs, and the headers under which a CDN serves all documents.
package discovery

import (
	"bytes"
	"embed"
	"encoding/xml"
	"fmt"
	"path"
	"slices"
	"text/template"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/respond"
	"anteroom/generator/contract"
	"anteroom/generator/kit"
	"anteroom/generator/output"
	"anteroom/generator/vectors"
)

type object = output.Object

type family struct{ contract.Family }

func Files(a *contract.Answers) ([]output.File, error) {
	g := &family{contract.Family{Answers: a}}
	g.Add("/robots.txt", g.text("robots.txt"))
	g.Add("/sitemap.xml", g.sitemap())
	g.Add(output.SecurityTxtPath, g.text("security.txt"))
	g.AddJSON("/.well-known/api-catalog", g.apiCatalog())
	g.AddJSON(output.ServerCardPath, g.serverCard())
	g.Add(output.AtomFeedPath, g.feed())
	for _, key := range append([]string{a.Site.Service.IndexNow.Key}, a.Site.Service.IndexNow.Retired...) {
		if key != "" {
			g.Add("/"+key+".txt", []byte(key))
		}
	}
	g.serverJSON()
	keys := a.Site.Service.InForce()
	for _, key := range a.Site.Service.ReceiptKeys.Retired {
		if key.Revoked != "" {
			keys = append(keys, key.PublicKey+"@revoked")
		}
	}
	for _, p := range respond.Kit {
		text, err := kit.Program(path.Base(p), a.Base, keys, a.Site.Log.Key)
		if err != nil {
			g.Fail("%s: %w", p, err)
		}
		g.Add(p, text)
	}
	g.Add(output.VectorsPath, vectors.CanonV0)
	g.Add(output.PromiseVectorsPath, vectors.PromiseV0)
	return g.Result()
}

//go:embed templates
var texts embed.FS

// templates make documents that are texts. Their dot is the family.
var templates = template.Must(template.ParseFS(texts, "templates/*"))

func (g *family) text(name string) []byte {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, g); err != nil {
		g.Fail("%w", err)
	}
	return b.Bytes()
}

// ContentPreferences returns the signals of contentsignals.org and of the IETF's drafts on AI
// preferences, as lines for robots.txt and as header fields. Both follow from one setting.
func (g *family) ContentPreferences() []string {
	signals := &g.Site.Service.ContentSignals
	word := func(allowed bool) string {
		if allowed {
			return "yes"
		}
		return "no"
	}
	search, input, train := word(signals.Search), word(signals.AIInput), word(signals.AITrain)
	return []string{
		fmt.Sprintf("Content-Signal: search=%s, ai-input=%s, ai-train=%s", search, input, train),
		fmt.Sprintf("Content-Usage: train-ai=%.1s, search=%.1s", train, search),
	}
}

func (g *family) sitemap() []byte {
	set := struct {
		XMLName xml.Name                `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
		Entries []contract.SitemapEntry `xml:"url"`
	}{Entries: g.SitemapEntries()}
	return inXML(&set)
}

func inXML(v any) []byte {
	doc, _ := xml.MarshalIndent(v, "", "  ") // texts do not fail
	return slices.Concat([]byte(xml.Header), doc, []byte("\n"))
}

// apiCatalog returns a linkset (RFC 9264, RFC 9727, RFC 8631).
func (g *family) apiCatalog() object {
	link := func(path, mediaType string) object {
		return object{{"href", g.URL(path)}, {"type", mediaType}}
	}
	items := []object{}
	for _, route := range api.Routes {
		items = append(items, object{{"href", g.URL(route.Path)}, {"title", g.Summary(route.ID)}})
	}
	describe := func(list, schema string) object {
		return object{{"anchor", g.URL(list)}, {"describedby", []object{link(schema, output.MediaSchema)}}}
	}
	return object{{"linkset", []object{
		{{"anchor", g.URL("/.well-known/api-catalog")}, {"item", items}},
		{
			{"anchor", g.URL("/api/")},
			{"service-desc", []object{link(output.OpenAPIPath, output.OpenAPIMedia)}},
			{"service-doc", []object{link("/llms.txt", "text/plain"), link("/field-guide.html", "text/html")}},
			{"service-meta", []object{link("/manifest.json", output.MediaJSON)}},
			{"status", []object{link(contract.Route("presence").Path, output.MediaJSON)}},
			{"terms-of-service", []object{link(contract.Route("aup").Path, output.MediaJSON), link("/terms.html", "text/html")}},
			{"privacy-policy", []object{link("/privacy.html", "text/html")}},
		},
		{
			{"anchor", g.URL(protocol.Path)},
			{"service-doc", []object{link("/mcp.html", "text/html")}},
			{"service-meta", []object{
				link(output.ServerCardPath, output.MediaServerCard),
				link("/server.json", output.MediaJSON),
			}},
		},
		{
			{"anchor", g.URL("/scoreboard.json")},
			{"alternate", []object{link(output.AtomFeedPath, output.MediaAtom), link(output.ScoreboardPage, "text/html")}},
		},
		describe(output.JobsPath, output.JobsSchemaPath),
		describe(output.AuditorsPath, output.AuditorsSchemaPath),
	}}}
}
