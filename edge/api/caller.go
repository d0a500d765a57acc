package api

import "strings"

// callerKey returns the key under which the rate limiter counts a caller: an IPv4 address, or the
// first 64 bits of an IPv6 address in the form of RFC 5952, since one caller usually has a /64. Any
// other text is its own key.
func callerKey(address string) string {
	if v4, mapped := strings.CutPrefix(address, "::ffff:"); mapped && strings.IndexByte(v4, '.') > 0 {
		return v4
	}
	before, after, gap := strings.Cut(address, "::")
	groups := strings.Split(before, ":")
	if len(groups) < 4 && !gap {
		return address
	}
	for left := 8 - len(groups) - strings.Count(after, ":") - 1; left > 0; left-- {
		groups = append(groups, "0")
	}
	groups = append(groups, strings.Split(after, ":")...)
	if groups[0] == "" {
		groups[0] = "0"
	}
	return strings.Join(groups[:4], ":") + "::/64"
}
