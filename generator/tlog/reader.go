package tlog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"filippo.io/torchwood"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// Source returns a published file by its path from the root of the host. Its error wraps
// fs.ErrNotExist if the file does not exist. It must be safe for concurrent use.
type Source func(path string) ([]byte, error)

// Errors of proofs.
var (
	// ErrNotLogged means that the log has no entry of a record.
	ErrNotLogged = errors.New("not counted by a hand verification yet")
	// ErrNoLog means that a service publishes no log.
	ErrNoLog = errors.New("no log published")
	// ErrOtherLog means that a proof does not match the published checkpoint.
	ErrOtherLog = errors.New("does not match the published log (try again if the log is growing now)")
	// ErrRetired means that a proof is under a replaced key, whose thief could have signed it since.
	ErrRetired = errors.New("does not match the last checkpoint of the replaced key")
)

// Proved is the entry of a record with its proof.
type Proved struct {
	Proof        *Proof
	Entry        Entry
	Verification Entry  // that added the entry; the last entry of the proof's tree
	CountsAs     string // the kind of the entry since its last correction; "" if unknown
	Checkpoint   *Checkpoint
	Newest       *Checkpoint // of the same tree; it extends Checkpoint
}

// Prove proves the entry of a record, by its RecordHash, under the verification that added it.
func (l *Log) Prove(hash string) (*Proved, error) {
	index, there := l.Find(map[string]bool{hash: true})[hash]
	if !there {
		return nil, ErrNotLogged
	}
	i := slices.IndexFunc(l.Stages, func(s Stage) bool { return index < s.Tree.First+s.Size })
	s := &l.Stages[i]
	beyond, err := l.consistency(i)
	if err != nil {
		return nil, err
	}
	proof, err := s.Prove(index - s.Tree.First)
	if err != nil {
		return nil, err
	}
	proof.Extra = beyond.Append(nil)
	p, err := verifyProof(proof, hash, l.Keys, l.Witnesses)
	if err == nil {
		p.CountsAs = l.CountsAs(index)
	}
	return p, err
}

// ReadProof returns the same proof as Log.Prove, from the six files that a service publishes for
// it. The proof does not cover CountsAs: see Standing.
func ReadProof(read Source, hash string, keys []string, witnesses []Witness) (*Proved, error) {
	line, err := readLine(read, hash)
	if err != nil {
		return nil, err
	}
	text, b, err := readBeyond(read, line.name, keys, witnesses)
	if err != nil {
		return nil, err
	}
	hashes, err := merkle.ProveRecord(b.end.Size, line.index, b.hashes(read))
	if err != nil {
		return nil, fmt.Errorf("prove entry %d of verification %s: %w", line.index, line.name, err)
	}
	p, err := verifyProof(&Proof{Extra: text, Index: line.index, Hashes: hashes, Checkpoint: b.own.Checkpoint},
		hash, keys, witnesses)
	if err == nil && p.Entry.Kind != line.kind {
		err = fmt.Errorf("lookup: entry %d: got kind %s, want %s", line.index, line.kind, p.Entry.Kind)
	}
	if err == nil {
		p.CountsAs = line.countsAs
	}
	return p, err
}

func isNewest(read Source, c *Checkpoint, keys []string) error {
	path := CheckpointPath(pathOf(c.Origin))
	text, err := read(path)
	var newest *Checkpoint
	if err == nil {
		newest, err = Open(text, keys, nil)
	}
	if err != nil {
		return fmt.Errorf("read the newest checkpoint: %w", err)
	}
	if newest.body() != c.body() {
		return otherLog(c, newest, path)
	}
	return nil
}

func otherLog(proved, published *Checkpoint, where string) error {
	return fmt.Errorf("%w: proof is for size %d root %s, %s has size %d root %s",
		ErrOtherLog, proved.Size, proved.Root, where, published.Size, published.Root)
}

