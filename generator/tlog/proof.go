package tlog

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"filippo.io/torchwood"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// Proof is a C2SP tlog-proof: that an entry is in the tree of a checkpoint.
type Proof struct {
	Extra      []byte // of the application; nil for none
	Index      int64  // in the tree
	Hashes     merkle.RecordProof
	Checkpoint []byte
}

const proofHeader = "c2sp.org/tlog-proof@v1\n"

// Append appends the text of the proof.
func (p *Proof) Append(b []byte) []byte {
	if p.Extra == nil {
		return append(b, torchwood.FormatProof(p.Index, p.Hashes, p.Checkpoint)...)
	}
	return append(b, torchwood.FormatProofWithExtraData(p.Index, p.Extra, p.Hashes, p.Checkpoint)...)
}

// maxProof is how many hashes a proof has at most: those of a tree of 2^63 entries.
const maxProof = 63

// ParseProof reads a proof. It takes only the bytes that Append gives, and does not verify them.
func ParseProof(text []byte) (*Proof, error) {
	p, err := parseProof(string(text))
	if err == nil && string(p.Append(nil)) != string(text) { // base64 has more than one form
		err = errors.New("it is not in the form that proofs have")
	}
	if err != nil {
		return nil, fmt.Errorf("read proof: %w", err)
	}
	return p, nil
}

func parseProof(text string) (p *Proof, err error) {
	rest, ok := strings.CutPrefix(text, proofHeader)
	if !ok {
		return nil, fmt.Errorf("its first line is not %q", strings.TrimSpace(proofHeader))
	}
	p = &Proof{}
	line, rest, _ := strings.Cut(rest, "\n")
	if extra, there := strings.CutPrefix(line, "extra "); there {
		if p.Extra, err = base64.StdEncoding.DecodeString(extra); err != nil {
			return nil, errors.New("its extra data is not base64")
		}
		line, rest, _ = strings.Cut(rest, "\n")
	}
	index, ok := strings.CutPrefix(line, "index ")
	if p.Index, err = strconv.ParseInt(index, 10, 64); !ok || err != nil || p.Index < 0 {
		return nil, errors.New("it has no line with an index")
	}
	head, checkpoint, ok := strings.Cut("\n"+rest, "\n\n")
	if !ok {
		return nil, errors.New("it has no checkpoint")
	}
	p.Checkpoint = []byte(checkpoint)
	for _, line := range strings.Split(head, "\n")[1:] {
		h, err := merkle.ParseHash(line)
		if err != nil || len(p.Hashes) == maxProof {
			return nil, errors.New("a line is not a SHA-256 in base64, or there are too many")
		}
		p.Hashes = append(p.Hashes, h)
	}
	return p, nil
}

// Verify checks that an entry, by its text, is in the tree of the proof's checkpoint, and that one
// of the keys has signed that.
func (p *Proof) Verify(entry []byte, keys []string, witnesses []Witness) (*Checkpoint, error) {
	c, err := Open(p.Checkpoint, keys, witnesses)
	if err != nil {
		return nil, fmt.Errorf("verify proof: %w", err)
	}
	if merkle.CheckRecord(p.Hashes, c.Size, c.Root, p.Index, merkle.RecordHash(entry)) != nil {
		return nil, fmt.Errorf("verify proof: the entry is not number %d of the %d that the checkpoint has signed", p.Index, c.Size)
	}
	return c, nil
}

// prove is the proof of an entry of a stage's tree, by its index in that.
func (s *Stage) prove(i int64, extra []byte) (*Proof, error) {
	hashes, err := merkle.ProveRecord(s.Size, i, s.Tree)
	if err != nil {
		return nil, fmt.Errorf("prove entry %d: %w", i, err)
	}
	return &Proof{extra, i, hashes, s.Checkpoint}, nil
}

// Proof is the published proof of the stage's verification: that it is the last entry of the tree
// of its checkpoint. Extra has the entry.
func (s *Stage) Proof() (*Proof, error) { return s.prove(s.Size-1, s.Tree.Entry(s.Size-1)) }

// Prove is the proof of an entry of the stage's tree, by its index in that, under the checkpoint of
// the stage. Extra has the stage's own Proof, which says when that was.
func (s *Stage) Prove(i int64) (*Proof, error) {
	own, err := s.Proof()
	if err != nil {
		return nil, err
	}
	return s.prove(i, own.Append(nil))
}
