package tlog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"filippo.io/torchwood"
)

// Report is the result of a check.
type Report struct {
	Keys          []string       `json:"keys"`
	Trees         []TreeReport   `json:"trees"`
	Verifications []StageReport  `json:"verifications"`     // oldest first
	Since         string         `json:"since"`             // Consistent, Behind or Forked; "" without a comparison
	Promise       *PromiseReport `json:"promise,omitempty"` // of the promise that was given
	Forks         []Fork         `json:"forks"`
	Faults        []PublishFault `json:"faults"`
	Files         int64          `json:"files"` // read
	Bytes         int64          `json:"bytes"`
}

// OK reports whether the check found no fault and no fork.
func (r *Report) OK() bool { return len(r.Faults) == 0 && len(r.Forks) == 0 }

// TreeReport describes the tree of one key.
type TreeReport struct {
	Origin   string        `json:"origin"`
	Size     int64         `json:"size"`
	Root     string        `json:"root"`
	Cosigned []Cosignature `json:"cosigned"` // by the witnesses of the published policy and of the reader's
}

// StageReport describes a verification.
type StageReport struct {
	Name     string        `json:"name"`
	AsOf     string        `json:"as_of"`
	Origin   string        `json:"origin"`
	Size     int64         `json:"size"` // of the tree it ends
	Counts   Counts        `json:"counts"`
	Cosigned []Cosignature `json:"cosigned"`

	Told           map[string]int `json:"told"`
	ReceiptKeys    []string       `json:"receipt_keys"`
	ManifestSHA256 string         `json:"manifest_sha256"`
}

// PublishFault is a fault of a published file.
type PublishFault struct {
	Path  string   `json:"path"`
	What  string   `json:"what"`
	Notes []string `json:"notes,omitempty"` // signed: the evidence
}

// Bounds of a check. The publisher of a log decides how much there is to read.
const (
	filesAtOnce = 8
	maxFaults   = 100
	maxForks    = 10
	maxEntries  = 1 << 24 // of a tree: all are kept in memory
)

// The errors of a check.
var (
	// ErrUnsigned means that a log has keys and no checkpoint: it has not begun, or its
	// checkpoints are held back.
	ErrUnsigned = errors.New("no checkpoint published")
	ErrKept     = errors.New("cannot use the kept checkpoint")
	ErrTooMany  = fmt.Errorf("the check ended after %d faults", maxFaults)
)

// errUnreadable ends a check after faults of the entries.
var errUnreadable = errors.New("the entries cannot be read")

// Checking configures a check of a log.
type Checking struct {
	Read Source
	List func() ([]string, error) // lists the published files below Folder; nil if they cannot be listed
	Keys []string                 // trusted verifier keys; without any, the published keys are used
	Kept [][]byte                 // checkpoints, or proofs with one, that the log must extend
	// Policy decides which cosignatures the newest checkpoint must have; nil requires none.
	Policy *Policy
	// Promised names a record that the log must have counted; nil for none. It counts if one of Hosts,
	// or of the log's keys, issued it, and one of ReceiptKeys, or of the newest verification, signed
	// it.
	Promised    *Promised
	Hosts       []string  // further host names of the service
	ReceiptKeys []string  // further receipt keys that the service or the reader names: see CountsOn
	Now         time.Time // no verification is later; zero skips this test
}

// Check rebuilds a published log from its bundles of entries, and compares every published file
// with what the rebuilt log publishes. It verifies the signatures and cosignatures of every
// checkpoint, and the numbers of every board.
//
// The report has the faults of the log. The error is about a file that could not be read; the
// report then has the findings before it.
func Check(what Checking) (*Report, error) {
	c := &check{Checking: what, read: map[string]bool{}, report: &Report{
		Keys: []string{}, Trees: []TreeReport{}, Verifications: []StageReport{}, Forks: []Fork{},
		Faults: []PublishFault{},
	}}
	err := c.run()
	switch {
	case len(c.report.Faults) == maxFaults:
		err = ErrTooMany
	case errors.Is(err, errUnreadable):
		err = nil
	case err == nil && c.report.OK() && len(c.trees) == 0:
		err = ErrUnsigned
	}
	if c.log != nil {
		for _, s := range c.log.Stages {
			c.report.Verifications = append(c.report.Verifications,
				StageReport{
					s.Name, s.Entry.AsOf, s.Tree.Origin, s.Size, s.Entry.Counts, append([]Cosignature{}, s.Cosigned...),
					s.Entry.Told, s.Entry.ReceiptKeys, s.Entry.ManifestSHA256,
				})
		}
	}
	return c.report, err
}

// check is the state of a check.
type check struct {
	Checking
	report *Report
	log    *Log // rebuilt
	trees  []*checkedTree
	read   map[string]bool // the paths that were read
}

