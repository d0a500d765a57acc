package tlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	merkle "golang.org/x/mod/sumdb/tlog"
)

// Checking is what a published log is checked with.
type Checking struct {
	Read   Source
	Keys   []string // verifier keys that are trusted; none stand for those that are published
	Kept   []byte   // a checkpoint from earlier, which the log must go on from; nil for none
	AtOnce int      // how many files are read at a time, at least one
}

// Report is what a check has found. The log is as it should be where there is no fault and no fork.
type Report struct {
	Keys          []string       `json:"keys"`
	Trees         []TreeReport   `json:"trees"`
	Verifications []StageReport  `json:"verifications"` // those that were recounted, oldest first
	From          int64          `json:"from"`          // the size that the check began at: that of the kept checkpoint, or 0
	Forks         []Fork         `json:"forks"`
	Faults        []PublishFault `json:"faults"`
	MoreFaults    int            `json:"more_faults"` // that are not listed
	Files         int64          `json:"files"`       // that were read
	Bytes         int64          `json:"bytes"`
}

// OK reports whether the log is as it should be.
func (r *Report) OK() bool { return len(r.Faults) == 0 && len(r.Forks) == 0 }

// TreeReport is about the tree of one key.
type TreeReport struct {
	Origin   string   `json:"origin"`
	Size     int64    `json:"size"`
	Root     string   `json:"root"`
	Cosigned []string `json:"cosigned"` // by which witnesses of the published policy
}

// StageReport is about a verification.
type StageReport struct {
	Name     string   `json:"name"`
	AsOf     string   `json:"as_of"`
	Origin   string   `json:"origin"`
	Size     int64    `json:"size"` // of the tree that it ends
	Counts   Counts   `json:"counts"`
	Cosigned []string `json:"cosigned"`
}

// PublishFault is what is wrong with a published file.
type PublishFault struct {
	Path string `json:"path"`
	What string `json:"what"`
}

// Bounds of a check.
const (
	maxFaults  = 100     // that are listed; a multiple of them ends the check
	maxForks   = 10      // that are listed: one is enough
	maxEntries = 1 << 26 // of a tree, whose hashes are held in memory
)

// scoreboardPath is the newest board.
const scoreboardPath = "/scoreboard.json"

// Check reads a published log and checks all of it: signatures, trees, every tile, the look-up, and
// the counts of every verification against its board. With a kept checkpoint of the first tree only
// what came after that is read, unless an entry there is about an earlier one: a record that was
// counted both before and after does not show.
//
// A log that is not as it should be is no error. The error says what could not be read; the report
// then holds what was found up to there.
func Check(o *Checking) (*Report, error) {
	c := newCheck(o, o.Kept != nil)
	err := c.run()
	if errors.Is(err, errFromBeginning) {
		first := c
		c = newCheck(o, false)
		c.files.Store(first.files.Load())
		c.bytes.Store(first.bytes.Load())
		err = c.run()
	}
	if err == nil && c.report.OK() && len(c.report.Trees) == 0 {
		err = ErrUnsigned
	}
	return c.finish(), err
}

func newCheck(o *Checking, fromKept bool) *check {
	return &check{Checking: o, fromKept: fromKept, byName: map[string]*checkedStage{}, report: &Report{
		Keys:  []string{},
		Trees: []TreeReport{}, Verifications: []StageReport{}, Forks: []Fork{}, Faults: []PublishFault{},
	}}
}

// errFromBeginning says that what came after a kept checkpoint cannot be judged alone.
var errFromBeginning = errors.New("the log must be read from its beginning on")

// errEnough ends a check that has found enough.
var errEnough = errors.New("there are too many faults to go on")

// ErrUnsigned is the error about a log of which there is nothing to check. A log that has not begun
// looks so, and one whose checkpoints are held back.
var ErrUnsigned = errors.New("it publishes no checkpoint: its keys have signed nothing yet, or what they signed is held back")

// ErrKept is the error about a kept checkpoint that is none of this log.
var ErrKept = errors.New("the checkpoint that was kept cannot be used")

