package generator

import (
	"fmt"
	"slices"
	"strings"
)

// maxRules and maxRuleLine are Cloudflare's limits of a _headers file.
const (
	maxRules    = 100
	maxRuleLine = 2000
)

// commonHeaders are the headers of every static answer, errors included. The security policy lets a
// page load its style sheet, images and scripts from its own host and call it, and nothing else.
var commonHeaders = []string{
	"X-Content-Type-Options: nosniff",
	"Referrer-Policy: no-referrer",
	"Cross-Origin-Resource-Policy: cross-origin",
	"Strict-Transport-Security: max-age=63072000; includeSubDomains",
	"Content-Security-Policy: default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
}

// frontPageLinks are the link relations of the front page (RFC 8288, RFC 8631, RFC 9727).
var frontPageLinks = []string{
	`<` + openAPIPath + `>; rel="service-desc"; type="` + openAPIMedia + `"`,
	`</llms.txt>; rel="service-doc"; type="text/plain"`,
	`</field-guide.html>; rel="service-doc"; type="text/html"`,
	`</manifest.json>; rel="service-meta"; type="application/json"`,
	`</.well-known/api-catalog>; rel="api-catalog"; type="application/linkset+json"`,
	`</index.html.md>; rel="alternate"; type="text/markdown"`,
	`</privacy.html>; rel="privacy-policy"`,
}

// redirects is a _redirects file of Cloudflare. Where the CDN serves exact paths only, it serves
// index.html at /index.html but not at /.
const redirects = "/ /index.html 200\n"

// cdnConfiguration publishes the table of published paths as a _headers file of Cloudflare. The CDN
// joins the values that two matching rules give for one header, so each header of a path stands in
// one rule only.
func (g *generation) cdnConfiguration() {
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
	rule("/*", commonHeaders)
	paths := map[string]*published{}
	var order []string
	for _, d := range g.documents {
		served, path := publishedAs(d.Path), d.Path
		if folder, _, is := strings.Cut(served.pattern, "*"); is && folder != "/" {
			path = served.pattern // one rule for a folder, however many documents it holds
		}
		if paths[path] == nil && served.mediaType != "" {
			paths[path] = served
			order = append(order, path)
		}
	}
	slices.Sort(order)
	for _, path := range order {
		served := paths[path]
		lines := []string{"Content-Type: " + served.mediaType, "Cache-Control: " + served.cache}
		if served.anyOrigin {
			lines = append(lines, "Access-Control-Allow-Origin: *")
		}
		switch twin := path + ".md"; {
		case path == "/index.html":
			front := append(slices.Clone(lines), "Link: "+strings.Join(frontPageLinks, ", "))
			rule("/", front)
			lines = front
		case path == "/404.html":
		case strings.HasSuffix(path, ".html") && !strings.Contains(path, "*"):
			lines = append(lines, "Link: <"+twin+`>; rel="alternate"; type="text/markdown"`)
		case path == "/.well-known/api-catalog":
			// The answer to HEAD carries this relation (RFC 9727, section 2).
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
