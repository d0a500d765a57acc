package jsondoc

import "math/bits"

// unescaped is the length of the beginning of s that needs no escape: the bytes before the first
// quote, backslash or control character. The reader and the writer pass every string through it,
// and most strings hold none of these characters, so it looks at eight bytes at once, as one
// number. Subtracting a space from a byte sets its highest bit where the byte is a control
// character. Subtracting 1 does the same for a quote or a backslash, once an XOR has made it 0.
// Such a subtraction may borrow and set the bit of a later byte wrongly, but never that of an
// earlier one, so the lowest bit that is set is right. Bytes beyond ASCII have the bit anyway, and
// are masked.
func unescaped[T string | []byte](s T) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		x := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		quote, backslash := x^ones*'"', x^ones*'\\'
		if found := ((x - ones*' ') | (quote - ones) | (backslash - ones)) &^ x & (ones << 7); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// ones has the lowest bit of each byte set.
const ones = 0x0101010101010101
