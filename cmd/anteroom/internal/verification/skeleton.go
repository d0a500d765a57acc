package verification

import (
	"strings"
	"unicode"

	"anteroom/edge/quote"

	"golang.org/x/text/unicode/norm"
)

// skeleton maps names that look alike to one text: without case, white space, invisible characters
// and marks, and with one letter for those that look the same (compare UTS 39, section 4). It is
// evidence for a person, and decides nothing.
func skeleton(name string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(name) {
		if unicode.IsSpace(r) || quote.Invisible(r) || r >= 0x80 && unicode.In(r, unicode.Mn, unicode.Cf, unicode.Me) {
			continue
		}
		r = unicode.ToLower(r)
		if like := alike[r]; like != "" {
			b.WriteString(like)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// alike maps characters, in lower case, to the ASCII letters they look like.
var alike = func() map[rune]string {
	by := map[rune]string{}
	for like, letters := range map[string]string{
		"a": "аαɑ", "b": "вβ", "c": "с", "d": "ԁđ", "e": "еε", "g": "ɡց", "h": "һнħհ", "j": "ј", "k": "кκ",
		"l": "1i|!іӏιıł", "n": "пηո", "o": "0оοøօ", "p": "рρ", "q": "ԛ", "r": "г", "rn": "mм", "s": "5ѕ", "t": "тτ",
		"u": "υս", "v": "ν", "vv": "wԝω", "x": "хχ", "y": "уүγ", "3": "з", "6": "б", "-": "‐‑–—−",
	} {
		for _, r := range letters {
			by[r] = like
		}
	}
	return by
}()
