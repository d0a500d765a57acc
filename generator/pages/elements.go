package pages

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	renderers "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// elements renders the parts of Markdown that differ from goldmark's.
type elements struct{}

func (elements) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, renderHeading)
	r.Register(ast.KindText, leaf(renderText))
	r.Register(ast.KindFencedCodeBlock, leaf(renderCodeBlock))
	r.Register(ast.KindCodeBlock, leaf(renderCodeBlock))
	r.Register(tables.KindTable, renderTable)
	r.Register(tables.KindTableHeader, renderTableHeader)
	r.Register(tables.KindTableRow, renderTableRow)
	r.Register(tables.KindTableCell, renderTableCell)
}

func leaf(render func(w util.BufWriter, src []byte, node ast.Node)) renderer.NodeRendererFunc {
	return func(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			render(w, src, node)
		}
		return ast.WalkSkipChildren, nil
	}
}

func write(w util.BufWriter, texts ...string) {
	for _, s := range texts {
		_, _ = w.WriteString(s)
	}
}

// renderHeading links a heading to itself, so that its address can be copied. The Tab key skips it:
// the contents have the same links.
func renderHeading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	h := node.(*ast.Heading)
	id := html.EscapeString(identifier(h))
	links := h.Level > 1 && id != "" && !holdsLink(h)
	level := string("0123456"[h.Level])
	switch {
	case entering:
		write(w, "<h", level)
		if id != "" {
			write(w, ` id="`, id, `"`)
		}
		write(w, ">")
		if links {
			write(w, `<a tabindex="-1" href="#`, id, `">`)
		}
	case links:
		write(w, "</a></h", level, ">\n")
	default:
		write(w, "</h", level, ">\n")
	}
	return ast.WalkContinue, nil
}

func holdsLink(node ast.Node) bool {
	found := false
	_ = ast.Walk(node, func(n ast.Node, _ bool) (ast.WalkStatus, error) {
		found = found || n.Kind() == ast.KindLink || n.Kind() == ast.KindAutoLink
		return ast.WalkContinue, nil
	})
	return found
}

func renderText(w util.BufWriter, src []byte, node ast.Node) {
	t := node.(*ast.Text)
	value := t.Segment.Value(src)
	if t.IsRaw() {
		renderers.DefaultWriter.RawWrite(w, value)
		return
	}
	eachDate(string(value),
		func(words string) { renderers.DefaultWriter.Write(w, []byte(words)) },
		func(date string) { write(w, "<time>", date, "</time>") })
	switch {
	case t.HardLineBreak():
		write(w, "<br>\n")
	case t.SoftLineBreak():
		write(w, "\n")
	}
}

func dated(text string) templ.Component {
	var b strings.Builder
	eachDate(text,
		func(words string) { b.WriteString(html.EscapeString(words)) },
		func(date string) { b.WriteString("<time>" + date + "</time>") })
	return templ.Raw(b.String())
}

var dates = regexp.MustCompile(`\b\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?\b`)

// eachDate calls words and date with the parts of text, in turn. A date next to a hyphen or a slash
// is part of a word.
func eachDate(text string, words, date func(string)) {
	rest := 0
	if strings.Contains(text, "-") {
		for _, at := range dates.FindAllStringIndex(text, -1) {
			before, after := text[max(0, at[0]-1):at[0]], text[at[1]:min(at[1]+1, len(text))]
			if strings.ContainsAny(before+after, "-/") {
				continue
			}
			words(text[rest:at[0]])
			date(text[at[0]:at[1]])
			rest = at[1]
		}
	}
	words(text[rest:])
}

// captions are for blocks of code without one, by language.
var captions = map[string]string{"sh": "Terminal", "json": "JSON", "toml": "TOML", "python": "Python", "": "Text", "text": "Text"}

