package translog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
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
	if n := len(c.stages); n > 0 {
		steps = append(steps, func(f *found) { c.checkBoard(f, scoreboardPath, &c.stages[n-1].entry) })
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
		text = nil
		for _, line := range lines {
			h := tlog.RecordHash(line)
			text = append(text, h[:]...)
		}
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

// checkBoard checks the numbers of a board against a verification.
func (c *check) checkBoard(f *found, path string, e *Entry) (text []byte) {
	if text = c.read(f, path); text == nil {
		return nil
	}
	var counts Counts // each part of a board has other members of it
	board := struct {
		AsOf        string  `json:"as_of"`
		Waitlist    *Counts `json:"pilot_waitlist"`
		Orgs        *Counts `json:"orgs"`
		Suggestions *Counts `json:"suggestions"`
		Excluded    *Counts `json:"excluded_from_counts"`
	}{"", &counts, &counts, &counts, &counts}
	err := json.Unmarshal(text, &board)
	switch {
	case err != nil:
		f.fault(path, "is no board: %v", err)
	case board.AsOf != e.AsOf:
		f.fault(path, "is as of %.20q, and its verification as of %s", board.AsOf, e.AsOf)
	case counts != e.Counts:
		f.fault(path, "has the numbers %+v, and the log %+v", counts, e.Counts)
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
	h := tlog.RecordHash(e.Append(nil))
	if tile := s.tree.tile(0, l.index/tileWidth); !bytes.Equal(h[:], tile[l.index%tileWidth*tlog.HashSize:][:tlog.HashSize]) {
		return fmt.Errorf("entry %d is not a %s of this hash", l.index, l.kind)
	}
	if is := kindOf(c.recount.now[s.tree.First+l.index]); is != l.countsAs {
		return fmt.Errorf("entry %d counts as %s", l.index, is)
	}
	return nil
}
