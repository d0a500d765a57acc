package generator

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anteroom/generator/page"
	"anteroom/generator/site"

	"github.com/go-json-experiment/json/jsontext"
)

// pages publishes every Markdown page as HTML and as its Markdown twin, the page for unknown
// paths and the style sheet. What is derived is added to the Markdown, so that both forms say the same.
func (g *generation) pages() {
	derived := strings.NewReplacer(
		site.Markers[0], g.endpointsSection(),
		site.Markers[1], g.problemsSection(),
		site.Markers[2], g.codesSection(),
	)
	var full strings.Builder
	for i := range g.site.Pages {
		p := &g.site.Pages[i]
		md := string(p.Markdown)
		if p.Name == "index" {
			md = beforeSections(md, g.scoreboardSection())
		}
		md = derived.Replace(md)
		g.fork(func(g *generation) { g.page(p, md) })
		twin := g.twin(p, md)
		g.add(twinPath(p), []byte(twin))
		if i > 0 {
			full.WriteString("\n---\n\n")
		}
		full.WriteString(twin)
	}
	g.add("/llms-full.txt", []byte(full.String()))
	g.add("/style.css", page.Style)
	g.notFound()
}

// beforeSections puts a section before the first of level 2.
func beforeSections(md, section string) string {
	if at := strings.Index("\n"+md, "\n## "); at >= 0 {
		return md[:at] + section + md[at:]
	}
	return md + "\n" + section
}

// twinPath is where the Markdown of a page stands: its own path and .md (llmstxt.org).
func twinPath(p *site.Page) string { return "/" + p.Name + ".html.md" }

// identifier finds the identifier behind a heading, which is for the HTML alone.
var headingIdentifier = regexp.MustCompile(`(?m)^(#{1,6} .*?) *\{#[^{}\n]*\}$`)

func (g *generation) twin(p *site.Page, md string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n> %s\n\nSource: %s\n\n", p.Title, p.Description, g.url(p.Path()))
	if p.Name == "index" {
		s := g.status()
		b.WriteString(strings.TrimSpace(fmt.Sprintf("Operator **%s** since %s. %s", s.Status, s.Since, markdownText(s.Message))) + "\n\n")
	}
	for line := range strings.Lines(strings.TrimSpace(md)) {
		if line[0] == '#' {
			line = headingIdentifier.ReplaceAllString(line, "$1")
		}
		b.WriteString(line)
	}
	b.WriteByte('\n')
	return b.String()
}

// anchor finds the identifiers of a page.
var idAttribute = regexp.MustCompile(` id="([^"]+)"`)

func (g *generation) page(p *site.Page, md string) {
	body, err := page.Markdown([]byte(md))
	if err != nil {
		g.fault("page %s: %w", p.Name, err)
		return
	}
	shown := g.newPage(p.Title, p.Description)
	shown.Canonical, shown.Twin, shown.Updated, shown.Body = g.url(p.Path()), twinPath(p), p.Updated, body
	if p.Name == "index" {
		shown.Status, shown.LinkedData = g.status(), g.linkedData()
	}
	html, err := shown.Render()
	if err != nil {
		g.fault("page %s: %w", p.Name, err)
		return
	}
	ids := map[string]bool{}
	for _, m := range idAttribute.FindAllSubmatch(html, -1) {
		ids[string(m[1])] = true
	}
	g.anchors[p.Path()] = ids
	g.add("/"+p.Name+".html", html)
}

// notFound is what a path outside /api/ gets where nothing is published.
func (g *generation) notFound() {
	shown := g.newPage("Nothing here", "Nothing is published at this address.")
	body, err := page.Markdown([]byte("The [front page](/) says what the service is, [llms.txt](/llms.txt) lists what there is to read, and " +
		"[manifest.json](/manifest.json) names every document and every endpoint.\n"))
	if err != nil {
		g.fault("page 404: %w", err)
	}
	shown.Body = body
	html, err := shown.Render()
	if err != nil {
		g.fault("page 404: %w", err)
	}
	g.add("/404.html", html)
}

