// Package receiptkey makes and reads the secret key that signs receipts.
//
// The text of a secret key is Prefix, which tells it from its public half, and base64 (standard
// alphabet, padded, strict) of the 32-byte Ed25519 seed. Older texts have no prefix, or are base64
// of the 48-byte PKCS #8 DER form.
package receiptkey

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/native/disk"
)

// pkcs8 comes before the seed in the PKCS #8 form of an Ed25519 key (RFC 8410, section 7).
var pkcs8 = []byte{0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20}

// Prefix begins the text of a secret key. edge/worker/effects.mjs has it too.
const Prefix = receipt.SecretPrefix

// Parse reads a receipt key from its text, which one line break may end. No error repeats the text.
func Parse(text string) (ed25519.PrivateKey, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if strings.HasPrefix(text, receipt.NotePrefix) {
		return nil, errors.New("got a log key, want a receipt key")
	}
	text = strings.TrimPrefix(text, Prefix)
	der, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // the decoder skips line breaks
		return nil, errors.New("want " + Prefix + " and base64 (standard alphabet, padded, on one line)")
	}
	if len(der) == len(pkcs8)+ed25519.SeedSize && bytes.HasPrefix(der, pkcs8) {
		der = der[len(pkcs8):]
	}
	if len(der) != ed25519.SeedSize {
		return nil, fmt.Errorf("got %d bytes, want an Ed25519 seed of 32, or 48 in its PKCS #8 form", len(der))
	}
	return ed25519.NewKeyFromSeed(der), nil
}

// Public returns the public half of a key in base64, or "" for nil.
func Public(key ed25519.PrivateKey) string {
	if key == nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}

// New makes a new receipt key.
func New() ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed) // never fails
	return ed25519.NewKeyFromSeed(seed)
}

// Write writes a receipt key to a new file at path, private to this user.
func Write(path string, key ed25519.PrivateKey) error {
	if err := disk.WriteKey(path, Prefix+base64.StdEncoding.EncodeToString(key.Seed())+"\n"); err != nil {
		return fmt.Errorf("write receipt key: %w", err)
	}
	return nil
}

// Generate writes a new receipt key to path, and returns its public half.
func Generate(path string) (public string, err error) {
	key := New()
	return Public(key), Write(path, key)
}
