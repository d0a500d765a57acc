package core_test

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"anteroom/edge/core"
)

// The standard library's is the measure, at every length around the ends of blocks.
func TestSum256(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz\xff\x00"), 12)
	for n := range data {
		if core.Sum256(data[:n]) != sha256.Sum256(data[:n]) {
			t.Fatalf("%d bytes: %x, want %x", n, core.Sum256(data[:n]), sha256.Sum256(data[:n]))
		}
	}
}

func FuzzSum256(f *testing.F) {
	f.Add([]byte("abc"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if core.Sum256(data) != sha256.Sum256(data) {
			t.Fatalf("%x", data)
		}
	})
}
