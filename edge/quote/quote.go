// Package quote marks the words of strangers in a message, so that they cannot pass for other
// words, and makes their invisible characters visible.
package quote

import (
	"cmp"
	"strings"
)

const (
	Mark = "> "
	More = ">+" // continues a line that is too wide for a mail
)

// width is the columns of a line after its mark: RFC 5322, section 2.1.1, allows 78 for the whole,
// and quoted-printable breaks a line of 76.
const width = 72

// Lines quotes text: it makes every line Visible, and wraps it. shown is the number of characters
// made visible.
func Lines(text string) (quoted string, shown int) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		visible, n := Visible(line)
		for mark, rest := Mark, true; rest; mark, rest = More, visible != "" {
			end := lineEnd(visible)
			b.WriteString(mark + visible[:end] + "\n")
			visible = visible[end:]
		}
		shown += n
	}
	return b.String(), shown
}

// lineEnd returns the number of bytes that fit into width columns, up to a space if possible.
func lineEnd(line string) int {
	const tab, asian = 8, 0x1100 // from here on a letter may take two columns
	columns, space := 0, 0
	for i, r := range line {
		columns++
		switch {
		case r == ' ':
			space = i
		case r == '\t':
			columns += tab - 1
		case r >= asian:
			columns++
		}
		if columns > width {
			return cmp.Or(space, i)
		}
	}
	return len(line)
}

// Visible writes the characters of a line that are Invisible as <U+...>: controls, bidirectional
// controls, zero-width and tag characters, and blank letters. shown is their number.
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

func Invisible(r rune) bool {
	return r < 0x20 && r != '\t' || r >= 0x7f && r < 0xa0 ||
		r == 0x2028 || r == 0x2029 || r >= 0xfff9 && r <= 0xfffb || inkless(r)
}

// Blank reports whether text has only white space and characters without ink.
func Blank(text string) bool {
	for _, r := range text {
		if !inkless(r) && strings.TrimSpace(string(r)) != "" {
			return false
		}
	}
	return true
}

// inklessRanges are Default_Ignorable_Code_Point of Unicode 17, and the blank pattern of Braille.
var inklessRanges = [][2]rune{
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

func inkless(r rune) bool {
	for _, span := range inklessRanges {
		if r <= span[1] {
			return r >= span[0]
		}
	}
	return false
}

func hex(r rune) string {
	const digits = "0123456789ABCDEF"
	var text string
	for n := r; n > 0 || len(text) < 4; n >>= 4 {
		text = digits[n&15:n&15+1] + text
	}
	return text
}
