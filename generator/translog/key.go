package translog

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Key is a secret key of a log. It signs checkpoints under its name, the origin of the log.
type Key struct {
	note.Signer
	Public string // its verifier key
}

// NewKey makes a key for a log of this origin. text is the secret key (C2SP signed-note).
func NewKey(origin string) (text, public string, err error) {
	if text, public, err = note.GenerateKey(nil, origin); err == nil {
		_, err = CheckKey(public)
	}
	if err != nil {
		return "", "", fmt.Errorf("make a key of a log: %w", err)
	}
	return text, public, nil
}

// ParseKey reads a secret key from its text. One line break may end the text. An error repeats
// nothing of the text.
func ParseKey(text string) (*Key, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	wrong := errors.New("it is no secret key of a log: PRIVATE, KEY, name, hash and key with + between them, on one line")
	signer, err := note.NewSigner(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // the decoder skips line breaks
		return nil, wrong
	}
	parts := strings.SplitN(text, "+", 5) // the last one may hold a +
	key, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(key) != 1+ed25519.SeedSize {
		return nil, wrong
	}
	public, err := note.NewEd25519VerifierKey(signer.Name(), ed25519.NewKeyFromSeed(key[1:]).Public().(ed25519.PublicKey))
	if err == nil {
		_, err = CheckKey(public)
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of a log: %w", err)
	}
	return &Key{signer, public}, nil
}
