package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	renderers "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// elements renders the parts of Markdown that differ from goldmark's.
type elements struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (elements) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindPlaced, func(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		return ast.WalkContinue, node.(*placed).component.Render(context.Background(), w)
	})
	r.Register(ast.KindHeading, renderHeading)
	r.Register(ast.KindText, leaf(renderText))
	r.Register(ast.KindCodeSpan, leaf(renderCodeSpan))
	r.Register(ast.KindFencedCodeBlock, leaf(renderCodeBlock))
	r.Register(ast.KindCodeBlock, leaf(renderCodeBlock))
	r.Register(tables.KindTable, renderTable)
	r.Register(tables.KindTableHeader, between("<thead><tr>", "</tr></thead><tbody>\n"))
	r.Register(tables.KindTableRow, between("<tr>", "</tr>\n"))
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

func between(opening, closing string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			write(w, opening)
		} else {
			write(w, closing)
		}
		return ast.WalkContinue, nil
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
	id, _ := h.AttributeString("id")
	raw, _ := id.([]byte)
	links := h.Level > 1 && len(raw) > 0 && !holdsLink(h)
	level := string("0123456"[h.Level])
	switch {
	case entering:
		write(w, "<h", level)
		if len(raw) > 0 {
			write(w, ` id="`, html.EscapeString(string(raw)), `"`)
		}
		write(w, ">")
		if links {
			write(w, `<a tabindex="-1" href="#`, html.EscapeString(string(raw)), `">`)
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

// dated keeps dates from breaking across lines.
func dated(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		eachDate(text,
			func(words string) { b.WriteString(html.EscapeString(words)) },
			func(date string) { b.WriteString("<time>" + date + "</time>") })
		_, err := io.WriteString(w, b.String())
		return err
	})
}

var dates = regexp.MustCompile(`\b\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?\b`)

// eachDate calls words and date with the parts of a text, in turn. A date next to a hyphen or a
// slash is part of a word.
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

// longCode characters of code fit next to a label in a table on a phone.
const longCode = 22

func renderCodeSpan(w util.BufWriter, src []byte, node ast.Node) {
	var code []byte
	for c := node.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			code = append(code, t.Segment.Value(src)...)
		}
	}
	code = bytes.ReplaceAll(code, []byte("\n"), []byte(" "))
	if utf8.RuneCount(code) > longCode {
		write(w, `<code class="long">`)
	} else {
		write(w, "<code>")
	}
	renderers.DefaultWriter.RawWrite(w, code)
	write(w, "</code>")
}

// renderCodeBlock indents JSON and breaks long commands, which the Markdown has on one line. One
// click selects a command.
func renderCodeBlock(w util.BufWriter, src []byte, node ast.Node) {
	code, language, class := bytes.TrimRight(node.Lines().Value(src), "\n"), "", ""
	if fenced, ok := node.(*ast.FencedCodeBlock); ok {
		language = string(fenced.Language(src))
	}
	switch oneLine := node.Lines().Len() == 1; {
	case language == "sh" && oneLine:
		class, code = ` class="command"`, breakCommand(code)
	case language == "json" && oneLine:
		var indented bytes.Buffer
		if json.Indent(&indented, code, "", "  ") == nil {
			code = indented.Bytes()
		}
	}
	write(w, "<pre", class, "><code>")
	renderers.DefaultWriter.RawWrite(w, code)
	write(w, "</code></pre>\n")
}

// longCommand characters of a command fit on a line.
const longCommand = 64

func breakCommand(code []byte) []byte {
	var b []byte
	var quote byte
	part, line := 0, 0 // where a part begins in code, and how many characters are in the line
	end := len(code)
	for i := range end + 1 {
		switch {
		case i == end || quote == 0 && i+1 < end && code[i] == ' ' && (code[i+1] == '-' || code[i+1] == '|'):
			if line > 0 && (line+i-part > longCommand || end > longCommand && code[part+1] == '|') {
				b, line = append(b, " \\\n "...), 1
			}
			b, line, part = append(b, code[part:i]...), line+i-part, i
		case code[i] == quote:
			quote = 0
		case quote == 0 && (code[i] == '\'' || code[i] == '"') && (i == 0 || code[i-1] != '\\'):
			quote = code[i]
		}
	}
	return b
}

// stacks is the attribute of a table whose rows become cards on a phone, with the number of the
// column whose name is left out there: it is prose.
const stacks = "stacks"

// proseCell characters are more than a value.
const proseCell = 60

func proseColumn(table ast.Node, src []byte) int {
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		if len(plainText(row.LastChild(), src)) > proseCell {
			return row.ChildCount() - 1
		}
	}
	return 0
}

// In a terse table most cells have at most terseCell characters.
const terseCell = 12

// The first of two columns fits a phone next to prose with shortKey characters.
const shortKey = 14

func renderTable(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		write(w, "</tbody></table>\n")
		return ast.WalkContinue, nil
	}
	key, most, terse := 0, 0, true
	for row := node.FirstChild(); row != nil; row = row.NextSibling() {
		key, most = max(key, len(plainText(row.FirstChild(), src))), max(most, len(plainText(row.LastChild(), src)))
		if row.Kind() != tables.KindTableRow {
			continue
		}
		for cell := row.FirstChild().NextSibling(); cell != nil; cell = cell.NextSibling() {
			terse = terse && len(plainText(cell, src)) <= terseCell
		}
	}
	switch stack := node.FirstChild().ChildCount() > 2 || key > longCode || key > shortKey && most > proseCell; {
	case !stack:
		write(w, "<table>")
		return ast.WalkContinue, nil
	case terse:
		write(w, `<table class="stack terse">`)
	default:
		write(w, `<table class="stack">`)
	}
	node.SetAttributeString(stacks, proseColumn(node, src))
	return ast.WalkContinue, nil
}

func renderTableCell(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	row := node.Parent()
	head, first := row.Kind() == tables.KindTableHeader, node.PreviousSibling() == nil
	columns := row.ChildCount()
	switch {
	case !entering && (head || first && columns > 1):
		write(w, "</th>")
	case !entering:
		write(w, "</td>")
	case head:
		write(w, `<th scope="col">`)
	case first && columns > 1:
		write(w, `<th scope="row">`)
	default:
		write(w, "<td")
		if prose, stack := row.Parent().AttributeString(stacks); stack && columns > 2 {
			column, label := 0, row.Parent().FirstChild().FirstChild()
			for n := node.PreviousSibling(); n != nil; n = n.PreviousSibling() {
				column, label = column+1, label.NextSibling()
			}
			if column != prose {
				write(w, ` data-label="`, html.EscapeString(plainText(label, src)), `"`)
			}
		}
		write(w, ">")
	}
	return ast.WalkContinue, nil
}
