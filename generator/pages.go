package generator

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anteroom/generator/page"
	"anteroom/generator/site"

	"github.com/a-h/templ"
	"github.com/go-json-experiment/json/jsontext"
)

// section is what takes the place of a marker in a page. Its Markdown stands in both forms of the
// page or, where HTML can show more, in the twin alone.
type section struct {
	markdown string
	html     templ.Component // nil where HTML shows the Markdown
}

// sectionMakers make what takes the place of the markers, by their names.
var sectionMakers = map[string]func(*generation) section{
	"endpoints": func(g *generation) section { return section{markdown: g.endpointsSection()} },
	"problems":  func(g *generation) section { return section{markdown: g.problemsSection()} },
	"kit":       func(g *generation) section { return g.kitSection() },
	"verifier":  func(g *generation) section { return g.verifierSection() },
	"codes":     func(g *generation) section { return section{markdown: g.codesSection()} },
}

// pages publishes every page as HTML and as its Markdown twin, the page for unknown paths and the
// style sheet. Both forms of a page are made of one Markdown text, so that they say the same.
func (g *generation) pages() {
	var allTwins strings.Builder
	for i := range g.site.Pages {
		p := &g.site.Pages[i]
		markdown := string(p.Markdown)
		if p.Name == "index" {
			markdown = beforeSections(markdown, g.scoreboardSection())
		}
		twinMarkdown, components := markdown, map[string]templ.Component{}
		for _, name := range site.Markers[p.Name] {
			made := sectionMakers[name](g)
			twinMarkdown = strings.Replace(twinMarkdown, site.Marker(name), made.markdown, 1)
			if made.html != nil {
				components[name] = made.html
			} else {
				markdown = strings.Replace(markdown, site.Marker(name), made.markdown, 1)
			}
		}
		g.fork(func(g *generation) { g.page(p, markdown, components) })
		twin := g.twin(p, twinMarkdown)
		g.add(twinPath(p), []byte(twin))
		if i > 0 {
			allTwins.WriteString("\n---\n\n")
		}
		allTwins.WriteString(twin)
	}
	g.derivedPages()
	g.add("/llms-full.txt", []byte(allTwins.String()))
	g.add("/style.css", page.Style)
	g.notFound()
}

// derivedPages publishes the pages that are made of tables alone: one for each endpoint and one for
// each type of problem. They are in no sitemap and not in llms-full.txt.
func (g *generation) derivedPages() {
	for _, p := range slices.Concat(g.endpointPages(), g.problemPages()) {
		g.fork(func(g *generation) { g.page(&p, string(p.Markdown), nil) })
		g.add(twinPath(&p), []byte(g.twin(&p, string(p.Markdown))))
	}
}

// beforeSections puts a section before the first section of level 2.
func beforeSections(markdown, section string) string {
	if at := strings.Index("\n"+markdown, "\n## "); at >= 0 {
		return markdown[:at] + section + markdown[at:]
	}
	return markdown + "\n" + section
}

// twinPath is the path of a page's Markdown twin: the path of the page with .md behind it
// (llmstxt.org).
func twinPath(p *site.Page) string { return "/" + p.Name + ".html.md" }

// headingIdentifier finds the identifier in braces behind a heading. Only the HTML needs it.
var headingIdentifier = regexp.MustCompile(`(?m)^(#{1,6} .*?) *\{#[^{}\n]*\}$`)

// twin is a page as Markdown, with the title, the description and the address that the HTML page
// has in its frame.
func (g *generation) twin(p *site.Page, markdown string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n> %s\n\nSource: %s\n\n", p.Title, p.Description, g.url(p.Path()))
	if p.Name == "index" {
		s := g.status()
		b.WriteString(strings.TrimSpace(fmt.Sprintf("Operator **%s** since %s. %s", s.Status, s.Since, markdownText(s.Message))) + "\n\n")
	}
	for line := range strings.Lines(strings.TrimSpace(markdown)) {
		if line[0] == '#' {
			line = headingIdentifier.ReplaceAllString(line, "$1")
		}
		b.WriteString(line)
	}
	b.WriteByte('\n')
	return b.String()
}

// idAttribute finds the identifiers in a page's HTML.
var idAttribute = regexp.MustCompile(` id="([^"]+)"`)

