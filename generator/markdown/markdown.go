// Package markdown is the Markdown of pages: CommonMark with the tables and the strikethrough of
// GitHub Flavored Markdown. Raw HTML is left out, and a text that looks like an address is no link.
package markdown

import (
	"bytes"
	"cmp"
	"regexp"
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

var plain = New().Parser()

// Loss is a text of a page that HTML would not show, or would show as something else.
type Loss struct {
	At         int // offset in bytes
	What, Hint string
}

var (
	hidden   = regexp.MustCompile("`[^`]*`" + `|\\.`) // code and escaped signs
	footnote = regexp.MustCompile(`\[\^[^\]\s]+\]`)
	task     = regexp.MustCompile(`^\[[ xX]\][ \t]+\S`)
)

// Losses returns what the HTML of a document would lose, sorted by place. Blocks that begin with a
// comment are not among them: a page may have markers.
func Losses(src []byte) []Loss {
	var found []Loss
	add := func(at int, what, hint string) { found = append(found, Loss{at, what, hint}) }
	context := parser.NewContext()
	tree := plain.Parse(text.NewReader(src), parser.WithContext(context))
	_ = ast.Walk(tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.RawHTML:
			tag := n.Segments.At(0)
			add(tag.Start, "raw HTML is left out of the page: "+tagOf(firstLine(tag.Value(src))), `write it in backquotes, or \< for the sign`)
		case *ast.HTMLBlock:
			block := n.Lines().At(0)
			if line := firstLine(block.Value(src)); !strings.HasPrefix(line, "<!--") {
				add(block.Start, "raw HTML is left out of the page: "+tagOf(line), "write Markdown, or the HTML as code")
			}
		case *ast.Heading:
			for _, a := range n.Attributes() {
				if string(a.Name) != "id" {
					add(n.Lines().At(0).Start, "the braces at the end of the heading are left out", `write \{ for the sign; {#name} alone sets an identifier`)
				}
			}
		case *ast.ListItem:
			if first := n.FirstChild(); first != nil && first.Lines() != nil && first.Lines().Len() > 0 {
				if at := first.Lines().At(0).Start; task.Match(src[at:]) {
					add(at, "a list item with a box to tick, which pages do not have", `write \[ for the sign`)
				}
			}
		case *tables.TableRow:
			first := n.FirstChild()
			if first == nil || first.Lines().Len() == 0 {
				break
			}
			start := bytes.LastIndexByte(src[:first.Lines().At(0).Start], '\n') + 1
			if has := cells(firstLine(src[start:])); has > len(n.Alignments) {
				add(start, "a row with more cells than the head of its table, which are left out", `write \| for the sign in a cell`)
			}
		}
		if node.Type() == ast.TypeBlock && node.Lines() != nil && node.Kind() != ast.KindFencedCodeBlock && node.Kind() != ast.KindCodeBlock {
			for _, line := range node.Lines().Sliced(0, node.Lines().Len()) {
				visible := hidden.ReplaceAllFunc(line.Value(src), func(code []byte) []byte { return bytes.Repeat([]byte(" "), len(code)) })
				if at := footnote.FindIndex(visible); at != nil {
					add(line.Start+at[0], "a footnote, which pages do not have", `write the note into the text, or \[ for the sign`)
				}
			}
		}
		return ast.WalkContinue, nil
	})
	lower := bytes.ToLower(src)
	for _, r := range context.References() {
		label := append(append([]byte("["), bytes.ToLower(r.Label())...), ']')
		if at := bytes.Index(lower, append(label, ':')); at >= 0 && bytes.Count(lower, label) == 1 {
			add(at, "the definition of a link that is not there", "remove it, or write the link")
		}
	}
	slices.SortStableFunc(found, func(a, b Loss) int { return cmp.Compare(a.At, b.At) })
	return found
}

func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return strings.TrimSpace(string(line))
}

// tagOf returns the tag at the beginning of a line of HTML.
func tagOf(line string) string {
	tag, _, _ := strings.Cut(line, ">")
	return tag + ">"
}

// cells returns how many cells a row of a table has in its source.
func cells(row string) int {
	row = strings.TrimPrefix(strings.ReplaceAll(row, `\|`, "  "), "|")
	return strings.Count(strings.TrimSuffix(strings.TrimSpace(row), "|"), "|") + 1
}
