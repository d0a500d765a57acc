package pages

import "strings"

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