// Compare compares a proof with the log of a service, whose newest checkpoint must extend it.
func Compare(read Source, p *Proved, keys []string) error {
	_, b, err := readBeyond(read, nameOf(p.Verification.Board), keys, nil)
	if err == nil && b.end.body() != p.Checkpoint.body() {
		err = otherLog(p.Checkpoint, b.end, p.Verification.Board)
	}
	return err
}

func readBeyond(read Source, name string, keys []string, witnesses []Witness) (text []byte, b *beyond, err error) {
	text, err = read(ConsistencyPath(name))
	if err == nil {
		b, err = parseBeyond(text, keys, witnesses)
	}
	if err == nil && b.verification.Board != BoardPath(name) {
		err = fmt.Errorf("proof is for %s, want %s", b.verification.Board, BoardPath(name))
	}
	if err == nil {
		err = isNewest(read, b.newest, keys)
	}
	if err != nil {
		err = fmt.Errorf("read the proof of verification %s: %w", name, err)
	}
	return text, b, err
}

// VerifyProof checks a proof that Log.Prove has made of a record, by its RecordHash, without
// another file. ends are the last checkpoints of the trees whose keys were replaced. A proof under
// a replaced key must match one of them: otherwise VerifyProof returns both the result and
// ErrRetired.
func VerifyProof(text []byte, hash string, keys []string, witnesses []Witness, ends []Checkpoint) (*Proved, error) {
	proof, err := ParseProof(text)
	if err != nil {
		return nil, err
	}
	p, err := verifyProof(proof, hash, keys, witnesses)
	if err != nil || p.Checkpoint.Origin == currentOrigin(keys) {
		return p, err
	}
	for i := range ends {
		if end := &ends[i]; end.body() == p.Checkpoint.body() || end.body() == p.Newest.body() {
			return p, nil
		}
	}
	return p, fmt.Errorf("%w of %s", ErrRetired, p.Checkpoint.Origin)
}

// CutEnd splits KEY@SIZE:ROOT into a replaced verifier key and the last checkpoint of its tree. end
// is nil for a mere key.
func CutEnd(text string) (key string, end *Checkpoint, err error) {
	key, at, ends := strings.Cut(text, "@")
	origin, err := CheckKey(key)
	if err != nil || !ends {
		return key, nil, err
	}
	size, root, _ := strings.Cut(at, ":")
	end, err = parseBody(origin + "\n" + size + "\n" + root + "\n")
	if err != nil {
		err = errors.New("want KEY@SIZE:ROOT, with the root in base64")
	}
	return key, end, err
}

// KeysWithEnds returns the keys of a log in the form of CutEnd.
func (l *Log) KeysWithEnds() ([]string, error) {
	ends, err := l.Ends()
	keys := slices.Clone(l.Keys)
	for i := range keys {
		for _, end := range ends {
			if strings.HasPrefix(keys[i], end.Origin+"+") {
				keys[i] = fmt.Sprintf("%s@%d:%s", keys[i], end.Size, end.Root)
			}
		}
	}
	return keys, err
}

func currentOrigin(keys []string) (origin string) {
	newest := 0
	for _, key := range keys {
		name, _, _ := strings.Cut(key, "+")
		n, err := strconv.Atoi(path.Base(name))
		if err != nil {
			n = 1
		}
		if n > newest {
			origin, newest = name, n
		}
	}
	return origin
}

func verifyProof(p *Proof, hash string, keys []string, witnesses []Witness) (*Proved, error) {
	b, err := parseBeyond(p.Extra, keys, witnesses)
	if err != nil {
		return nil, fmt.Errorf("extra data: want a proof of a verification: %w", err)
	}
	for _, kind := range recordKinds {
		e := Entry{Kind: kind, Hash: hash}
		var c *Checkpoint
		if c, err = p.Verify(e.Append(nil), keys, witnesses); err == nil {
			if c.body() != b.end.body() {
				return nil, errors.New("checkpoint does not match the embedded verification")
			}
			return &Proved{Proof: p, Entry: e, Verification: b.verification, Checkpoint: c, Newest: b.newest}, nil
		}
	}
	return nil, err
}

