package api

import (
	"strconv"
	"strings"

	"anteroom/edge/jsondoc"
)

// callerKey returns the key under which the rate limiter counts a caller: an IPv4 address, also one
// in ::ffff:0:0/96 or 64:ff9b::/96, or the first 64 bits of another IPv6 address in the form of RFC
// 5952, since one caller usually has a /64. Any other text is its own key.
func callerKey(address string) string {
	for _, prefix := range []string{"::ffff:", "64:ff9b::"} {
		if v4, holds := strings.CutPrefix(address, prefix); holds {
			if strings.IndexByte(v4, '.') > 0 {
				return v4
			}
			if groups := strings.Split("0:"+v4, ":"); len(groups) <= 3 {
				return octets(groups[len(groups)-2]) + "." + octets(groups[len(groups)-1])
			}
		}
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

func octets(group string) string {
	n := 0
	for _, c := range []byte(group) {
		n = n<<4 | int(jsondoc.Hex(c))
	}
	return strconv.Itoa(n>>8) + "." + strconv.Itoa(n&255)
}
