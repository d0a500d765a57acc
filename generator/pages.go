package generator

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"anteroom/generator/page"
	"anteroom/generator/site"

	"github.com/a-h/templ"
)

// section is what takes the place of a marker in a page. Its Markdown stands in both forms of the
// page or, where HTML can show more, in the twin alone.
type section struct {
	markdown string
	html     templ.Component // nil where HTML shows the Markdown
}

// sectionMakers make what takes the place of the markers, by their names.
var sectionMakers = map[string]func(*generation) section{
	"status":        (*generation).statusSection,
	"counts":        (*generation).countsSection,
	"not-built":     (*generation).notBuiltSection,
	"endpoints":     (*generation).guideEndpoints,
	"problems":      (*generation).guideProblems,
	"operations":    (*generation).operationsSection,
	"tools":         (*generation).toolsSection,
	"prompts":       (*generation).promptsSection,
	"install":       (*generation).installSection,
	"jobs":          (*generation).jobsSection,
	"job-members":   func(g *generation) section { return membersSection(&g.site.Jobs) },
	"audits":        (*generation).auditsSection,
	"audit-members": func(g *generation) section { return membersSection(&g.site.Auditors) },

	"board-policy":      (*generation).boardPolicy,
	"board-charts":      (*generation).boardCharts,
	"board-history":     (*generation).boardHistory,
	"board-corrections": (*generation).boardCorrections,
	"board-meanings":    (*generation).boardMeanings,

	"business-days-form":        (*generation).businessDaysForm,
	"business-days-call":        (*generation).businessDaysCall,
	"business-days-operations":  (*generation).businessDaysOperations,
	"business-days-conventions": (*generation).businessDaysConventions,
	"business-days-counting":    (*generation).businessDaysCounting,
	"business-days-calendars":   (*generation).businessDaysCalendars,

	"quest-overview": (*generation).questOverview,
	"quest-steps":    (*generation).questSteps,
	"quest-end":      (*generation).questEnd,

	"org-intro": (*generation).orgIntro,
	"org-rules": (*generation).orgRulesTable,
	"org-draft": (*generation).orgDraft,
	"org-calls": (*generation).orgCalls,
	"org-seats": (*generation).orgSeats,

	"terms-policy":      (*generation).termsPolicy,
	"terms-codes":       (*generation).termsCodes,
	"terms-why":         (*generation).termsWhy,
	"terms-enforcement": (*generation).termsEnforcement,
	"terms-check":       (*generation).termsCheck,
	"terms-rationale":   (*generation).termsRationale,

	"log-state":         (*generation).logState,
	"log-check":         (*generation).logCheck,
	"log-verifications": (*generation).logVerifications,
	"log-keep":          (*generation).logKeep,
	"log-files":         (*generation).logFiles,
	"log-entries":       (*generation).logEntries,

	"verifier": (*generation).verifierSection,
	"kit":      (*generation).kitSection,
}

// pages publishes every page of the content but the API reference, the pages that say more than
// llms.txt in one text, the page for unknown paths, and what the pages load.
func (g *generation) pages() {
	var allTwins strings.Builder
	for i := range g.site.Pages {
		p := &g.site.Pages[i]
		if p.Name == referencePage {
			continue
		}
		if twin := g.contentPage(p); p.Name != "index" {
			allTwins.WriteString(twin + "\n---\n\n")
		}
	}
	allTwins.WriteString("Not in here: the front page, the API reference, and the pages of endpoints and of types of problems.\n")
	g.add("/llms-full.txt", []byte(allTwins.String()))
	g.add("/style.css", page.Style)
	g.add(iconPath, page.Icon)
	for _, path := range slices.Sorted(maps.Keys(page.Scripts)) {
		g.add(path, page.Scripts[path])
	}
	g.fork((*generation).card)
	g.notFound()
}

// card publishes the picture for previews of links. It has no counts, so that it changes with the
// service's own words alone.
func (g *generation) card() {
	service := &g.site.Service
	card, err := page.Card(service.Name, service.Summary, service.CanonicalHost)
	if err != nil {
		g.fault("%s: %w", page.CardPath, err)
		return
	}
	g.add(page.CardPath, card)
}

// contentPage publishes a page as HTML and as its Markdown twin, which it returns. Both forms of a
// page are made of one Markdown text, so that they say the same.
func (g *generation) contentPage(p *site.Page) (twin string) {
	markdown := string(p.Markdown)
	twinMarkdown, components := markdown, map[string]templ.Component{}
	for _, name := range site.Markers[p.Name] {
		made := sectionMakers[name](g)
		made.markdown = strings.TrimRight(made.markdown, "\n")
		twinMarkdown = strings.Replace(twinMarkdown, site.Marker(name), made.markdown, 1)
		if made.html != nil {
			components[name] = made.html
		} else {
			markdown = strings.Replace(markdown, site.Marker(name), made.markdown, 1)
		}
	}
	g.fork(func(g *generation) { g.page(p, markdown, components) })
	twin = g.twin(p, twinMarkdown)
	g.add(twinPath(p), []byte(twin))
	return twin
}

