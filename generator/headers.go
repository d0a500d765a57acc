package generator

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"anteroom/edge/respond"
)

// The media types and lifetimes of published documents. What changes with a hand verification is
// soon stale. Nothing is kept for long: the CDN gives the headers of a path to its 404 as well.
const (
	mediaHTML     = "text/html; charset=utf-8"
	mediaText     = "text/plain; charset=utf-8"
	mediaMarkdown = "text/markdown; charset=utf-8" // RFC 7763
	mediaCSS      = "text/css; charset=utf-8"
	mediaJSON     = respond.MediaJSON
	mediaXML      = "application/xml"
	mediaLinkset  = `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"` // RFC 9264, RFC 9727

	cacheHTML  = "public, max-age=300, stale-while-revalidate=3600"
	cacheJSON  = "public, max-age=300, stale-while-revalidate=600, stale-if-error=86400"
	cacheShort = "public, max-age=300"
	cacheHour  = "public, max-age=3600"
)

// published says how one path, or every path that a pattern matches, is served.
type published struct {
	pattern   string // a path; one "*" stands for anything but a slash
	mediaType string
	cache     string
	open      bool // any origin may read it (Fetch, CORS)
	title     string
	what      string // a part of a sentence; a page has words of its own
}

// table decides media type, lifetime and openness of every published path; the first match counts.
// Nothing is published that it does not match.
var table = []published{
	{openAPIPath, openAPIMedia, cacheJSON, true, "OpenAPI", "every endpoint with its fields, limits, answers and errors, as OpenAPI 3.1"},
	{"/manifest.json", mediaJSON, cacheJSON, true, "Manifest", "every document with its SHA-256, every endpoint, limits and versions"},
	{"/scoreboard.json", mediaJSON, cacheJSON, true, "Scoreboard", "the counts of the last hand verification"},
	// The rule is also that of dates to come.
	{"/scoreboard/*.json", mediaJSON, cacheShort, true, "Hand verification", "the numbers of one hand verification, which never change"},
	{"/jobs.json", mediaJSON, cacheJSON, true, "Jobs", "open and completed work"},
	{"/auditors.json", mediaJSON, cacheJSON, true, "Auditors", "audits claimed under registered names"},
	{"/server.json", mediaJSON, cacheJSON, true, "MCP registry entry", "the MCP server as a registry lists it"},
	{"/.well-known/api-catalog", mediaLinkset, cacheHour, true, "API catalog", "the endpoints as a linkset (RFC 9727)"},
	{"/.well-known/security.txt", mediaText, cacheHour, true, "security.txt", "where to report a vulnerability (RFC 9116)"},
	{"/llms.txt", mediaText, cacheHour, true, "llms.txt", "what there is to read, for language models (llmstxt.org)"},
	{"/llms-full.txt", mediaText, cacheHour, true, "All pages in one", "the Markdown of every page, one after the other"},
	{"/robots.txt", mediaText, cacheHour, true, "robots.txt", "what crawlers may read (RFC 9309), and what for"},
	{"/sitemap.xml", mediaXML, cacheHour, true, "Sitemap", "the addresses that search engines are to index"},
	{"/*.txt", mediaText, cacheHour, true, "IndexNow key", "the key that search engines compare a submission with"},
	{"/404.html", mediaHTML, cacheHTML, false, "Nothing here", "what is answered where nothing is published"},
	{"/*.html.md", mediaMarkdown, cacheShort, true, "", ""},
	{"/*.html", mediaHTML, cacheHTML, false, "", ""},
	{"/style.css", mediaCSS, cacheHour, false, "Style sheet", "how the pages look"},
	{pattern: "/_headers"},
	{pattern: "/_redirects"},
}

// The OpenAPI document, and its media type on the wire, in every link and in the catalog. What RFC 8631 and
// RFC 9727 link to is what is served; application/openapi+json is registered nowhere.
const (
	openAPIPath  = "/openapi.json"
	openAPIMedia = respond.MediaJSON
)

// publishedAs is how a path is served, nil where the table does not say.
func publishedAs(p string) *published {
	for i := range table {
		if ok, _ := path.Match(table[i].pattern, p); ok {
			return &table[i]
		}
	}
	return nil
}

// maxRules and maxRuleLine are Cloudflare's limits of a _headers file.
const (
	maxRules    = 100
	maxRuleLine = 2000
)

// everywhere are the headers of every static answer, errors included. The policy lets a page load
// its style sheet from here and nothing else.
var everywhere = []string{
	"X-Content-Type-Options: nosniff",
	"Referrer-Policy: no-referrer",
	"Cross-Origin-Resource-Policy: cross-origin",
	"Strict-Transport-Security: max-age=63072000; includeSubDomains",
	"Content-Security-Policy: default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

// links are the relations of the front page (RFC 8288, RFC 8631, RFC 9727).
var links = []string{
	`<` + openAPIPath + `>; rel="service-desc"; type="` + openAPIMedia + `"`,
	`</llms.txt>; rel="service-doc"; type="text/plain"`,
	`</field-guide.html>; rel="service-doc"; type="text/html"`,
	`</manifest.json>; rel="service-meta"; type="application/json"`,
	`</.well-known/api-catalog>; rel="api-catalog"; type="application/linkset+json"`,
	`</index.html.md>; rel="alternate"; type="text/markdown"`,
	`</privacy.html>; rel="privacy-policy"`,
}

// redirects is a _redirects file of Cloudflare: where every path is exact, / is none of an asset by itself.
const redirects = "/ /index.html 200\n"

// cdn publishes the CDN's configuration: the table as a _headers file of Cloudflare, where values of
// two rules for one path are joined, so each header of a path stands in one rule only.
func (g *generation) cdn() {
	var b strings.Builder
	rules := 0
	rule := func(path string, lines []string) {
		rules++
		fmt.Fprintf(&b, "%s\n", path)
		for _, line := range lines {
			if len(line) > maxRuleLine {
				g.fault("_headers: a line for %s is longer than %d characters", path, maxRuleLine)
			}
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	rule("/*", everywhere)
	paths := map[string]*published{}
	var order []string
	for _, d := range g.documents {
		p, path := publishedAs(d.Path), d.Path
		if strings.HasPrefix(path, "/scoreboard/") {
			path = "/scoreboard/*" // one rule, however many verifications there are
		}
		if paths[path] == nil && p.mediaType != "" {
			paths[path] = p
			order = append(order, path)
		}
	}
	slices.Sort(order)
	for _, path := range order {
		p := paths[path]
		lines := []string{"Content-Type: " + p.mediaType, "Cache-Control: " + p.cache}
		if p.open {
			lines = append(lines, "Access-Control-Allow-Origin: *")
		}
		switch twin := path + ".md"; {
		case path == "/index.html":
			front := append(slices.Clone(lines), "Link: "+strings.Join(links, ", "))
			rule("/", front)
			lines = front
		case path == "/404.html":
		case strings.HasSuffix(path, ".html"):
			lines = append(lines, "Link: <"+twin+`>; rel="alternate"; type="text/markdown"`)
		case path == "/.well-known/api-catalog":
			// RFC 9727, section 2: the answer to HEAD carries the relation.
			lines = append(lines, `Link: </.well-known/api-catalog>; rel="api-catalog"`)
		}
		rule(path, lines)
	}
	if rules > maxRules {
		g.fault("_headers: %d rules, and the CDN takes %d: let a pattern stand for some", rules, maxRules)
	}
	g.add("/_headers", []byte(b.String()))
	g.add("/_redirects", []byte(redirects))
}
