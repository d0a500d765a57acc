package generator

import (
	"fmt"
	"strings"
)

// tableOf begins a Markdown table and returns what adds a row: cells are Markdown.
func beginTable(b *strings.Builder, heads ...string) func(cells ...string) {
	row := func(cells ...string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	row(heads...)
	row(strings.Split(strings.Repeat("---,", len(heads)-1)+"---", ",")...)
	return row
}

// markdownText writes plain text as Markdown, on one line: nothing in it is markup but code in backquotes.
func markdownText(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	parts := strings.Split(s, "`")
	for i := range parts {
		if i%2 == 0 || i == len(parts)-1 {
			parts[i] = markdownEscapes.Replace(parts[i])
		} else {
			parts[i] = strings.ReplaceAll(parts[i], "|", `\|`)
		}
	}
	return strings.Join(parts, "`")
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `[`, `\[`, `]`, `\]`, `<`, `\<`, `|`, `\|`, `~`, `\~`, `#`, `\#`, `&`, `\&`, ` _`, ` \_`)