// referencePage is the name of the page that describes the whole API.
const referencePage = "reference"

// derivedPages publishes the pages that are made of what the endpoints answer and of the OpenAPI
// description: the API reference, and a page for each endpoint and for each type of problem. They
// are not in llms-full.txt, and the small ones in no sitemap.
func (g *generation) derivedPages() {
	g.contentPage(g.pageNamed(referencePage))
	for _, p := range slices.Concat(g.endpointPages(), g.problemPages()) {
		g.fork(func(g *generation) { g.page(&p, string(p.Markdown), nil) })
		g.add(twinPath(&p), []byte(g.twin(&p, string(p.Markdown))))
	}
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
	view := g.newPage(p.Name, p.Title, p.Description)
	view.Canonical, view.Twin, view.Updated, view.Body = g.url(p.Path()), twinPath(p), g.changed(p), body
	view.LinkedData = g.linkedData(p)
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
	view := g.newPage("404", "Nothing here", "Nothing is published at this address.")
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
func (g *generation) newPage(name, title, description string) *page.Page {
	service := &g.site.Service
	return &page.Page{
		Name:        name,
		Service:     service.Name,
		Base:        g.base,
		Title:       title,
		Description: description,
		Footer:      fmt.Sprintf("Published by %s under %s.", service.Operator, service.License),
		Nav:         g.mainNavigation(),
		Groups:      g.footerGroups(),
	}
}

// navigation are the pages in the order in which readers are led to them. A page with a label
// stands at the head of every page under it; all stand at the foot, in their groups, under their
// titles.
var navigation = []struct {
	group string
	pages []navigated
}{
	{"Take part", []navigated{{"quest", "Quest"}, {"org", "Org"}, {"receipts", ""}, {"mcp", "MCP"}, {"business-days", ""}}},
	{"See", []navigated{{"index", ""}, {"scoreboard", "Counts"}, {logPage, ""}, {"jobs", ""}, {"auditors", ""}}},
	{"Read", []navigated{{"field-guide", "Guide"}, {"reference", ""}, {"terms", "Terms"}, {"privacy", ""}}},
}

// navigated is a page in the navigation. Its label is "" where only the foot of the page has it.
type navigated struct{ name, label string }

// mainNavigation are the links at the head of every page.
func (g *generation) mainNavigation() (links []page.Link) {
	for _, group := range navigation {
		for _, n := range group.pages {
			if n.label != "" {
				links = append(links, page.Link{Path: g.pageNamed(n.name).Path(), Text: n.label})
			}
		}
	}
	return links
}

// footerGroups are the links at the foot of every page: all pages and the documents. Pages that the
// operator added stand in a group of their own.
func (g *generation) footerGroups() (groups []page.Group) {
	placed := map[string]bool{}
	link := func(p *site.Page) page.Link {
		placed[p.Name] = true
		if p.Name == "index" {
			return page.Link{Path: p.Path(), Text: "Front page"}
		}
		return page.Link{Path: p.Path(), Text: p.Title}
	}
	for _, group := range navigation {
		made := page.Group{Title: group.group}
		for _, n := range group.pages {
			made.Links = append(made.Links, link(g.pageNamed(n.name)))
		}
		groups = append(groups, made)
	}
	others := page.Group{Title: "More"}
	for i := range g.site.Pages {
		if p := &g.site.Pages[i]; !placed[p.Name] {
			others.Links = append(others.Links, link(p))
		}
	}
	if len(others.Links) > 0 {
		groups = append(groups, others)
	}
	documents := page.Group{Title: "For programs"}
	for _, path := range footerDocuments {
		if path == SecurityTxtPath && g.site.NoSecurityTxt {
			continue
		}
		documents.Links = append(documents.Links, page.Link{Path: path, Text: path[strings.LastIndexByte(path, '/')+1:]})
	}
	return append(groups, documents)
}

// pageNamed is a page that every content folder has.
func (g *generation) pageNamed(name string) *site.Page {
	i := slices.IndexFunc(g.site.Pages, func(p site.Page) bool { return p.Name == name })
	return &g.site.Pages[i]
}

// footerDocuments are the documents that every page links to.
var footerDocuments = []string{
	"/llms.txt", openAPIPath, "/manifest.json", "/scoreboard.json", atomFeedPath, jobsPath, auditorsPath, SecurityTxtPath,
}
