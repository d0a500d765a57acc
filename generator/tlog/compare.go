package tlog

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"anteroom/edge/assets"
	"anteroom/edge/jsondoc"

	"filippo.io/torchwood"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// How a log relates to a checkpoint that was kept from earlier.
const (
	Consistent = "consistent" // the log begins with the tree of the checkpoint
	Behind     = "behind"     // the log is an old state, or a copy of one: that proves nothing against its key
	Forked     = "fork"       // the key has signed two trees of which neither extends the other
)

// Fork is the evidence that a log has signed two trees of which neither extends the other. No log
// may do so.
type Fork struct {
	Origin string   `json:"origin"`
	What   string   `json:"what"`
	Notes  []string `json:"notes"` // the two checkpoints, whole: the log's own, and one that does not fit it
}

// Error says what is wrong in one line. Both notes follow, as the evidence.
func (f *Fork) Error() string {
	return fmt.Sprintf("the log %s is forked: %s\n%s", f.Origin, f.What, strings.Join(f.Notes, "\n"))
}

// compare compares a tree with a checkpoint that its key has signed. They make a fork only if the
// entries are those of the newest checkpoint: anybody can publish other entries, and anybody who
// copies a log can publish an old state of it.
func (c *check) compare(t *checkedTree, text []byte, signed *Checkpoint) (how string) {
	size := t.newest.Size
	what := fmt.Sprintf("the tree of %d entries does not begin with that of %d", size, signed.Size)
	switch {
	case signed.Size > size:
		c.fault(CheckpointPath(t.Path()), "is of %d entries, and one of %d was signed before: this is an old state of the log", size, signed.Size)
		return Behind
	case signed.Size == size && signed.Root == t.newest.Root:
		return Consistent
	case signed.Size == size:
		what = fmt.Sprintf("two trees of %d entries are signed", size)
	default:
		root, err := t.Root(min(signed.Size, t.Size()))
		switch {
		case err != nil || signed.Size > t.Size():
			return "" // a fault says why the entries cannot be read
		case root == signed.Root:
			return Consistent
		case !t.whole:
			return ""
		}
	}
	if len(c.report.Forks) < maxForks {
		c.report.Forks = append(c.report.Forks, Fork{t.Origin, what, []string{string(t.text), string(text)}})
	}
	return Forked
}

// compareKept compares the log with the checkpoint that was kept.
func (c *check) compareKept(text []byte, kept *Checkpoint) {
	for _, t := range c.trees {
		if t.Origin == kept.Origin {
			c.report.Since = c.compare(t, text, kept)
			return
		}
	}
	c.fault(CheckpointPath(pathOf(kept.Origin)), "cannot be used, and a checkpoint of %d entries was kept", kept.Size)
}

// readCheckpoints reads the checkpoints of the stages of a tree.
func (c *check) readCheckpoints(t *checkedTree, stages []Stage) error {
	var paths []string
	for i := range stages {
		paths = append(paths, CheckpointOf(t.Path(), stages[i].Size))
	}
	err := c.each(paths, func(i int, text []byte) error {
		if signed := c.open(t, paths[i], text, stages[i].Size); signed != nil {
			stages[i].Checkpoint, stages[i].Cosigned = text, signed.Cosigned
		}
		return nil
	})
	last := &stages[len(stages)-1]
	last.Checkpoint, last.Cosigned = t.text, t.newest.Cosigned
	return err
}

// open verifies a checkpoint of a tree of some size, and compares it with the tree. It gives nil if
// the checkpoint cannot be used.
func (c *check) open(t *checkedTree, path string, text []byte, size int64) *Checkpoint {
	signed, err := Open(text, []string{t.Key}, t.witnesses)
	switch {
	case err != nil:
		c.fault(path, "%v", err)
		return nil
	case signed.Size != size:
		c.fault(path, "has a checkpoint of %d entries instead of %d", signed.Size, size)
		return nil
	}
	c.compare(t, text, signed)
	return signed
}

// compareHashes compares the published hashes of the entries of a tree with the entries: that shows
// which were changed.
func (c *check) compareHashes(t *checkedTree) error {
	var tiles []merkle.Tile
	var paths []string
	for n := int64(0); n*tileWidth < t.Size(); n++ {
		tiles = append(tiles, tileAt(0, n, t.Size()))
		paths = append(paths, t.Path()+"/"+torchwood.TilePath(tiles[n]))
	}
	return c.each(paths, func(n int, text []byte) error {
		want, err := t.data(tiles[n])
		if err == nil {
			c.compareText(paths[n], text, want)
		}
		return err
	})
}

