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

	"anteroom/generator/contract"
	"anteroom/generator/markdown"
	"anteroom/generator/output"
	"anteroom/generator/site"

	"github.com/a-h/templ"
	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"golang.org/x/sync/errgroup"
)

type object = output.Object

const referencePage = "reference"

type family struct {
	contract.Family
	templates  *template.Template
	components map[string][]component // of the pages of the content
	toFront    *regexp.Regexp
	toPages    *regexp.Regexp
	drafts     []draft
	nav        []frameLink
	footer     []frameGroup
}

type draft struct {
	*site.Page
	markdown   string
	twin       string                 // the Markdown of its twin, with all marks; "" without a twin
	components map[string][]component // by the markers that they replace
	heading    string                 // code instead of the title; may be ""
	parent     frameLink
}

func (g *family) addDerived(d *draft, template string, dot any) {
	d.markdown = g.execute(template, dot)
	g.addDraft(d, slices.Collect(maps.Keys(d.components)), dot)
}

func (g *family) addDraft(d *draft, markers []string, dot any) {
	d.twin = d.markdown
	for _, name := range markers {
		text := g.execute(name, dot)
		d.twin = strings.Replace(d.twin, site.Marker(name), text, 1)
		if d.components[name] == nil {
			d.markdown = strings.Replace(d.markdown, site.Marker(name), text, 1)
		}
	}
	g.drafts = append(g.drafts, *d)
}

