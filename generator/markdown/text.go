package markdown

import (
	"regexp"
	"strings"
)

// Text returns Markdown that shows a plain text, on one line. Code in backquotes stays code.
func Text(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if !strings.ContainsAny(s, "`\\*[]<|~#&_{") {
		return s
	}
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 { // the last backquote has no partner
		last := len(parts) - 1
		parts = append(parts[:last-1], parts[last-1]+"\x00"+parts[last])
	}
	for i := range parts {
		if i%2 == 0 {
			parts[i] = escaped(parts[i])
		} else {
			parts[i] = strings.ReplaceAll(parts[i], "|", `\|`)
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "`"), "\x00", "\\`")
}

var (
	always = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `[`, `\[`, `]`, `\]`, `<`, `\<`, `|`, `\|`, `~`, `\~`, `{#`, `\{#`)
	entity = regexp.MustCompile(`&(#?[0-9A-Za-z]+;)`)
	hashes = regexp.MustCompile(`(^|\s)#`)
	// An underscore acts as markup unless there are letters or digits on both sides of it.
	underscores = regexp.MustCompile(`_+`)
)

func escaped(s string) string {
	s = entity.ReplaceAllString(always.Replace(s), `\&$1`)
	s = hashes.ReplaceAllString(s, `$1\#`)
	var b strings.Builder
	end := 0
	for _, at := range underscores.FindAllStringIndex(s, -1) {
		b.WriteString(s[end:at[0]])
		run := s[at[0]:at[1]]
		if at[0] == 0 || at[1] == len(s) || !isWord(s[at[0]-1]) || !isWord(s[at[1]]) {
			run = strings.Repeat(`\_`, len(run))
		}
		b.WriteString(run)
		end = at[1]
	}
	return b.String() + s[end:]
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}