// compareFiles compares the files that were not read yet with those that the rebuilt log publishes.
func (c *check) compareFiles() error {
	files, err := c.log.Files()
	if err != nil {
		c.fault(Folder, "%s", strings.TrimPrefix(err.Error(), "publish the log: "))
	}
	wanted, proofs := map[string][]byte{}, map[string]*Stage{}
	for i := range c.log.Stages {
		proofs[ProofPath(c.log.Stages[i].Name)] = &c.log.Stages[i]
	}
	var paths []string
	for _, f := range files {
		if !c.read[f.Path] {
			paths, wanted[f.Path] = append(paths, f.Path), f.Bytes
		}
	}
	return c.each(paths, func(i int, text []byte) error {
		path := paths[i]
		if s := proofs[path]; s != nil {
			c.compareProof(path, text, wanted[path], s)
		} else {
			c.compareText(path, text, wanted[path])
		}
		return nil
	})
}

// compareProof compares the proof of a verification with the one that the rebuilt log publishes.
// Its checkpoint may have other cosignatures.
func (c *check) compareProof(path string, text, want []byte, s *Stage) {
	if bytes.Equal(text, want) {
		return
	}
	head, checkpoint, _ := bytes.Cut(text, []byte("\n\n"))
	wanted, _, _ := bytes.Cut(want, []byte("\n\n"))
	t := c.trees[slices.IndexFunc(c.trees, func(t *checkedTree) bool { return t.Tree == s.Tree })]
	if c.open(t, path, checkpoint, s.Size) != nil && !bytes.Equal(head, wanted) {
		c.fault(path, "does not prove verification %s, which is entry %d", s.Name, s.Size-1)
	}
}

// compareText says where a file differs from what it should be.
func (c *check) compareText(path string, text, want []byte) {
	if bytes.Equal(text, want) {
		return
	}
	at := 0
	for at < min(len(text), len(want)) && text[at] == want[at] {
		at++
	}
	line := bytes.Count(want[:at], []byte("\n"))
	lineOf := func(b []byte) string { return strings.Split(string(b)+strings.Repeat("\n", line), "\n")[line] }
	what := fmt.Sprintf("line %d is %.150q instead of %.150q", line+1, lineOf(text), lineOf(want))
	if _, below, isTile := strings.Cut(path, "/tile/"); isTile {
		what = fmt.Sprintf("byte %d differs", at)
		if tile, err := torchwood.ParseTilePath("tile/" + below); err == nil && tile.L == 0 {
			what = fmt.Sprintf("the hash of entry %d differs", tile.N*tileWidth+int64(at/merkle.HashSize))
		}
	}
	c.fault(path, "is not what the entries give: %s", what)
}

// scoreboardPath is the newest board.
const scoreboardPath = "/scoreboard.json"

// checkBoards compares each board with the verification that has logged it, and the newest board
// with the last verification.
func (c *check) checkBoards() error {
	var paths []string
	for i := range c.log.Stages {
		paths = append(paths, c.log.Stages[i].Entry.Board)
	}
	if len(paths) == 0 {
		return nil
	}
	return c.each(append(paths, scoreboardPath), func(i int, text []byte) error {
		if i == len(paths) {
			c.checkBoard(scoreboardPath, text, &c.log.Stages[i-1].Entry)
			return nil
		}
		e := &c.log.Stages[i].Entry
		if sum := assets.SumOf(text); sum != e.BoardSHA256 {
			c.fault(e.Board, "has the SHA-256 %s, and its verification has logged %s", sum, e.BoardSHA256)
		}
		c.checkBoard(e.Board, text, e)
		return nil
	})
}

// checkBoard compares the numbers of a board with a verification. It reads the board strictly:
// readers differ about a number that is there twice, or in another part.
func (c *check) checkBoard(path string, text []byte, e *Entry) {
	board, err := jsondoc.Parse(text)
	if err != nil {
		c.fault(path, "is not a board: %v", err)
		return
	}
	if asOf := board.Get("as_of"); asOf.Kind != jsondoc.String || asOf.Text != e.AsOf {
		c.fault(path, "is as of %.20q, and its verification as of %s", asOf.Text, e.AsOf)
	}
	for _, number := range []struct {
		part, name string
		logged     int
	}{
		{"pilot_waitlist", "verified_organic_agent_conversions", e.Counts.Vouched},
		{"pilot_waitlist", "registrations_recorded", e.Counts.Registrations},
		{"orgs", "charters_filed", e.Counts.Charters},
		{"suggestions", "received_external", e.Counts.Suggestions},
		{"excluded_from_counts", "development_seed_and_test_records", e.Counts.Own},
	} {
		if is := board.Get(number.part).Get(number.name).Raw; string(is) != fmt.Sprint(number.logged) {
			c.fault(path, "has %.20q as %s.%s, and the log %d", is, number.part, number.name, number.logged)
		}
	}
}
