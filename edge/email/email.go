// Package email decides which e-mail addresses the service accepts.
package email

// Bounds of an e-mail address, in bytes (RFC 5321, section 4.5.3.1).
const (
	MaxAddress   = 254
	MaxLocalPart = 64
	maxLabel     = 63
)

// Valid reports whether s is a bare address that the service accepts. That is a valid e-mail
// address of the HTML Living Standard (section 4.10.5.1.5) with a dot in its domain, within the
// bounds of RFC 5321, and without leading, trailing or doubled dots in its local part.
func Valid(s string) bool {
	at := -1
	for i := range len(s) {
		if s[i] == '@' {
			at = i
			break
		}
	}
	if len(s) > MaxAddress || at < 1 || at > MaxLocalPart {
		return false
	}
	for i := range at {
		switch c := s[i]; {
		case c == '.':
			if i == 0 || i == at-1 || s[i-1] == '.' {
				return false
			}
		case !alphanumeric(c) && !oneOf(c, "!#$%&'*+/=?^_`{|}~-"):
			return false
		}
	}
	domain := s[at+1:]
	dots, start := 0, 0
	for i := 0; i <= len(domain); i++ {
		if i < len(domain) && domain[i] != '.' {
			if !alphanumeric(domain[i]) && domain[i] != '-' {
				return false
			}
			continue
		}
		if label := domain[start:i]; label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if i < len(domain) {
			dots++
		}
		start = i + 1
	}
	return dots > 0
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func oneOf(c byte, set string) bool {
	for i := range len(set) {
		if set[i] == c {
			return true
		}
	}
	return false
}
