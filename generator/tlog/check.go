package tlog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"anteroom/edge/assets"
	"anteroom/edge/jsondoc"

	"filippo.io/torchwood"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// Source returns a published file by its path from the root of the host. Its error wraps
// fs.ErrNotExist if the file does not exist. It must be safe for concurrent use.
type Source func(path string) ([]byte, error)

type Report struct {
	Key           string          `json:"key"`
	Origin        string          `json:"origin"`
	Size          int64           `json:"size"`
	Root          string          `json:"root"`
	Checkpoint    string          `json:"checkpoint"` // validly signed, whatever else is wrong; "" for none
	Cosigned      []Cosignature   `json:"cosigned"`   // by the witnesses of the reader
	Verifications []StageReport   `json:"verifications"`
	Kept          int             `json:"kept"` // checkpoints that the log extends
	Promises      []PromiseReport `json:"promises"`
	Faults        []PublishFault  `json:"faults"`
}

func (r *Report) OK() bool { return len(r.Faults) == 0 }

type StageReport struct {
	Name     string        `json:"name"`
	AsOf     string        `json:"as_of"`
	Size     int64         `json:"size"` // of the log that it ends
	Counts   Counts        `json:"counts"`
	Cosigned []Cosignature `json:"cosigned"`
}

type PublishFault struct {
	Path  string   `json:"path"`
	What  string   `json:"what"`
	Notes []string `json:"notes,omitempty"` // signed: the evidence
}

// Bounds of a check. The publisher decides how large a log is.
const (
	filesAtOnce = 8
	maxEntries  = 1 << 24         // all are kept in memory
	maxSkew     = 5 * time.Minute // of the clock of a service
)

var (
	ErrNoLog = errors.New("no log published")
	ErrEmpty = errors.New("the log has a key but no verification yet")

	errEnded = errors.New("a fault ended the check")
)

type Checking struct {
	Read      Source
	Key       string      // the trusted verifier key; "" for the published one
	Witnesses []Witness   // each must have cosigned the newest checkpoint
	Kept      [][]byte    // checkpoints that the log must extend
	Promised  []*Promised // records that the log must have counted
	// ReceiptKeys sign promises of the service according to the reader, in the form of the verify kit.
	ReceiptKeys []string
	Service     string    // the service's host if Read asks the service itself; "" for a copy
	ServiceKey  string    // the receipt key in the manifest of Service
	Now         time.Time // no verification is later
}

// Check rebuilds a published log from its bundles of entries, and compares every published file
// with what the rebuilt log publishes. It verifies the signatures of every checkpoint, and the
// numbers of every board.
//
// The report has the faults of the log. The error is about a file that could not be read; the
// report then has the findings before it.
func Check(what Checking) (*Report, error) {
	c := &check{Checking: what, read: map[string]bool{}, report: &Report{
		Cosigned: []Cosignature{}, Verifications: []StageReport{}, Promises: []PromiseReport{}, Faults: []PublishFault{},
	}}
	err := c.run()
	if errors.Is(err, errEnded) {
		err = nil
	}
	if c.log != nil {
		for _, s := range c.log.Stages {
			c.report.Verifications = append(c.report.Verifications,
				StageReport{s.Name, s.Entry.AsOf, s.Size, s.Counts, append([]Cosignature{}, s.Cosigned...)})
		}
	}
	return c.report, err
}

type check struct {
	Checking
	report *Report
	log    *Log // rebuilt
	text   []byte
	newest *Checkpoint
	read   map[string]bool
}

func (c *check) run() error {
	for _, step := range []func() error{
		c.readKey, c.readHead, c.readEntries, c.compareKept, c.readCheckpoints, c.compareFiles, c.checkBoards,
		c.comparePromises,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) fault(path, what string, notes ...[]byte) {
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
				err = use(from+i, texts[i])
			}
			if err != nil {
				return err
			}
		}
		from += len(part)
	}
	return nil
}

