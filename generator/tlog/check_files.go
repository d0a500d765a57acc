package tlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"anteroom/edge/jsondoc"

	merkle "golang.org/x/mod/sumdb/tlog"
)

// compareFiles holds the published files of the trees and stages that were read to their entries.
func (c *check) compareFiles() error {
	var steps []func(f *found)
	seen := map[string]bool{} // the tiles, as several verifications may share one
	compare := func(t *checkedTree, level int, n, width int64) {
		if path := t.Path() + TilePath(level, n, width); !seen[path] {
			seen[path] = true
			steps = append(steps, func(f *found) { c.compareTile(f, t, path, max(level, 0), n, width) })
		}
	}
	for _, t := range c.trees {
		for level := 1; level < len(t.levels); level++ {
			for n, tile := range t.levels[level] {
				if len(tile) == tileBytes {
					compare(t, level, int64(n), tileWidth)
				}
			}
		}
	}
	for _, s := range c.stages {
		for level := -1; level < len(s.tree.levels); level++ {
			n := s.size >> (tileHeight * (max(level, 0) + 1))
			width := s.tree.width(level, n, s.size)
			if width > 0 && (s.size < s.tree.size || level > 0) { // else it was read with its entries
				compare(s.tree, level, n, width)
			}
		}
		steps = append(steps, func(f *found) { c.checkCheckpoint(f, s) })
		if s.name != "" {
			steps = append(steps, func(f *found) { c.checkProof(f, s) }, func(f *found) {
				if text := c.checkBoard(f, s.entry.Board, &s.entry); text != nil && sumOf(text) != s.entry.BoardSHA256 {
					f.fault(s.entry.Board, "has the SHA-256 %s, and verification %s has logged %s", sumOf(text), s.name, s.entry.BoardSHA256)
				}
			})
		}
	}
	if c.newest != nil {
		steps = append(steps, func(f *found) { c.checkBoard(f, scoreboardPath, c.newest) })
	}
	return c.side(steps)
}

// side carries out steps, some of them at a time.
func (c *check) side(steps []func(f *found)) error {
	return inOrder(int64(len(steps)), c.AtOnce, func(i int64) *found {
		f := &found{}
		steps[i](f)
		return f
	}, func(_ int64, f *found) error { return c.keep(f) })
}

// compareTile compares a tile with the hashes of the tree, or a bundle with those of its entries.
func (c *check) compareTile(f *found, t *checkedTree, path string, level int, n, width int64) {
	text := c.read(f, path)
	if text == nil {
		return
	}
	if path == t.Path()+TilePath(-1, n, width) {
		lines, err := parseBundle(text, width)
		if err != nil {
			f.fault(path, "%v", err)
			return
		}
		text = hashesOf(lines)
	}
	if !bytes.Equal(text, t.part(level, n, width)) {
		f.fault(path, "is not that of the tree")
	}
}

// checkCheckpoint checks the published checkpoint of a stage.
func (c *check) checkCheckpoint(f *found, s *checkedStage) {
	path := CheckpointOf(s.tree.Path(), s.size)
	text := c.read(f, path)
	if text == nil {
		return
	}
	signed, err := Open(text, []string{s.tree.Key}, s.tree.witnesses)
	switch {
	case err != nil:
		f.fault(path, "%v", err)
	case signed.Size != s.size:
		f.fault(path, "is of %d entries", signed.Size)
	default:
		s.cosigned = append(s.cosigned, signed.Cosigned...)
		s.tree.compare(f, path, text, signed)
	}
}

// checkProof checks the published proof of a verification.
func (c *check) checkProof(f *found, s *checkedStage) {
	path := ProofPath(s.name)
	text := c.read(f, path)
	if text == nil {
		return
	}
	p, signed, e, err := parseOwn(text, []string{s.tree.Key}, s.tree.witnesses)
	switch {
	case err != nil:
		f.fault(path, "%v", err)
	case *e != s.entry || signed.Size != s.size:
		f.fault(path, "is not of verification %s, which is entry %d", s.name, s.size-1)
	default:
		s.tree.compare(f, path, p.Checkpoint, signed)
	}
}

