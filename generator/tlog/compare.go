package tlog

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/assets"
	"anteroom/edge/jsondoc"

	"filippo.io/torchwood"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// The relations between a log and a checkpoint that was kept from earlier.
const (
	Consistent = "consistent" // the log begins with the tree of the checkpoint
	Behind     = "behind"     // the log is an old state or a copy of one, which is no proof against its key
	Forked     = "fork"       // the key has signed two trees of which neither extends the other
)

// Fork is the evidence that a key has signed two trees of which neither extends the other.
type Fork struct {
	Origin string   `json:"origin"`
	What   string   `json:"what"`
	Notes  []string `json:"notes"` // both checkpoints: the log's newest, and one that conflicts with it
}

// Error describes the fork in one line. Both notes follow as the evidence.
func (f *Fork) Error() string {
	return fmt.Sprintf("the log %s is forked: %s\n%s", f.Origin, f.What, strings.Join(f.Notes, "\n"))
}

func notExtended(size, earlier int64) string {
	return fmt.Sprintf("the tree of %d entries does not begin with the signed tree of %d", size, earlier)
}

// compare compares a tree with a checkpoint that its key has signed. They prove a fork only if the
// entries match the newest checkpoint: anyone can publish other entries, and anyone who copies a
// log can publish an old state of it.
func (c *check) compare(t *checkedTree, text []byte, signed *Checkpoint) (how string) {
	size := t.newest.Size
	what := notExtended(size, signed.Size)
	switch {
	case signed.Size > size:
		c.evidence(CheckpointPath(t.Path()),
			fmt.Sprintf("size is %d, but a checkpoint of size %d was signed: old copy or fork", size, signed.Size),
			t.text, text)
		return Behind
	case signed.Size == size && signed.Root == t.newest.Root:
		return Consistent
	case signed.Size == size:
		what = fmt.Sprintf("the key signed two trees of %d entries", size)
	default:
		root, err := t.Root(min(signed.Size, t.Size()))
		switch {
		case err != nil || signed.Size > t.Size():
			return "" // the entries have faults
		case root == signed.Root:
			return Consistent
		case !t.whole:
			return ""
		}
	}
	return c.forked(t, what, text)
}

func (c *check) forked(t *checkedTree, what string, text []byte) string {
	if len(c.report.Forks) < maxForks {
		c.report.Forks = append(c.report.Forks, Fork{t.Origin, what, []string{string(t.text), string(text)}})
	}
	return Forked
}

// keptProof is a kept checkpoint, with the path of an entry under it if a proof was kept.
type keptProof struct {
	*Checkpoint
	Proof
}

// readKept reads a kept checkpoint. Of nested proofs it returns the one with the largest
// checkpoint. It returns nil, and reports a fault, if the log has the same host and no longer lists
// the key.
func (c *check) readKept(keys []string, text []byte) (kept *keptProof, err error) {
	for text != nil {
		p, wrong := ParseProof(text)
		if wrong != nil && kept != nil {
			break // the innermost extra data is the verification
		}
		if wrong != nil {
			p = &Proof{Checkpoint: text, Index: -1}
		}
		signed, wrong := Open(p.Checkpoint, keys, nil)
		if wrong != nil {
			return nil, c.unknownKept(p.Checkpoint, keys, wrong)
		}
		if kept == nil || signed.Size > kept.Size {
			kept = &keptProof{signed, *p}
		}
		text = p.Extra
	}
	return kept, nil
}

// unknownKept reports that the log does not list the key of a kept checkpoint. It returns an error
// if the checkpoint belongs to another log or is damaged.
func (c *check) unknownKept(text []byte, keys []string, wrong error) error {
	origin, rest, _ := strings.Cut(string(text), "\n")
	host, _, _ := strings.Cut(origin, "/")
	_, line, _ := strings.Cut(rest, "\n— "+origin+" ")
	line, _, _ = strings.Cut(line, "\n")
	id, _ := base64.StdEncoding.DecodeString(line)
	if len(id) > 4 {
		signer := origin + "+" + hex.EncodeToString(id[:4])
		listed := slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, signer+"+") })
		ours := len(keys) == 0 || slices.ContainsFunc(keys,
			func(key string) bool { return strings.HasPrefix(key, host+"/") })
		if ours && !listed && errors.Is(wrong, ErrUnknownKey) {
			c.evidence(KeysPath, "does not list the key "+signer+", which signed the kept checkpoint", text)
			return nil
		}
	}
	return fmt.Errorf("%w: %w (it belongs to another log, or is damaged)", ErrKept, wrong)
}