// page publishes a page as HTML and keeps its identifiers, which links are checked against.
func (g *generation) page(p *site.Page, markdown string, components map[string]templ.Component) {
	body, err := page.Markdown([]byte(markdown), components)
	if err != nil {
		g.fault("page %s: %w", p.Name, err)
		return
	}
	view := g.newPage(p.Title, p.Description)
	view.Canonical, view.Twin, view.Updated, view.Body = g.url(p.Path()), twinPath(p), p.Updated, body
	if p.Name == "index" {
		view.Status, view.LinkedData = g.status(), g.linkedData()
	}
	html, err := view.Render()
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

// notFound publishes the page for a path outside /api/ where nothing is published.
func (g *generation) notFound() {
	view := g.newPage("Nothing here", "Nothing is published at this address.")
	body, err := page.Markdown([]byte("The [front page](/) says what the service is, [llms.txt](/llms.txt) lists what there is to read, and "+
		"[manifest.json](/manifest.json) names every document and every endpoint.\n"), nil)
	if err != nil {
		g.fault("page 404: %w", err)
	}
	view.Body = body
	html, err := view.Render()
	if err != nil {
		g.fault("page 404: %w", err)
	}
	g.add("/404.html", html)
}

// newPage is a page with the frame that all pages share, and without a body.
func (g *generation) newPage(title, description string) *page.Page {
	service := &g.site.Service
	view := &page.Page{
		Service:     service.Name,
		Title:       title,
		Description: description,
		Footer:      fmt.Sprintf("Published by %s under %s.", service.Operator, service.License),
	}
	for i := range g.site.Pages {
		p := &g.site.Pages[i]
		if p.Name == "index" {
			view.Nav = append(view.Nav, page.Link{Path: p.Path(), Text: service.Name})
		} else {
			view.Nav = append(view.Nav, page.Link{Path: p.Path(), Text: p.Title})
		}
	}
	for _, path := range footerDocuments {
		if path == SecurityTxtPath && g.site.NoSecurityTxt {
			continue
		}
		view.Documents = append(view.Documents, page.Link{Path: path, Text: strings.TrimPrefix(path, "/")})
	}
	return view
}

// footerDocuments are the documents that every page links to.
var footerDocuments = []string{
	"/llms.txt", "/llms-full.txt", "/openapi.json", "/manifest.json", "/scoreboard.json", "/jobs.json", "/auditors.json",
	"/.well-known/api-catalog", SecurityTxtPath,
}

// status is what the front page says of the operator.
func (g *generation) status() *page.Status {
	p := &g.site.Presence
	return &page.Status{Dot: statusDots[p.Status], Status: p.Status, Since: p.Since, Message: p.AwayMessage}
}

// linkedData describes the service and its operator in the terms of schema.org.
func (g *generation) linkedData() string {
	service := &g.site.Service
	organization := object{{"@type", "Organization"}, {"name", service.Operator}, {"url", service.BaseURL() + "/"}, {"email", service.Contact}}
	doc, err := jsontext.AppendFormat(nil, g.compactJSON(object{
		{"@context", "https://schema.org"},
		{"@type", "WebAPI"},
		{"name", service.Name},
		{"description", service.Summary},
		{"url", service.BaseURL() + "/"},
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
	roster := g.roster()
	var b strings.Builder
	fmt.Fprintf(&b, "## Scoreboard {#scoreboard}\n\n%s Verified by hand on **%s**.\n\n", markdownText(roster.CountingPolicy), roster.AsOf)
	row := beginTable(&b, "Count", "Number")
	count := func(what string, n int) { row(what, strconv.Itoa(n)) }
	count("Agents verified", roster.PilotWaitlist.VerifiedConversions)
	count("Registrations recorded", roster.PilotWaitlist.RegistrationsRecorded)
	row("Founding agent seats left", fmt.Sprintf("%d of %d", roster.PilotWaitlist.FoundingSlotsLeft, roster.PilotWaitlist.FoundingSlots))
	count("Org charters filed", roster.Orgs.ChartersFiled)
	row("Founding org seats left", fmt.Sprintf("%d of %d", roster.Orgs.FoundingSlotsLeft, roster.Orgs.FoundingSlots))
	count("Suggestions received from outside", roster.Suggestions.ReceivedExternal)
	count("Suggestions originated internally", roster.Suggestions.OriginatedInternally)
	count("Suggestions shipped", roster.Suggestions.Shipped)
	fmt.Fprintf(&b, "\nNot in any count: %d development, seed and test records. %s\n\n", roster.Excluded.Records, markdownText(roster.Excluded.Note))
	for _, c := range roster.Corrections {
		fmt.Fprintf(&b, "Corrected: `%s` was %d on [%s](/scoreboard/%s.json): %s\n\n", c.Number, c.Was, c.Board, c.Board, markdownText(c.Reason))
	}
	fmt.Fprintf(&b, "The same as JSON, with how to read it: [scoreboard.json](/scoreboard.json). Every hand verification stays published:\n\n")
	for i := range slices.Backward(g.site.Scoreboards) {
		file := g.site.Scoreboards[i].File
		fmt.Fprintf(&b, "- [%s](/scoreboard/%s.json)\n", file, file)
	}
	b.WriteByte('\n')
	return b.String()
}
