// Package markdown defines the Markdown of pages: CommonMark with the tables and the strikethrough
// of GitHub Flavored Markdown, without raw HTML and without automatic links.
package markdown

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

func New(options ...goldmark.Option) goldmark.Markdown {
	return goldmark.New(append(options,
		goldmark.WithExtensions(extension.Table, extension.Strikethrough),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithHeadingAttribute()))...)
}

// Classes of headings of level 2: sections side by side, and columns by headings of level 3.
const (
	Half   = "half"
	Groups = "groups"
)

func Parse(p parser.Parser, src []byte) ast.Node {
	return p.Parse(text.NewReader(src), parser.WithContext(parser.NewContext(parser.WithIDs(ids{}))))
}

// ids makes identifiers of the letters and digits of every script, where goldmark knows ASCII.
type ids map[string]bool

func (known ids) Put(id []byte) { known[string(id)] = true }

func (known ids) Generate(heading []byte, _ ast.NodeKind) []byte {
	words := cmp.Or(strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.L, unicode.M, unicode.Nd):
			return unicode.ToLower(r)
		case unicode.IsSpace(r), r == '-', r == '_':
			return '-'
		}
		return -1
	}, string(bytes.TrimSpace(heading))), "heading")
	id := words
	for n := 1; known[id]; n++ {
		id = fmt.Sprintf("%s-%d", words, n)
	}
	known[id] = true
	return []byte(id)
}

var plain = New().Parser()

// WithoutCode returns a document with spaces for its code. The rest keeps its place.
func WithoutCode(src []byte) []byte {
	blank := bytes.Clone(src)
	hide := func(part text.Segment) {
		for i := part.Start; i < part.Stop; i++ {
			if blank[i] != '\n' {
				blank[i] = ' '
			}
		}
	}
	_ = ast.Walk(Parse(plain, src), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		switch {
		case !entering:
		case node.Kind() == ast.KindCodeBlock, node.Kind() == ast.KindFencedCodeBlock:
			for i := range node.Lines().Len() {
				hide(node.Lines().At(i))
			}
		case node.Kind() == ast.KindCodeSpan:
			for part := node.FirstChild(); part != nil; part = part.NextSibling() {
				hide(part.(*ast.Text).Segment)
			}
		}
		return ast.WalkContinue, nil
	})
	return blank
}

type Loss struct {
	At         int // offset in bytes
	What, Hint string
}

// Losses returns the raw HTML and the attributes of headings that the HTML of a document would
// lack, sorted by place. A block that begins with a comment may be a marker.
func Losses(src []byte) []Loss {
	var found []Loss
	add := func(at int, what, hint string) { found = append(found, Loss{at, what, hint}) }
	const (
		rawHTML = "raw HTML is left out of the page"
		asCode  = `write Markdown, or backquotes around it, or \< for the sign`
	)
	tree, ids := Parse(plain, src), map[string]bool{}
	_ = ast.Walk(tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.RawHTML:
			add(n.Segments.At(0).Start, rawHTML, asCode)
		case *ast.HTMLBlock:
			block := n.Lines().At(0)
			isComment := bytes.HasPrefix(bytes.TrimSpace(block.Value(src)), []byte("<!--"))
			if !isComment || n.Parent() != tree {
				add(block.Start, rawHTML, asCode)
			}
		case *ast.Heading:
			for _, a := range n.Attributes() {
				switch id, _ := a.Value.([]byte); {
				case n.Level == 2 && string(a.Name) == "class" && (string(id) == Half || string(id) == Groups):
				case string(a.Name) != "id":
					add(n.Pos(), "the braces at the end of the heading are left out",
						`write \{ for the sign; {#name} sets an identifier, and {.half} and {.groups} a layout`)
				case ids[string(id)]:
					add(n.Pos(), "two headings have the identifier "+string(id), "give one of them another")
				default:
					ids[string(id)] = true
				}
			}
		}
		return ast.WalkContinue, nil
	})
	slices.SortStableFunc(found, func(a, b Loss) int { return cmp.Compare(a.At, b.At) })
	return found
}
