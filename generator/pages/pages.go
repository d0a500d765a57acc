package pages

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"anteroom/edge/api"
	"anteroom/generator/contract"
	"anteroom/generator/markdown"
	"anteroom/generator/output"
	"anteroom/generator/site"

	"github.com/a-h/templ"
	"golang.org/x/sync/errgroup"
)

type object = output.Object

const referencePage = "reference"

type family struct {
	contract.Family
	templates  *template.Template
	components map[string][]component // of the pages of the content
	toPages    *regexp.Regexp
	drafts     []draft
	nav        []frameLink
	footer     []frameGroup
}

type draft struct {
	*site.Page
	markdown   string
	components map[string][]component // by the markers that they replace
	heading    string                 // code instead of the title; may be ""
	parent     frameLink
}

func (g *family) addDerived(d *draft, template string, dot any) {
	d.markdown = g.execute(template, dot)
	g.addDraft(d, slices.Collect(maps.Keys(d.components)), dot)
}

func (g *family) addDraft(d *draft, markers []string, dot any) (twin string) {
	body := d.markdown
	for _, name := range markers {
		text := g.execute(name, dot)
		body = strings.Replace(body, site.Marker(name), text, 1)
		if d.components[name] == nil {
			d.markdown = strings.Replace(d.markdown, site.Marker(name), text, 1)
		}
	}
	g.drafts = append(g.drafts, *d)
	titled := *d.Page
	titled.Title = cmp.Or(d.heading, d.Title)
	return g.addTwin(&titled, body)
}

// Files makes every page with what it loads. anchors are the identifiers in each page.
func Files(a *contract.Answers) (files []output.File, anchors map[string]map[string]bool, err error) {
	g := &family{
		Family:  contract.Family{Answers: a},
		toPages: regexp.MustCompile(`\]\((` + regexp.QuoteMeta(a.Base) + `)?(/|/[^)\s#?]*\.html)([)#])`),
	}
	g.templates = g.parse()
	g.components = g.makeComponents()
	g.navigate()
	var all strings.Builder
	for i := range a.Site.Pages {
		p := &a.Site.Pages[i]
		d := &draft{Page: p, markdown: string(p.Markdown), components: g.components}
		if twin := g.addDraft(d, site.Markers[p.Name], g); p.Name != "index" && p.Name != referencePage {
			all.WriteString(twin + "\n---\n\n")
		}
	}
	all.WriteString("Not in here: the front page, the list of operations, and the pages of endpoints " +
		"and of types of problems.\n")
	g.Add("/llms-full.txt", []byte(all.String()))
	// These pages are in neither llms-full.txt nor the sitemap.
	g.addEndpointPages()
	g.addProblemPages()
	g.drafts = append(g.drafts, draft{Page: &site.Page{
		Name: notFound, Title: "Nothing here", Description: "Nothing is published at this address.",
	}, markdown: "The [front page](/) describes the service, [llms.txt](/llms.txt) lists the texts, and " +
		"[manifest.json](/manifest.json) names every document and every endpoint.\n"})
	g.Add("/style.css", style)
	g.Add(output.IconPath, []byte(cmp.Or(g.Site.Icon, icon)))
	names, _ := fs.Glob(scripts, "*")
	for _, name := range names {
		script, _ := scripts.ReadFile(name)
		g.Add("/"+name, script)
	}
	if anchors, err = g.render(); err != nil {
		return nil, nil, err
	}
	files, err = g.Result()
	return files, anchors, err
}

const notFound = "404"

var identifiers = regexp.MustCompile(` id="([^"]*)"`)

