package tlog

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// origins are the names that the keys of a log may have: the host that it began on and /log, with a
// number for each key after the first.
var origins = regexp.MustCompile(`^[a-z0-9.-]+/log(/[2-9]|/[1-9][0-9]+)?$`)

// Origin is the name of the n-th key of a log on a host, from 1 on.
func Origin(host string, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s/log/%d", host, n)
	}
	return host + "/log"
}

// CheckKey says what is wrong with a verifier key of a log, or gives the origin.
func CheckKey(key string) (origin string, err error) {
	v, err := note.NewVerifier(key)
	if err != nil || !validPoint(key) {
		return "", errors.New("it is not a verifier key: a name, a hash and a key, joined with +")
	}
	if !origins.MatchString(v.Name()) {
		return "", fmt.Errorf("its name is %.80q, and must be the host and /log, or /log/2 for a second key", v.Name())
	}
	return v.Name(), nil
}

// validPoint reports whether the key behind the name, the hash and the algorithm of a verifier key
// is one that signatures can be by.
func validPoint(key string) bool {
	parts := strings.SplitN(key, "+", 3) // the last one may hold a +
	raw, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	return err == nil && len(raw) > 0 && ValidKey(raw[1:])
}

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
	wrong := errors.New("it is not a secret key of a log: PRIVATE, KEY, a name, a hash and a key, joined with +, on one line")
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