func (c *check) compareKept(kept *keptProof) {
	for _, t := range c.trees {
		if t.Origin != kept.Origin {
			continue
		}
		text := kept.Proof.Checkpoint
		if t.whole && kept.Size > t.Size() && kept.contradicts(t.Tree) {
			c.report.Since = c.forked(t, notExtended(kept.Size, t.Size()), text)
		} else {
			c.report.Since = c.compare(t, text, kept.Checkpoint)
		}
		return
	}
	c.fault(CheckpointPath(pathOf(kept.Origin)), "is missing or invalid, but a checkpoint of %d entries was kept",
		kept.Size)
}

func (k *keptProof) contradicts(t *Tree) bool {
	for i, s := range k.siblings(k.Size) {
		if (s.n+1)<<s.level <= t.Size() {
			if is, err := t.ReadHashes([]int64{merkle.StoredHashIndex(s.level, s.n)}); err != nil || is[0] != k.Hashes[i] {
				return true
			}
		}
	}
	return false
}

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
	for _, s := range stages {
		c.checkTimes(t, &s)
	}
	return err
}

func (c *check) checkTimes(t *checkedTree, s *Stage) {
	day, _ := time.Parse(time.DateOnly, s.Entry.AsOf)
	for _, w := range s.Cosigned {
		said := w.At.Format(time.RFC3339)
		switch {
		case w.At.Before(day):
			c.fault(CheckpointOf(t.Path(), s.Size), "was cosigned by %s at %s, before the day of its verification",
				w.Witness, said)
		case !c.Now.IsZero() && w.At.After(c.Now.Add(maxSkew)):
			c.fault(CheckpointOf(t.Path(), s.Size), "was cosigned by %s at %s, which is in the future", w.Witness, said)
		}
	}
}

// open verifies a checkpoint of the given size and compares it with its tree. It returns nil, and
// reports a fault, if the checkpoint is invalid.
func (c *check) open(t *checkedTree, path string, text []byte, size int64) *Checkpoint {
	signed, err := Open(text, []string{t.Key}, t.witnesses)
	switch {
	case err != nil:
		c.fault(path, "%v", err)
		return nil
	case signed.Size != size:
		c.fault(path, "has a checkpoint of size %d, want %d", signed.Size, size)
		return nil
	}
	c.compare(t, text, signed)
	return signed
}

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

func (c *check) compareFiles() error {
	files, err := c.log.Files()
	if err != nil {
		c.fault(Folder, "%s", strings.TrimPrefix(err.Error(), "publish the log: "))
	}
	proofs := map[string][]*Stage{} // by path: the stages whose checkpoints a proof has, the outer first
	for i := range c.log.Stages {
		s := &c.log.Stages[i]
		proofs[ProofPath(s.Name)], proofs[ConsistencyPath(s.Name)] = []*Stage{s}, []*Stage{c.log.end(i), s}
		proofs[NewestPath] = []*Stage{s}
	}
	wanted := map[string][]byte{}
	var paths []string
	for _, f := range files {
		if wanted[f.Path] = f.Bytes; !c.read[f.Path] {
			paths = append(paths, f.Path)
		}
	}
	if c.List != nil {
		listed, err := c.List()
		if err != nil {
			return err
		}
		for _, path := range listed {
			if _, known := wanted[path]; !known && !c.read[path] {
				c.fault(path, "does not belong to the log")
			}
		}
	}
	return c.each(paths, func(i int, text []byte) error {
		path := paths[i]
		if stages := proofs[path]; stages != nil {
			c.compareProof(path, text, wanted[path], stages)
		} else {
			c.compareText(path, text, wanted[path])
		}
		return nil
	})
}

