// Package quote marks the words of strangers in a message, so that they cannot pass for anybody
// else's words, and makes their invisible characters visible.
package quote

import "strings"

// Lines puts "> " before every line of an agent's text and makes the line Visible. It returns how
// many characters it made visible.
func Lines(text string) (quoted string, shown int) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		visible, n := Visible(line)
		b.WriteString("> " + visible + "\n")
		shown += n
	}
	return b.String(), shown
}

// Visible writes the invisible characters of a line as <U+...>: controls, bidirectional controls,
// zero-width and tag characters. It returns how many it wrote so.
func Visible(line string) (visible string, shown int) {
	var b strings.Builder
	for _, r := range line {
		if !Invisible(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString("<U+" + hex(r) + ">")
		shown++
	}
	return b.String(), shown
}

// Invisible reports whether a character is one that Visible writes as <U+...>.
func Invisible(r rune) bool {
	return r < 0x20 && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0xad || r == 0x61c || r == 0x180e ||
		r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2060 && r <= 0x206f ||
		r >= 0xfe00 && r <= 0xfe0f || r == 0xfeff || r >= 0xfff9 && r <= 0xfffb || r >= 0xe0000 && r <= 0xe0fff
}

// hex writes a code point in hexadecimal digits, at least four, as Unicode does.
func hex(r rune) string {
	const digits = "0123456789ABCDEF"
	var text string
	for n := r; n > 0 || len(text) < 4; n >>= 4 {
		text = digits[n&15:n&15+1] + text
	}
	return text
}