// PublishedKeys returns the verifier keys that a service publishes, in the order of their use.
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

func parseKeys(text []byte) ([]string, error) {
	lines, ended := strings.CutSuffix(string(text), "\n")
	if !ended {
		return nil, errors.New("last line does not end with a line feed")
	}
	keys := strings.Split(lines, "\n")
	seen := map[string]bool{}
	for _, key := range keys {
		origin, err := CheckKey(key)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%.100q: %w", key, err)
		case seen[origin]:
			return nil, fmt.Errorf("duplicate key name %s", origin)
		}
		seen[origin] = true
	}
	return keys, nil
}

func parseOwn(text []byte, keys []string, witnesses []Witness) (p *Proof, c *Checkpoint, e Entry, err error) {
	if p, err = ParseProof(text); err != nil {
		return nil, nil, e, err
	}
	if e, err = ParseEntry(p.Extra); err != nil {
		return nil, nil, e, fmt.Errorf("extra data: %w", err)
	}
	if c, err = p.Verify(p.Extra, keys, witnesses); err == nil && (!e.isOf(nameOf(e.Board)) || p.Index != c.Size-1) {
		err = errors.New("proof is not for the last entry of its tree")
	}
	return p, c, e, err
}

// beyond proves that the newest checkpoint of a tree extends the checkpoint of a verification.
type beyond struct {
	own          *Proof // of the verification, the last entry under its own checkpoint
	end, newest  *Checkpoint
	verification Entry
}

func parseBeyond(text []byte, keys []string, witnesses []Witness) (b *beyond, err error) {
	b = &beyond{}
	outer, err := ParseProof(text)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(outer.Extra, []byte("{")) { // a proof of the first form, of one checkpoint
		b.own, b.end, b.verification, err = parseOwn(text, keys, witnesses)
		b.newest = b.end
		return b, err
	}
	if b.own, b.end, b.verification, err = parseOwn(outer.Extra, keys, witnesses); err != nil {
		return nil, err
	}
	if b.newest, err = outer.Verify(b.own.Extra, keys, nil); err != nil {
		return nil, err
	}
	if outer.Index != b.own.Index || b.newest.Origin != b.end.Origin ||
		!slices.Equal(outer.before(b.newest.Size), b.own.Hashes) {
		return nil, errors.New(notExtended(b.newest.Size, b.end.Size))
	}
	return b, nil
}

// hashes returns a reader of the verification's tree. It reads tiles, and takes the right edge of
// the tree, which tiles may lack, from the proof. The hashes are not verified.
func (b *beyond) hashes(read Source) merkle.HashReader {
	own := merkle.RecordHash(b.own.Extra)
	edge := map[int64]merkle.Hash{merkle.StoredHashIndex(0, b.own.Index): own}
	for i, s := range b.own.siblings(b.end.Size) { // all complete: they are before the last entry
		edge[merkle.StoredHashIndex(s.level, s.n)] = b.own.Hashes[i]
		own = merkle.NodeHash(b.own.Hashes[i], own)
		edge[merkle.StoredHashIndex(s.level+1, s.n>>1)] = own
	}
	tiles := map[merkle.Tile][]byte{}
	return merkle.HashReaderFunc(func(indexes []int64) (hashes []merkle.Hash, err error) {
		for _, index := range indexes {
			h, known := edge[index]
			if !known {
				tile := merkle.TileForIndex(tileHeight, index)
				tile = tileAt(tile.L, tile.N, b.end.Size)
				if tiles[tile] == nil {
					if tiles[tile], err = read(pathOf(b.end.Origin) + "/" + torchwood.TilePath(tile)); err != nil {
						return nil, err
					}
				}
				if h, err = merkle.HashFromTile(tile, tiles[tile], index); err != nil {
					return nil, err
				}
			}
			hashes = append(hashes, h)
		}
		return hashes, nil
	})
}
