package verification

import (
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// skeleton is what of a name a reader tells apart: without case, white space, invisible
// characters and marks, and with one letter for those that look alike. Two names with the same
// skeleton may be meant to be taken for each other (compare UTS 39, section 4). It is evidence for
// a person, and decides nothing.
func skeleton(name string) string {
	var b []byte
	ascii := true
	for i := range len(name) {
		ascii = ascii && name[i] < 0x80
	}
	if !ascii {
		name = norm.NFKD.String(name)
	}
	for _, r := range name {
		if r >= 0x80 {
			if unicode.IsSpace(r) || unicode.In(r, unicode.Mn, unicode.Cf, unicode.Me) {
				continue
			}
			if r = unicode.ToLower(r); letters[r] != 0 {
				r = letters[r]
			}
		}
		switch {
		case r == ' ' || r == '\t':
		case 'A' <= r && r <= 'Z':
			b = appendFolded(b, r+('a'-'A'))
		default:
			b = appendFolded(b, r)
		}
	}
	return string(b)
}

// appendFolded appends a character in lower case, or what looks like it.
func appendFolded(b []byte, r rune) []byte {
	switch r {
	case '1', 'i', '|', '!':
		return append(b, 'l')
	case '0':
		return append(b, 'o')
	case '5':
		return append(b, 's')
	case 'm':
		return append(b, "rn"...)
	case 'w':
		return append(b, "vv"...)
	}
	return append(b, string(r)...)
}

// letters are those of other scripts, and some of Latin, that look like a letter of ASCII. They are
// in lower case, as names are when they are looked up.
var letters = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'ё': 'e', 'һ': 'h', 'н': 'h', 'і': 'i', 'ї': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'о': 'o',
	'п': 'n', 'р': 'p', 'ԛ': 'q', 'г': 'r', 'ѕ': 's', 'т': 't', 'у': 'y', 'ү': 'y', 'ԝ': 'w', 'х': 'x', 'з': '3', 'б': '6',
	'α': 'a', 'β': 'b', 'ε': 'e', 'η': 'n', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'χ': 'x', 'γ': 'y', 'ω': 'w',
	'ı': 'i', 'ł': 'l', 'ø': 'o', 'đ': 'd', 'ħ': 'h', 'ɑ': 'a', 'ɡ': 'g', 'օ': 'o', 'ս': 'u', 'հ': 'h', 'ո': 'n', 'ց': 'g', '‐': '-', '‑': '-', '–': '-', '—': '-', '−': '-',
}
