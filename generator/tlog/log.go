package tlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// Log is a whole log: a tree for each key that has signed, and the hand verifications that added to
// them.
type Log struct {
	Keys      []string // verifier keys in the order of their use
	Witnesses []Witness
	Trees     []*Tree
	Stages    []Stage // one for each hand verification, oldest first

	recount recount
}

// Stage is what a hand verification added to a log.
type Stage struct {
	Name       string // of the verification: 2026-11-20, 2026-11-20-2
	Tree       *Tree
	Size       int64 // of the tree with this stage, whose last entry is the verification
	Checkpoint []byte
	Cosigned   []string // names of the witnesses that have
	Entry      Entry    // the verification
}

// New is a log without entries. keys are in the order of their use; the last one signs what is
// added.
func New(keys []string, witnesses []Witness) *Log { return &Log{Keys: keys, Witnesses: witnesses} }

// Size is the number of entries in all trees.
func (l *Log) Size() int64 { return int64(len(l.recount.logged)) }

// Counts are what the entries give.
func (l *Log) Counts() Counts { return l.recount.counts }

// Current is the newest stage; nil if there is no stage.
func (l *Log) Current() *Stage {
	if len(l.Stages) == 0 {
		return nil
	}
	return &l.Stages[len(l.Stages)-1]
}

// at gives the tree of an index that counts through all trees, and the index in that tree.
func (l *Log) at(index int64) (*Tree, int64) {
	for _, t := range slices.Backward(l.Trees) {
		if index >= t.First {
			return t, index - t.First
		}
	}
	return nil, 0
}

// Fault is what is wrong with a stage.
type Fault struct {
	Line int // of the entries, from 1 on; 0 for a fault of the checkpoint
	What string
}

// Read adds the stage of a verification as the content has it: entries, one a line, and the
// checkpoint. If there are faults the log must not be used.
func (l *Log) Read(name string, entries io.Reader, checkpoint []byte) (faults []Fault) {
	fault := func(line int, format string, args ...any) {
		faults = append(faults, Fault{line, fmt.Sprintf(format, args...)})
	}
	c, err := Open(checkpoint, l.Keys, l.Witnesses)
	if err != nil {
		fault(0, "%v", err)
		return faults
	}
	t := l.tree(c.Origin)
	if t == nil {
		fault(0, "it is of %s, which comes before the key of the checkpoint before it", c.Origin)
		return faults
	}
	number := 0
	var last Entry
	lines := bufio.NewReaderSize(entries, MaxEntry+2)
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		number++
		if err != nil {
			fault(number, "the entry has no end within %d bytes", MaxEntry)
			return faults
		}
		if last.Kind == Verification {
			fault(number, "an entry follows the verification, which must be the last")
			return faults
		}
		if last, err = l.addLine(t, line[:len(line)-1]); err != nil {
			fault(number, "%v", err)
			return faults
		}
	}
	switch root, err := t.Root(t.Size()); {
	case last.Kind != Verification:
		fault(max(number, 1), "the last entry is not a verification")
	case !last.isOf(name):
		fault(number, "the verification is that of %s, as of %s", last.Board, last.AsOf)
	case err != nil:
		fault(0, "%v", err)
	case c.Size != t.Size():
		fault(0, "it signs a tree of %d entries, and there are %d", c.Size, t.Size())
	case c.Root != root:
		fault(0, "it signs another tree: an entry up to here was changed since")
	}
	l.Stages = append(l.Stages, Stage{name, t, t.Size(), checkpoint, c.Cosigned, last})
	return faults
}

// isOf reports whether an entry is the verification of a name, which begins with its day. It is of
// no name that is empty.
func (e *Entry) isOf(name string) bool {
	return e.Kind == Verification && name != "" && e.Board == BoardPath(name) && e.AsOf == name[:min(len(name), len(time.DateOnly))]
}

// tree gives the tree that a checkpoint of this origin is of: the last one, or a new one where the
// key is another than the last one's and comes after it. Else it gives nil.
func (l *Log) tree(origin string) *Tree {
	key := slices.IndexFunc(l.Keys, func(key string) bool { return strings.HasPrefix(key, origin+"+") })
	from := -1
	if n := len(l.Trees); n > 0 {
		last := l.Trees[n-1]
		if last.Origin == origin {
			return last
		}
		from = slices.Index(l.Keys, last.Key)
	}
	if key <= from {
		return nil
	}
	t := &Tree{Origin: origin, Key: l.Keys[key], First: l.Size()}
	l.Trees = append(l.Trees, t)
	return t
}

// begins reports whether the next entry of a tree is the checkpoint of the tree before.
func (l *Log) begins(t *Tree) bool { return t.Size() == 0 && t.First > 0 }

// errPrevious is the error about an entry that is or is not Previous where it should be otherwise.
var errPrevious = errors.New("the first entry of a tree under a new key, and no other, is the last checkpoint of the tree before")

