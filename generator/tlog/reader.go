package tlog

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"filippo.io/torchwood"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// Source gives the bytes of a published file, by its path from the root of the host. Its error
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
	CountsAs     string // its kind, or what it was corrected to; "" if that is not known
	Checkpoint   *Checkpoint
}

// Prove proves the entry of a record, by its RecordHash, as of the verification that added it.
func (l *Log) Prove(hash string) (*Proved, error) {
	index, there := l.Find(map[string]bool{hash: true})[hash]
	if !there {
		return nil, ErrNotLogged
	}
	e := l.entry(index)
	s := &l.Stages[slices.IndexFunc(l.Stages, func(s Stage) bool { return index < s.Tree.First+s.Size })]
	proof, err := s.Prove(index - s.Tree.First)
	if err != nil {
		return nil, err
	}
	c, err := proof.Verify(e.Append(nil), l.Keys, l.Witnesses)
	return &Proved{proof, *e, s.Entry, l.CountsAs(index), c}, err
}

// ReadProof proves the entry of a record, by its RecordHash, from what a service publishes: with a
// file of the look-up, the proof of the verification, and at most two tiles for each level of the
// tree. It gives the same proof as Stage.Prove. The proof does not cover CountsAs.
func ReadProof(read Source, hash string, keys []string, witnesses []Witness) (*Proved, error) {
	line, err := find(read, hash)
	if err != nil {
		return nil, err
	}
	var own *Proof
	var c *Checkpoint
	var verification Entry
	text, err := read(ProofPath(line.name))
	if err == nil {
		own, c, verification, err = parseOwn(text, keys, witnesses)
	}
	if err == nil && verification.Board != BoardPath(line.name) {
		err = fmt.Errorf("it is that of %s", verification.Board)
	}
	if err != nil {
		return nil, fmt.Errorf("read the proof of verification %s: %w", line.name, err)
	}
	tree := merkle.Tree{N: c.Size, Hash: c.Root}
	hashes, err := merkle.ProveRecord(c.Size, line.index, merkle.TileHashReader(tree, tiles{read, pathOf(c.Origin)}))
	if err != nil {
		return nil, fmt.Errorf("prove entry %d of verification %s: %w", line.index, line.name, err)
	}
	e := Entry{Kind: line.kind, Hash: hash}
	proof := &Proof{Extra: text, Index: line.index, Hashes: hashes, Checkpoint: own.Checkpoint}
	c, err = proof.Verify(e.Append(nil), keys, witnesses)
	return &Proved{proof, e, verification, line.countsAs, c}, err
}

// VerifyProof checks a proof that Stage.Prove has made of the record of a hash, without any other
// file.
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
			return &Proved{Proof: p, Entry: e, Verification: verification, Checkpoint: c}, nil
		}
	}
	return nil, err
}

// PublishedKeys are the verifier keys that a service publishes, in the order of their use.
func PublishedKeys(read Source) ([]string, error) {
	text, err := read(KeysPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoLog
	}
	var keys []string
	if err == nil {
		keys, err = parseKeys(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", KeysPath, err)
	}
	return keys, nil
}

// parseKeys reads the file of the verifier keys.
func parseKeys(text []byte) ([]string, error) {
	lines, ended := strings.CutSuffix(string(text), "\n")
	if !ended {
		return nil, errors.New("its last line does not end with a line feed")
	}
	keys := strings.Split(lines, "\n")
	seen := map[string]bool{}
	for _, key := range keys {
		origin, err := CheckKey(key)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%.100q: %w", key, err)
		case seen[origin]:
			return nil, fmt.Errorf("two keys are of %s", origin)
		}
		seen[origin] = true
	}
	return keys, nil
}

// find gives the line of the look-up about a record.
func find(read Source, hash string) (*lookupLine, error) {
	if !isHash(hash) {
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
		if strings.HasPrefix(line, hash) {
			if found := parseLookup(line); found != nil {
				return found, nil
			}
			return nil, fmt.Errorf("look up the entry: %s: %.200q is not a hash, an index, a verification and a kind", LookupPath(hash), line)
		}
	}
	return nil, ErrNotLogged
}

// parseLookup reads a line of the look-up. It gives nil for any other text.
func parseLookup(line string) *lookupLine {
	fields := strings.Fields(line)
	if len(fields) < 4 {
		return nil
	}
	index, err := strconv.ParseInt(fields[1], 10, 64)
	l := &lookupLine{fields[0], index, fields[2], fields[3], fields[len(fields)-1]}
	if err != nil || index < 0 || !IsName(l.name) || !IsRecord(l.kind) || l.countsAs != None && !IsRecord(l.countsAs) || l.String() != line {
		return nil
	}
	return l
}

// parseOwn reads and verifies the published proof of a verification.
func parseOwn(text []byte, keys []string, witnesses []Witness) (p *Proof, c *Checkpoint, e Entry, err error) {
	if p, err = ParseProof(text); err != nil {
		return nil, nil, e, err
	}
	if e, err = ParseEntry(p.Extra); err != nil {
		return nil, nil, e, fmt.Errorf("its extra data: %w", err)
	}
	if c, err = p.Verify(p.Extra, keys, witnesses); err == nil && (!e.isOf(nameOf(e.Board)) || p.Index != c.Size-1) {
		err = errors.New("it is not of a verification at the end of its tree")
	}
	return p, c, e, err
}

// tiles reads the tiles of a published tree. It implements merkle.TileReader.
type tiles struct {
	read Source
	tree string // its path
}

func (tiles) Height() int { return tileHeight }

func (tiles) SaveTiles([]merkle.Tile, [][]byte) {}

func (t tiles) ReadTiles(wanted []merkle.Tile) (texts [][]byte, err error) {
	for _, tile := range wanted {
		text, err := t.read(t.tree + "/" + torchwood.TilePath(tile))
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}
