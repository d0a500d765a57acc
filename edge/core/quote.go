package core

import (
	"strconv"
	"strings"
)

// Quote marks every line of an agent's text with "> " and shows what would not be seen as
// <U+...>: controls, bidirectional controls, zero-width and tag characters. It returns how many it showed.
func Quote(text string) (quoted string, shown int) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var b strings.Builder
	b.WriteString("> ")
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString("\n> ")
		case invisible(r):
			digits := strings.ToUpper(strconv.FormatInt(int64(r), 16))
			b.WriteString("<U+" + "0000"[min(4, len(digits)):] + digits + ">")
			shown++
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\n')
	return b.String(), shown
}

func invisible(r rune) bool {
	return r < 0x20 && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0xad || r == 0x61c || r == 0x180e ||
		r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2060 && r <= 0x206f ||
		r >= 0xfe00 && r <= 0xfe0f || r == 0xfeff || r >= 0xfff9 && r <= 0xfffb || r >= 0xe0000 && r <= 0xe0fff
}