func (c *check) readKey() error {
	published := ""
	err := c.each([]string{KeyPath}, func(_ int, text []byte) error {
		published = strings.TrimSuffix(string(text), "\n")
		return nil
	})
	switch {
	case err != nil:
		return err
	case c.Key == "" && published == "":
		c.report.Faults = []PublishFault{}
		return ErrNoLog
	case c.Key == "":
		c.Key = published
	case published != "" && published != c.Key:
		c.fault(KeyPath, fmt.Sprintf("has the key %.100q, want %s", published, c.Key))
	}
	if c.report.Origin, err = CheckKey(c.Key); err != nil {
		c.fault(KeyPath, err.Error())
		return errEnded
	}
	c.report.Key, c.log = c.Key, New(c.Key, nil)
	return nil
}

func (c *check) readHead() error {
	err := c.each([]string{CheckpointPath}, func(_ int, text []byte) (err error) {
		if c.newest, err = Open(text, c.Key, c.Witnesses); err != nil {
			c.fault(CheckpointPath, err.Error(), text)
			return errEnded
		}
		c.text = text
		return nil
	})
	switch {
	case err != nil:
		return err
	case c.newest == nil && !c.hasBegun():
		c.report.Faults = slices.DeleteFunc(c.report.Faults, func(f PublishFault) bool { return f.Path == CheckpointPath })
		return ErrEmpty
	case c.newest == nil:
		return errEnded
	case c.newest.Size > maxEntries:
		return fmt.Errorf("%s: got %d entries, want at most %d", CheckpointPath, c.newest.Size, maxEntries)
	}
	c.report.Size, c.report.Root = c.newest.Size, c.newest.Root.String()
	c.report.Checkpoint, c.report.Cosigned = string(c.text), append(c.report.Cosigned, c.newest.Cosigned...)
	for i := range c.Witnesses {
		name := c.Witnesses[i].Name()
		if !slices.ContainsFunc(c.newest.Cosigned, func(s Cosignature) bool { return s.Witness == name }) {
			c.fault(CheckpointPath, "is not cosigned by "+name)
		}
	}
	return nil
}

func (c *check) hasBegun() bool {
	return len(c.Kept) > 0 || slices.ContainsFunc(c.Promised, func(p *Promised) bool { return p.Head != nil })
}

// readEntries rebuilds the log. Only entries that have the signed root are evidence: anyone can
// publish others.
func (c *check) readEntries() error {
	var paths []string
	for n := int64(0); n*tileWidth < c.newest.Size; n++ {
		paths = append(paths, pathOf(tileAt(-1, n, c.newest.Size)))
	}
	err := c.each(paths, func(i int, text []byte) error { return c.bundle(paths[i], text, int64(i)) })
	if err != nil {
		return err
	}
	root, err := c.log.Root(c.log.Size())
	switch {
	case err != nil:
		return err
	case c.log.Size() < c.newest.Size:
		return errEnded
	case root != c.newest.Root:
		c.fault(CheckpointPath, "does not match the published entries", c.text)
		return errEnded
	}
	if last := c.log.Current(); last == nil || last.Size != c.newest.Size {
		c.fault(CheckpointPath, "ends with an entry that is not a verification", c.text)
		return errEnded
	}
	return nil
}

func (c *check) bundle(path string, text []byte, n int64) error {
	end := min(c.newest.Size, (n+1)*tileWidth)
	if c.log.Size() < n*tileWidth {
		return errEnded // an earlier bundle is missing
	}
	for len(text) > 0 || c.log.Size() < end {
		line, rest, err := torchwood.ReadTileEntry(text)
		if err != nil || c.log.Size() == end {
			c.fault(path, fmt.Sprintf("is not a bundle of %d entries", end-n*tileWidth))
			return errEnded
		}
		index := c.log.Size()
		if err := c.entry(line); err != nil {
			c.fault(path, fmt.Sprintf("entry %d: %v", index, err), c.text)
			return errEnded
		}
		text = rest
	}
	return nil
}

func (c *check) entry(line []byte) error {
	e, err := c.log.add(line)
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
	c.log.Stages = append(c.log.Stages, Stage{Name: name, Size: c.log.Size(), Entry: e, Counts: c.log.counts})
	return nil
}

