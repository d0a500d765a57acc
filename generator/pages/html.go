// Package pages makes the pages for people, as Markdown and as HTML: text/template makes the
// Markdown, goldmark renders it, templ makes the frame around it. A
// page has no inline script and no inline style, and is readable without its style sheet.
//
// # What a writer of pages may use
//
// Markdown: headings of level 2 and 3 make the table of contents, so a heading belongs into the
// Markdown and the component below it. An identifier is in {#braces} behind a heading. A quote
// (>) is a note set apart. A block of code of one line in the language sh is a command to copy.
// Code of more than longCode characters may break across lines; shorter code and dates do not. The
// first column of a table names its rows. A table that would not fit a phone becomes a card for
// each row there. Raw HTML is left out.
//
// Components (templ) show text that may hold a date by dated. They may use these classes of
// the style sheet only:
//
//	actions  what a visitor can do at once, side by side
//	cards    a <ul> of short items side by side, each a link in <strong> and a sentence
//	steps    an <ol> of the steps of a check
//	command  a <pre> of one command
//	prompt   a <pre> of words for an agent, with a button to copy them
//	receipt  a receipt as a card
//	quiet    secondary text
//	stack    a <table> that becomes cards on a phone: each <td> has data-label, each row a
//	         <th scope="row">
//	form     a <form> with a grid of labels and fields
//	good bad what passed and what failed; the words and a symbol say it too
//
// # Scripts
//
// A file NAME.js of this folder is published as /NAME.js. The page of that name loads it as a
// module, where it has a form; every page loads page.js, and verdict.js is for other scripts to
// import. A page is complete without them.
package pages

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"anteroom/generator/markdown"

	"github.com/a-h/templ"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

//go:generate go tool -modfile=../../build/tools/go.mod templ generate

// style is the style sheet of all pages.
//
//go:embed style.css
var style []byte

// icon is the icon of all pages.
//
//go:embed icon.svg
var icon []byte

//go:embed *.js
var scripts embed.FS

// pageScripts are the pages' own scripts, by the paths that they are published at.
var pageScripts = func() map[string][]byte {
	all := map[string][]byte{}
	files, _ := fs.Glob(scripts, "*")
	for _, file := range files {
		all["/"+file], _ = scripts.ReadFile(file)
	}
	return all
}()

// The colours of the paper, which a browser draws its own frame in.
const lightPaper, darkPaper = "#fdfdfb", "#15181b"

type htmlPage struct {
	Name        string // "index", "receipts", "endpoints/org"
	Service     string // name of the service
	Base        string // https:// and the canonical host
	Title       string
	Description string
	Canonical   string       // absolute address; "" for a page that is not a document of its own
	Twin        string       // path of the Markdown twin, "" when there is none
	Updated     string       // date; may be ""
	Footer      string       // who publishes, and under which licence
	Nav         []frameGroup // at the head
	Groups      []frameGroup // at the foot
	LinkedData  string       // JSON-LD, escaped for HTML; may be ""
	Body        htmlBody
}

type frameLink struct{ Path, Text string }

type frameGroup struct {
	Title string
	Links []frameLink
}

type htmlBody struct {
	HTML     string
	Sections []section // of level 2, for the table of contents
}

// section is a heading with those below it.
type section struct {
	ID, Text string
	Sections []section
}

// The table of contents is open with up to openContents sections.
const openContents = 8

func count(sections []section) int {
	n := len(sections)
	for i := range sections {
		n += len(sections[i].Sections)
	}
	return n
}

func scriptsOf(p *htmlPage) []string {
	paths := []string{"/page.js"}
	if own := "/" + p.Name + ".js"; pageScripts[own] != nil && strings.Contains(p.Body.HTML, "<form") {
		paths = append(paths, own)
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
func renderMarkdown(src []byte, components map[string]templ.Component) (htmlBody, error) {
	tree := forPages.Parser().Parse(text.NewReader(src))
	var body htmlBody
	var next ast.Node
	for node := tree.FirstChild(); node != nil; node = next {
		next = node.NextSibling()
		if raw, ok := node.(*ast.HTMLBlock); ok {
			if c := components[commentName(raw, src)]; c != nil {
				tree.ReplaceChild(tree, node, &placed{component: c})
			}
			continue
		}
		if h, ok := node.(*ast.Heading); ok {
			body.add(h, src)
		}
	}
	var b bytes.Buffer
	b.Grow(2 * len(src))
	if err := forPages.Renderer().Render(&b, src, tree); err != nil {
		return htmlBody{}, fmt.Errorf("render Markdown: %w", err)
	}
	body.HTML = b.String()
	if before, _, found := strings.Cut(body.HTML, leftOut); found {
		return htmlBody{}, fmt.Errorf("render Markdown: raw HTML would be left out after %q", before[max(0, len(before)-80):])
	}
	return body, nil
}

func (b *htmlBody) add(h *ast.Heading, src []byte) {
	id, _ := h.AttributeString("id")
	raw, _ := id.([]byte)
	section := section{ID: string(raw), Text: plainText(h, src)}
	switch n := len(b.Sections); {
	case h.Level == 2:
		b.Sections = append(b.Sections, section)
	case h.Level == 3 && n > 0:
		b.Sections[n-1].Sections = append(b.Sections[n-1].Sections, section)
	}
}

// placed is a component in place of a comment.
type placed struct {
	ast.BaseBlock
	component templ.Component
}

var kindPlaced = ast.NewNodeKind("Placed")

// Kind implements ast.Node.
func (*placed) Kind() ast.NodeKind { return kindPlaced }

// Dump implements ast.Node.
func (n *placed) Dump(src []byte, level int) { ast.DumpHelper(n, src, level, nil, nil) }

func commentName(block *ast.HTMLBlock, src []byte) string {
	comment := strings.TrimSpace(string(block.Lines().Value(src)))
	name, ok := strings.CutPrefix(comment, "<!-- ")
	name, closed := strings.CutSuffix(name, " -->")
	if !ok || !closed {
		return ""
	}
	return name
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

// Render returns the page as HTML.
func (p *htmlPage) Render() ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(p.Body.HTML) + 8<<10) // and the frame
	if err := frame(p).Render(context.Background(), &b); err != nil {
		return nil, fmt.Errorf("render page %s: %w", p.Title, err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