// renderCodeBlock indents JSON, which the Markdown has on one line. One click selects a command.
func renderCodeBlock(w util.BufWriter, src []byte, node ast.Node) {
	code, language, caption, class := bytes.TrimRight(node.Lines().Value(src), "\n"), "", "", ""
	if fenced, ok := node.(*ast.FencedCodeBlock); ok && fenced.Info != nil {
		language, caption, _ = strings.Cut(string(fenced.Info.Segment.Value(src)), " ")
	}
	switch oneLine := node.Lines().Len() == 1; {
	case language == "sh":
		class = ` class="command"`
	case language == "json" && oneLine:
		var indented bytes.Buffer
		if json.Indent(&indented, code, "", "  ") == nil {
			code = indented.Bytes()
		}
	}
	caption = cmp.Or(string(util.UnescapePunctuations([]byte(caption))), captions[language], language)
	write(w, `<figure class="code"><figcaption>`, html.EscapeString(caption), "</figcaption><pre", class, "><code>")
	write(w, escapedCode.Replace(string(code)), "</code></pre></figure>\n")
}

// escapedCode leaves quotation marks as they are: code has many.
var escapedCode = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// stacks is the attribute of a table whose rows become lists on a phone.
const stacks = "stacks"

// longKey characters do not fit a phone next to another column.
const longKey = 14

func renderTable(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		write(w, "</tbody></table>\n")
		return ast.WalkContinue, nil
	}
	columns := node.(*tables.Table).Alignments
	words := func(a tables.Alignment) bool { return a != tables.AlignRight }
	stack := len(columns) > 2
	for row := node.FirstChild(); row != nil && !stack; row = row.NextSibling() {
		stack = len(plainText(row.FirstChild(), src)) > longKey
	}
	switch {
	case !slices.ContainsFunc(columns[1:], words):
		write(w, `<table class="tight">`)
	case stack:
		write(w, `<table class="stack">`)
		node.SetAttributeString(stacks, true)
	default:
		write(w, "<table>")
	}
	return ast.WalkContinue, nil
}

func renderTableHeader(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	switch hasHeads := plainText(node, src) != ""; {
	case !hasHeads && entering:
		write(w, "<tbody>\n")
		return ast.WalkSkipChildren, nil
	case !hasHeads:
	case entering:
		write(w, "<thead><tr>")
	default:
		write(w, "</tr></thead><tbody>\n")
	}
	return ast.WalkContinue, nil
}

// renderTableRow identifies a row by the place on the page that the link in its first cell points
// to.
func renderTableRow(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	link, _ := node.FirstChild().FirstChild().(*ast.Link)
	switch {
	case !entering:
		write(w, "</tr>\n")
	case link != nil && bytes.HasPrefix(link.Destination, []byte("#")):
		write(w, `<tr id="`, html.EscapeString(string(link.Destination[1:])), `">`)
	default:
		write(w, "<tr>")
	}
	return ast.WalkContinue, nil
}

func rowsOf(row ast.Node) (rows int) {
	for rows = 1; row.NextSibling() != nil && row.NextSibling().FirstChild().FirstChild() == nil; rows++ {
		row = row.NextSibling()
	}
	return rows
}

func renderTableCell(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	cell, row := node.(*tables.TableCell), node.Parent()
	head, first, columns := row.Kind() == tables.KindTableHeader, node.PreviousSibling() == nil, row.ChildCount()
	name, attributes := "td", ""
	switch {
	case head:
		name, attributes = "th", ` scope="col"`
	case first && node.FirstChild() == nil:
		return ast.WalkSkipChildren, nil
	case first && rowsOf(row) > 1:
		name, attributes = "th", ` scope="rowgroup" rowspan="`+strconv.Itoa(rowsOf(row))+`"`
	case first && columns > 1:
		name, attributes = "th", ` scope="row"`
	}
	if !entering {
		write(w, "</", name, ">")
		return ast.WalkContinue, nil
	}
	if cell.Alignment == tables.AlignRight {
		attributes += ` class="num"`
	}
	if _, stack := row.Parent().AttributeString(stacks); stack && name == "td" && columns > 2 {
		label := row.Parent().FirstChild().FirstChild()
		for n := node.PreviousSibling(); n != nil; n = n.PreviousSibling() {
			label = label.NextSibling()
		}
		attributes += ` data-label="` + html.EscapeString(plainText(label, src)) + `"`
	}
	write(w, "<", name, attributes, ">")
	return ast.WalkContinue, nil
}
