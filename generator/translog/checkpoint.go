package translog

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is a signed note about a tree (C2SP tlog-checkpoint, signed-note).
type Checkpoint struct {
	Origin string
	Size   int64
	Root   tlog.Hash
	// Cosigned are the names of the witnesses whose cosignatures are valid, in their order.
	Cosigned []string
}

// Bounds of a checkpoint that is read.
const (
	maxCheckpoint = 1 << 16 // bytes
	maxSize       = 1 << 32 // entries: a hashed has room for no more, and package tlog does not end with sizes above 2^62
)

// body is what a checkpoint signs.
func (c *Checkpoint) body() string {
	return c.Origin + "\n" + strconv.FormatInt(c.Size, 10) + "\n" + c.Root.String() + "\n"
}

// parseBody reads what a checkpoint signs. It takes no extension lines.
func parseBody(text string) (*Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[3] != "" {
		return nil, errors.New("a checkpoint has three lines: origin, size and root")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	root, hashErr := tlog.ParseHash(lines[2])
	c := &Checkpoint{Origin: lines[0], Size: size, Root: root}
	switch {
	case err != nil || hashErr != nil || size < 0 || c.body() != text:
		return nil, errors.New("its size is no number, or its root no SHA-256 in base64")
	case size > maxSize:
		return nil, fmt.Errorf("its tree has %d entries, and no log here has more than %d", size, int64(maxSize))
	}
	return c, nil
}

// ErrUnknownKey is the error about a checkpoint that none of the keys has signed.
var ErrUnknownKey = errors.New("no known key has signed it")

// Open reads a checkpoint that one of the keys has signed, under the origin that is the name of
// that key. Of the witnesses, those that have cosigned it are named in it.
func Open(text []byte, keys []string, witnesses []Witness) (*Checkpoint, error) {
	if len(text) > maxCheckpoint {
		return nil, fmt.Errorf("open checkpoint: it has more than %d bytes", maxCheckpoint)
	}
	var known []note.Verifier
	for _, key := range keys {
		v, err := note.NewVerifier(key)
		if err != nil {
			return nil, fmt.Errorf("open checkpoint: key %.100q: %w", key, err)
		}
		known = append(known, v)
	}
	for i := range witnesses {
		v, err := witnesses[i].verifier()
		if err != nil {
			return nil, fmt.Errorf("open checkpoint: %w", err)
		}
		known = append(known, v)
	}
	n, err := note.Open(text, note.VerifierList(known...))
	var unverified *note.UnverifiedNoteError
	switch {
	case errors.As(err, &unverified):
		return nil, fmt.Errorf("open checkpoint: %w", ErrUnknownKey)
	case err != nil:
		return nil, fmt.Errorf("open checkpoint: %w", err)
	}
	c, err := parseBody(n.Text)
	if err != nil {
		return nil, fmt.Errorf("open checkpoint: %w", err)
	}
	signed := false
	for _, sig := range n.Sigs {
		i := slices.IndexFunc(known, func(v note.Verifier) bool { return v.Name() == sig.Name && v.KeyHash() == sig.Hash })
		if i < len(keys) {
			signed = signed || sig.Name == c.Origin
		} else {
			c.Cosigned = append(c.Cosigned, sig.Name)
		}
	}
	if !signed {
		return nil, fmt.Errorf("open checkpoint: it is of %.100q, and no key of that name has signed it", c.Origin)
	}
	return c, nil
}

// sign signs a checkpoint.
func (c *Checkpoint) sign(signer note.Signer) ([]byte, error) {
	text, err := note.Sign(&note.Note{Text: c.body()}, signer)
	if err != nil {
		return nil, fmt.Errorf("sign checkpoint: %w", err)
	}
	return text, nil
}

// bare is a checkpoint without its cosignatures: the note with the first signature line.
func bare(text []byte) string {
	body, signatures, _ := strings.Cut(string(text), "\n\n")
	first, _, _ := strings.Cut(signatures, "\n")
	return body + "\n\n" + first + "\n"
}

// origins are the names that the keys of a log may have: the host that it began on, and a path
// below /log for each key after the first.
var origins = regexp.MustCompile(`^[a-z0-9.-]+/log(/[2-9]|/[1-9][0-9]+)?$`)

// Origin is the name of the n-th key of a log on a host, from 1 on.
func Origin(host string, n int) string {
	if n == 1 {
		return host + "/log"
	}
	return host + "/log/" + strconv.Itoa(n)
}

// CheckKey says what is wrong with a verifier key of a log; it gives the origin.
func CheckKey(key string) (origin string, err error) {
	v, err := note.NewVerifier(key)
	if err != nil {
		return "", errors.New("it is no verifier key: name, hash and key with + between them")
	}
	if !origins.MatchString(v.Name()) {
		return "", fmt.Errorf("its name is %.80q, and the name of a log is its host with /log behind it, /log/2 for a second key", v.Name())
	}
	return v.Name(), nil
}

// Witness is who cosigns checkpoints (C2SP tlog-witness).
type Witness struct {
	Key string `yaml:"key" is:"line"`     // verifier key with the algorithm 0x04 (C2SP tlog-cosignature)
	URL string `yaml:"url" is:"upstream"` // prefix of its API
}

// Check says what is wrong with the key of a witness.
func (w *Witness) Check() error {
	_, err := w.verifier()
	return err
}

// cosignatureAlgorithm is Ed25519 over a note with a time (C2SP tlog-cosignature).
const cosignatureAlgorithm = 4

// cosigner verifies cosignatures. It implements note.Verifier.
type cosigner struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func (c *cosigner) Name() string    { return c.name }
func (c *cosigner) KeyHash() uint32 { return c.hash }

// Verify checks a cosignature: eight bytes of Unix seconds and a signature.
func (c *cosigner) Verify(msg, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	at := binary.BigEndian.Uint64(sig)
	signed := "cosignature/v1\ntime " + strconv.FormatUint(at, 10) + "\n" + string(msg)
	return ed25519.Verify(c.key, []byte(signed), sig[8:])
}

// verifier is what checks the cosignatures of a witness.
func (w *Witness) verifier() (note.Verifier, error) {
	parts := strings.SplitN(w.Key, "+", 3)
	if len(parts) != 3 || parts[0] == "" || strings.ContainsFunc(parts[0], unicode.IsSpace) || len(parts[1]) != 8 {
		return nil, fmt.Errorf("witness key %.100q is not name, hash and key with + between them", w.Key)
	}
	key, err := base64.StdEncoding.DecodeString(parts[2])
	hash, hashErr := strconv.ParseUint(parts[1], 16, 32)
	if err != nil || hashErr != nil || len(key) != 1+ed25519.PublicKeySize || key[0] != cosignatureAlgorithm {
		return nil, fmt.Errorf("witness key %.100q is no Ed25519 key for cosignatures (type 4)", w.Key)
	}
	sum := sha256.Sum256(append([]byte(parts[0]+"\n"), key...))
	if binary.BigEndian.Uint32(sum[:]) != uint32(hash) {
		return nil, fmt.Errorf("witness key %.100q has a hash of another key", w.Key)
	}
	return &cosigner{parts[0], uint32(hash), key[1:]}, nil
}
