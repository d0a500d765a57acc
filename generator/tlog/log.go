package tlog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Log is a whole log: a tree for each key that has signed, and the hand verifications that added
// entries. New returns an empty one.
type Log struct {
	Keys      []string // verifier keys in the order of their use
	Witnesses []Witness
	Trees     []*Tree
	Stages    []Stage // one for each hand verification, oldest first

	counts   Counts
	countsAs []string         // by index: the kind of the entry since its last correction
	vouched  map[int64]int64  // by index of a registration: the index of the Vouched entry about it
	own      map[int64]string // by index of an Own entry: the first kind it was corrected to
	lookup   lookup           // of all stages
}

// Stage holds the entries that a hand verification added to a log.
type Stage struct {
	Name       string // of the verification: 2026-11-20, 2026-11-20-2
	Tree       *Tree
	Size       int64 // of the tree up to this stage, whose last entry is the verification
	Checkpoint []byte
	Cosigned   []Cosignature
	Entry      Entry // the verification
}

// New returns a log without entries. keys are in the order of their use; the last one signs new
// stages.
func New(keys []string, witnesses []Witness) *Log {
	return &Log{
		Keys: keys, Witnesses: witnesses, vouched: map[int64]int64{}, own: map[int64]string{},
		lookup: lookup{lines: map[string][]string{}, sums: map[string]string{}},
	}
}

// Clone returns a copy. Appending to it leaves the original unchanged.
func (l *Log) Clone() *Log {
	c := *l
	c.Trees, c.Stages, c.countsAs, c.vouched = slices.Clone(l.Trees), slices.Clone(l.Stages),
		slices.Clone(l.countsAs), maps.Clone(l.vouched)
	c.own, c.lookup = maps.Clone(l.own), l.lookup.clone()
	if n := len(l.Trees) - 1; n >= 0 {
		last := *l.Trees[n]
		last.entries, last.hashes = slices.Clip(last.entries), slices.Clip(last.hashes)
		c.Trees[n] = &last
		for i := range c.Stages {
			if c.Stages[i].Tree == l.Trees[n] {
				c.Stages[i].Tree = &last
			}
		}
	}
	return &c
}

// Size returns the number of entries in all trees.
func (l *Log) Size() int64 { return int64(len(l.countsAs)) }

// Counts returns the counts of all entries.
func (l *Log) Counts() Counts { return l.counts }

// Current returns the newest stage, or nil if the log is empty.
func (l *Log) Current() *Stage {
	if len(l.Stages) == 0 {
		return nil
	}
	return &l.Stages[len(l.Stages)-1]
}

func (l *Log) entry(index int64) *Entry {
	t := l.Trees[slices.IndexFunc(l.Trees, func(t *Tree) bool { return index < t.First+t.Size() })]
	return &t.entries[index-t.First]
}

func (l *Log) end(i int) *Stage {
	for i+1 < len(l.Stages) && l.Stages[i+1].Tree == l.Stages[i].Tree {
		i++
	}
	return &l.Stages[i]
}

// Ends returns the last checkpoints of the trees whose keys were replaced. Such a key counts up to
// its last checkpoint.
func (l *Log) Ends() (ends []Checkpoint, err error) {
	for i := range l.Stages {
		if s := &l.Stages[i]; s == l.end(i) && s.Tree.Origin != currentOrigin(l.Keys) {
			root, err := s.Tree.Root(s.Size)
			if err != nil {
				return nil, err
			}
			ends = append(ends, Checkpoint{Origin: s.Tree.Origin, Size: s.Size, Root: root})
		}
	}
	return ends, nil
}

func (l *Log) before(i int) int64 {
	if i > 0 && l.Stages[i-1].Tree == l.Stages[i].Tree {
		return l.Stages[i-1].Size
	}
	return 0
}

// Find returns the indexes, through all trees, of the entries with the wanted hashes. Hashes that
// the log does not have are left out.
func (l *Log) Find(wanted map[string]bool) map[string]int64 {
	found := map[string]int64{}
	for _, t := range l.Trees {
		for i := range t.entries {
			if e := &t.entries[i]; IsRecord(e.Kind) && wanted[e.Hash] {
				found[e.Hash] = t.First + int64(i)
			}
		}
	}
	return found
}

// IsRecordAt reports whether the entry at an index, through all trees, stands for a record.
func (l *Log) IsRecordAt(index int64) bool { return IsRecord(l.entry(index).Kind) }

// CountsAs returns the kind of the entry at an index, through all trees, since its last correction:
// its first kind, another, or None.
func (l *Log) CountsAs(index int64) string { return l.countsAs[index] }

