// Package clientaddr tells callers apart by their network addresses, for the rate limiter.
package clientaddr

// Key is the key under which the rate limiter counts a caller: an IPv4 address, or the first 64
// bits of an IPv6 address, since one caller usually has all of a /64. An IPv4-mapped address counts
// as IPv4. A text that is no address is its own key.
func Key(address string) string {
	groups, ok := parseIPv6(address)
	if !ok {
		return address
	}
	if groups[0]|groups[1]|groups[2]|groups[3]|groups[4] == 0 && groups[5] == 0xffff {
		return decimal(groups[6]>>8) + "." + decimal(groups[6]&255) + "." + decimal(groups[7]>>8) + "." + decimal(groups[7]&255)
	}
	key := make([]byte, 0, 24)
	for _, g := range groups[:4] {
		key = append(key, hex[g>>12], hex[g>>8&15], hex[g>>4&15], hex[g&15], ':')
	}
	return string(key) + ":/64"
}

const hex = "0123456789abcdef"

func decimal(n uint16) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + string(rune('0'+n%10))
}

// parseIPv6 reads the text form of an IPv6 address (RFC 4291, section 2.2). A zone is left out.
func parseIPv6(s string) (groups [8]uint16, ok bool) {
	n, gap := 0, -1 // groups read, and where "::" stands among them
	i := 0
	if len(s) >= 2 && s[:2] == "::" {
		gap, i = 0, 2
	}
	for i < len(s) && s[i] != '%' {
		if n == 8 {
			return groups, false
		}
		start, value := i, 0
		for i < len(s) && hexDigit(s[i]) >= 0 {
			if value = value<<4 | hexDigit(s[i]); value > 0xffff {
				return groups, false
			}
			i++
		}
		if i < len(s) && s[i] == '.' {
			v4, valid := parseIPv4(s[start:])
			if !valid || n > 6 {
				return groups, false
			}
			groups[n], groups[n+1] = uint16(v4>>16), uint16(v4&0xffff)
			n += 2
			break
		}
		if i == start {
			return groups, false
		}
		groups[n] = uint16(value)
		n++
		switch {
		case i == len(s) || s[i] == '%':
		case s[i] != ':':
			return groups, false
		case i+1 < len(s) && s[i+1] == ':':
			if gap >= 0 {
				return groups, false
			}
			gap, i = n, i+2
		default:
			if i++; i == len(s) {
				return groups, false
			}
		}
	}
	if gap < 0 {
		return groups, n == 8
	}
	if n == 8 {
		return groups, false
	}
	moved := n - gap
	copy(groups[8-moved:], groups[gap:n])
	clear(groups[gap : 8-moved])
	return groups, true
}

func parseIPv4(s string) (address uint32, ok bool) {
	parts, value, digits := 0, uint32(0), 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i < len(s) && '0' <= s[i] && s[i] <= '9' && (digits == 0 || value > 0):
			if value = value*10 + uint32(s[i]-'0'); value > 255 {
				return 0, false
			}
			digits++
		case digits > 0 && (i == len(s) || s[i] == '.'):
			address, value, digits = address<<8|value, 0, 0
			parts++
		default:
			return 0, false
		}
	}
	return address, parts == 4
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
