package tlog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"filippo.io/torchwood"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// Checking is what a published log is checked with.
type Checking struct {
	Read   Source
	Keys   []string // verifier keys that are trusted; without any, those that are published
	Kept   []byte   // a checkpoint from earlier, which the log must extend; nil for none
	AtOnce int      // how many files are read at a time
}

// Report is what a check has found.
type Report struct {
	Keys          []string       `json:"keys"`
	Trees         []TreeReport   `json:"trees"`
	Verifications []StageReport  `json:"verifications"` // oldest first
	Since         string         `json:"since"`         // Consistent, Behind or Forked; "" without a kept checkpoint, or if the entries cannot be read
	Forks         []Fork         `json:"forks"`
	Faults        []PublishFault `json:"faults"`
	Files         int64          `json:"files"` // that were read
	Bytes         int64          `json:"bytes"`
}

// How a log relates to a checkpoint that was kept from earlier.
const (
	Consistent = "consistent" // the log begins with the tree of the checkpoint
	Behind     = "behind"     // the log is an old state, or a copy of one: that proves nothing against its key
	Forked     = "fork"       // the key has signed two trees of which neither extends the other
)

// OK reports whether nothing is wrong.
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

// Bounds of a check. Whoever publishes a log decides how much there is to read.
const (
	maxFaults    = 100
	maxForks     = 10
	maxEntries   = 1 << 24 // of a tree: all are held in memory
	maxWitnesses = 100     // of a policy
)

// ErrUnsigned is the error about a log of which there is nothing to check. A log that has not begun
// looks so, and one whose checkpoints are held back.
var ErrUnsigned = errors.New("it publishes no checkpoint: its keys have signed nothing yet, or what they signed is held back")

// ErrKept is the error about a kept checkpoint that no key of this log has signed.
var ErrKept = errors.New("cannot use the kept checkpoint")

// ErrTooMany ends a check that has found maxFaults.
var ErrTooMany = fmt.Errorf("the check ended after %d faults", maxFaults)

// errUnreadable ends a check whose faults say which entry cannot be read.
var errUnreadable = errors.New("the entries cannot be read")

// Check rebuilds a published log from its bundles of entries, and compares every published file
// with what the rebuilt log publishes. It verifies the signatures and cosignatures of every
// checkpoint, and the numbers of every board.
//
// A log that is not as it should be is no error: the report says what is wrong. The error says what
// could not be read; the report then holds what was found before.
func Check(o *Checking) (*Report, error) {
	c := &check{Checking: o, read: map[string]bool{}, report: &Report{
		Keys: []string{}, Trees: []TreeReport{}, Verifications: []StageReport{}, Forks: []Fork{}, Faults: []PublishFault{},
	}}
	err := c.run()
	if errors.Is(err, errUnreadable) {
		err = nil
	}
	if err == nil && c.report.OK() && len(c.trees) == 0 {
		err = ErrUnsigned
	}
	if c.log != nil {
		for i := range c.log.Stages {
			s := &c.log.Stages[i]
			c.report.Verifications = append(c.report.Verifications,
				StageReport{s.Name, s.Entry.AsOf, s.Tree.Origin, s.Size, s.Entry.Counts, append([]string{}, s.Cosigned...)})
		}
	}
	return c.report, err
}

// check is the state of a check.
type check struct {
	*Checking
	report *Report
	log    *Log // rebuilt
	trees  []*checkedTree
	read   map[string]bool // the paths that were read
}

// checkedTree is a rebuilt tree, and the newest checkpoint of it.
type checkedTree struct {
	*Tree
	witnesses []Witness // of its policy
	newest    *Checkpoint
	text      []byte // of the newest checkpoint
	whole     bool   // whether the entries give the root of the newest checkpoint
}