// check is the state of a check.
type check struct {
	*Checking
	fromKept bool // whether the first tree is read from the kept checkpoint on
	kept     *Checkpoint
	report   *Report

	files, bytes atomic.Int64

	recount  recount
	lost     bool // whether an entry could not be read, so that the counts are not known
	prefixes [1 << (4 * lookupDigits)]int
	trees    []*checkedTree
	stages   []*checkedStage
	newest   *Entry // the last verification up to here, that of the kept checkpoint too
	byName   map[string]*checkedStage
}

// checkedTree is a tree with its hashes alone.
type checkedTree struct {
	*Tree
	size      int64 // as the newest checkpoint says
	root      merkle.Hash
	text      []byte // of the newest checkpoint
	witnesses []Witness
	whole     bool // whether the hashes give the root of the newest checkpoint
}

// checkedStage is a stage of a tree that was read.
type checkedStage struct {
	tree       *checkedTree
	name       string
	from, size int64
	entry      Entry
	cosigned   []string
}

// found is what one step has found. Steps go on side by side, and what they find is put together in
// their order.
type found struct {
	faults []PublishFault
	forks  []Fork
	err    error // of reading
}

func (f *found) fault(path, format string, args ...any) {
	f.faults = append(f.faults, PublishFault{path, fmt.Sprintf(format, args...)})
}

// keep puts what a step has found into the report.
func (c *check) keep(f *found) error {
	for _, fault := range f.faults {
		if len(c.report.Faults) < maxFaults {
			c.report.Faults = append(c.report.Faults, fault)
		} else {
			c.report.MoreFaults++
		}
	}
	for _, fork := range f.forks {
		if len(c.report.Forks) < maxForks {
			c.report.Forks = append(c.report.Forks, fork)
		}
	}
	if f.err == nil && c.report.MoreFaults > 10*maxFaults {
		return errEnough
	}
	return f.err
}

// read reads a file. One that is not there is a fault; then, and where err is set, text is nil.
func (c *check) read(f *found, path string) (text []byte) {
	text, err := c.file(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.fault(path, "is not published")
		return nil
	case err != nil:
		f.err = err
		return nil
	}
	if text == nil {
		text = []byte{}
	}
	return text
}

// file reads a file, and counts it.
func (c *check) file(path string) ([]byte, error) {
	text, err := c.Read(path)
	if err == nil {
		c.files.Add(1)
		c.bytes.Add(int64(len(text)))
	}
	return text, err
}

// inOrder does work for each number below n, at most atOnce at a time, and uses the results in
// their order, up to the first error. When it returns, no work goes on.
func inOrder[T any](n int64, atOnce int, work func(i int64) T, use func(i int64, result T) error) error {
	waiting := make(chan chan T, max(atOnce, 1)-1)
	stop := make(chan struct{})
	var working sync.WaitGroup
	defer func() {
		close(stop)
		working.Wait()
	}()
	working.Go(func() {
		defer close(waiting)
		for i := range n {
			result := make(chan T, 1)
			select {
			case waiting <- result:
			case <-stop:
				return
			}
			working.Go(func() { result <- work(i) })
		}
	})
	i := int64(0)
	for result := range waiting {
		if err := use(i, <-result); err != nil {
			return err
		}
		i++
	}
	return nil
}

