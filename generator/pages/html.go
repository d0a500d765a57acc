// Package pages makes the pages for people, as Markdown and as HTML: text/template makes the
// Markdown, goldmark renders it, templ makes the frame around it. A page has no inline script and
// no inline style, and is readable without its style sheet.
//
// # What a writer of pages may use
//
// Markdown: a heading of level 2 begins a section and makes an entry of the contents. With {.half}
// after it, two sections in a row stand side by side; with {.groups}, the headings of level 3 and
// what follows each make columns. An identifier is in {#braces} after a heading. A quote (>) is a
// note set apart. The words after the language of a block of code are its caption; a block in the
// language sh is commands to copy. The first column of a table names its rows, and a column
// aligned to the right has numbers. A link to #place there makes the row that place, and an empty
// cell there continues the row above. A table without words in its heads has no heads. A table
// that would not fit a phone becomes a list there, unless only numbers follow its first column.
// Text between the lines <!-- fold WORDS --> and <!-- end fold --> is folded; WORDS may end in
// {#braces}, too. Raw HTML is left out.
//
// Components (templ) show text that may hold a date by dated. They may use these classes of
// the style sheet only:
//
//	slip     a card for whatever the service issues, signs or computes; with printed, a new one
//	rows     a <dl> of names and values; a <div class="wrap"> has a long value
//	stamp    a <p> with the verdict of a slip: valid, tampered, unsigned, or none for a fact
//	tear     an <hr> between a slip and its stub
//	board    a <dl> of large numbers; in a slip with strip they are smaller
//	top      the heading of a slip and what stands to its right
//	split    words on the left and a slip on the right; with even, halves; with side, a narrow slip
//	groups   columns of equal width
//	pair     two columns, one below the other on a phone
//	rule     a rule with its examples
//	step     a call and what it returns
//	list     entries, each a <details> of one line that opens to a slip
//	tabs     links to two parts, #check and #get, of which one is shown
//	code     a <figure> with a caption and a block of code
//	fields   the labels and fields of a form in a grid; all is as wide as the grid
//	field    a label with its field, and its fault
//	seat     a field with a number next to it; sum, their total
//	second   a submit button in outline
//	actions  buttons, and what belongs to them, in a row
//	stack    a <table> that becomes a list on a phone: each <td> has data-label, each row a
//	         <th scope="row">
//	calls    such a table of calls, whose methods are each a tag; writes marks a call that writes
//	tight    a <table> of numbers, which keeps its columns on a phone
//	mark     a short status in the colour of a verdict; the words say it too
//	small quiet  secondary text
//
// # Scripts
//
// A file NAME.js of this folder is published as /NAME.js. A page with a form, and 404.html, load
// the script of their name as a module, or else forms.js. A page with something to copy loads
// page.js; the scripts of receipts and the log import verdict.js, and index.js does so with the
// first receipt; slip.js prints slips, and faults.js puts faults at fields. A page is complete
// without them: what only a reader without scripts needs has the class needs-script.
package pages

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html"
	"io/fs"
	"regexp"
	"strings"

	"anteroom/generator/markdown"

	"github.com/a-h/templ"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

//go:generate go tool -modfile=../../build/tools/go.mod templ generate

//go:embed style.css
var style []byte

//go:embed icon.svg
var icon string

//go:embed *.js
var scripts embed.FS

// The colours of the paper, which a browser draws its own frame in.
const lightGround, darkGround = "#ebefec", "#0f1513"

type htmlPage struct {
	draft
	Service   string
	Base      string // https:// and the canonical host
	Canonical string // absolute address; "" for a page that is not a document of its own
	Twin      string // path of the Markdown twin, "" when there is none
	Changed   string
	Footer    string // who publishes, and under which licence
	Nav       []frameLink
	Groups    []frameGroup
	Body      htmlBody
}

type frameLink struct{ Path, Text string }

type frameGroup struct {
	Title string
	Links []frameLink
}

type htmlBody struct {
	HTML     [inSections + 1]string
	Sections []frameLink
}

// A place is a part of a page. A component in the head, which ends at the first heading of level 2,
// may choose one.
type place int

const (
	inText     place = iota
	above            // the title
	beside           // the text, if the page is wide
	below            // both, at full width, and with everything after it
	inSections       // from the first heading of level 2
)

type component struct {
	templ.Component
	at place
}

// part returns the part of the page for a component, and moves at below it.
func (c component) part(at *place) place {
	switch {
	case *at == inSections || c.at == inText:
		return *at
	case c.at == below:
		*at = below
	}
	return c.at
}

// The contents list more than fewSections sections.
const fewSections = 3