// Files makes every page with what it loads. anchors are the identifiers in each page.
func Files(a *contract.Answers) (files []output.File, anchors map[string]map[string]bool, err error) {
	to := `(\]\((?:` + regexp.QuoteMeta(a.Base) + `)?`
	g := &family{
		Family:  contract.Family{Answers: a},
		toFront: regexp.MustCompile(to + `)/([)#])`),
		toPages: regexp.MustCompile(to + `/[^)\s#?]*\.html)([)#])`),
	}
	g.templates = g.parse()
	g.components = g.makeComponents()
	g.navigate()
	for i := range a.Site.Pages {
		p := &a.Site.Pages[i]
		g.addDraft(&draft{Page: p, markdown: string(p.Markdown), components: g.components}, site.Markers[p.Name], g)
	}
	// These pages are in neither llms-full.txt nor the sitemap.
	g.addEndpointPages()
	g.addProblemPages()
	g.drafts = append(g.drafts, draft{
		Page: &site.Page{
			Name: notFound, Title: "Nothing at this address",
			Description: "Nothing is published here. The slip names a page to try.",
		},
		markdown:   g.execute("not-found", missing{g, g.footer[:len(g.footer)-1]}),
		components: map[string][]component{"request": {{request(), beside}}},
	})
	g.addStyle()
	g.Add(output.IconPath, []byte(g.icon()))
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

func (g *family) icon() string { return cmp.Or(g.Site.Icon, icon) }

func (g *family) addStyle() {
	var small bytes.Buffer
	if err := css.Minify(minify.New(), &small, bytes.NewReader(style), nil); err != nil {
		g.Fail("minify style.css: %w", err)
	}
	g.Add("/style.css", small.Bytes())
}

const notFound = "404"

// missing is the page for an address without a page.
type missing struct {
	*family
	Groups []frameGroup
}

// About returns the first sentence on a page.
func (m missing) About(path string) string {
	i := slices.IndexFunc(m.Site.Pages, func(p site.Page) bool { return p.Path() == path })
	first, _, _ := strings.Cut(m.Site.Pages[i].Description, ". ")
	return strings.TrimSuffix(first, ".") + "."
}

var identifiers = regexp.MustCompile(` id="([^"]*)"`)

func (g *family) render() (map[string]map[string]bool, error) {
	pages, twins := make([][]byte, len(g.drafts)), make([]string, len(g.drafts))
	ids := make([]map[string]bool, len(g.drafts))
	var group errgroup.Group
	var picture []byte
	group.Go(func() error { // it takes long
		picture = card(&g.Site.Service, g.icon(), g.mintRows(), g.Site.Receipt != nil)
		return nil
	})
	for i := range g.drafts {
		group.Go(func() (err error) {
			d := &g.drafts[i]
			if pages[i], err = g.html(d); err != nil {
				return fmt.Errorf("page %s: %w", d.Name, err)
			}
			ids[i] = map[string]bool{}
			for _, id := range identifiers.FindAllSubmatch(pages[i], -1) {
				ids[i][string(id[1])] = true
			}
			if d.twin != "" {
				twins[i] = g.twinOf(d)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	g.Add(output.CardPath, picture)
	var all strings.Builder
	anchors := map[string]map[string]bool{}
	for i := range g.drafts {
		d := &g.drafts[i]
		anchors[d.Path()] = ids[i]
		g.Add("/"+d.Name+".html", pages[i])
		if d.twin != "" {
			g.Add(contract.TwinPath(d.Page), []byte(twins[i]))
		}
		if i < len(g.Site.Pages) && d.Name != "index" && d.Name != referencePage {
			here := "](" + contract.TwinPath(d.Page) + "#"
			all.WriteString(strings.ReplaceAll(twins[i], "](#", here) + "\n---\n\n")
		}
	}
	all.WriteString("Not in here: the front page, the list of operations, and the pages of endpoints " +
		"and of types of problems.\n")
	g.Add("/llms-full.txt", []byte(all.String()))
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
	foldMark    = regexp.MustCompile(`(?m)^<!-- (?:fold (.*?)(?: \{#(.*)\})?|end fold) -->$`)
	headingMark = regexp.MustCompile(`(?m)^(#.*?) *\{#.*\}$`)
	linkToRow   = regexp.MustCompile(`^\| \[(.*?)\]\(#.*?\)`)
)

func (g *family) twinOf(d *draft) string {
	marks := []struct {
		sign string // in every line with the mark
		mark *regexp.Regexp
		with string
	}{
		{"](", g.toFront, "${1}/index.html$2"},
		{"](", g.toPages, "${1}.md$2"},
		{"<!--", foldMark, "$1"},
		{"{#", headingMark, "$1"},
		{"](#", linkToRow, "| $1"},
	}
	var body strings.Builder
	visible := string(markdown.WithoutCode([]byte(d.twin)))
	for text := range strings.Lines(d.twin) {
		line := coded{text, visible[:len(text)]}
		visible = visible[len(text):]
		for _, m := range marks {
			if strings.Contains(line.visible, m.sign) {
				line.replace(m.mark, m.with)
			}
		}
		body.WriteString(line.text)
	}
	return fmt.Sprintf("# %s\n\n> %s\n\nSource: %s\n\n%s\n", markdown.Text(cmp.Or(d.heading, d.Title)),
		markdown.Text(d.Description), g.URL(d.Path()), strings.TrimSpace(body.String()))
}

// coded is Markdown, and the same with spaces for its code.
type coded struct{ text, visible string }

// replace leaves marks in code unchanged.
func (c *coded) replace(mark *regexp.Regexp, with string) {
	var text, visible []byte
	end := 0
	for _, at := range mark.FindAllStringSubmatchIndex(c.visible, -1) {
		text = mark.ExpandString(append(text, c.text[end:at[0]]...), with, c.text, at)
		visible = mark.ExpandString(append(visible, c.visible[end:at[0]]...), with, c.visible, at)
		end = at[1]
	}
	*c = coded{string(text) + c.text[end:], string(visible) + c.visible[end:]}
}

var navigation = []struct {
	group string
	pages []string
}{
	{"Try", []string{"quest", "receipts", "business-days"}},
	{"Join", []string{"waitlist", "org", "jobs"}},
	{"Connect", []string{"mcp", referencePage, "field-guide"}},
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
		isNamed := func(p site.Page) bool { return p.Name == name }
		if i := slices.IndexFunc(g.Site.Pages, isNamed); i >= 0 { // the log may have none
			p := &g.Site.Pages[i]
			links = append(links, frameLink{Path: p.Path(), Text: cmp.Or(p.Nav, p.Title)})
		}
	}
	return links
}