// boardParts are the parts of a board that have the numbers of Counts, in their order.
var boardParts = [...]string{"pilot_waitlist", "pilot_waitlist", "orgs", "suggestions", "excluded_from_counts"}

// checkBoard checks the numbers of a board against a verification. The board is read strictly: a
// number that stood there twice, or in another part, would be one to this reader and another to the
// next.
func (c *check) checkBoard(f *found, path string, e *Entry) (text []byte) {
	if text = c.read(f, path); text == nil {
		return nil
	}
	counts, err := json.Marshal(e.Counts)
	var board, logged jsondoc.Value
	if err == nil {
		logged, err = jsondoc.Parse(counts)
	}
	if err == nil {
		board, err = jsondoc.Parse(text)
	}
	if err != nil {
		f.fault(path, "is no board: %v", err)
		return text
	}
	if asOf := board.Get("as_of"); asOf.Kind != jsondoc.String || asOf.Text != e.AsOf {
		f.fault(path, "is as of %.20q, and its verification as of %s", asOf.Text, e.AsOf)
	}
	for i, number := range logged.Members {
		if is := board.Get(boardParts[i]).Get(number.Name); !bytes.Equal(is.Raw, number.Value.Raw) {
			f.fault(path, "has %.20q as %s.%s, and the log %s", is.Raw, boardParts[i], number.Name, number.Value.Raw)
		}
	}
	return text
}

// checkLookup checks every file of the look-up that has a record which was read. Where an entry
// could not be read, that is a fault already, and the look-up cannot be judged.
func (c *check) checkLookup() error {
	if c.lost {
		return nil
	}
	var steps []func(f *found)
	for prefix, records := range c.prefixes {
		if records > 0 {
			path := LookupPath(fmt.Sprintf("%0*x", lookupDigits, prefix))
			steps = append(steps, func(f *found) { c.checkLookupFile(f, path, records) })
		}
	}
	return c.side(steps)
}

// checkLookupFile checks a file of the look-up, which must have so many of the records that were
// read, and nothing else.
func (c *check) checkLookupFile(f *found, path string, records int) {
	text := c.read(f, path)
	if text == nil {
		return
	}
	if len(text) > MaxLookup {
		f.fault(path, "has more than %d KiB", MaxLookup>>10)
	}
	before, number := "", 0
	for line := range strings.Lines(string(text)) {
		number++
		l, err := parseLookupLine(line)
		switch {
		case err != nil:
		case LookupPath(l.hash) != path:
			err = errors.New("its hash belongs into another file")
		case l.hash <= before:
			err = errors.New("it does not stand in the order of the hashes")
		default:
			before = l.hash
			if c.byName[l.name] == nil && l.index < c.report.From {
				continue // it came before the kept checkpoint
			}
			err = c.checkLookupLine(l)
			records--
		}
		if err != nil {
			f.fault(path, "line %d: %v", number, err)
			return
		}
	}
	if records != 0 {
		f.fault(path, "lacks %d of the records that begin so", records)
	}
}

// checkLookupLine checks that a line of the look-up says where its record is, and what it counts
// as.
func (c *check) checkLookupLine(l *lookupLine) error {
	s := c.byName[l.name]
	switch {
	case s == nil:
		return fmt.Errorf("there is no verification %.40q", l.name)
	case l.index < s.from || l.index >= s.size:
		return fmt.Errorf("entry %d did not come with verification %s", l.index, l.name)
	}
	e := Entry{Kind: l.kind, Hash: l.hash}
	h := merkle.RecordHash(e.Append(nil))
	if tile := s.tree.tile(0, l.index/tileWidth); !bytes.Equal(h[:], tile[l.index%tileWidth*merkle.HashSize:][:merkle.HashSize]) {
		return fmt.Errorf("entry %d is not a %s of this hash", l.index, l.kind)
	}
	if is := kindOf(c.recount.now[s.tree.First+l.index]); is != l.countsAs {
		return fmt.Errorf("entry %d counts as %s", l.index, is)
	}
	return nil
}
