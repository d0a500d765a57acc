package tlog

import (
	"errors"
	"fmt"
	"slices"
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
	// Cosigned are the valid cosignatures of witnesses, in their order.
	Cosigned []Cosignature
}

// Cosignature says that a witness has seen a checkpoint, and that it extends all that it has seen
// before (C2SP tlog-cosignature).
type Cosignature struct {
	Witness string    `json:"witness"`
	At      time.Time `json:"at"` // when the witness has signed it, in seconds
}

// maxTime is the last second that RFC 3339 can say.
const maxTime = 253402300799

func cosignature(sig note.Signature) (Cosignature, error) {
	seconds, err := torchwood.CosignatureTimestamp(sig)
	if err != nil || seconds <= 0 || seconds > maxTime {
		return Cosignature{}, fmt.Errorf("the cosignature of %s has a time out of range", sig.Name)
	}
	return Cosignature{sig.Name, time.Unix(seconds, 0).UTC()}, nil
}

// Bounds of a checkpoint that is read.
const (
	maxCheckpoint = 1 << 16 // bytes
	maxSize       = 1 << 32 // entries: package tlog does not end with sizes above 2^62
)

// ParseRoot reads the root of a tree as a checkpoint has it, in base64.
func ParseRoot(text string) (merkle.Hash, error) { return merkle.ParseHash(text) }

func (c *Checkpoint) body() string {
	return torchwood.Checkpoint{Origin: c.Origin, Tree: merkle.Tree{N: c.Size, Hash: c.Root}}.String()
}

// parseBody reads what a checkpoint signs. It takes no extension lines.
func parseBody(text string) (*Checkpoint, error) {
	signed, err := torchwood.ParseCheckpoint(text)
	if err != nil || signed.String() != text || signed.Extension != "" {
		return nil, errors.New("it does not have three lines: origin, size, and root as SHA-256 in base64")
	}
	if signed.N > maxSize {
		return nil, fmt.Errorf("its tree has %d entries, and no log here has more than %d", signed.N, int64(maxSize))
	}
	return &Checkpoint{Origin: signed.Origin, Size: signed.N, Root: signed.Hash}, nil
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
	if errors.As(err, new(*note.UnverifiedNoteError)) {
		err = ErrUnknownKey
	}
	if err != nil {
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
			cosigned, err := cosignature(sig)
			if err != nil {
				return nil, fmt.Errorf("open checkpoint: %w", err)
			}
			c.Cosigned = append(c.Cosigned, cosigned)
		}
	}
	if !signed {
		return nil, fmt.Errorf("open checkpoint: it is of %.100q, and no key of that name has signed it", c.Origin)
	}
	return c, nil
}

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