// checkedTree is a rebuilt tree with its newest checkpoint.
type checkedTree struct {
	*Tree
	witnesses []Witness // of its policy
	newest    *Checkpoint
	text      []byte         // of the newest checkpoint
	whole     bool           // whether the entries have the root of the newest checkpoint
	lookups   []PublishFault // verifications that sign another lookup
}

func (c *check) run() error {
	keys, err := c.readKeys()
	if err != nil {
		return err
	}
	c.log = New(keys, nil)
	var kept []*keptProof
	for _, text := range c.Kept {
		k, err := c.readKept(keys, text)
		if err != nil {
			return err
		}
		if k != nil {
			kept = append(kept, k)
		}
	}
	for _, key := range keys {
		if err = c.readTree(key); err != nil {
			break
		}
	}
	if err == nil || errors.Is(err, errUnreadable) {
		for _, k := range kept {
			c.compareKept(k)
		}
		c.checkQuorum()
	} else {
		for _, k := range kept { // with the trees that were read before the error
			if slices.ContainsFunc(c.trees, func(t *checkedTree) bool { return t.Origin == k.Origin }) {
				c.compareKept(k)
			}
		}
	}
	if err == nil {
		err = c.compareFiles()
	}
	if err == nil {
		err = c.checkBoards()
	}
	if err == nil && c.Promised != nil {
		err = c.comparePromise(c.Promised)
	}
	return err
}

// fault adds a fault of a file to the report. If the report is full, reading the next file ends the
// check.
func (c *check) fault(path, format string, args ...any) {
	c.evidence(path, fmt.Sprintf(format, args...))
}

func (c *check) evidence(path, what string, notes ...[]byte) {
	if len(c.report.Faults) == maxFaults {
		return
	}
	fault := PublishFault{Path: path, What: what}
	for _, note := range notes {
		fault.Notes = append(fault.Notes, string(note))
	}
	c.report.Faults = append(c.report.Faults, fault)
}

// each reads files, some at a time, and uses them in their order. A file that is not published is a
// fault, and is not used.
func (c *check) each(paths []string, use func(i int, text []byte) error) error {
	from := 0
	for part := range slices.Chunk(paths, filesAtOnce) {
		texts, errs := make([][]byte, len(part)), make([]error, len(part))
		var reading sync.WaitGroup
		for i, path := range part {
			reading.Go(func() { texts[i], errs[i] = c.Read(path) })
		}
		reading.Wait()
		for i, path := range part {
			c.read[path] = true
			err := errs[i]
			switch {
			case errors.Is(err, fs.ErrNotExist):
				c.fault(path, "is not published")
				err = nil
			case err == nil:
				c.report.Files++
				c.report.Bytes += int64(len(texts[i]))
				err = use(from+i, texts[i])
			}
			if err == nil && len(c.report.Faults) == maxFaults {
				err = ErrTooMany
			}
			if err != nil {
				return err
			}
		}
		from += len(part)
	}
	return nil
}

// readKeys compares the published keys with the trusted ones, and returns the keys to check with in
// the order of their use.
func (c *check) readKeys() (keys []string, err error) {
	trusted := c.Keys
	var published []string
	there := false
	err = c.each([]string{KeysPath}, func(_ int, text []byte) (err error) {
		there = true
		if published, err = parseKeys(text); err != nil {
			c.fault(KeysPath, "%v", err)
		}
		return nil
	})
	if err == nil && !there && len(trusted) == 0 && len(c.Kept) == 0 && (c.Promised == nil || c.Promised.Head == nil) {
		c.report.Faults = []PublishFault{}
		err = ErrNoLog
	}
	if err != nil {
		return nil, err
	}
	keys = published
	if len(trusted) > 0 {
		keys = slices.Clone(trusted)
		slices.SortStableFunc(keys, func(a, b string) int { return slices.Index(published, a) - slices.Index(published, b) })
	}
	if published != nil {
		for _, key := range published {
			if !slices.Contains(keys, key) {
				c.fault(KeysPath, "lists the key %s, which was not given", key)
			}
		}
		for _, key := range keys {
			if !slices.Contains(published, key) {
				c.fault(KeysPath, "does not list the key %s", key)
			}
		}
	}
	c.report.Keys = append(c.report.Keys, keys...)
	return keys, nil
}

