package api

import (
	"strconv"
	"strings"

	"anteroom/edge/jsondoc"
	"anteroom/edge/sha256"
)

// callerKey is the key under which the rate limiter counts a caller: an IPv4 address, or the first
// 64 bits of an IPv6 address, since one caller usually has all of a /64. An IPv4-mapped address
// counts as IPv4. A text that is not an address is its own key.
func callerKey(address string) string {
	b, ok := parseIPv6(address)
	switch {
	case !ok:
		return address
	case string(b[:12]) == "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff":
		return strconv.Itoa(int(b[12])) + "." + strconv.Itoa(int(b[13])) + "." + strconv.Itoa(int(b[14])) + "." + strconv.Itoa(int(b[15]))
	}
	key := sha256.Hex(b[:8])
	return key[:4] + ":" + key[4:8] + ":" + key[8:12] + ":" + key[12:] + "::/64"
}

// parseIPv6 reads the text form of an IPv6 address (RFC 4291, section 2.2). A zone is left out.
func parseIPv6(s string) (address [16]byte, ok bool) {
	s, _, _ = strings.Cut(s, "%")
	before, after, gap := strings.Cut(s, "::")
	first, ok := parseGroups(before, !gap)
	last, lastOK := parseGroups(after, true)
	n := len(first) + len(last)
	if !ok || !lastOK || gap && n > 14 || !gap && n != 16 {
		return address, false
	}
	copy(address[:], first)
	copy(address[16-len(last):], last)
	return address, true
}

// parseGroups reads groups of hexadecimal digits with colons between them. The last group of an
// address may be an IPv4 address.
func parseGroups(s string, last bool) (b []byte, ok bool) {
	for s != "" {
		group, rest, more := strings.Cut(s, ":")
		if last && !more && strings.IndexByte(group, '.') >= 0 {
			v4, ok := parseIPv4(group)
			return append(b, v4...), ok
		}
		value := 0
		for i := range len(group) {
			digit := jsondoc.Hex(group[i])
			if digit < 0 {
				return nil, false
			}
			value = value<<4 | int(digit)
		}
		if group == "" || len(group) > 4 || more && rest == "" {
			return nil, false
		}
		b, s = append(b, byte(value>>8), byte(value)), rest
	}
	return b, true
}

func parseIPv4(s string) (b []byte, ok bool) {
	for part := range strings.SplitSeq(s, ".") {
		n, isNumber := jsondoc.Integer(part)
		if !isNumber || part[0] == '-' || n > 255 {
			return nil, false
		}
		b = append(b, byte(n))
	}
	return b, len(b) == 4
}