// addLine adds an entry to the last tree by its text, and gives the entry. Of a record, which most
// are, it gives none.
func (l *Log) addLine(t *Tree, line []byte) (e Entry, err error) {
	if letter := recordLetter(line); letter != 0 && !l.begins(t) {
		l.recount.push(letter)
		t.add(line)
		return e, nil
	}
	if e, err = ParseEntry(line); err == nil {
		err = l.add(t, &e, line)
	}
	return e, err
}

// add adds an entry to the last tree. line is its text.
func (l *Log) add(t *Tree, e *Entry, line []byte) error {
	begins := l.begins(t)
	switch {
	case begins != (e.Kind == Previous):
		return errPrevious
	case begins && e.Checkpoint != bare(l.Current().Checkpoint):
		return errors.New("it has another checkpoint than the last one of the tree before")
	}
	if err := l.recount.add(e); err != nil {
		return err
	}
	t.add(line)
	return nil
}

// usualLine is the length of the longest line of a record, which most entries are of.
var usualLine = len(recordStarts[0]) + hashDigits + len(recordEnd) + 1

// Append adds the stage of a verification, signed with a key of the log. entries are in their
// order; the verification comes last, and its Counts are set. A tree under a new key gets its first
// entry by itself. Append gives what the content has of the stage: the entries, one a line, and the
// checkpoint. After an error the log must not be used.
func (l *Log) Append(name string, entries []Entry, signer note.Signer) (lines, checkpoint []byte, err error) {
	t := l.tree(signer.Name())
	if t == nil {
		return nil, nil, fmt.Errorf("append to log: the key %s is not one of the log, or older than the one that signed last", signer.Name())
	}
	if l.begins(t) {
		entries = slices.Insert(slices.Clone(entries), 0, Entry{Kind: Previous, Checkpoint: bare(l.Current().Checkpoint)})
	}
	var last Entry
	lines = make([]byte, 0, len(entries)*usualLine)
	for i := range entries {
		if last.Kind == Verification {
			return nil, nil, fmt.Errorf("append to log: entry %d follows the verification, which must be the last", i)
		}
		last = entries[i]
		if last.Kind == Verification {
			last.Counts = l.recount.counts
		}
		from := len(lines)
		lines = last.Append(lines)
		if _, err := ParseEntry(lines[from:]); err != nil {
			return nil, nil, fmt.Errorf("append to log: entry %d: %w", i, err)
		}
		if err := l.add(t, &last, lines[from:]); err != nil {
			return nil, nil, fmt.Errorf("append to log: entry %d: %w", i, err)
		}
		lines = append(lines, '\n')
	}
	if !last.isOf(name) {
		return nil, nil, fmt.Errorf("append to log: the last entry is not the verification %s", name)
	}
	root, err := t.Root(t.Size())
	if err != nil {
		return nil, nil, fmt.Errorf("append to log: %w", err)
	}
	c := &Checkpoint{Origin: t.Origin, Size: t.Size(), Root: root}
	if checkpoint, err = c.sign(signer); err == nil {
		_, err = Open(checkpoint, l.Keys, nil)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("append to log: %w", err)
	}
	l.Stages = append(l.Stages, Stage{name, t, t.Size(), checkpoint, nil, last})
	return lines, checkpoint, nil
}

// Find gives the indexes, through all trees, of the entries of some records, by their hashes. What
// is not in the log is not in the result.
func (l *Log) Find(wanted map[string]bool) map[string]int64 {
	found := map[string]int64{}
	for _, t := range l.Trees {
		for i := range t.Size() {
			if line := t.Entry(i); l.IsRecordAt(t.First + i) {
				if hash := hashIn(line); wanted[string(hash)] {
					found[string(hash)] = t.First + i
				}
			}
		}
	}
	return found
}

// IsRecordAt reports whether the entry at an index, through all trees, is that of a record.
func (l *Log) IsRecordAt(index int64) bool {
	return strings.IndexByte(letters[:len(recordKinds)], l.recount.logged[index]) >= 0
}

// CountsAs is what the entry at an index, through all trees, counts as since its last correction:
// its own kind or another, or None.
func (l *Log) CountsAs(index int64) string { return kindOf(l.recount.now[index]) }

// HashAt is the hash of the record of the entry at an index, through all trees.
func (l *Log) HashAt(index int64) string { return string(l.hashAt(index)) }

func (l *Log) hashAt(index int64) []byte {
	t, i := l.at(index)
	return hashIn(t.Entry(i))
}

// VouchedAt gives the index of the Vouched entry about each registration that was ever vouched for.
func (l *Log) VouchedAt() map[int64]int64 {
	at := map[int64]int64{}
	for index, letter := range l.recount.logged {
		if letter == 'v' {
			t, i := l.at(int64(index))
			if e, err := ParseEntry(t.Entry(i)); err == nil {
				at[e.Index] = int64(index)
			}
		}
	}
	return at
}

// stageOf is the stage that an entry of a tree came with.
func (l *Log) stageOf(t *Tree, i int64) *Stage {
	at, _ := slices.BinarySearchFunc(l.Stages, i+1, func(s Stage, size int64) int {
		if s.Tree.First < t.First || s.Tree == t && s.Size < size {
			return -1
		}
		return 1
	})
	return &l.Stages[at]
}
