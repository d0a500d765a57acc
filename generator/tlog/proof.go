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

// Append appends the text of the proof.
func (p *Proof) Append(b []byte) []byte {
	if p.Extra == nil {
		return append(b, torchwood.FormatProof(p.Index, p.Hashes, p.Checkpoint)...)
	}
	return append(b, torchwood.FormatProofWithExtraData(p.Index, p.Extra, p.Hashes, p.Checkpoint)...)
}

// ParseProof reads a proof. It takes only the bytes that Append gives, and does not verify them.
func ParseProof(text []byte) (*Proof, error) {
	head, checkpoint, _ := strings.Cut(string(text), "\n\n")
	p := &Proof{Index: -1, Checkpoint: []byte(checkpoint)}
	for i, line := range strings.Split(head, "\n") { // what is not read right is not what Append gives
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
		return nil, errors.New("read proof: it is not a tlog-proof (C2SP)")
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

// consistency is the published proof that the newest checkpoint of a tree goes beyond that of stage
// i: that its verification is in that tree too. Extra has the stage's own Proof.
func (l *Log) consistency(i int) (*Proof, error) {
	own, err := l.Stages[i].Proof()
	if err != nil {
		return nil, err
	}
	return l.end(i).prove(l.Stages[i].Size-1, own.Append(nil))
}

// subtree is a subtree of a tree, by its level and its number there.
type subtree struct {
	level int
	n     int64
}

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

func (p *Proof) before(size int64) (hashes merkle.RecordProof) {
	for i, s := range p.siblings(size) {
		if s.n < p.Index>>s.level {
			hashes = append(hashes, p.Hashes[i])
		}
	}
	return hashes
}
