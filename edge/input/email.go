package input

import "strings"

// Bounds of an e-mail address, in bytes (RFC 5321, section 4.5.3.1).
const (
	MaxAddress   = 254
	MaxLocalPart = 64
	maxLabel     = 63
)

// ValidEmail accepts an e-mail address of the HTML Living Standard (section 4.10.5.1.5) with a dot
// in its domain, within the bounds of RFC 5321, and without leading, trailing or doubled dots in
// its local part.
func ValidEmail(s string) bool {
	local, domain, _ := strings.Cut(s, "@")
	if len(s) > MaxAddress || len(local) > MaxLocalPart {
		return false
	}
	for part := range strings.SplitSeq(local, ".") {
		if part == "" || !consistsOf(part, "!#$%&'*+/=?^_`{|}~-") {
			return false
		}
	}
	return ValidDomain(domain)
}

// ValidDomain accepts a domain name (RFC 1123, section 2.1) of at least two labels.
func ValidDomain(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > maxLabel || !consistsOf(label, "-") ||
			strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
	}
	return strings.Contains(s, ".")
}

func consistsOf(s, others string) bool {
	for _, c := range []byte(s) {
		alphanumeric := '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if !alphanumeric && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}
