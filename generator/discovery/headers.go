package discovery

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"anteroom/edge/assets"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/respond"
	"anteroom/generator/contract"
	"anteroom/generator/output"
)

// commonHeaders are headers of every static answer, errors included; data lacks output.Rendered. A
// page may load style sheets, images and scripts from its own host, and call it.
var commonHeaders = []string{
	"X-Content-Type-Options: nosniff",
	"Referrer-Policy: no-referrer",
	"Cross-Origin-Resource-Policy: cross-origin",
	"Strict-Transport-Security: max-age=63072000; includeSubDomains",
	"Access-Control-Expose-Headers: " + respond.Exposed,
	"Content-Security-Policy: default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; " +
		"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
}

var frontPageLinks = []string{
	`<` + output.OpenAPIPath + `>; rel="service-desc"; type="` + output.OpenAPIMedia + `"`,
	`</llms.txt>; rel="service-doc"; type="text/plain"`,
	`</field-guide.html>; rel="service-doc"; type="text/html"`,
	`</manifest.json>; rel="service-meta"; type="application/json"`,
	`</.well-known/api-catalog>; rel="api-catalog"; type="application/linkset+json"`,
	`</index.html.md>; rel="alternate"; type="text/markdown"`,
	`</privacy.html>; rel="privacy-policy"`,
}

var ownHeaders = map[string][]string{
	"/":           {"Link: " + strings.Join(frontPageLinks, ", ")},
	"/index.html": {"Link: " + strings.Join(frontPageLinks, ", ")},
	// RFC 9727, section 2.
	"/.well-known/api-catalog": {`Link: </.well-known/api-catalog>; rel="api-catalog"`},
	output.JobsPath:            {describedBy(output.JobsSchemaPath)},
	output.AuditorsPath:        {describedBy(output.AuditorsSchemaPath)},
}

func describedBy(path string) string {
	return "Link: <" + path + `>; rel="describedby"; type="` + output.MediaSchema + `"`
}

// Redirects returns the lines of the _redirects file. If the CDN serves exact paths only, it serves
// index.html at /index.html but not at /. Many look for an MCP server at /mcp: 308 keeps method and
// body. Audits once had a separate page, and the log has none before its first verification.
func Redirects(a *contract.Answers) []string {
	lines := []string{
		"/ /index.html 200",
		output.MCPShort + " " + protocol.Path + " 308",
		"/auditors.html /jobs.html 308",
		"/auditors.html.md /jobs.html.md 308",
	}
	if a.Stage() == nil {
		lines = append(lines, "/log.html /scoreboard.html#log 308", "/log.html.md /scoreboard.html.md 308")
	}
	return lines
}

// Configuration makes the _headers and _redirects files of Cloudflare. The CDN joins the values
// that two matching rules have for one header, so each header of a path is in one rule only. A
// pattern is one rule for all documents it matches.
func Configuration(a *contract.Answers, documents []output.File) ([]output.File, error) {
	g := &family{contract.Family{Answers: a}}
	rules := map[string][]string{
		output.MCPShort: {"Cache-Control: " + output.CacheHour, "Access-Control-Allow-Origin: *"},
	}
	paths := []string{"/"}
	for _, d := range documents {
		paths = append(paths, d.Path)
	}
	for _, at := range paths {
		served := output.As(at)
		if at == "/" {
			served = output.As("/index.html")
		}
		if served == nil {
			own := output.Own(at)
			rules[own.Pattern] = own.Headers()
			continue
		}
		if served.MediaType == "" {
			continue
		}
		if open := output.OpenRule(at); open != nil {
			rules[open.Pattern] = open.Headers()
		} else {
			rules[at] = served.Headers()
		}
		if own := ownHeaders[at]; own != nil {
			rules[at] = append(rules[at], own...)
		}
	}
	var b strings.Builder
	write := func(path string, lines []string) {
		fmt.Fprintf(&b, "%s\n", path)
		for _, line := range lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	write("/*", slices.Concat(commonHeaders, g.ContentPreferences()))
	for _, path := range slices.Sorted(maps.Keys(rules)) {
		write(path, rules[path])
	}
	if _, err := assets.ParseHeaders(b.String()); err != nil {
		g.Fail("%w: let one pattern match several documents, or bring fewer files of rare kinds", err)
	}
	lines := strings.Join(Redirects(a), "\n") + "\n"
	g.Add(assets.HeadersPath, []byte(b.String()))
	g.Add(assets.RedirectsPath, []byte(lines))
	return g.Result()
}
