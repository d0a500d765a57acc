package tlog

import (
	"fmt"

	"filippo.io/torchwood"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// quick checks the keys, the newest checkpoints, and the newest verification with its board. It
// proves with some tiles that the log extends the checkpoint that was kept.
func (c *check) quick(keys []string, kept []*keptProof) error {
	for _, key := range keys {
		t, err := c.readHead(key)
		if err != nil {
			return err
		}
		if t != nil {
			c.trees = append(c.trees, t)
		}
	}
	for _, k := range kept {
		c.compareKept(k)
	}
	c.checkQuorum()
	if len(c.trees) == 0 {
		return nil
	}
	newest := c.trees[len(c.trees)-1]
	var last *Entry
	err := c.each([]string{NewestPath}, func(_ int, text []byte) error {
		_, signed, e, err := parseOwn(text, []string{newest.Key}, nil)
		if err == nil && signed.body() != newest.newest.body() {
			err = fmt.Errorf("is of %d entries, and the newest checkpoint of %d", signed.Size, newest.newest.Size)
		}
		if err != nil {
			c.fault(NewestPath, "%v", err)
		}
		last = &e
		return nil
	})
	if err != nil || last == nil || !c.report.OK() {
		return err
	}
	c.log.Stages = []Stage{{
		Name: nameOf(last.Board), Tree: newest.Tree, Size: newest.newest.Size, Checkpoint: newest.text, Cosigned: newest.newest.Cosigned, Entry: *last,
	}}
	return c.checkBoards()
}

// extends compares a tree without its entries with a smaller one that its key has signed.
func (c *check) extends(t *checkedTree, signed *Checkpoint) (bool, error) {
	tree := merkle.Tree{N: t.newest.Size, Hash: t.newest.Root}
	proof, err := merkle.ProveTree(tree.N, signed.Size, merkle.TileHashReader(tree, tiles{c.Read, t.Path()}))
	return err == nil && merkle.CheckTree(proof, tree.N, tree.Hash, signed.Size, signed.Root) == nil, err
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
