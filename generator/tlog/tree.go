package tlog

import (
	"encoding/binary"
	"fmt"
	"strings"

	merkle "golang.org/x/mod/sumdb/tlog"
)

// A full tile has tileWidth hashes, and a full bundle as many entries (C2SP tlog-tiles).
const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight
	tileBytes  = tileWidth * merkle.HashSize
)

// Tree is the Merkle tree of one key: its entries and their hashes (RFC 6962, section 2.1).
type Tree struct {
	Origin string // the name of the log in its checkpoints (C2SP tlog-checkpoint)
	Key    string // its verifier key
	First  int64  // how many entries the trees before it have

	bundles [][]byte   // of tileWidth entries, the last one with fewer
	offsets []uint32   // of each entry in its bundle
	levels  [][][]byte // tiles: levels[l] has the hashes of the full subtrees of tileWidth^l entries, tileWidth in each
}

// Size is the number of entries.
func (t *Tree) Size() int64 { return int64(len(t.offsets)) }

// Path is where the files of the tree are published, from the root of the host on: the part of its
// origin behind the host.
func (t *Tree) Path() string { return pathOf(t.Origin) }

func pathOf(origin string) string {
	_, path, _ := strings.Cut(origin, "/")
	return "/" + path
}

// Entry is the text of the entry with this index in the tree.
func (t *Tree) Entry(i int64) []byte {
	bundle := t.bundles[i/tileWidth][t.offsets[i]:]
	return bundle[2 : 2+binary.BigEndian.Uint16(bundle)]
}

// add adds an entry at the end.
func (t *Tree) add(line []byte) {
	if len(t.offsets)%tileWidth == 0 {
		t.bundles = append(t.bundles, make([]byte, 0, tileWidth*(min(len(line), usualLine)+2)))
	}
	last := &t.bundles[len(t.bundles)-1]
	t.offsets = append(t.offsets, uint32(len(*last)))
	*last = appendBundled(*last, line)
	t.addHash(0, merkle.RecordHash(line))
}

// addHash adds a hash to a level, and one to the level above where that makes a full tile.
func (t *Tree) addHash(level int, h merkle.Hash) {
	if level == len(t.levels) {
		t.levels = append(t.levels, nil)
	}
	tiles := &t.levels[level]
	if n := len(*tiles); n == 0 || len((*tiles)[n-1]) == tileBytes {
		*tiles = append(*tiles, make([]byte, 0, tileBytes))
	}
	last := &(*tiles)[len(*tiles)-1]
	if *last = append(*last, h[:]...); len(*last) == tileBytes {
		t.addHash(level+1, subtree(*last))
	}
}

// subtree is the hash over a number of hashes that is a power of two.
func subtree(hashes []byte) merkle.Hash {
	if len(hashes) == merkle.HashSize {
		return merkle.Hash(hashes)
	}
	half := len(hashes) / 2
	return merkle.NodeHash(subtree(hashes[:half]), subtree(hashes[half:]))
}

// ReadHashes gives stored hashes by the indexes of package tlog. It implements merkle.HashReader.
func (t *Tree) ReadHashes(indexes []int64) ([]merkle.Hash, error) {
	hashes := make([]merkle.Hash, len(indexes))
	for i, index := range indexes {
		level, n, first, width := inTile(index)
		h, is := hashOver(t.tile(level, n), first, width)
		if !is {
			return nil, noHash(t.Size(), index)
		}
		hashes[i] = h
	}
	return hashes, nil
}

// inTile says which hashes of which tile a stored hash is over, by its index of package tlog.
func inTile(index int64) (level int, n, first, width int64) {
	level, n = merkle.SplitStoredHashIndex(index)
	width = 1 << (level % tileHeight)
	return level / tileHeight, n * width / tileWidth, n * width % tileWidth, width
}

// hashOver is the hash over width hashes of a tile, which begin with the first. It reports whether
// the tile has so many.
func hashOver(tile []byte, first, width int64) (h merkle.Hash, is bool) {
	from, to := first*merkle.HashSize, (first+width)*merkle.HashSize
	if to > int64(len(tile)) {
		return h, false
	}
	return subtree(tile[from:to]), true
}

func noHash(size, index int64) error {
	level, n := merkle.SplitStoredHashIndex(index)
	return fmt.Errorf("the tree of %d entries has no hash %d of level %d", size, n, level)
}

// tile gives the hashes of a tile that there are, none if there is no such tile.
func (t *Tree) tile(level int, n int64) []byte {
	if level >= len(t.levels) || n >= int64(len(t.levels[level])) {
		return nil
	}
	return t.levels[level][n]
}

// Root is the hash of the first size entries.
func (t *Tree) Root(size int64) (merkle.Hash, error) { return merkle.TreeHash(size, t) }
