// Package sha256 computes SHA-256 (FIPS 180-4). The standard library's package has a quarter of the
// size of everything else that runs on the edge, since it comes with a validated module.
package sha256

import "math/bits"

// HexOf returns the SHA-256 of a string, in lower-case hexadecimal digits.
func HexOf(s string) string {
	sum := Sum([]byte(s))
	return Hex(sum[:])
}

// Hex returns bytes as lower-case hexadecimal digits.
func Hex(bytes []byte) string {
	const digits = "0123456789abcdef"
	text := make([]byte, 2*len(bytes))
	for i, b := range bytes {
		text[2*i], text[2*i+1] = digits[b>>4], digits[b&15]
	}
	return string(text)
}

// Sum returns the SHA-256 of data (FIPS 180-4, section 6.2).
func Sum(data []byte) (sum [32]byte) {
	h := initialHash
	length := uint64(len(data)) * 8
	for ; len(data) >= blockSize; data = data[blockSize:] {
		h = hashBlock(h, data[:blockSize])
	}
	// The last one or two blocks: the bytes left, a one bit, zeros, and the length in bits.
	var last [2 * blockSize]byte
	n := copy(last[:], data)
	last[n] = 0x80
	size := blockSize
	if n+1+8 > blockSize {
		size = 2 * blockSize
	}
	for i := range 8 {
		last[size-1-i] = byte(length >> (8 * i))
	}
	for i := 0; i < size; i += blockSize {
		h = hashBlock(h, last[i:i+blockSize])
	}
	for i, word := range h {
		sum[4*i], sum[4*i+1], sum[4*i+2], sum[4*i+3] = byte(word>>24), byte(word>>16), byte(word>>8), byte(word)
	}
	return sum
}

const blockSize = 64

// initialHash is the first 32 bits of the fractional parts of the square roots of the first 8
// primes.
var initialHash = [8]uint32{
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
}

// roundConstants are the first 32 bits of the fractional parts of the cube roots of the first 64
// primes.
var roundConstants = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

func hashBlock(h [8]uint32, block []byte) [8]uint32 {
	var w [64]uint32
	for i := range 16 {
		w[i] = uint32(block[4*i])<<24 | uint32(block[4*i+1])<<16 | uint32(block[4*i+2])<<8 | uint32(block[4*i+3])
	}
	for i := 16; i < 64; i++ {
		s0 := bits.RotateLeft32(w[i-15], -7) ^ bits.RotateLeft32(w[i-15], -18) ^ w[i-15]>>3
		s1 := bits.RotateLeft32(w[i-2], -17) ^ bits.RotateLeft32(w[i-2], -19) ^ w[i-2]>>10
		w[i] = w[i-16] + s0 + w[i-7] + s1
	}
	a, b, c, d, e, f, g, k := h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
	for i := range 64 {
		s1 := bits.RotateLeft32(e, -6) ^ bits.RotateLeft32(e, -11) ^ bits.RotateLeft32(e, -25)
		s0 := bits.RotateLeft32(a, -2) ^ bits.RotateLeft32(a, -13) ^ bits.RotateLeft32(a, -22)
		t1 := k + s1 + (e&f ^ ^e&g) + roundConstants[i] + w[i]
		t2 := s0 + (a&b ^ a&c ^ b&c)
		a, b, c, d, e, f, g, k = t1+t2, a, b, c, d+t1, e, f, g
	}
	return [8]uint32{h[0] + a, h[1] + b, h[2] + c, h[3] + d, h[4] + e, h[5] + f, h[6] + g, h[7] + k}
}