func (c *check) run() error {
	keys, err := c.readKeys()
	if err != nil {
		return err
	}
	c.log = New(keys, nil)
	var kept *Checkpoint
	if c.Kept != nil && len(keys) > 0 {
		if kept, err = Open(c.Kept, keys, nil); err != nil {
			return fmt.Errorf("%w: %w (it is of another log, or its key was taken off the log's list)", ErrKept, err)
		}
	}
	for _, key := range keys {
		if err = c.readTree(key); err != nil {
			break
		}
	}
	if kept != nil && (err == nil || errors.Is(err, errUnreadable)) {
		if fault := c.compareKept(kept); fault != nil {
			return fault
		}
	}
	for _, step := range []func() error{c.compareFiles, c.checkBoards} {
		if err == nil {
			err = step()
		}
	}
	return err
}

// fault adds what is wrong with a file to the report. The error ends the check.
func (c *check) fault(path, format string, args ...any) error {
	c.report.Faults = append(c.report.Faults, PublishFault{path, fmt.Sprintf(format, args...)})
	if len(c.report.Faults) == maxFaults {
		return ErrTooMany
	}
	return nil
}

// each reads files, some at a time, and uses them in their order. A file that is not published is a
// fault; its text is nil then.
func (c *check) each(paths []string, use func(i int, text []byte) error) error {
	atOnce := max(c.AtOnce, 1)
	texts, errs := make([][]byte, atOnce), make([]error, atOnce)
	for from := 0; from < len(paths); from += atOnce {
		part := paths[from:min(from+atOnce, len(paths))]
		var reading sync.WaitGroup
		for i, path := range part {
			reading.Go(func() { texts[i], errs[i] = c.Read(path) })
		}
		reading.Wait()
		for i, path := range part {
			text, err := texts[i], errs[i]
			c.read[path] = true
			switch {
			case errors.Is(err, fs.ErrNotExist):
				text, err = nil, c.fault(path, "is not published")
			case err == nil:
				c.report.Files++
				c.report.Bytes += int64(len(text))
				if text == nil {
					text = []byte{}
				}
			}
			if err == nil {
				err = use(from+i, text)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// one reads a file. Its text is nil if it is not published.
func (c *check) one(path string) (text []byte, err error) {
	err = c.each([]string{path}, func(_ int, t []byte) error { text = t; return nil })
	return text, err
}

// readKeys reads the published keys, compares them with those that are trusted, and gives the keys
// to check with in the order of their use.
func (c *check) readKeys() ([]string, error) {
	var published []string
	text, err := c.one(KeysPath)
	switch {
	case err != nil:
		return nil, err
	case text == nil && len(c.Keys) == 0:
		c.report.Faults = []PublishFault{}
		return nil, ErrNoLog
	case text != nil:
		if published, err = parseKeys(text); err != nil {
			err = c.fault(KeysPath, "%s", strings.TrimPrefix(err.Error(), KeysPath+": "))
		}
	}
	keys := published
	if len(c.Keys) > 0 {
		keys = slices.Clone(c.Keys)
		slices.SortStableFunc(keys, func(a, b string) int { return slices.Index(published, a) - slices.Index(published, b) })
	}
	if published != nil {
		for _, key := range published {
			if err == nil && !slices.Contains(keys, key) {
				err = c.fault(KeysPath, "lists the key %s, which is not among those given", key)
			}
		}
		for _, key := range keys {
			if err == nil && !slices.Contains(published, key) {
				err = c.fault(KeysPath, "does not list the key %s", key)
			}
		}
	}
	c.report.Keys = append(c.report.Keys, keys...)
	return keys, err
}

// readTree rebuilds the tree of a key, up to its newest checkpoint.
func (c *check) readTree(key string) error {
	origin, err := CheckKey(key)
	if err != nil {
		return fmt.Errorf("key %.100q: %w", key, err)
	}
	folder := pathOf(origin)
	policy, err := c.one(PolicyPath(folder))
	if err != nil {
		return err
	}
	witnesses, err := policyWitnesses(policy)
	if err == nil && policy != nil && !bytes.Equal(policy, (&Log{Witnesses: witnesses}).policy(key)) {
		err = errors.New("is not a policy for the key of the tree")
	}
	if err != nil {
		if err = c.fault(PolicyPath(folder), "%v", err); err != nil {
			return err
		}
	}

	path := CheckpointPath(folder)
	c.read[path] = true
	text, err := c.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the key has signed nothing yet
	}
	if err != nil {
		return err
	}
	c.report.Files++
	c.report.Bytes += int64(len(text))
	newest, err := Open(text, []string{key}, witnesses)
	switch {
	case err != nil:
		return cmp.Or(c.fault(path, "%v", err), errUnreadable)
	case newest.Size == 0:
		return cmp.Or(c.fault(path, "signs a tree without entries"), errUnreadable)
	case newest.Size > maxEntries:
		return fmt.Errorf("%s: it signs %d entries, and at most %d can be checked", path, newest.Size, maxEntries)
	}
	c.report.Trees = append(c.report.Trees, TreeReport{origin, newest.Size, newest.Root.String(), append([]string{}, newest.Cosigned...)})
	t := &checkedTree{Tree: c.log.tree(origin), witnesses: witnesses, newest: newest, text: text}
	c.trees = append(c.trees, t)

	stages := len(c.log.Stages)
	if err := c.readEntries(t); err != nil {
		return err
	}
	root, err := t.Root(newest.Size)
	if err != nil {
		return err
	}
	if t.whole = root == newest.Root; !t.whole {
		err := c.fault(path, "signs another tree than that of the published entries")
		return cmp.Or(err, c.compareHashes(t), errUnreadable)
	}
	return c.readCheckpoints(t, c.log.Stages[stages:])
}

// policyWitnesses gives the witnesses that a policy lists.
func policyWitnesses(text []byte) (witnesses []Witness, err error) {
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 4 || fields[0] != "witness" {
			continue
		}
		w := Witness{Key: fields[2], URL: fields[3]}
		if err := w.Check(); err != nil {
			return nil, err
		}
		if witnesses = append(witnesses, w); len(witnesses) > maxWitnesses {
			return nil, fmt.Errorf("it lists more than %d witnesses", maxWitnesses)
		}
	}
	return witnesses, nil
}

// readEntries adds the entries of the newest checkpoint to a tree.
func (c *check) readEntries(t *checkedTree) error {
	size := t.newest.Size
	paths := make([]string, (size+tileWidth-1)/tileWidth)
	for n := range paths {
		paths[n] = t.Path() + TilePath(-1, int64(n), t.width(-1, int64(n), size))
	}
	err := c.each(paths, func(n int, text []byte) error {
		if text == nil {
			return errUnreadable
		}
		lines, err := parseBundle(text, t.width(-1, int64(n), size))
		if err != nil {
			return cmp.Or(c.fault(paths[n], "%v", err), errUnreadable)
		}
		for _, line := range lines {
			index := t.Size()
			if err := c.entry(t, paths[n], line); err != nil {
				return cmp.Or(c.fault(paths[n], "entry %d: %v", index, err), errUnreadable)
			}
		}
		return nil
	})
	if last := c.log.Current(); err == nil && (last == nil || last.Tree != t.Tree || last.Size != size) {
		err = cmp.Or(c.fault(CheckpointPath(t.Path()), "signs a tree whose last entry is not a verification"), errUnreadable)
	}
	return err
}

// parseBundle takes the entries out of a bundle of so many.
func parseBundle(text []byte, width int64) (lines [][]byte, err error) {
	for rest := text; len(rest) > 0 || int64(len(lines)) < width; {
		var line []byte
		if line, rest, err = torchwood.ReadTileEntry(rest); err != nil || int64(len(lines)) == width {
			return nil, fmt.Errorf("is not a bundle of %d entries", width)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// entry adds an entry to a tree, and the stage that it ends to the log.
func (c *check) entry(t *checkedTree, path string, line []byte) error {
	e, err := c.log.addLine(t.Tree, line)
	if err != nil && e.Kind == Previous && len(c.trees) > 1 {
		before := c.trees[len(c.trees)-2]
		if signed, err := Open([]byte(e.Checkpoint), []string{before.Key}, nil); err == nil {
			if _, err := c.compare(before, []byte(e.Checkpoint), signed); err != nil {
				return err
			}
		}
	}
	if err != nil || e.Kind != Verification {
		return err
	}
	name := nameOf(e.Board)
	if !e.isOf(name) {
		return fmt.Errorf("its board %.100q is not that of a verification as of %.20q", e.Board, e.AsOf)
	}
	if last := c.log.Current(); last != nil && CompareNames(last.Name, name) >= 0 {
		return fmt.Errorf("verification %s comes after %s, which is not earlier", name, last.Name)
	}
	c.log.Stages = append(c.log.Stages, Stage{Name: name, Tree: t.Tree, Size: t.Size(), Entry: e})
	return nil
}

// readCheckpoints reads the checkpoints of the stages of a tree.
func (c *check) readCheckpoints(t *checkedTree, stages []Stage) error {
	paths := make([]string, len(stages))
	for i := range stages {
		paths[i] = CheckpointOf(t.Path(), stages[i].Size)
	}
	err := c.each(paths, func(i int, text []byte) error {
		if text == nil {
			return nil
		}
		signed, err := c.open(t, paths[i], text, stages[i].Size)
		if signed != nil {
			stages[i].Checkpoint, stages[i].Cosigned = text, signed.Cosigned
		}
		return err
	})
	last := &stages[len(stages)-1]
	last.Checkpoint, last.Cosigned = t.text, t.newest.Cosigned
	return err
}

// open verifies a checkpoint of a tree of some size, and compares it with the tree. It gives nil if
// the checkpoint cannot be used.
func (c *check) open(t *checkedTree, path string, text []byte, size int64) (*Checkpoint, error) {
	signed, err := Open(text, []string{t.Key}, t.witnesses)
	switch {
	case err != nil:
		return nil, c.fault(path, "%v", err)
	case signed.Size != size:
		return nil, c.fault(path, "has a checkpoint of %d entries instead of %d", signed.Size, size)
	}
	_, err = c.compare(t, text, signed)
	return signed, err
}

// compare compares a tree with a checkpoint that its key has signed. They make a fork if neither
// extends the other, and the entries are those of the newest checkpoint: anybody can publish other
// entries, and anybody who copies a log can publish an old state of it.
func (c *check) compare(t *checkedTree, text []byte, signed *Checkpoint) (how string, err error) {
	what := ""
	root, unread := t.Root(min(signed.Size, t.Size()))
	switch {
	case signed.Size == t.newest.Size && signed.Root == t.newest.Root:
		return Consistent, nil
	case signed.Size == t.newest.Size:
		what = fmt.Sprintf("two trees of %d entries are signed", signed.Size)
	case signed.Size > t.newest.Size:
		return Behind, c.fault(CheckpointPath(t.Path()), "is of %d entries, and one of %d was signed before: this is an old state of the log",
			t.newest.Size, signed.Size)
	case unread != nil || signed.Size > t.Size():
		return "", nil // a fault says why
	case root == signed.Root:
		return Consistent, nil
	case !t.whole:
		return "", nil // the same
	default:
		what = fmt.Sprintf("the tree of %d entries does not begin with that of %d", t.newest.Size, signed.Size)
	}
	if len(c.report.Forks) < maxForks {
		c.report.Forks = append(c.report.Forks, Fork{t.Origin, what, []string{string(t.text), string(text)}})
	}
	return Forked, nil
}

// compareKept compares the log with the checkpoint that was kept.
func (c *check) compareKept(kept *Checkpoint) (err error) {
	i := slices.IndexFunc(c.trees, func(t *checkedTree) bool { return t.Origin == kept.Origin })
	if i < 0 {
		return c.fault(CheckpointPath(pathOf(kept.Origin)), "cannot be used, and a checkpoint of %d entries was kept", kept.Size)
	}
	c.report.Since, err = c.compare(c.trees[i], c.Kept, kept)
	return err
}

// compareHashes compares the published hashes of the entries of a tree with the entries: that shows
// which were changed.
func (c *check) compareHashes(t *checkedTree) error {
	paths := make([]string, len(t.levels[0]))
	for n := range paths {
		paths[n] = t.Path() + TilePath(0, int64(n), t.width(0, int64(n), t.Size()))
	}
	return c.each(paths, func(n int, text []byte) error {
		if text == nil || bytes.Equal(text, t.levels[0][n]) {
			return nil
		}
		return c.fault(paths[n], "is not what the entries give: %s", difference(paths[n], text, t.levels[0][n]))
	})
}

// compareFiles compares the files that were not read yet with those that the rebuilt log publishes.
func (c *check) compareFiles() error {
	files, err := c.log.Files()
	if err != nil {
		if err := c.fault(Folder, "%s", strings.TrimPrefix(err.Error(), "publish the log: ")); err != nil {
			return err
		}
	}
	files = slices.DeleteFunc(files, func(f File) bool { return c.read[f.Path] })
	proofs := map[string]int{}
	for i := range c.log.Stages {
		proofs[ProofPath(c.log.Stages[i].Name)] = i
	}
	paths := make([]string, len(files))
	for i := range files {
		paths[i] = files[i].Path
	}
	return c.each(paths, func(i int, text []byte) error {
		if text == nil {
			return nil
		}
		want := files[i].Content()
		stage, isProof := proofs[paths[i]]
		switch {
		case bytes.Equal(text, want):
			return nil
		case isProof:
			return c.compareProof(paths[i], text, want, &c.log.Stages[stage])
		}
		return c.fault(paths[i], "is not what the entries give: %s", difference(paths[i], text, want))
	})
}

// compareProof compares the proof of a verification with the one that the rebuilt log publishes.
// Its checkpoint may have other cosignatures.
func (c *check) compareProof(path string, text, want []byte, s *Stage) error {
	p, err := ParseProof(text)
	if err != nil {
		return c.fault(path, "%v", err)
	}
	t := c.trees[slices.IndexFunc(c.trees, func(t *checkedTree) bool { return t.Tree == s.Tree })]
	signed, err := c.open(t, path, p.Checkpoint, s.Size)
	p.Checkpoint = s.Checkpoint
	if err != nil || signed == nil || bytes.Equal(p.Append(nil), want) {
		return err
	}
	return c.fault(path, "does not prove verification %s, which is entry %d", s.Name, s.Size-1)
}

// difference says where a file differs from what it should be.
func difference(path string, text, want []byte) string {
	at := 0
	for at < min(len(text), len(want)) && text[at] == want[at] {
		at++
	}
	_, tile, isTile := strings.Cut(path, "/tile/")
	if isTile {
		if tile, err := torchwood.ParseTilePath("tile/" + tile); err == nil && tile.L == 0 {
			return fmt.Sprintf("the hash of entry %d differs", tile.N*tileWidth+int64(at/merkle.HashSize))
		}
		return fmt.Sprintf("byte %d differs", at)
	}
	line := bytes.Count(want[:at], []byte("\n"))
	lineOf := func(b []byte) string {
		if lines := bytes.Split(b, []byte("\n")); line < len(lines) {
			return string(lines[line])
		}
		return ""
	}
	return fmt.Sprintf("line %d is %.150q instead of %.150q", line+1, lineOf(text), lineOf(want))
}
