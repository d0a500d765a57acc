package quote_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"anteroom/edge/quote"
)

// Of each range of invisible characters the first and the last are made visible, and their
// neighbours outside the range are left as they are.
func TestQuoteShowsTheInvisible(t *testing.T) {
	for _, c := range []struct{ first, last rune }{
		{0x00, 0x08},
		{0x0b, 0x0c},
		{0x0e, 0x1f},
		{0x7f, 0x9f},
		{0xad, 0xad},
		{0x34f, 0x34f},
		{0x61c, 0x61c},
		{0x115f, 0x1160},
		{0x17b4, 0x17b5},
		{0x180b, 0x180f},
		{0x200b, 0x200f},
		{0x2028, 0x202e},
		{0x2060, 0x206f},
		{0x2800, 0x2800},
		{0x3164, 0x3164},
		{0xfe00, 0xfe0f},
		{0xfeff, 0xfeff},
		{0xffa0, 0xffa0},
		{0xfff0, 0xfffb},
		{0x1bca0, 0x1bca3},
		{0x1d173, 0x1d17a},
		{0xe0000, 0xe0fff},
	} {
		for r := c.first; r <= c.last; r++ {
			if quoted, shown := quote.Lines("a" + string(r) + "b"); quoted != fmt.Sprintf("> a<U+%04X>b\n", r) || shown != 1 {
				t.Errorf("U+%04X is quoted as %q, %d shown", r, quoted, shown)
			}
		}
		for _, r := range []rune{c.first - 1, c.last + 1} {
			if r < 0 || r == '\n' || r == '\r' {
				continue
			}
			if quoted, shown := quote.Lines(string(r)); quoted != "> "+string(r)+"\n" || shown != 0 {
				t.Errorf("U+%04X is quoted as %q, %d shown", r, quoted, shown)
			}
		}
	}
}

// Every line is marked, whichever way the line before it ends, so that no word of an agent begins a
// line.
func TestQuoteMarksLines(t *testing.T) {
	for text, want := range map[string]string{
		"": "> \n", "a": "> a\n", "a\nb": "> a\n> b\n", "a\r\nb\rc": "> a\n> b\n> c\n", "a\n": "> a\n> \n", "a\n\n> b\tc": "> a\n> \n> > b\tc\n", "é 😀 <U+0041>": "> é 😀 <U+0041>\n",
	} {
		if got, shown := quote.Lines(text); got != want || shown != 0 {
			t.Errorf("%q is quoted as %q, %d shown", text, got, shown)
		}
	}
	if _, shown := quote.Lines("\x00a\u200b\u202e"); shown != 3 {
		t.Errorf("%d shown, want 3", shown)
	}
}

// No line is wider than 74 columns, and the lines add up to the text again, also where a text
// imitates the marks.
func TestQuoteWraps(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("a", 72), strings.Repeat("a", 73), strings.Repeat("a", 500), strings.Repeat("word ", 40), strings.Repeat(" ", 200),
		" " + strings.Repeat("a", 200) + " b", "a\tb" + strings.Repeat("\tc", 40), strings.Repeat("漢字", 60), strings.Repeat("é😀 ", 60), ">+ a\n>+" + strings.Repeat("+> ", 90),
		strings.Repeat("a", 72) + " ", "word " + strings.Repeat("b", 67) + " end",
	} {
		quoted, _ := quote.Lines(text)
		var lines []string
		for line := range strings.Lines(quoted) {
			line = strings.TrimSuffix(line, "\n")
			columns := utf8.RuneCountInString(line) + 7*strings.Count(line, "\t")
			for _, wide := range []string{"漢", "字", "😀"} {
				columns += strings.Count(line, wide)
			}
			if columns > 74 {
				t.Errorf("%d columns: %q", columns, line)
			}
			if more, is := strings.CutPrefix(line, quote.More); is {
				lines[len(lines)-1] += more
			} else if first, is := strings.CutPrefix(line, quote.Mark); is {
				lines = append(lines, first)
			} else {
				t.Errorf("no mark: %q", line)
			}
		}
		if got := strings.Join(lines, "\n"); got != text {
			t.Errorf("%q\nis quoted as\n%s", text, quoted)
		}
	}
	if quoted, _ := quote.Lines(strings.Repeat("nine more ", 9)); quoted != "> "+strings.TrimSpace(strings.Repeat("nine more ", 7))+"\n>+ nine more nine more \n" {
		t.Errorf("words are wrapped as %q", quoted)
	}
}

// White space and every letter without ink are blank, alone and together, and nothing else is: no
// control character, and no text that has ink somewhere.
func TestBlank(t *testing.T) {
	all := ""
	for r := range rune(unicode.MaxRune + 1) {
		inkless := unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) || r == 0x2800 ||
			unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) && (r < 0xfff9 || r > 0xfffb) && (r < 0x13430 || r > 0x1343f)
		if want := unicode.IsSpace(r) || inkless; quote.Blank(string(r)) != want {
			t.Errorf("U+%04X is blank: %t, want %t", r, !want, want)
		} else if want {
			all += string(r)
		}
		if inkless && !quote.Invisible(r) {
			t.Errorf("U+%04X is not shown", r)
		}
	}
	for text, want := range map[string]bool{"": true, all: true, all + "a": false, "a" + all: false, "\xff": false, "\u3164\xff": false, "\x00": false} {
		if quote.Blank(text) != want {
			t.Errorf("%.20q is blank: %t, want %t", text, !want, want)
		}
	}
}
