package tlog

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"filippo.io/torchwood"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// Source gives the bytes of a published file, by its path from the root of the host on. Its error
// wraps fs.ErrNotExist if there is no such file. Several goroutines may call it at once.
type Source func(path string) ([]byte, error)

// ErrNotLogged is the error about a record whose entry is not in the log.
var ErrNotLogged = errors.New("no hand verification has counted it yet")

// ErrNoLog is the error about a service that publishes no log.
var ErrNoLog = errors.New("it publishes no log")

// Proved is the entry of a record, with its proof.
type Proved struct {
	Proof        *Proof
	Entry        Entry
	Verification Entry  // the one that added it, and ends the tree of the proof
	CountsAs     string // its kind, or what it was corrected to; "" where that is not known
	Checkpoint   *Checkpoint
}

// Prove proves the entry of a record, by its RecordHash, as of the verification that added it.
func (l *Log) Prove(hash string) (*Proved, error) {
	index, there := l.Find(map[string]bool{hash: true})[hash]
	if !there {
		return nil, ErrNotLogged
	}
	t, i := l.at(index)
	s := l.stageOf(t, i)
	p := &Proved{Verification: s.Entry, CountsAs: l.CountsAs(index)}
	var err error
	if p.Entry, err = ParseEntry(t.Entry(i)); err != nil {
		return nil, fmt.Errorf("prove entry %d: %w", index, err)
	}
	if p.Proof, err = s.Prove(i); err != nil {
		return nil, err
	}
	p.Checkpoint, err = p.Proof.Verify(t.Entry(i), l.Keys, l.Witnesses)
	return p, err
}

// ReadProof proves the entry of a record, by its RecordHash, from what a service publishes: with a
// file of the look-up, the proof of the verification, and a tile for each level of the tree that
// has one. It gives the very proof that Stage.Prove gives. What CountsAs says is not proved by it.
func ReadProof(read Source, hash string, keys []string, witnesses []Witness) (*Proved, error) {
	line, err := find(read, hash)
	if err != nil {
		return nil, err
	}
	text, err := read(ProofPath(line.name))
	if err != nil {
		return nil, fmt.Errorf("read the proof of verification %s: %w", line.name, err)
	}
	own, c, verification, err := parseOwn(text, keys, witnesses)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the proof of verification %s: %w", line.name, err)
	case verification.Board != BoardPath(line.name):
		return nil, fmt.Errorf("read the proof of verification %s: it is that of %s", line.name, verification.Board)
	case line.index >= c.Size:
		return nil, fmt.Errorf("the look-up has it as entry %d of verification %s, which ends a tree of %d", line.index, line.name, c.Size)
	}
	e := Entry{Kind: line.kind, Hash: hash}
	p := &Proved{Entry: e, Verification: *verification, CountsAs: line.countsAs}
	stored := &storedHashes{read: read, tree: &Tree{Origin: c.Origin}, size: c.Size, known: own.known(c.Size), tiles: map[string][]byte{}}
	hashes, err := merkle.ProveRecord(c.Size, line.index, stored)
	if err != nil {
		return nil, fmt.Errorf("prove entry %d: %w", line.index, err)
	}
	p.Proof = &Proof{Extra: text, Index: line.index, Hashes: hashes, Checkpoint: own.Checkpoint}
	p.Checkpoint, err = p.Proof.Verify(e.Append(nil), keys, witnesses)
	return p, err
}

// VerifyProof checks a proof that Stage.Prove has made against the record of a hash, without any
// other file.
func VerifyProof(text []byte, hash string, keys []string, witnesses []Witness) (*Proved, error) {
	p, err := ParseProof(text)
	if err != nil {
		return nil, err
	}
	_, end, verification, err := parseOwn(p.Extra, keys, witnesses)
	if err != nil {
		return nil, fmt.Errorf("its extra data is not a proof of a verification: %w", err)
	}
	for _, kind := range recordKinds {
		e := Entry{Kind: kind, Hash: hash}
		var c *Checkpoint
		if c, err = p.Verify(e.Append(nil), keys, witnesses); err == nil {
			if c.body() != end.body() {
				return nil, errors.New("its checkpoint is not that of the verification in its extra data")
			}
			return &Proved{Proof: p, Entry: e, Verification: *verification, Checkpoint: c}, nil
		}
	}
	return nil, err
}

// PublishedKeys are the verifier keys that a service publishes, in the order of their use.
func PublishedKeys(read Source) ([]string, error) {
	text, err := read(KeysPath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNoLog
	case err != nil:
		return nil, err
	}
	return parseKeys(text)
}

// parseKeys reads the file of the verifier keys.
func parseKeys(text []byte) ([]string, error) {
	lines, ended := strings.CutSuffix(string(text), "\n")
	keys := strings.Split(lines, "\n")
	seen := map[string]bool{}
	for _, key := range keys {
		origin, err := CheckKey(key)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %.100q: %w", KeysPath, key, err)
		case seen[origin]:
			return nil, fmt.Errorf("%s: two keys are of %s", KeysPath, origin)
		}
		seen[origin] = true
	}
	if !ended {
		return nil, fmt.Errorf("%s: its last line has no end", KeysPath)
	}
	return keys, nil
}