// run checks the log. Where it is done, or has found enough, it gives no error.
func (c *check) run() error {
	err := c.readKeys()
	for _, key := range c.report.Keys {
		var t *checkedTree
		if err == nil {
			t, err = c.openTree(key)
		}
		if err == nil && t != nil {
			err = c.readTree(t)
		}
	}
	for _, step := range []func() error{c.checkKept, c.compareFiles, c.checkLookup} {
		if err == nil {
			err = step()
		}
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// finish completes the report.
func (c *check) finish() *Report {
	for _, s := range c.stages {
		c.report.Verifications = append(c.report.Verifications, StageReport{s.name, s.entry.AsOf, s.tree.Origin, s.size, s.entry.Counts, s.cosigned})
	}
	c.report.Files, c.report.Bytes = c.files.Load(), c.bytes.Load()
	return c.report
}

// readKeys reads the published keys, and holds them to those that are trusted.
func (c *check) readKeys() error {
	f := &found{}
	text := c.read(f, KeysPath)
	switch {
	case f.err != nil:
		return f.err
	case text == nil && len(c.Keys) == 0:
		return ErrNoLog
	}
	var published []string
	if text != nil {
		var err error
		if published, err = parseKeys(text); err != nil {
			f.fault(KeysPath, "%s", strings.TrimPrefix(err.Error(), KeysPath+": "))
		}
	}
	c.report.Keys = published
	if len(c.Keys) > 0 {
		c.report.Keys = slices.Clone(c.Keys)
		slices.SortStableFunc(c.report.Keys, func(a, b string) int { return slices.Index(published, a) - slices.Index(published, b) })
	}
	if published != nil {
		for _, key := range published {
			if !slices.Contains(c.report.Keys, key) {
				f.fault(KeysPath, "lists the key %s, which is not among those given", key)
			}
		}
		for _, key := range c.report.Keys {
			if !slices.Contains(published, key) {
				f.fault(KeysPath, "does not list the key %s", key)
			}
		}
	}
	if err := c.keep(f); err != nil || c.Kept == nil || len(c.report.Keys) == 0 {
		return err
	}
	var err error
	if c.kept, err = Open(c.Kept, c.report.Keys, nil); err != nil {
		return fmt.Errorf("%w: %w (it is none of this log, or the log has given up the key that signed it, and is another log now)", ErrKept, err)
	}
	return nil
}

// openTree reads the newest checkpoint under a key. It gives nil where none can be used.
func (c *check) openTree(key string) (*checkedTree, error) {
	f := &found{}
	origin, err := CheckKey(key)
	if err != nil {
		f.fault(KeysPath, "%.100q: %v", key, err)
		return nil, c.keep(f)
	}
	t := &checkedTree{Tree: &Tree{Origin: origin, Key: key, First: int64(len(c.recount.logged))}}
	if text := c.read(f, PolicyPath(t.Path())); text != nil {
		if t.witnesses, err = parsePolicy(string(text), key); err != nil {
			f.fault(PolicyPath(t.Path()), "%v", err)
		}
	}
	path := CheckpointPath(t.Path())
	t.text, err = c.file(path)
	if f.err != nil || err != nil {
		if f.err == nil && !errors.Is(err, fs.ErrNotExist) { // a key that has signed nothing has no checkpoint
			f.err = err
		}
		return nil, c.keep(f)
	}
	signed, err := Open(t.text, []string{key}, t.witnesses)
	switch {
	case err != nil:
		f.fault(path, "%v", err)
		return nil, c.keep(f)
	case signed.Size == 0:
		f.fault(path, "signs a tree without entries")
		return nil, c.keep(f)
	case signed.Size > maxEntries:
		return nil, fmt.Errorf("%s: it is of %d entries, and more than %d are not checked", path, signed.Size, maxEntries)
	}
	t.size, t.root = signed.Size, signed.Root
	c.report.Trees = append(c.report.Trees, TreeReport{origin, t.size, t.root.String(), signed.Cosigned})
	return t, c.keep(f)
}

// parsePolicy reads the policy for the checkpoints of a key, and gives its witnesses.
func parsePolicy(text, key string) (witnesses []Witness, err error) {
	log := false
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[0] == "log" && fields[1] == key && !log:
			log = true
		case len(fields) == 4 && fields[0] == "witness":
			w := Witness{Key: fields[2], URL: fields[3]}
			if err := w.Check(); err != nil {
				return nil, err
			}
			witnesses = append(witnesses, w)
		case len(fields) == 2 && fields[0] == "quorum" && fields[1] == "none":
		default:
			return nil, fmt.Errorf("its line %.200q is none of a policy for the key", strings.TrimSpace(line))
		}
	}
	if !log || !strings.HasSuffix(text, "\n") {
		return nil, errors.New("it is not for the key, or its last line has no end")
	}
	return witnesses, nil
}

