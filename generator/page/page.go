// Package page renders the HTML pages: goldmark renders the Markdown, templ the frame around it. A
// page has no script and no inline style, and is readable without its style sheet.
package page

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/a-h/templ"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

//go:generate go tool -modfile=../../build/tools/go.mod templ generate

// Style is the style sheet of all pages.
//
//go:embed style.css
var Style []byte

// Page is what one page shows.
type Page struct {
	Service     string // name of the service
	Title       string
	Description string
	Canonical   string // absolute address; "" for a page that is no document of its own
	Twin        string // path of the Markdown twin, "" when there is none
	Updated     string // date; may be ""
	Footer      string // who publishes, and under which licence
	Status      *Status
	Nav         []Link
	Documents   []Link
	LinkedData  string // JSON-LD, escaped for HTML; may be ""
	Body        Body
}

// Status is the status dot, with its meaning in words.
type Status struct {
	Dot, Status, Since, Message string
}

// Link is a link of the frame.
type Link struct{ Path, Text string }

// Body is rendered Markdown.
type Body struct {
	HTML     string
	Sections []Section // of level 2, for the table of contents
}

// Section is one heading.
type Section struct{ ID, Text string }

// markdown reads the tables of GitHub Flavored Markdown besides CommonMark. It leaves raw HTML out,
// and does not make links of text that looks like an address.
var markdown = goldmark.New(
	goldmark.WithExtensions(
		// The default aligns cells by inline styles, which the pages' policy forbids.
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)),
		extension.Strikethrough,
	),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&placed{}, 500))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithHeadingAttribute()),
)

// Markdown renders a Markdown document. The identifier of a heading stands in {#braces} behind it;
// where it is missing, the identifier is made of the heading's text. A component takes the place of
// the comment that is its name, alone in its line: <!-- chart -->.
func Markdown(src []byte, components map[string]templ.Component) (Body, error) {
	tree := markdown.Parser().Parse(text.NewReader(src))
	var body Body
	var next ast.Node
	for node := tree.FirstChild(); node != nil; node = next {
		next = node.NextSibling()
		if raw, ok := node.(*ast.HTMLBlock); ok {
			if c := components[commentName(raw, src)]; c != nil {
				tree.ReplaceChild(tree, node, &placed{component: c})
			}
			continue
		}
		if h, ok := node.(*ast.Heading); ok && h.Level == 2 {
			id, _ := h.AttributeString("id")
			raw, _ := id.([]byte)
			body.Sections = append(body.Sections, Section{string(raw), plainText(h, src)})
		}
	}
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, src, tree); err != nil {
		return Body{}, fmt.Errorf("render Markdown: %w", err)
	}
	// A wide table scrolls inside its section, by keyboard too. The renderer escapes "<" in text,
	// so that only tags of its own match.
	html := strings.ReplaceAll(b.String(), "</table>", "</table></section>")
	html = strings.ReplaceAll(html, "<pre>", `<pre tabindex="0">`)
	b.Reset()
	for n, part := range strings.Split(html, "<table>") {
		if n > 0 {
			fmt.Fprintf(&b, `<section class="scroll" aria-label="Table %d" tabindex="0"><table>`, n)
		}
		b.WriteString(part)
	}
	body.HTML = b.String()
	return body, nil
}

// placed is a component in the place of a comment.
type placed struct {
	ast.BaseBlock
	component templ.Component
}

var kindPlaced = ast.NewNodeKind("Placed")

// Kind makes a placed component a node of goldmark's.
func (*placed) Kind() ast.NodeKind { return kindPlaced }

// Dump is for debugging goldmark's trees.
func (n *placed) Dump(src []byte, level int) { ast.DumpHelper(n, src, level, nil, nil) }

// RegisterFuncs has goldmark render placed components.
func (n *placed) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindPlaced, func(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		return ast.WalkContinue, node.(*placed).component.Render(context.Background(), w)
	})
}

// commentName is the text of a block that is one comment, and "" for any other.
func commentName(block *ast.HTMLBlock, src []byte) string {
	comment := strings.TrimSpace(string(block.Lines().Value(src)))
	name, ok := strings.CutPrefix(comment, "<!-- ")
	name, closed := strings.CutSuffix(name, " -->")
	if !ok || !closed {
		return ""
	}
	return name
}

// plainText is the text of a node without its markup.
func plainText(node ast.Node, src []byte) string {
	var b strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(src))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// Render is the page as HTML.
func (p *Page) Render() ([]byte, error) {
	var b bytes.Buffer
	if err := frame(p).Render(context.Background(), &b); err != nil {
		return nil, fmt.Errorf("render page %s: %w", p.Title, err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