func scriptsOf(p *htmlPage) (paths []string) {
	html := strings.Join(p.Body.HTML[:], "")
	if strings.Contains(html, "<pre") {
		paths = append(paths, "/page.js")
	}
	if strings.Contains(html, "<form") || p.Name == notFound {
		own := p.Name + ".js"
		if _, err := fs.Stat(scripts, own); err != nil {
			own = "forms.js"
		}
		paths = append(paths, "/"+own)
	}
	return paths
}

var forPages = markdown.New(goldmark.WithRendererOptions(
	renderer.WithNodeRenderers(util.Prioritized(&elements{}, 100)),
))

// goldmark writes leftOut instead of raw HTML.
const leftOut = "<!-- raw HTML omitted -->"

// renderMarkdown renders a document. A heading has its identifier in {#braces} after it, or one
// made of its text. A component takes the place of the comment that is its name, alone in its line:
// <!-- chart -->.
func renderMarkdown(src []byte, components map[string][]component) (htmlBody, error) {
	tree := markdown.Parse(forPages.Parser(), src)
	var body htmlBody
	var parts [len(body.HTML)]bytes.Buffer
	var sections sectioning
	at := inText
	for node := tree.FirstChild(); node != nil; node = node.NextSibling() {
		heading, _ := node.(*ast.Heading)
		if heading != nil && heading.Level == 2 {
			at = inSections
			body.Sections = append(body.Sections, frameLink{"#" + identifier(heading), plainText(heading, src)})
		}
		name := commentName(node, src)
		if replaced := components[name]; replaced != nil {
			for _, c := range replaced {
				if err := c.Render(context.Background(), &parts[c.part(&at)]); err != nil {
					return htmlBody{}, err
				}
			}
			continue
		}
		if mark := foldMark.FindStringSubmatch("<!-- " + name + " -->"); mark != nil {
			parts[at].WriteString(fold(mark[1], mark[2]))
			continue
		}
		if at == inSections && heading != nil {
			parts[at].WriteString(sections.before(heading))
		}
		if err := forPages.Renderer().Render(&parts[at], src, node); err != nil {
			return htmlBody{}, fmt.Errorf("render Markdown: %w", err)
		}
		if at == inSections && heading != nil {
			parts[at].WriteString(sections.after(heading))
		}
	}
	parts[inSections].WriteString(sections.end())
	for i := range parts {
		body.HTML[i] = parts[i].String()
		if before, _, found := strings.Cut(body.HTML[i], leftOut); found {
			return htmlBody{}, fmt.Errorf("render Markdown: raw HTML would be left out after %q", before[max(0, len(before)-80):])
		}
	}
	return body, nil
}

// fold returns the beginning of a fold, or its end if it has no words.
func fold(words, id string) string {
	switch {
	case words == "":
		return "</details>\n"
	case id != "":
		id = `<span id="` + html.EscapeString(id) + `"></span>` // a link there opens it
	}
	return "<details><summary>" + html.EscapeString(words) + "</summary>" + id + "\n"
}

// sectioning wraps each heading of level 2 and what follows it in a section.
type sectioning struct{ open, groups, column bool }

func (s *sectioning) before(h *ast.Heading) string {
	switch {
	case h.Level == 2:
		class := "rail"
		if attribute(h, "class") == markdown.Half {
			class = "half"
		}
		return s.end() + `<section class="` + class + `" aria-labelledby="` + html.EscapeString(identifier(h)) + `">` + "\n"
	case h.Level == 3 && s.groups:
		end := ""
		if s.column {
			end = "</div>\n"
		}
		s.column = true
		return end + "<div>\n"
	}
	return ""
}

func (s *sectioning) after(h *ast.Heading) string {
	if h.Level != 2 {
		return ""
	}
	s.open, s.groups = true, attribute(h, "class") == markdown.Groups
	if s.groups {
		return `<div class="groups">` + "\n"
	}
	return "<div>\n"
}

func (s *sectioning) end() (end string) {
	if s.column {
		end = "</div>"
	}
	if s.open {
		end += "</div></section>\n"
	}
	*s = sectioning{}
	return end
}

func identifier(h *ast.Heading) string { return attribute(h, "id") }

func attribute(h *ast.Heading, name string) string {
	value, _ := h.AttributeString(name)
	raw, _ := value.([]byte)
	return string(raw)
}

var comment = regexp.MustCompile(`^\s*<!-- (.*) -->\s*$`)

func commentName(node ast.Node, src []byte) string {
	if block, is := node.(*ast.HTMLBlock); is {
		if found := comment.FindSubmatch(block.Lines().Value(src)); found != nil {
			return string(found[1])
		}
	}
	return ""
}

func plainText(node ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			value := t.Segment.Value(src)
			if n.Parent().Kind() != ast.KindCodeSpan {
				value = util.UnescapePunctuations(value)
			}
			b.Write(value)
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
