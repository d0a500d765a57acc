package pages

import (
	"fmt"
	"strings"
)

// table is a table with a row for each item. Its heads, and the cells of a row, are Markdown with
// " | " between them.
func table[T any](heads string, items []T, row func(T) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s\n", heads, strings.Repeat(" --- |", strings.Count(heads, " | ")+1))
	for _, item := range items {
		fmt.Fprintf(&b, "| %s |\n", row(item))
	}
	return b.String()
}

// list is a list with a line for each item.
func list[T any](items []T, line func(T) string) string {
	var b strings.Builder
	for _, item := range items {
		fmt.Fprintf(&b, "- %s\n", line(item))
	}
	return b.String()
}

// codes are words as code, with commas between them.
func codes(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

// markdownText writes plain text as Markdown, on one line. Nothing in the text acts as markup but
// code in backquotes.
func markdownText(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if !strings.ContainsAny(s, "`\\*[]<|~#&_") {
		return s
	}
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

// markdownEscapes escape what would act as markup. An underscore does so only where a word begins.
var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, `*`, `\*`, `[`, `\[`, `]`, `\]`, `<`, `\<`,
	`|`, `\|`, `~`, `\~`, `#`, `\#`, `&`, `\&`, ` _`, ` \_`,
)
