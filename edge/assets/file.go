package assets

import (
	"crypto/sha256"
	"encoding/hex"
)

// File is one published document, for all that make, write, serve or deploy documents.
type File struct {
	Path      string // with its leading slash: "/scoreboard/2026-11-20.json"
	MediaType string // Content-Type; "" for the CDN's own configuration files
	Cache     string // Cache-Control; "" if there is none
	Bytes     []byte
	Make      func() []byte // makes the bytes when they are wanted; nil if Bytes has them
}

// Content is the bytes of the file.
func (f *File) Content() []byte {
	if f.Make != nil {
		return f.Make()
	}
	return f.Bytes
}

// SumOf is the SHA-256 of a text, in hexadecimal, by which documents are listed.
func SumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
