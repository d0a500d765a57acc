package tlog

import (
	"fmt"
	"strings"

	"filippo.io/torchwood"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// A full tile has tileWidth hashes, and a full bundle tileWidth entries (C2SP tlog-tiles).
const (
	tileHeight = torchwood.TileHeight
	tileWidth  = torchwood.TileWidth
)

// Tree is the Merkle tree of one key: its entries and their hashes (RFC 6962, section 2.1).
type Tree struct {
	Origin string // the name of the log in its checkpoints (C2SP tlog-checkpoint)
	Key    string // the verifier key
	First  int64  // number of entries in earlier trees

	entries []Entry
	hashes  []merkle.Hash // in the order of package merkle
}

// Size returns the number of entries.
func (t *Tree) Size() int64 { return int64(len(t.entries)) }

// Path returns the folder of the tree's published files: its origin without the host.
func (t *Tree) Path() string { return pathOf(t.Origin) }

func pathOf(origin string) string {
	_, path, _ := strings.Cut(origin, "/")
	return "/" + path
}

// Entry returns the text of an entry by its index in the tree.
func (t *Tree) Entry(i int64) []byte { return t.entries[i].Append(nil) }

func (t *Tree) add(e *Entry, line []byte) error {
	hashes, err := merkle.StoredHashes(t.Size(), line, t)
	t.entries, t.hashes = append(t.entries, *e), append(t.hashes, hashes...)
	return err
}

// ReadHashes implements merkle.HashReader.
func (t *Tree) ReadHashes(indexes []int64) ([]merkle.Hash, error) {
	hashes := make([]merkle.Hash, len(indexes))
	for i, index := range indexes {
		if index >= int64(len(t.hashes)) {
			return nil, fmt.Errorf("read hash %d: beyond the tree of %d entries", index, t.Size())
		}
		hashes[i] = t.hashes[index]
	}
	return hashes, nil
}

// Root returns the Merkle tree hash of the first size entries.
func (t *Tree) Root(size int64) (merkle.Hash, error) { return merkle.TreeHash(size, t) }

// tileAt returns tile n of a level, or bundle n if level is -1, of a tree of the given size.
func tileAt(level int, n, size int64) merkle.Tile {
	width := min(tileWidth, size>>(tileHeight*max(level, 0))-n*tileWidth)
	return merkle.Tile{H: tileHeight, L: level, N: n, W: int(width)}
}

func (t *Tree) data(tile merkle.Tile) (b []byte, err error) {
	if tile.L >= 0 {
		return merkle.ReadTileData(tile, t)
	}
	for i := range int64(tile.W) {
		if b, err = torchwood.AppendTileEntry(b, t.Entry(tile.N*tileWidth+i)); err != nil {
			return nil, err
		}
	}
	return b, nil
}
