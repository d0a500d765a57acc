package sha256_test

import (
	"bytes"
	standard "crypto/sha256"
	"testing"

	"anteroom/edge/sha256"
)

// The standard library gives the same sum, for every length around the ends of blocks.
func TestSum(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz\xff\x00"), 12)
	for n := range data {
		if sha256.Sum(data[:n]) != standard.Sum256(data[:n]) {
			t.Fatalf("%d bytes: %x, want %x", n, sha256.Sum(data[:n]), standard.Sum256(data[:n]))
		}
	}
}

func FuzzSum(f *testing.F) {
	f.Add([]byte("abc"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if sha256.Sum(data) != standard.Sum256(data) {
			t.Fatalf("%x", data)
		}
	})
}

func TestHex(t *testing.T) {
	if got := sha256.HexOf("abc"); got != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Error(got)
	}
	if got := sha256.Hex([]byte{0, 0x9a, 0xff}); got != "009aff" {
		t.Error(got)
	}
}
