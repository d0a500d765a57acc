package tlog

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is a signed note about a tree (C2SP tlog-checkpoint, signed-note).
type Checkpoint struct {
	Origin string
	Size   int64
	Root   merkle.Hash
	// Cosigned has the valid cosignatures of witnesses, in their order.
	Cosigned []Cosignature
}

// Cosignature is a witness's statement that a checkpoint extends every earlier one it has seen
// (C2SP tlog-cosignature).
type Cosignature struct {
	Witness string    `json:"witness"`
	At      time.Time `json:"at"` // the time of the signature, in seconds
}

const (
	maxCheckpoint = 1 << 16 // bytes
	maxSize       = 1 << 32 // entries: package merkle does not return for sizes above 2^62
)

func parseBody(text string) (*Checkpoint, error) {
	signed, err := torchwood.ParseCheckpoint(text)
	if err != nil || signed.String() != text || signed.Extension != "" {
		return nil, errors.New("want three lines: origin, size, and root in base64")
	}
	if signed.N > maxSize {
		return nil, fmt.Errorf("got a tree of %d entries, want at most %d", signed.N, int64(maxSize))
	}
	return &Checkpoint{Origin: signed.Origin, Size: signed.N, Root: signed.Hash}, nil
}

var ErrUnknownKey = errors.New("not signed by the key of the log")

// Open reads a checkpoint and verifies it: the key must have signed it, and the name of the key is
// its origin. The result lists the given witnesses that have cosigned it.
func Open(text []byte, key string, witnesses []Witness) (*Checkpoint, error) {
	c, err := open(text, key, witnesses)
	if err != nil {
		return nil, fmt.Errorf("open checkpoint: %w", err)
	}
	return c, nil
}

func open(text []byte, key string, witnesses []Witness) (*Checkpoint, error) {
	if len(text) > maxCheckpoint {
		return nil, fmt.Errorf("longer than %d bytes", maxCheckpoint)
	}
	own, err := note.NewVerifier(key)
	if err != nil {
		return nil, fmt.Errorf("key %.100q: %w", key, err)
	}
	known := []note.Verifier{own}
	for i := range witnesses {
		v, err := witnesses[i].verifier()
		if err != nil {
			return nil, err
		}
		known = append(known, v)
	}
	n, err := note.Open(text, note.VerifierList(known...))
	if errors.As(err, new(*note.UnverifiedNoteError)) {
		err = ErrUnknownKey
	}
	if err != nil {
		return nil, err
	}
	c, err := parseBody(n.Text)
	if err != nil {
		return nil, err
	}
	signed := false
	for _, sig := range n.Sigs {
		if sig.Name == own.Name() && sig.Hash == own.KeyHash() {
			signed = sig.Name == c.Origin
			continue
		}
		seconds, err := torchwood.CosignatureTimestamp(sig)
		if err != nil {
			return nil, fmt.Errorf("cosignature of %s: %w", sig.Name, err)
		}
		c.Cosigned = append(c.Cosigned, Cosignature{sig.Name, time.Unix(seconds, 0).UTC()})
	}
	if !signed {
		return nil, ErrUnknownKey
	}
	return c, nil
}

func (c *Checkpoint) sign(signer note.Signer) ([]byte, error) {
	body := torchwood.Checkpoint{Origin: c.Origin, Tree: merkle.Tree{N: c.Size, Hash: c.Root}}.String()
	text, err := note.Sign(&note.Note{Text: body}, signer)
	if err != nil {
		return nil, fmt.Errorf("sign checkpoint: %w", err)
	}
	return text, nil
}

// bare returns a checkpoint without its cosignatures: the note with the first signature line.
func bare(text []byte) string {
	body, signatures, _ := strings.Cut(string(text), "\n\n")
	first, _, _ := strings.Cut(signatures, "\n")
	return body + "\n\n" + first + "\n"
}
