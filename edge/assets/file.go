package assets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
)

type File struct {
	Path      string // with its leading slash: "/scoreboard/2026-11-20.json"
	MediaType string // Content-Type; "" for the CDN's own configuration files
	Cache     string // Cache-Control, or ""
	Bytes     []byte
	SHA256    string // of Bytes, in hexadecimal; "" unless generate made the file
}

// SumOf returns the SHA-256 of text in hexadecimal, the form in lists of documents.
func SumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// IsFile refuses a pipe, a socket or a device: reading one may never end.
func IsFile(info fs.FileInfo) error {
	if info.Mode().IsRegular() || info.IsDir() {
		return nil
	}
	return fmt.Errorf("%s is a pipe, a socket or a device, want a file", info.Name())
}

// Open opens the file at path for reading if it IsFile.
func Open(path string) (*os.File, error) {
	if err := isFileAt(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// ReadFile reads the file at path if it IsFile.
func ReadFile(path string) ([]byte, error) {
	if err := isFileAt(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

func isFileAt(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // opening it fails too
	}
	return IsFile(info)
}