// bundle is a bundle of entries that was read.
type bundle struct {
	found
	n      int64
	path   string
	lines  [][]byte // nil where the bundle cannot be read
	hashes []byte   // of the entries; of the tile where the bundle cannot be read, nil where neither can
	tile   []byte   // the tile, where its hashes are others
}

// readBundle reads a bundle, and the tile over it.
func (c *check) readBundle(t *checkedTree, n int64) *bundle {
	width := t.width(-1, n, t.size)
	b := &bundle{n: n, path: t.Path() + TilePath(-1, n, width)}
	text := c.read(&b.found, b.path)
	tile := c.read(&b.found, t.Path()+TilePath(0, n, width))
	if text != nil {
		var err error
		if b.lines, err = parseBundle(text, width); err != nil {
			b.fault(b.path, "%v", err)
		}
	}
	switch {
	case b.lines != nil:
		b.hashes = hashesOf(b.lines)
		if tile != nil && !bytes.Equal(tile, b.hashes) {
			b.tile = tile
		}
	case int64(len(tile)) == width*merkle.HashSize:
		b.hashes = tile
	}
	return b
}

// hashesOf is the tile over entries.
func hashesOf(lines [][]byte) []byte {
	hashes := make([]byte, 0, len(lines)*merkle.HashSize)
	for _, line := range lines {
		h := merkle.RecordHash(line)
		hashes = append(hashes, h[:]...)
	}
	return hashes
}

// parseBundle takes the entries out of a bundle of so many.
func parseBundle(text []byte, width int64) (lines [][]byte, err error) {
	lines = make([][]byte, 0, min(width, tileWidth))
	for len(text) >= 2 && int64(len(lines)) < width {
		n := 2 + int(binary.BigEndian.Uint16(text))
		if n > len(text) {
			break
		}
		lines, text = append(lines, text[2:n:n]), text[n:]
	}
	if len(text) > 0 || int64(len(lines)) != width {
		return nil, fmt.Errorf("is no bundle of %d entries", width)
	}
	return lines, nil
}

