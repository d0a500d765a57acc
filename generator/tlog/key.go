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

// The name of a log key is the log's first host and /log, with a number for each further log of the
// host.
var origins = regexp.MustCompile(`^[a-z0-9.-]+/log(-[2-9]|-[1-9][0-9]+)?$`)

// Origin returns the name of the next log key of a host, after a key, which may be "".
func Origin(host, key string) string {
	name, _, _ := strings.Cut(key, "+")
	if name == "" {
		return host + "/log"
	}
	n := 1
	_, _ = fmt.Sscanf(name[strings.LastIndex(name, "/"):], "/log-%d", &n)
	return fmt.Sprintf("%s/log-%d", host, n+1)
}

func CheckKey(key string) (origin string, err error) {
	v, err := note.NewVerifier(key)
	if err != nil {
		return "", errors.New("want a verifier key: a name, a hash and a key, joined with +")
	}
	if !origins.MatchString(v.Name()) {
		return "", fmt.Errorf("name of the key: got %.80q, want the host and /log, or /log-2 for a second log", v.Name())
	}
	return v.Name(), nil
}

func PublishedKey(text []byte) (string, error) {
	key := strings.TrimSuffix(string(text), "\n")
	if _, err := CheckKey(key); err != nil {
		return "", fmt.Errorf("%s: %w", KeyPath, err)
	}
	return key, nil
}

type Key struct {
	note.Signer
	Public string
}

// NewKey returns a new key pair for a log: the secret key and the verifier key (C2SP signed-note).
func NewKey(origin string) (text, public string, err error) {
	if text, public, err = note.GenerateKey(nil, origin); err == nil {
		_, err = CheckKey(public)
	}
	if err != nil {
		return "", "", fmt.Errorf("make log key: %w", err)
	}
	return text, public, nil
}

// ParseKey parses a secret key. The text may end with a line break. Errors do not quote the text.
func ParseKey(text string) (*Key, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	wrong := errors.New("want a secret key of a log: PRIVATE, KEY, a name, a hash and a key, joined with +, " +
		"on one line")
	signer, err := note.NewSigner(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // the decoder skips line breaks
		return nil, wrong
	}
	parts := strings.SplitN(text, "+", 5) // the last one may hold a +
	key, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(key) != 1+ed25519.SeedSize {
		return nil, wrong
	}
	public, err := note.NewEd25519VerifierKey(signer.Name(),
		ed25519.NewKeyFromSeed(key[1:]).Public().(ed25519.PublicKey))
	if err == nil {
		_, err = CheckKey(public)
	}
	if err != nil {
		return nil, fmt.Errorf("read log key: %w", err)
	}
	return &Key{signer, public}, nil
}
