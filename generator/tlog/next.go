package tlog

import (
	"maps"
	"slices"
)

// Clone gives a log that can be appended to while this one stays as it is. The two share what they
// both hold.
func (l *Log) Clone() *Log {
	c := *l
	c.Stages = slices.Clip(l.Stages)
	c.recount.logged, c.recount.now = slices.Clip(l.recount.logged), slices.Clone(l.recount.now) // corrections change now
	c.recount.vouched = maps.Clone(l.recount.vouched)
	if n := len(l.Trees); n > 0 {
		c.Trees = slices.Clone(l.Trees)
		last := c.Trees[n-1].clone()
		c.Trees[n-1] = last
		c.Stages = slices.Clone(l.Stages)
		for i := range c.Stages {
			if c.Stages[i].Tree == l.Trees[n-1] {
				c.Stages[i].Tree = last
			}
		}
	}
	return &c
}

// clone gives a tree that can be appended to. Full tiles and bundles never change, and what is
// appended to the others goes to a place of its own.
func (t *Tree) clone() *Tree {
	c := *t
	c.bundles, c.offsets = ownEnd(t.bundles), slices.Clip(t.offsets)
	c.levels = slices.Clone(t.levels)
	for i := range c.levels {
		c.levels[i] = ownEnd(c.levels[i])
	}
	return &c
}

// ownEnd is a list of parts, the last of which does not grow into bytes that others hold.
func ownEnd(parts [][]byte) [][]byte {
	parts = slices.Clone(parts)
	if n := len(parts); n > 0 {
		parts[n-1] = slices.Clip(parts[n-1])
	}
	return parts
}

// Next is the index, through all trees, of the first entry that Append would be given under a key
// of this name.
func (l *Log) Next(origin string) int64 {
	if n := len(l.Trees); n > 0 && l.Trees[n-1].Origin != origin {
		return l.Size() + 1 // behind the checkpoint of the tree before
	}
	return l.Size()
}

// VerificationOf is the entry of a verification by its name, day and board, as that is published.
// Append sets its counts.
func VerificationOf(name, asOf string, board []byte) Entry {
	return Entry{Kind: Verification, AsOf: asOf, Board: BoardPath(name), BoardSHA256: sumOf(board)}
}
