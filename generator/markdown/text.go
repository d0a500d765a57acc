package markdown

import "strings"

// Text writes plain text as Markdown, on one line. Nothing in the text acts as markup but
// code in backquotes.
func Text(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if !strings.ContainsAny(s, "`\\*[]<|~#&_") {
		return s
	}
	parts := strings.Split(s, "`")
	for i := range parts {
		if i%2 == 0 || i == len(parts)-1 {
			parts[i] = escapes.Replace(parts[i])
		} else {
			parts[i] = strings.ReplaceAll(parts[i], "|", `\|`)
		}
	}
	return strings.Join(parts, "`")
}

// escapes escape what would act as markup. An underscore does so only where a word begins.
var escapes = strings.NewReplacer(
	`\`, `\\`, `*`, `\*`, `[`, `\[`, `]`, `\]`, `<`, `\<`,
	`|`, `\|`, `~`, `\~`, `#`, `\#`, `&`, `\&`, ` _`, ` \_`,
)