func (g *family) render() (map[string]map[string]bool, error) {
	texts := make([][]byte, len(g.drafts))
	var group errgroup.Group
	for i := range g.drafts {
		group.Go(func() (err error) {
			if texts[i], err = g.html(&g.drafts[i]); err != nil {
				return fmt.Errorf("page %s: %w", g.drafts[i].Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	anchors := map[string]map[string]bool{}
	for i := range g.drafts {
		ids := map[string]bool{}
		for _, id := range identifiers.FindAllSubmatch(texts[i], -1) {
			ids[string(id[1])] = true
		}
		anchors[g.drafts[i].Path()] = ids
		g.Add("/"+g.drafts[i].Name+".html", texts[i])
	}
	return anchors, nil
}

func (g *family) fromTemplate(name string, dot any) templ.Component {
	body, err := renderMarkdown([]byte(g.execute(name, dot)), nil)
	if err != nil {
		g.Fail("template %s: %w", name, err)
	}
	return templ.Raw(body.HTML[inText])
}

func (g *family) html(d *draft) ([]byte, error) {
	body, err := renderMarkdown([]byte(d.markdown), d.components)
	if err != nil {
		return nil, err
	}
	service := &g.Site.Service
	view := htmlPage{
		draft: *d, Service: service.Name, Base: g.Base, Nav: g.nav, Groups: g.footer, Body: body,
		Footer: fmt.Sprintf("Published by %s under %s.", service.Operator, service.License),
	}
	if d.Name != notFound {
		view.Canonical, view.Twin, view.Changed = g.URL(d.Path()), contract.TwinPath(d.Page), g.Changed(d.Page)
	}
	var b bytes.Buffer
	if err := frame(&view).Render(context.Background(), &b); err != nil {
		return nil, err
	}
	return append(b.Bytes(), '\n'), nil
}

// A twin has the words of these marks only.
var (
	foldMark    = regexp.MustCompile("(?m)^<!-- (?:fold (.*)|end fold) -->$")
	headingMark = regexp.MustCompile(`(?m)^(#.*?) *\{#.*\}$`)
	linkToRow   = regexp.MustCompile(`(?m)^\| \[(.*?)\]\(#.*?\)`)
)

func (g *family) addTwin(p *site.Page, body string) string {
	words := func(parts []string) string { return parts[1] }
	body = outsideCode(body, g.toPages, func(parts []string) string { return "](" + parts[1] + api.Twin(parts[2]) + parts[3] })
	body = outsideCode(outsideCode(body, foldMark, words), headingMark, words)
	body = strings.TrimSpace(outsideCode(body, linkToRow, func(parts []string) string { return "| " + parts[1] }))
	twin := fmt.Sprintf("# %s\n\n> %s\n\nSource: %s\n\n%s\n",
		markdown.Text(p.Title), markdown.Text(p.Description), g.URL(p.Path()), body)
	g.Add(contract.TwinPath(p), []byte(twin))
	return twin
}

func outsideCode(body string, mark *regexp.Regexp, replacement func(parts []string) string) string {
	var b strings.Builder
	end := 0
	for _, at := range mark.FindAllSubmatchIndex(markdown.WithoutCode([]byte(body)), -1) {
		var parts []string
		for i := 0; i < len(at); i += 2 {
			parts = append(parts, body[max(0, at[i]):max(0, at[i+1])])
		}
		b.WriteString(body[end:at[0]] + replacement(parts))
		end = at[1]
	}
	return b.String() + body[end:]
}

var navigation = []struct {
	group string
	pages []string
}{
	{"Try", []string{"quest", "receipts", "business-days", "org"}},
	{"Connect", []string{"mcp", referencePage, "field-guide", "jobs"}},
	{"Trust", []string{"scoreboard", contract.LogPage, "terms", "privacy"}},
}

var headPages = []string{"quest", "receipts", "business-days", "mcp", referencePage, "scoreboard", contract.LogPage}

func (g *family) navigate() {
	placed := []string{"index"}
	for _, group := range navigation {
		g.footer = append(g.footer, frameGroup{group.group, g.pageLinks(group.pages)})
		placed = append(placed, group.pages...)
	}
	g.nav = g.pageLinks(headPages)
	var others []string
	for i := range g.Site.Pages {
		if name := g.Site.Pages[i].Name; !slices.Contains(placed, name) {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		g.footer = append(g.footer, frameGroup{"More", g.pageLinks(others)})
	}
	documents := frameGroup{Title: "For programs"}
	for _, path := range []string{"/llms.txt", output.OpenAPIPath, "/manifest.json", output.SecurityTxtPath} {
		documents.Links = append(documents.Links, frameLink{Path: path, Text: path[strings.LastIndexByte(path, '/')+1:]})
	}
	g.footer = append(g.footer, documents)
}

func (g *family) pageLinks(names []string) (links []frameLink) {
	for _, name := range names {
		i := slices.IndexFunc(g.Site.Pages, func(p site.Page) bool { return p.Name == name })
		if p := &g.Site.Pages[i]; name != contract.LogPage || g.Stage() != nil {
			links = append(links, frameLink{Path: p.Path(), Text: cmp.Or(p.Nav, p.Title)})
		}
	}
	return links
}