func (c *check) readHead(key string) (*checkedTree, error) {
	origin, err := CheckKey(key)
	if err != nil {
		return nil, fmt.Errorf("key %.100q: %w", key, err)
	}
	t := &checkedTree{Tree: &Tree{Origin: origin, Key: key}}
	policyPath, path := PolicyPath(pathOf(origin)), CheckpointPath(pathOf(origin))
	err = c.each([]string{policyPath}, func(_ int, text []byte) error {
		published, err := ParsePolicy(text)
		if err == nil && !bytes.Equal(text, policy(key, published.Witnesses)) {
			err = errors.New("is not the policy of the tree's key")
		}
		if err == nil {
			t.witnesses = published.Witnesses
		} else {
			c.fault(policyPath, "%v", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}

	if c.Policy != nil {
		t.witnesses = union(t.witnesses, c.Policy.Witnesses)
	}

	c.read[path] = true
	t.text, err = c.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c.report.Files++
	c.report.Bytes += int64(len(t.text))
	t.newest, err = Open(t.text, []string{key}, t.witnesses)
	if err == nil && t.newest.Size == 0 {
		err = errors.New("signs an empty tree")
	}
	if err != nil {
		c.fault(path, "%v", err)
		return nil, errUnreadable
	}
	c.report.Trees = append(c.report.Trees, TreeReport{
		origin, t.newest.Size, t.newest.Root.String(),
		append([]Cosignature{}, t.newest.Cosigned...),
	})
	return t, nil
}

func (c *check) readTree(key string) error {
	t, err := c.readHead(key)
	if t == nil || err != nil {
		return err
	}
	path := CheckpointPath(t.Path())
	size := t.newest.Size
	if size > maxEntries {
		return fmt.Errorf("%s: got %d entries, want at most %d", path, size, maxEntries)
	}
	if t.Tree, err = c.log.tree(t.Origin); err != nil {
		return err
	}
	c.trees = append(c.trees, t)

	stages := len(c.log.Stages)
	if err := c.readEntries(t); err != nil {
		return err
	}
	root, err := t.Root(size)
	if err != nil {
		return err
	}
	if t.whole = root == t.newest.Root; !t.whole {
		c.fault(path, "does not match the published entries")
		if err := c.compareHashes(t); err != nil {
			return err
		}
		return errUnreadable
	}
	for _, wrong := range t.lookups {
		c.fault(wrong.Path, "%s", wrong.What)
	}
	return c.readCheckpoints(t, c.log.Stages[stages:])
}

func (c *check) readEntries(t *checkedTree) error {
	size := t.newest.Size
	for t.Size() < size {
		from := t.Size() / tileWidth
		var paths []string
		for n := from; n < from+filesAtOnce && n*tileWidth < size; n++ {
			paths = append(paths, t.bundlePath(n, size))
		}
		to := min(size, (from+filesAtOnce)*tileWidth)
		if err := c.each(paths, func(i int, text []byte) error { return c.bundle(t, paths[i], text, from+int64(i)) }); err != nil {
			return err
		}
		if t.Size() < to {
			return errUnreadable
		}
	}
	if last := c.log.Current(); last == nil || last.Tree != t.Tree || last.Size != size {
		c.fault(CheckpointPath(t.Path()), "ends with an entry that is not a verification")
		return errUnreadable
	}
	return nil
}

func (c *check) bundle(t *checkedTree, path string, text []byte, n int64) error {
	end := n*tileWidth + int64(tileAt(-1, n, t.newest.Size).W)
	if t.Size() < n*tileWidth {
		return errUnreadable // an earlier bundle is missing
	}
	for len(text) > 0 || t.Size() < end {
		line, rest, err := torchwood.ReadTileEntry(text)
		if err != nil || t.Size() == end {
			c.fault(path, "is not a bundle of %d entries", end-n*tileWidth)
			return errUnreadable
		}
		index := t.Size()
		if err := c.entry(t, line); err != nil {
			c.fault(path, "entry %d: %v", index, err)
			return errUnreadable
		}
		text = rest
	}
	return nil
}

func (c *check) entry(t *checkedTree, line []byte) error {
	e, err := c.log.addLine(t.Tree, line)
	if err != nil && e.Kind == Previous && len(c.trees) > 1 {
		before := c.trees[len(c.trees)-2]
		if signed, err := Open([]byte(e.Checkpoint), []string{before.Key}, nil); err == nil {
			c.compare(before, []byte(e.Checkpoint), signed)
		}
	}
	if err != nil || e.Kind != Verification {
		return err
	}
	name := nameOf(e.Board)
	if !e.isOf(name) {
		return fmt.Errorf("scoreboard %.100q does not match verification date %.20q", e.Board, e.AsOf)
	}
	if last := c.log.Current(); last != nil && CompareNames(last.Name, name) >= 0 {
		return fmt.Errorf("verification %s follows verification %s, which is not earlier", name, last.Name)
	}
	if wrong := c.log.wrongLookup(&e); wrong != "" {
		t.lookups = append(t.lookups, PublishFault{Path: ProofPath(name), What: wrong})
	}
	c.log.Stages = append(c.log.Stages, Stage{Name: name, Tree: t.Tree, Size: t.Size(), Entry: e})
	return nil
}
