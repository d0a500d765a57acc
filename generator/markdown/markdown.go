// Package markdown defines the Markdown of pages: CommonMark with the tables and the strikethrough
// of GitHub Flavored Markdown, without raw HTML and without links made of addresses.
package markdown

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// New returns goldmark for this Markdown.
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

var plain = New().Parser()

// Loss is a text of a page that HTML would drop.
type Loss struct {
	At         int // offset in bytes
	What, Hint string
}

// Losses returns the words that the HTML of a document would lack, sorted by place. A block that
// begins with a comment may be a marker. Whatever else differs from other kinds of Markdown, such
// as footnotes, is on the page as it was written.
func Losses(src []byte) []Loss {
	var found []Loss
	add := func(at int, what, hint string) { found = append(found, Loss{at, what, hint}) }
	tree, ids := plain.Parse(text.NewReader(src)), map[string]bool{}
	_ = ast.Walk(tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.RawHTML:
			tag := n.Segments.At(0)
			add(tag.Start, "raw HTML is left out of the page: "+tagOf(firstLine(tag.Value(src))),
				`write it in backquotes, or \< for the sign`)
		case *ast.HTMLBlock:
			block := n.Lines().At(0)
			if line := firstLine(block.Value(src)); !strings.HasPrefix(line, "<!--") || n.Parent() != tree {
				add(block.Start, "raw HTML is left out of the page: "+tagOf(line), "write Markdown, or the HTML as code")
			}
		case *ast.Heading:
			if n.Lines().Len() == 0 {
				break
			}
			at := n.Lines().At(0).Start
			for _, a := range n.Attributes() {
				switch id, _ := a.Value.([]byte); {
				case n.Level == 2 && string(a.Name) == "class" && (string(id) == Half || string(id) == Groups):
				case string(a.Name) != "id":
					add(at, "the braces at the end of the heading are left out",
						`write \{ for the sign; {#name} sets an identifier, and {.half} and {.groups} a layout`)
				case ids[string(id)]:
					add(at, "two headings have the identifier "+string(id), "give one of them another")
				default:
					ids[string(id)] = true
				}
			}
		case *tables.TableRow:
			first := n.FirstChild()
			if first == nil || first.Lines().Len() == 0 {
				break
			}
			at := first.Lines().At(0).Start
			if has := cells(firstLine(src[at:])); has > len(n.Alignments) {
				add(at, "a row with more cells than the head of its table, which are left out", `write \| for the sign in a cell`)
			}
		}
		return ast.WalkContinue, nil
	})
	slices.SortStableFunc(found, func(a, b Loss) int { return cmp.Compare(a.At, b.At) })
	return found
}

func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return strings.TrimSpace(string(line))
}

func tagOf(line string) string {
	tag, _, _ := strings.Cut(line, ">")
	return tag + ">"
}

func cells(row string) int {
	row = strings.ReplaceAll(row, `\|`, "  ")
	return strings.Count(strings.TrimSuffix(strings.TrimSpace(row), "|"), "|") + 1
}