// find gives the line of the look-up about a record.
func find(read Source, hash string) (*lookupLine, error) {
	if !isHash([]byte(hash)) {
		return nil, fmt.Errorf("%.100q is not a SHA-256 in lower-case hexadecimal", hash)
	}
	text, err := read(LookupPath(hash))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotLogged
	case err != nil:
		return nil, fmt.Errorf("look up the entry: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, hash) {
			continue
		}
		found, err := parseLookupLine(line)
		if err == nil && !IsName(found.name) {
			err = errors.New("it names no verification")
		}
		if err != nil {
			return nil, fmt.Errorf("look up the entry: %s: %.200q: %w", LookupPath(hash), line, err)
		}
		return found, nil
	}
	return nil, ErrNotLogged
}

// lookupLine is a line of the look-up.
type lookupLine struct {
	hash           string
	index          int64  // in its tree
	name           string // of the verification
	kind, countsAs string
}

// parseLookupLine reads a line of the look-up with its end.
func parseLookupLine(line string) (*lookupLine, error) {
	text, ended := strings.CutSuffix(line, "\n")
	fields := strings.Split(text, " ")
	if !ended || len(fields) < 4 || len(fields) > 5 {
		return nil, errors.New("it is not a hash, an index, a verification and a kind")
	}
	l := &lookupLine{hash: fields[0], name: fields[2], kind: fields[3], countsAs: fields[len(fields)-1]}
	var err error
	l.index, err = strconv.ParseInt(fields[1], 10, 64)
	switch {
	case len(l.hash) != hashDigits || !isHash([]byte(l.hash)):
		return nil, errors.New("it does not begin with a SHA-256")
	case err != nil || l.index < 0 || strconv.FormatInt(l.index, 10) != fields[1]:
		return nil, errors.New("its index is not a number")
	case !IsRecord(l.kind):
		return nil, errors.New("its kind is not that of a record")
	case len(fields) == 5 && (l.countsAs == l.kind || l.countsAs != None && !IsRecord(l.countsAs)):
		return nil, errors.New("what it counts as is not another kind of a record")
	}
	return l, nil
}

// parseOwn reads and verifies the published proof of a verification.
func parseOwn(text []byte, keys []string, witnesses []Witness) (*Proof, *Checkpoint, *Entry, error) {
	p, err := ParseProof(text)
	if err != nil {
		return nil, nil, nil, err
	}
	e, err := ParseEntry(p.Extra)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("its extra data: %w", err)
	}
	c, err := p.Verify(p.Extra, keys, witnesses)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case !e.isOf(nameOf(e.Board)) || p.Index != c.Size-1:
		return nil, nil, nil, errors.New("it is not of a verification at the end of its tree")
	}
	return p, c, &e, nil
}

// known gives the hashes that follow from a proof of the last entry, by the indexes of package
// tlog: those of the full subtrees that the whole tree is made of.
func (p *Proof) known(size int64) map[int64]merkle.Hash {
	known := map[int64]merkle.Hash{}
	edge := torchwood.RightEdge(size) // of which the last one has the entry
	last := edge[len(edge)-1]
	height, _ := merkle.SplitStoredHashIndex(last)
	h := merkle.RecordHash(p.Extra)
	for level, left := range p.Hashes[:height] {
		known[merkle.StoredHashIndex(level, (size-1)>>level-1)] = left
		h = merkle.NodeHash(left, h)
	}
	known[last] = h
	for i, left := range p.Hashes[height:] {
		known[edge[len(edge)-2-i]] = left
	}
	return known
}

// storedHashes are those of a published tree of some size: what is known of them, and others out of
// the tiles of that size. It implements merkle.HashReader.
type storedHashes struct {
	read  Source
	tree  *Tree
	size  int64
	known map[int64]merkle.Hash
	tiles map[string][]byte // that were read
}

func (s *storedHashes) ReadHashes(indexes []int64) ([]merkle.Hash, error) {
	hashes := make([]merkle.Hash, len(indexes))
	for i, index := range indexes {
		if h, there := s.known[index]; there {
			hashes[i] = h
			continue
		}
		level, n, first, width := inTile(index)
		tile, err := s.tile(level, n)
		if err != nil {
			return nil, err
		}
		h, is := hashOver(tile, first, width)
		if !is {
			return nil, noHash(s.size, index)
		}
		hashes[i] = h
	}
	return hashes, nil
}

// tile reads a tile as the tree has it.
func (s *storedHashes) tile(level int, n int64) ([]byte, error) {
	width := s.tree.width(level, n, s.size)
	p := s.tree.Path() + TilePath(level, n, width)
	if s.tiles[p] == nil {
		tile, err := s.read(p)
		if err == nil && int64(len(tile)) != width*merkle.HashSize {
			err = fmt.Errorf("%s has %d bytes instead of %d", p, len(tile), width*merkle.HashSize)
		}
		if err != nil {
			return nil, fmt.Errorf("read tile: %w", err)
		}
		s.tiles[p] = tile
	}
	return s.tiles[p], nil
}

// ParseHash reads the digits of a hash by which the log names a record.
func ParseHash(text string) (hash string, ok bool) {
	_, err := hex.DecodeString(text)
	hash = strings.ToLower(text)
	return hash, err == nil && isHash([]byte(hash))
}