// frame is what all pages share.
func (g *generation) newPage(title, description string) *page.Page {
	s := &g.site.Service
	shown := &page.Page{
		Service:     s.Name,
		Title:       title,
		Description: description,
		Footer:      fmt.Sprintf("Published by %s under %s.", s.Operator, s.License),
	}
	for i := range g.site.Pages {
		p := &g.site.Pages[i]
		if p.Name == "index" {
			shown.Nav = append(shown.Nav, page.Link{Path: p.Path(), Text: s.Name})
		} else {
			shown.Nav = append(shown.Nav, page.Link{Path: p.Path(), Text: p.Title})
		}
	}
	for _, path := range footerDocuments {
		shown.Documents = append(shown.Documents, page.Link{Path: path, Text: strings.TrimPrefix(path, "/")})
	}
	return shown
}

// documentList are the documents that every page links to.
var footerDocuments = []string{
	"/llms.txt", "/llms-full.txt", "/openapi.json", "/manifest.json", "/scoreboard.json", "/jobs.json", "/auditors.json",
	"/.well-known/api-catalog", "/.well-known/security.txt",
}

func (g *generation) status() *page.Status {
	p := &g.site.Presence
	return &page.Status{Dot: statusDots[p.Status], Status: p.Status, Since: p.Since, Message: p.AwayMessage}
}

// linkedData describes the service and its operator in the terms of schema.org.
func (g *generation) linkedData() string {
	s := &g.site.Service
	organization := object{{"@type", "Organization"}, {"name", s.Operator}, {"url", s.BaseURL() + "/"}, {"email", s.Contact}}
	doc, err := jsontext.AppendFormat(nil, g.compactJSON(object{
		{"@context", "https://schema.org"},
		{"@type", "WebAPI"},
		{"name", s.Name},
		{"description", s.Summary},
		{"url", s.BaseURL() + "/"},
		{"documentation", g.url("/field-guide.html")},
		{"termsOfService", g.url(g.route("aup").Path)},
		{"isAccessibleForFree", true},
		{"provider", organization},
	}), jsontext.EscapeForHTML(true))
	if err != nil {
		g.fault("linked data of the front page: %w", err)
	}
	return string(doc)
}

// scoreboardSection shows the counts, when they were verified and what they leave out.
func (g *generation) scoreboardSection() string {
	d := g.roster()
	var b strings.Builder
	fmt.Fprintf(&b, "## Scoreboard {#scoreboard}\n\n%s Verified by hand on **%s**.\n\n", markdownText(d.CountingPolicy), d.AsOf)
	row := beginTable(&b, "Count", "Number")
	count := func(what string, n int) { row(what, strconv.Itoa(n)) }
	count("Agents verified", d.PilotWaitlist.VerifiedConversions)
	count("Registrations recorded", d.PilotWaitlist.RegistrationsRecorded)
	row("Founding agent seats left", fmt.Sprintf("%d of %d", d.PilotWaitlist.FoundingSlotsLeft, d.PilotWaitlist.FoundingSlots))
	count("Org charters filed", d.Orgs.ChartersFiled)
	row("Founding org seats left", fmt.Sprintf("%d of %d", d.Orgs.FoundingSlotsLeft, d.Orgs.FoundingSlots))
	count("Suggestions received from outside", d.Suggestions.ReceivedExternal)
	count("Suggestions originated internally", d.Suggestions.OriginatedInternally)
	count("Suggestions shipped", d.Suggestions.Shipped)
	fmt.Fprintf(&b, "\nNot in any count: %d development, seed and test records. %s\n\n", d.Excluded.Records, markdownText(d.Excluded.Note))
	fmt.Fprintf(&b, "The same as JSON, with how to read it: [scoreboard.json](/scoreboard.json). Every hand verification stays published:\n\n")
	for i := range slices.Backward(g.site.Scoreboards) {
		file := g.site.Scoreboards[i].File
		fmt.Fprintf(&b, "- [%s](/scoreboard/%s.json)\n", file, file)
	}
	b.WriteByte('\n')
	return b.String()
}