// HashAt returns the hash of the record at an index, through all trees.
func (l *Log) HashAt(index int64) string { return l.entry(index).Hash }

// VouchedAt returns the index of the Vouched entry about each registration that was ever vouched
// for.
func (l *Log) VouchedAt() map[int64]int64 { return maps.Clone(l.vouched) }

// Next returns the index, through all trees, of the next entry under the key of this name.
func (l *Log) Next(origin string) int64 {
	if n := len(l.Trees); n > 0 && l.Trees[n-1].Origin != origin {
		return l.Size() + 1 // after the checkpoint of the tree before
	}
	return l.Size()
}

// Fault is an error in the files of a stage.
type Fault struct {
	Line int // of the entries, from 1 on; 0 for the checkpoint
	What string
}

var (
	errAfter    = errors.New("an entry follows the verification, which must be the last entry")
	errPrevious = errors.New("a new tree must begin with the previous tree's last checkpoint")
	errNotFirst = errors.New("a log entry must be the first entry of a new tree")
)

// Read adds a stage from its files in a content folder: the entries, one a line, and the
// checkpoint. After a fault the log must not be used.
func (l *Log) Read(name string, entries, checkpoint []byte) *Fault {
	c, err := Open(checkpoint, l.Keys, l.Witnesses)
	var t *Tree
	if err == nil {
		t, err = l.tree(c.Origin)
	}
	if err != nil {
		return &Fault{0, err.Error()}
	}
	number := 0
	var last Entry
	for line := range bytes.Lines(entries) {
		number++
		text, ended := bytes.CutSuffix(line, []byte("\n"))
		switch {
		case last.Kind == Verification:
			err = errAfter
		case !ended:
			err = errors.New("entry does not end with a line feed")
		default:
			last, err = l.addLine(t, text)
		}
		if err != nil {
			return &Fault{number, err.Error()}
		}
	}
	root, err := t.Root(t.Size())
	switch {
	case last.Kind != Verification:
		return &Fault{max(number, 1), "the last entry is not a verification"}
	case !last.isOf(name):
		return &Fault{number, fmt.Sprintf("last entry is verification %s of %s, want %s", last.Board, last.AsOf, name)}
	case err != nil:
		return &Fault{0, err.Error()}
	case c.Size != t.Size():
		return &Fault{0, fmt.Sprintf("signed size is %d, but there are %d entries", c.Size, t.Size())}
	case c.Root != root:
		return &Fault{0, "signed root does not match: an entry up to here was changed"}
	}
	if wrong := l.wrongLookup(&last); wrong != "" {
		return &Fault{number, wrong}
	}
	l.Stages = append(l.Stages, Stage{name, t, t.Size(), checkpoint, c.Cosigned, last})
	return nil
}

// Append adds the stage of a verification, signed with a key of the log. The verification is the
// last of the entries; Append sets its counts. Append also adds the first entry of a tree under a
// new key. It returns the files of the stage for a content folder: the entries, one a line, and the
// checkpoint. After an error the log must not be used.
func (l *Log) Append(name string, entries []Entry, signer note.Signer) (lines, checkpoint []byte, err error) {
	defer func() {
		if err != nil {
			lines, checkpoint, err = nil, nil, fmt.Errorf("append to log: %w", err)
		}
	}()
	t, err := l.tree(signer.Name())
	if err != nil {
		return nil, nil, err
	}
	if l.begins(t) {
		entries = slices.Insert(slices.Clone(entries), 0, Entry{Kind: Previous, Checkpoint: bare(l.Current().Checkpoint)})
	}
	var last Entry
	for i, e := range entries {
		if e.Kind == Verification {
			if e.Counts, err = l.counts, l.lookUp(name); err != nil {
				return nil, nil, err
			}
			e.LookupSHA256 = l.lookup.sum()
		}
		line := e.Append(nil)
		if last.Kind == Verification {
			err = errAfter
		} else {
			last, err = l.addLine(t, line)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("entry %d: %w", i, err)
		}
		lines = append(append(lines, line...), '\n')
	}
	if !last.isOf(name) {
		return nil, nil, fmt.Errorf("last entry: want verification %s", name)
	}
	root, err := t.Root(t.Size())
	if err != nil {
		return nil, nil, err
	}
	if checkpoint, err = (&Checkpoint{Origin: t.Origin, Size: t.Size(), Root: root}).sign(signer); err != nil {
		return nil, nil, err
	}
	if _, err = Open(checkpoint, l.Keys, nil); err != nil { // signed with another key of the same name
		return nil, nil, err
	}
	l.Stages = append(l.Stages, Stage{name, t, t.Size(), checkpoint, nil, last})
	return lines, checkpoint, nil
}