// readTree reads the entries of a tree, and counts them.
func (c *check) readTree(t *checkedTree) error {
	from := int64(0) // the entry that the reading begins with
	resumed := c.fromKept && len(c.trees) == 0
	if resumed {
		if c.kept.Origin != t.Origin || c.kept.Size > t.size || c.kept.Size == 0 {
			return errFromBeginning
		}
		c.report.From = c.kept.Size
		from = (c.kept.Size - 1) / tileWidth * tileWidth // the last entry before says what was counted
		if err := c.begin(t, from); err != nil {
			return err
		}
	}
	c.trees = append(c.trees, t)
	var differing []*bundle
	stages := len(c.stages)
	bundles := (t.size-from)/tileWidth + min(1, t.size%tileWidth)
	err := inOrder(bundles, c.AtOnce, func(i int64) *bundle { return c.readBundle(t, from/tileWidth+i) }, func(i int64, b *bundle) error {
		if b.tile != nil {
			differing = append(differing, b)
		}
		if err := c.keep(&b.found); err != nil {
			return err
		}
		if b.hashes == nil {
			return errEnough
		}
		for j := range len(b.hashes) / merkle.HashSize {
			t.addHash(0, merkle.Hash(b.hashes[j*merkle.HashSize:]))
			index := from + i*tileWidth + int64(j)
			var err error
			if !resumed || index >= c.kept.Size {
				err = c.entry(t, b, j, index)
			} else if index == c.kept.Size-1 {
				err = c.resume(t, b, j)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	f := &found{}
	last := int64(0) // the size that the last verification ends
	if resumed {
		last = c.kept.Size
	}
	if len(c.stages) > stages {
		last = c.stages[len(c.stages)-1].size
	}
	if last != t.size {
		f.fault(CheckpointPath(t.Path()), "signs a tree whose last entry is no verification")
	}
	t.whole = t.gives(t.root, t.size)
	if resumed && !t.whole {
		return errFromBeginning
	}
	judge(f, t, differing)
	return c.keep(f)
}

// gives reports whether the first entries of a tree have a root.
func (t *checkedTree) gives(root merkle.Hash, size int64) bool {
	got, err := t.Root(size)
	return err == nil && got == root
}

// begin takes the hashes over the entries before one from the tiles at the right edge there, as far
// as others come to stand beside them.
func (c *check) begin(t *checkedTree, from int64) error {
	f := &found{}
	for level := 0; level == 0 || from>>(tileHeight*level) > 0; level++ {
		n := from >> (tileHeight * (level + 1))
		tiles, used := make([][]byte, n+1), from>>(tileHeight*level)%tileWidth*merkle.HashSize
		tiles[n] = make([]byte, 0, tileBytes)
		if used > 0 {
			tile := c.read(f, t.Path()+TilePath(level, n, t.width(level, n, t.size)))
			switch {
			case f.err != nil:
				return f.err
			case int64(len(tile)) < used:
				return errFromBeginning
			}
			tiles[n] = append(tiles[n], tile[:used]...)
		}
		t.levels = append(t.levels, tiles)
	}
	return nil
}

// resume begins the counting with what the last entry of the kept checkpoint's tree says.
func (c *check) resume(t *checkedTree, b *bundle, j int) error {
	if b.lines == nil || !t.gives(c.kept.Root, c.kept.Size) {
		return errFromBeginning
	}
	e, err := ParseEntry(b.lines[j])
	if err != nil || e.Kind != Verification {
		return errFromBeginning
	}
	unknown := bytes.Repeat([]byte{letterOf(None)}, int(c.kept.Size))
	c.recount = recount{logged: unknown, now: slices.Clone(unknown), counts: e.Counts}
	c.newest = &e
	return nil
}

// judge says which files are at fault where bundles and the tiles over them do not fit each other:
// those that do not fit what was signed.
func judge(f *found, t *checkedTree, differing []*bundle) {
	signed := &checkedTree{Tree: &Tree{Origin: t.Origin, Key: t.Key, First: t.First}}
	mended := false
	if !t.whole && len(differing) > 0 {
		others := map[int64][]byte{}
		for _, b := range differing {
			others[b.n] = b.tile
		}
		for n, hashes := range t.levels[0] {
			if tile := others[int64(n)]; len(tile) == len(hashes) {
				hashes = tile
			}
			for h := range slices.Chunk(hashes, merkle.HashSize) {
				signed.addHash(0, merkle.Hash(h))
			}
		}
		if mended = signed.gives(t.root, t.size); mended {
			t.Tree, t.whole = signed.Tree, true
		}
	}
	for _, b := range differing {
		at := 0
		for at < min(len(b.tile), len(b.hashes)) && b.tile[at] == b.hashes[at] {
			at++
		}
		index := b.n*tileWidth + int64(at/merkle.HashSize)
		if mended {
			f.fault(b.path, "entry %d is not the one that was signed", index)
		} else {
			f.fault(t.Path()+TilePath(0, b.n, t.width(0, b.n, t.size)), "does not have the hash of entry %d", index)
		}
	}
	if !t.whole {
		f.fault(CheckpointPath(t.Path()), "signs another tree than that of the published entries")
	}
}

// entry counts an entry of a tree, the j-th of a bundle.
func (c *check) entry(t *checkedTree, b *bundle, j int, index int64) error {
	nothing := letterOf(None)
	if b.lines == nil {
		c.lost = true
		c.recount.push(nothing)
		return nil
	}
	line, begins := b.lines[j], index == 0 && t.First > 0
	if letter := recordLetter(line); letter != 0 && !begins {
		c.recount.push(letter)
		prefix, err := strconv.ParseUint(string(hashIn(line)[:lookupDigits]), 16, 4*lookupDigits)
		c.prefixes[prefix]++
		return err
	}
	f := &found{}
	e, err := ParseEntry(line)
	switch {
	case err != nil:
	case begins != (e.Kind == Previous):
		err = errPrevious
	case begins && e.Checkpoint != bare(c.trees[len(c.trees)-2].text):
		before := c.trees[len(c.trees)-2]
		if signed, err := Open([]byte(e.Checkpoint), []string{before.Key}, nil); err == nil {
			before.compare(f, b.path, []byte(e.Checkpoint), signed)
		}
		err = errors.New("it holds another checkpoint than the newest of the tree before")
	case (e.Kind == Vouched || e.Kind == Correction) && e.Index < c.report.From:
		return errFromBeginning
	}
	if err == nil && e.Kind == Verification {
		if err := c.stage(t, &e, index); err != nil {
			f.fault(b.path, "entry %d: %v", index, err)
		}
	}
	if err == nil && !c.lost {
		err = c.recount.add(&e)
	}
	if err != nil {
		f.fault(b.path, "entry %d: %v", index, err)
		c.lost = c.lost || e.Kind != Verification
	}
	if int64(len(c.recount.logged)) == t.First+index {
		c.recount.push(nothing)
	}
	return c.keep(f)
}

// stage adds the stage that a verification ends.
func (c *check) stage(t *checkedTree, e *Entry, index int64) error {
	s := &checkedStage{tree: t, name: nameOf(e.Board), size: index + 1, entry: *e, cosigned: []string{}}
	before := c.newest
	c.newest = &s.entry
	if n := len(c.stages); n > 0 && c.stages[n-1].tree == t {
		s.from = c.stages[n-1].size
	} else if t.First == 0 {
		s.from = c.report.From
	}
	c.stages = append(c.stages, s)
	switch {
	case !e.isOf(s.name):
		return fmt.Errorf("its board %.100q is not that of a verification as of %.20q", e.Board, e.AsOf)
	case c.byName[s.name] != nil:
		return fmt.Errorf("there are two verifications %s", s.name)
	}
	c.byName[s.name] = s
	if before != nil && nameOf(before.Board) != "" && CompareNames(nameOf(before.Board), s.name) >= 0 {
		return fmt.Errorf("verification %s stands behind %s, which is no earlier one", s.name, nameOf(before.Board))
	}
	return nil
}

// compare holds a signed checkpoint to the tree. Where it does not fit, the log has forked, unless
// it is the published entries that are not those of the newest checkpoint. A tree that is smaller
// than it was before is no evidence of a fork: whoever copies a log can publish an old state of it.
func (t *checkedTree) compare(f *found, path string, text []byte, signed *Checkpoint) {
	what := ""
	switch {
	case signed.Size == t.size && signed.Root != t.root:
		what = fmt.Sprintf("two trees of %d entries are signed", t.size)
	case signed.Size > t.size:
		f.fault(CheckpointPath(t.Path()), "is of %d entries, and one of %d was signed before: this is an old state of the log", t.size, signed.Size)
		return
	case t.gives(signed.Root, signed.Size):
		return
	case t.whole:
		what = fmt.Sprintf("the tree of %d entries does not begin with that of %d", t.size, signed.Size)
	case signed.Root == t.root: // said of the newest checkpoint already
		return
	default:
		f.fault(path, "signs another tree than that of the first %d of the published entries", signed.Size)
		return
	}
	f.forks = append(f.forks, Fork{t.Origin, what, []string{string(t.text), string(text)}})
}

// checkKept holds the kept checkpoint to the log.
func (c *check) checkKept() error {
	if c.kept == nil {
		return nil
	}
	f := &found{}
	if i := slices.IndexFunc(c.trees, func(t *checkedTree) bool { return t.Origin == c.kept.Origin }); i >= 0 {
		c.trees[i].compare(f, CheckpointPath(c.trees[i].Path()), c.Kept, c.kept)
	} else {
		f.fault(CheckpointPath(pathOf(c.kept.Origin)), "is no checkpoint that can be used, and one of %d entries was kept", c.kept.Size)
	}
	return c.keep(f)
}