func (c *check) compare(path, what string, size int64, root merkle.Hash, notes ...[]byte) (same bool) {
	if size > c.log.Size() {
		c.fault(path, fmt.Sprintf("has %d entries, but %s has %d: old copy, or fork", c.log.Size(), what, size), notes...)
		return false
	}
	is, err := c.log.Root(size)
	if err != nil || is != root {
		c.fault(path, fmt.Sprintf("FORK: does not begin with the %d entries of %s (keep both: they prove it)",
			size, what), notes...)
		return false
	}
	return true
}

func (c *check) compareKept() error {
	for _, text := range c.Kept {
		kept, err := Open(text, c.Key, nil)
		if err != nil {
			return fmt.Errorf("use the kept checkpoint: %w", err)
		}
		if c.compare(CheckpointPath, "the kept checkpoint", kept.Size, kept.Root, c.text, text) {
			c.report.Kept++
		}
	}
	return nil
}

func (c *check) readCheckpoints() error {
	var paths []string
	for i := range c.log.Stages {
		paths = append(paths, CheckpointOf(c.log.Stages[i].Size))
	}
	return c.each(paths, func(i int, text []byte) error {
		s := &c.log.Stages[i]
		signed, err := Open(text, c.Key, c.Witnesses)
		switch {
		case err != nil:
			c.fault(paths[i], err.Error())
			return nil
		case signed.Size != s.Size:
			c.fault(paths[i], fmt.Sprintf("has a checkpoint of size %d, want %d", signed.Size, s.Size))
			return nil
		}
		c.compare(paths[i], "the checkpoint", signed.Size, signed.Root, c.text, text)
		s.Checkpoint, s.Cosigned = text, signed.Cosigned
		return nil
	})
}

func (c *check) compareFiles() error {
	c.log.Current().Checkpoint = c.text // with the newest cosignatures
	files, err := c.log.Files()
	if err != nil {
		return err
	}
	wanted := map[string][]byte{}
	var paths []string
	for _, f := range files {
		if wanted[f.Path] = f.Bytes; !c.read[f.Path] {
			paths = append(paths, f.Path)
		}
	}
	return c.each(paths, func(i int, text []byte) error {
		if !bytes.Equal(text, wanted[paths[i]]) {
			c.fault(paths[i], "differs from the rebuilt log")
		}
		return nil
	})
}

const scoreboardPath = "/scoreboard.json"

func (c *check) checkBoards() error {
	stages := append(slices.Clone(c.log.Stages), *c.log.Current())
	paths := make([]string, len(stages))
	for i := range stages {
		paths[i] = stages[i].Entry.Board
	}
	paths[len(paths)-1] = scoreboardPath
	return c.each(paths, func(i int, text []byte) error {
		e := &stages[i].Entry
		if sum := assets.SumOf(text); paths[i] == e.Board && sum != e.BoardSHA256 {
			c.fault(e.Board, fmt.Sprintf("SHA-256 does not match its verification: got %s, want %s", sum, e.BoardSHA256))
		}
		if today := c.Now.UTC().AddDate(0, 0, 1).Format(time.DateOnly); e.AsOf > today {
			c.fault(e.Board, fmt.Sprintf("is dated %s, which is in the future", e.AsOf))
		}
		c.checkBoard(paths[i], text, &stages[i])
		return nil
	})
}

// checkBoard compares the numbers of a board with a verification. It parses the board strictly,
// because readers differ about duplicate members.
func (c *check) checkBoard(file string, text []byte, s *Stage) {
	board, err := jsondoc.Parse(text)
	if err != nil {
		c.fault(file, fmt.Sprintf("is not a board: %v", err))
		return
	}
	if asOf := board.Get("as_of"); asOf.Kind != jsondoc.String || asOf.Text != s.Entry.AsOf {
		c.fault(file, fmt.Sprintf("as_of does not match its verification: got %.20q, want %s", asOf.Text, s.Entry.AsOf))
	}
	for _, number := range s.Counts.Places() {
		part, name, _ := strings.Cut(number.Place, ".")
		if is := board.Get(part).Get(name).Raw; string(is) != strconv.Itoa(number.N) {
			c.fault(file, fmt.Sprintf("%s does not match the log: got %.20q, want %d", number.Place, is, number.N))
		}
	}
}
