// Package receiptkey makes and reads the secret key that signs receipts.
//
// The text of a secret key is Prefix and base64 (standard alphabet, padded, strict) of the 32-byte
// Ed25519 seed. The prefix tells it from its public half, which is as long. The texts that came
// before are read too: base64 of the seed, or of its 48-byte PKCS #8 DER form, without a prefix.
package receiptkey

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/native/disk"
)

// pkcs8 comes before the seed in the PKCS #8 form of an Ed25519 key (RFC 8410, section 7).
var pkcs8 = []byte{0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20}

// Prefix begins the text of a secret key. edge/worker/effects.mjs has it too.
const Prefix = receipt.SecretPrefix

// Parse reads a receipt key from its text, in any form of the package comment. One line break may
// end the text. An error repeats nothing of the text.
func Parse(text string) (ed25519.PrivateKey, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if strings.HasPrefix(text, receipt.NotePrefix) {
		return nil, errors.New("receipt key is a key of the log, which signs no receipts")
	}
	text = strings.TrimPrefix(text, Prefix)
	der, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // the decoder skips line breaks
		return nil, errors.New("receipt key is not " + Prefix + " and base64 (standard alphabet, padded, on one line)")
	}
	if len(der) == len(pkcs8)+ed25519.SeedSize && bytes.HasPrefix(der, pkcs8) {
		der = der[len(pkcs8):]
	}
	if len(der) != ed25519.SeedSize {
		return nil, fmt.Errorf("receipt key has %d bytes, and is neither a 32-byte Ed25519 seed nor its 48-byte PKCS #8 form", len(der))
	}
	return ed25519.NewKeyFromSeed(der), nil
}

// Public is the public half of a key, in base64. It is "" for no key.
func Public(key ed25519.PrivateKey) string {
	if key == nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}

// IsSecret reports whether a text that was taken for a public key is the seed of the key itself:
// either a secret was published, or its public half is used as a secret.
func IsSecret(key ed25519.PrivateKey, text string) bool {
	return key != nil && base64.StdEncoding.EncodeToString(key.Seed()) == text
}

// Read reads a receipt key from r.
func Read(r io.Reader) (ed25519.PrivateKey, error) {
	text, err := disk.ReadKey(r)
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// Load reads the receipt key in the file at path. Load calls warn where users other than the owner
// may read the file.
func Load(path string, warn func(format string, args ...any)) (ed25519.PrivateKey, error) {
	text, err := disk.LoadKey(path, func() { warn("receipt key %s can be read by others (run chmod 600 on it)", path) })
	if err != nil {
		return nil, fmt.Errorf("load receipt key: %w", err)
	}
	key, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("load receipt key %s: %w", path, err)
	}
	return key, nil
}

// New makes a new receipt key.
func New() ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed) // never fails
	return ed25519.NewKeyFromSeed(seed)
}

// Write writes a receipt key to a new file at path that only its owner may read. Write never
// overwrites a file, as nothing could bring back a key that was in it.
func Write(path string, key ed25519.PrivateKey) error {
	text := Prefix + base64.StdEncoding.EncodeToString(key.Seed()) + "\n"
	if err := disk.WriteKey(path, text); err != nil {
		return fmt.Errorf("write receipt key: %w", err)
	}
	return nil
}

// Generate makes a new receipt key, writes it as Write does, and returns the base64 of its public
// half.
func Generate(path string) (publicKey string, err error) {
	key := New()
	if err := Write(path, key); err != nil {
		return "", err
	}
	return Public(key), nil
}
