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

// Proof is a C2SP tlog-proof that an entry is in the tree of a checkpoint.
type Proof struct {
	Extra      []byte // extra data; nil for none
	Index      int64  // in the tree
	Hashes     merkle.RecordProof
	Checkpoint []byte
}

// Append appends the text of the proof.
func (p *Proof) Append(b []byte) []byte {
	if p.Extra == nil {
		return append(b, torchwood.FormatProof(p.Index, p.Hashes, p.Checkpoint)...)
	}
	return append(b, torchwood.FormatProofWithExtraData(p.Index, p.Extra, p.Hashes, p.Checkpoint)...)
}

// ParseProof parses a proof, and accepts only its canonical text. It does not verify the proof.
func ParseProof(text []byte) (*Proof, error) {
	head, checkpoint, _ := strings.Cut(string(text), "\n\n")
	p := &Proof{Index: -1, Checkpoint: []byte(checkpoint)}
	for i, line := range strings.Split(head, "\n") { // errors show in the comparison below
		switch word, value, _ := strings.Cut(line, " "); {
		case i == 0:
		case word == "extra":
			p.Extra, _ = base64.StdEncoding.DecodeString(value)
		case word == "index":
			p.Index, _ = strconv.ParseInt(value, 10, 64)
		default:
			hash, _ := merkle.ParseHash(line)
			p.Hashes = append(p.Hashes, hash)
		}
	}
	if p.Index < 0 || string(p.Append(nil)) != string(text) {
		return nil, errors.New("read proof: want a tlog-proof (C2SP)")
	}
	return p, nil
}

// Verify checks that one of the keys has signed the proof's checkpoint, and that its tree has the
// entry with this text at the proof's index.
func (p *Proof) Verify(entry []byte, keys []string, witnesses []Witness) (*Checkpoint, error) {
	c, err := Open(p.Checkpoint, keys, witnesses)
	if err != nil {
		return nil, fmt.Errorf("verify proof: %w", err)
	}
	if merkle.CheckRecord(p.Hashes, c.Size, c.Root, p.Index, merkle.RecordHash(entry)) != nil {
		return nil, fmt.Errorf("verify proof: does not prove entry %d of the tree of %d", p.Index, c.Size)
	}
	return c, nil
}

func (s *Stage) prove(i int64, extra []byte) (*Proof, error) {
	hashes, err := merkle.ProveRecord(s.Size, i, s.Tree)
	if err != nil {
		return nil, fmt.Errorf("prove entry %d: %w", i, err)
	}
	return &Proof{extra, i, hashes, s.Checkpoint}, nil
}

// Proof returns the published proof that the stage's verification is the last entry under its
// checkpoint. Extra has the entry.
func (s *Stage) Proof() (*Proof, error) { return s.prove(s.Size-1, s.Tree.Entry(s.Size-1)) }

// Prove returns the proof of an entry, by its index in the tree, under the checkpoint of the stage.
// Extra has the stage's Proof, which dates it.
func (s *Stage) Prove(i int64) (*Proof, error) {
	own, err := s.Proof()
	if err != nil {
		return nil, err
	}
	return s.prove(i, own.Append(nil))
}

// consistency returns the published proof that the verification of stage i is also under the newest
// checkpoint of its tree. Extra has the stage's Proof.
func (l *Log) consistency(i int) (*Proof, error) {
	own, err := l.Stages[i].Proof()
	if err != nil {
		return nil, err
	}
	return l.end(i).prove(l.Stages[i].Size-1, own.Append(nil))
}

type subtree struct {
	level int
	n     int64 // within the level
}

// siblings returns the subtrees whose hashes are in the proof, for a tree of this size.
func (p *Proof) siblings(size int64) (list []subtree) {
	at, last, level := p.Index, size-1, 0
	for range p.Hashes {
		for ; at == last && at > 0 && at&1 == 0; level++ { // without a sibling at the right edge
			at, last = at>>1, last>>1
		}
		list = append(list, subtree{level, at ^ 1})
		at, last, level = at>>1, last>>1, level+1
	}
	return list
}

// before returns the left siblings on the path to the entry.
func (p *Proof) before(size int64) (hashes merkle.RecordProof) {
	for i, s := range p.siblings(size) {
		if s.n < p.Index>>s.level {
			hashes = append(hashes, p.Hashes[i])
		}
	}
	return hashes
}
