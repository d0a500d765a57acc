// Package quote marks the words of strangers in a message, so that they cannot pass for anybody
// else's words, and makes their invisible characters visible.
package quote

import (
	"cmp"
	"strings"
)

// What begins a quoted line. Mark begins each line of a text. A line that is too wide for a mail
// goes on after More.
const (
	Mark = "> "
	More = ">+"
)

// width is the columns of a line after its mark. RFC 5322, section 2.1.1, has 78 for the whole, and
// quoted-printable breaks a line of 76.
const width = 72

// Lines quotes an agent's text: it makes every line Visible, and wraps it. It returns how many
// characters it made visible.
func Lines(text string) (quoted string, shown int) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		visible, n := Visible(line)
		for mark, rest := Mark, true; rest; mark, rest = More, visible != "" {
			at := fits(visible)
			b.WriteString(mark + visible[:at] + "\n")
			visible = visible[at:]
		}
		shown += n
	}
	return b.String(), shown
}

// fits returns how many bytes of a line stand in width columns, up to a space if there is one. A
// letter may take two columns from the first of the Asian ones on.
func fits(line string) int {
	const tab, asian = 8, 0x1100
	columns, space := 0, 0
	for at, r := range line {
		columns++
		switch {
		case r == ' ':
			space = at
		case r == '\t':
			columns += tab - 1
		case r >= asian:
			columns++
		}
		if columns > width {
			return cmp.Or(space, at)
		}
	}
	return len(line)
}

// Visible writes the invisible characters of a line as <U+...>: controls, bidirectional controls,
// zero-width and tag characters, and blank letters. It returns how many it wrote so.
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
	return r < 0x20 && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0xfff9 && r <= 0xfffb || empty(r)
}

// Blank reports whether a text shows nothing: it holds only white space and letters without ink.
func Blank(text string) bool {
	for _, r := range text {
		if !empty(r) && strings.TrimSpace(string(r)) != "" {
			return false
		}
	}
	return true
}

// empties are the first and last code points of ranges without ink: Default_Ignorable_Code_Point of
// Unicode 17, and the blank pattern of Braille.
var empties = [][2]rune{
	{0xad, 0xad},
	{0x34f, 0x34f},
	{0x61c, 0x61c},
	{0x115f, 0x1160},
	{0x17b4, 0x17b5},
	{0x180b, 0x180f},
	{0x200b, 0x200f},
	{0x202a, 0x202e},
	{0x2060, 0x206f},
	{0x2800, 0x2800},
	{0x3164, 0x3164},
	{0xfe00, 0xfe0f},
	{0xfeff, 0xfeff},
	{0xffa0, 0xffa0},
	{0xfff0, 0xfff8},
	{0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a},
	{0xe0000, 0xe0fff},
}

func empty(r rune) bool {
	for _, span := range empties {
		if r <= span[1] {
			return r >= span[0]
		}
	}
	return false
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
