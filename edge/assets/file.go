package assets

import (
	"crypto/sha256"
	"encoding/hex"
)

// File is one published document.
type File struct {
	Path      string // with its leading slash: "/scoreboard/2026-11-20.json"
	MediaType string // Content-Type; "" for the CDN's own configuration files
	Cache     string // Cache-Control, or ""
	Bytes     []byte
}

// SumOf returns the SHA-256 of a text in hexadecimal, as lists of documents have it.
func SumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