// compareProof compares a proof with the proof of the rebuilt log. Its checkpoints may have other
// cosignatures.
func (c *check) compareProof(path string, text, want []byte, stages []*Stage) {
	if bytes.Equal(text, want) {
		return
	}
	is, wrong := ParseProof(text)
	should, err := ParseProof(want)
	if wrong != nil {
		c.fault(path, "%v", wrong)
	}
	s, inner := stages[0], stages[1:]
	t := c.trees[slices.IndexFunc(c.trees, func(t *checkedTree) bool { return t.Tree == s.Tree })]
	if wrong != nil || err != nil || c.open(t, path, is.Checkpoint, s.Size) == nil { // reported above
		return
	}
	if len(inner) > 0 {
		c.compareProof(path, is.Extra, should.Extra, inner)
		is.Extra = should.Extra
	}
	if is.Checkpoint = should.Checkpoint; !bytes.Equal(is.Append(nil), want) {
		c.fault(path, "does not prove verification %s, which is entry %d", s.Name, s.Size-1)
	}
}

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
	what := fmt.Sprintf("line %d: got %.150q, want %.150q", line+1, lineOf(text), lineOf(want))
	if _, below, isTile := strings.Cut(path, "/tile/"); isTile {
		what = fmt.Sprintf("byte %d differs", at)
		if tile, err := torchwood.ParseTilePath("tile/" + below); err == nil && tile.L == 0 {
			what = fmt.Sprintf("the hash of entry %d differs", tile.N*tileWidth+int64(at/merkle.HashSize))
		}
	}
	c.fault(path, "differs from the rebuilt log: %s", what)
}

// scoreboardPath is the newest board.
const scoreboardPath = "/scoreboard.json"

func (c *check) checkBoards() error {
	var paths []string
	for i := range c.log.Stages {
		paths = append(paths, c.log.Stages[i].Entry.Board)
	}
	if len(paths) == 0 {
		return nil
	}
	if c.log.astray() > 0 {
		c.fault(Folder, "%v", c.log.errAstray())
	}
	return c.each(append(paths, scoreboardPath), func(i int, text []byte) error {
		if i == len(paths) {
			c.checkBoard(scoreboardPath, text, &c.log.Stages[i-1].Entry)
			return nil
		}
		e := &c.log.Stages[i].Entry
		if sum := assets.SumOf(text); sum != e.BoardSHA256 {
			c.fault(e.Board, "SHA-256 does not match its verification: got %s, want %s", sum, e.BoardSHA256)
		}
		if today := c.Now.UTC().AddDate(0, 0, 1).Format(time.DateOnly); !c.Now.IsZero() && e.AsOf > today {
			c.fault(e.Board, "is dated %s, which is in the future", e.AsOf)
		}
		c.checkBoard(e.Board, text, e)
		return nil
	})
}

// checkBoard compares the numbers of a board with a verification. It parses the board strictly,
// because readers differ about duplicate members.
func (c *check) checkBoard(file string, text []byte, e *Entry) {
	board, err := jsondoc.Parse(text)
	if err != nil {
		c.fault(file, "is not a board: %v", err)
		return
	}
	if asOf := board.Get("as_of"); asOf.Kind != jsondoc.String || asOf.Text != e.AsOf {
		c.fault(file, "as_of does not match its verification: got %.20q, want %s", asOf.Text, e.AsOf)
	}
	numbers := e.Counts.places()
	maps.Copy(numbers, e.Told)
	if file == e.Board && !e.first {
		for place := range told(board) {
			numbers[place] = e.Told[place]
		}
	}
	for _, place := range slices.Concat(Recounted, slices.DeleteFunc(slices.Sorted(maps.Keys(numbers)), IsRecounted)) {
		part, name, _ := strings.Cut(place, ".")
		if is := board.Get(part).Get(name).Raw; string(is) != strconv.Itoa(numbers[place]) {
			c.fault(file, "%s does not match the log: got %.20q, want %d", place, is, numbers[place])
		}
	}
}
