// Package receiptkey makes and reads the secret key that signs receipts.
package receiptkey

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"anteroom/edge/native/disk"
)

// pkcs8 stands before the seed in the PKCS #8 form of an Ed25519 key (RFC 8410, section 7).
var pkcs8 = []byte{0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20}

// Parse reads a receipt key from its text. The text is base64 (standard alphabet, padded, strict)
// of the 32-byte Ed25519 seed or of its 48-byte PKCS #8 DER form. One line break may end the text.
func Parse(text string) (ed25519.PrivateKey, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	der, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // the decoder skips line breaks
		return nil, errors.New("receipt key is not base64 (standard alphabet, padded, on one line)")
	}
	if len(der) == len(pkcs8)+ed25519.SeedSize && bytes.HasPrefix(der, pkcs8) {
		der = der[len(pkcs8):]
	}
	if len(der) != ed25519.SeedSize {
		return nil, fmt.Errorf("receipt key has %d bytes, and is neither a 32-byte Ed25519 seed nor its 48-byte PKCS #8 form", len(der))
	}
	return ed25519.NewKeyFromSeed(der), nil
}

// Load reads the receipt key in the file at path. Load logs a warning where users other than the
// owner may read the file.
func Load(path string, log *slog.Logger) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load receipt key: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		log.Warn("receipt key can be read by others: run chmod 600 on it", "file", path)
	}
	key, err := Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("load receipt key %s: %w", path, err)
	}
	return key, nil
}

// Generate makes a new receipt key, writes it to a new file at path that only its owner may read,
// and returns the base64 of the key's public half. Generate never overwrites a file, as nothing
// could bring back a key that was in it.
func Generate(path string) (publicKey string, err error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", fmt.Errorf("generate receipt key: %w", err)
	}
	text := base64.StdEncoding.EncodeToString(private.Seed()) + "\n"
	if err := disk.WriteNew(path, []byte(text)); err != nil {
		if errors.Is(err, os.ErrExist) {
			err = fmt.Errorf("%w (a key is never overwritten: name another file)", err)
		}
		return "", fmt.Errorf("generate receipt key: %w", err)
	}
	if err := disk.SyncFolder(filepath.Dir(path)); err != nil {
		return "", fmt.Errorf("generate receipt key: %w", err)
	}
	return base64.StdEncoding.EncodeToString(public), nil
}