// tree returns the tree of the key of this name: the last one, or a new one for a later key.
func (l *Log) tree(origin string) (*Tree, error) {
	key := slices.IndexFunc(l.Keys, func(key string) bool { return strings.HasPrefix(key, origin+"+") })
	last := -1
	if n := len(l.Trees); n > 0 {
		if l.Trees[n-1].Origin == origin {
			return l.Trees[n-1], nil
		}
		last = slices.Index(l.Keys, l.Trees[n-1].Key)
	}
	if key <= last {
		return nil, fmt.Errorf("key %s is not in log.keys, or was replaced", origin)
	}
	t := &Tree{Origin: origin, Key: l.Keys[key], First: l.Size()}
	l.Trees = append(l.Trees, t)
	return t, nil
}

func (l *Log) begins(t *Tree) bool { return t.Size() == 0 && t.First > 0 }

func (l *Log) addLine(t *Tree, line []byte) (e Entry, err error) {
	if e, err = ParseEntry(line); err != nil {
		return e, err
	}
	begins := l.begins(t)
	switch {
	case begins && e.Kind != Previous:
		return e, errPrevious
	case !begins && e.Kind == Previous:
		return e, errNotFirst
	case begins && e.Checkpoint != bare(l.Current().Checkpoint):
		return e, errors.New("checkpoint differs from the last one of the previous tree")
	}
	if err = l.count(&e); err == nil {
		err = t.add(&e, line)
	}
	return e, err
}

func (l *Log) count(e *Entry) error {
	if (e.Kind == Vouched || e.Kind == Correction) && (e.Index < 0 || e.Index >= l.Size()) {
		return fmt.Errorf("index %d: want one of the %d entries before it", e.Index, l.Size())
	}
	switch e.Kind {
	case Vouched:
		if kind := l.entry(e.Index).Kind; kind != Registration && kind != Own {
			return fmt.Errorf("entry %d is vouched for, but is not a registration", e.Index)
		}
		if _, twice := l.vouched[e.Index]; twice {
			return fmt.Errorf("entry %d is already vouched for", e.Index)
		}
		l.vouched[e.Index] = l.Size()
	case Correction:
		if err := l.correct(e); err != nil {
			return err
		}
	case Verification:
		return l.verified(e)
	}
	l.push(e.Kind)
	return nil
}

func (l *Log) correct(e *Entry) error {
	about, was := l.entry(e.Index), l.countsAs[e.Index]
	kind := about.Kind
	if first := l.own[e.Index]; kind == Own && IsRecord(e.To) && e.To != Own {
		kind = cmp.Or(first, e.To)
	}
	switch {
	case e.To != None && e.To != kind && !(IsRecord(kind) && e.To == Own), !IsRecord(kind) && kind != Vouched:
		return fmt.Errorf("entry %d cannot count as %.40q", e.Index, e.To)
	case was == e.To:
		return fmt.Errorf("entry %d already counts as %s", e.Index, e.To)
	case kind != about.Kind:
		l.own[e.Index] = kind
	}
	l.counts.add(was, -1)
	l.counts.add(e.To, 1)
	l.countsAs[e.Index] = e.To
	return nil
}

// astray counts the vouched agents whose registration no longer counts.
func (l *Log) astray() (n int) {
	for registration, agent := range l.vouched {
		if l.countsAs[agent] == Vouched && l.countsAs[registration] != Registration {
			n++
		}
	}
	return n
}

func (l *Log) verified(e *Entry) error {
	if err := l.lookUp(nameOf(e.Board)); err != nil {
		return err
	}
	switch {
	case e.Counts != l.counts:
		said, counted := e.Counts.Unlike(l.counts)
		return fmt.Errorf("verification counts %s, entries add up to %s", said, counted)
	case e.first && l.Current() != nil && !l.Current().Entry.first:
		return fmt.Errorf("entry version 1 after version %d", Version)
	case !e.first && l.astray() > 0:
		return l.errAstray()
	}
	l.push(e.Kind)
	return nil
}

// wrongLookup describes how a verification differs from the lookup, or returns "" if it matches.
func (l *Log) wrongLookup(e *Entry) string {
	if is := l.lookup.sum(); e.LookupSHA256 != is && !e.first {
		return fmt.Sprintf("lookup_sha256: got %.64s, want %s", e.LookupSHA256, is)
	}
	return ""
}

func (l *Log) errAstray() error {
	return fmt.Errorf("%d agents are vouched for, but their registrations do not count", l.astray())
}

func (l *Log) push(kind string) {
	if !IsRecord(kind) && kind != Vouched {
		kind = None
	}
	l.counts.add(kind, 1)
	l.countsAs = append(l.countsAs, kind)
}
