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
	merkle "golang.org/x/mod/sumdb/tlog"
)

// Log is a whole log: its entries with the hashes of their tree (RFC 6962, section 2.1), and the
// hand verifications that added them. New returns an empty one.
type Log struct {
	Key       string // the verifier key; "" without a log
	Witnesses []Witness
	Stages    []Stage // one for each hand verification, oldest first

	entries  []Entry
	hashes   []merkle.Hash // in the order of package merkle
	counts   Counts
	countsAs []string         // by index: the kind of the entry since its last correction
	records  map[string]int64 // index of the entry, by the hash of the record
	vouched  map[int64]int64  // by index of a registration: the index of the Vouched entry about it
	own      map[int64]string // by index of an Own entry: the first kind it was corrected to
}

// Stage holds the entries that a hand verification added to a log.
type Stage struct {
	Name       string // of the verification: 2026-11-20, 2026-11-20-2
	Size       int64  // of the log up to this stage, whose last entry is the verification
	Checkpoint []byte
	Cosigned   []Cosignature
	Entry      Entry
	Counts     Counts
}

func New(key string, witnesses []Witness) *Log {
	return &Log{
		Key: key, Witnesses: witnesses, records: map[string]int64{}, vouched: map[int64]int64{}, own: map[int64]string{},
	}
}

// Clone returns a copy. Appending to it leaves the original unchanged.
func (l *Log) Clone() *Log {
	c := *l
	c.Stages, c.countsAs = slices.Clone(l.Stages), slices.Clone(l.countsAs)
	c.entries, c.hashes = slices.Clip(l.entries), slices.Clip(l.hashes)
	c.records, c.vouched, c.own = maps.Clone(l.records), maps.Clone(l.vouched), maps.Clone(l.own)
	return &c
}

// Origin returns the name of the log in its checkpoints (C2SP tlog-checkpoint).
func (l *Log) Origin() string {
	name, _, _ := strings.Cut(l.Key, "+")
	return name
}

func (l *Log) Size() int64 { return int64(len(l.entries)) }

func (l *Log) Counts() Counts { return l.counts }

// Current returns the newest stage, or nil if the log is empty.
func (l *Log) Current() *Stage {
	if len(l.Stages) == 0 {
		return nil
	}
	return &l.Stages[len(l.Stages)-1]
}

func (l *Log) StageOf(index int64) *Stage {
	return &l.Stages[slices.IndexFunc(l.Stages, func(s Stage) bool { return index < s.Size })]
}

func (l *Log) Entry(index int64) *Entry { return &l.entries[index] }

func (l *Log) Records() map[string]int64 { return maps.Clone(l.records) }

func (l *Log) CountsAs(index int64) string { return l.countsAs[index] }

func (l *Log) VouchedAt() map[int64]int64 { return maps.Clone(l.vouched) }

func (l *Log) ReadHashes(indexes []int64) ([]merkle.Hash, error) {
	hashes := make([]merkle.Hash, len(indexes))
	for i, index := range indexes {
		if index >= int64(len(l.hashes)) {
			return nil, fmt.Errorf("read hash %d: beyond the tree of %d entries", index, l.Size())
		}
		hashes[i] = l.hashes[index]
	}
	return hashes, nil
}

func (l *Log) Root(size int64) (merkle.Hash, error) { return merkle.TreeHash(size, l) }

type Fault struct {
	Line int // of the entries, from 1 on; 0 for the checkpoint
	What string
}

// Read adds a stage from its files in a content folder: the entries, one a line, and the
// checkpoint. After a fault the log must not be used.
func (l *Log) Read(name string, entries, checkpoint []byte) *Fault {
	last, fault := l.addLines(name, entries)
	if fault == nil {
		fault = l.end(name, last, checkpoint)
	}
	return fault
}

func (l *Log) end(name string, last Entry, checkpoint []byte) *Fault {
	c, err := Open(checkpoint, l.Key, l.Witnesses)
	if err != nil {
		return &Fault{0, err.Error()}
	}
	switch root, err := l.Root(l.Size()); {
	case err != nil:
		return &Fault{0, err.Error()}
	case c.Size != l.Size():
		return &Fault{0, fmt.Sprintf("signed size is %d, but there are %d entries", c.Size, l.Size())}
	case c.Root != root:
		return &Fault{0, "signed root does not match: an entry up to here was changed"}
	}
	l.Stages = append(l.Stages, Stage{name, l.Size(), checkpoint, c.Cosigned, last, l.counts})
	return nil
}

func (l *Log) addLines(name string, entries []byte) (last Entry, fault *Fault) {
	number := 0
	for line := range bytes.Lines(entries) {
		number++
		text, ended := bytes.CutSuffix(line, []byte("\n"))
		var err error
		switch {
		case last.Kind == Verification:
			err = errors.New("an entry follows the verification, which must be the last entry")
		case !ended:
			err = errors.New("entry does not end with a line feed")
		default:
			last, err = l.add(text)
		}
		if err != nil {
			return last, &Fault{number, err.Error()}
		}
	}
	switch {
	case last.Kind != Verification:
		return last, &Fault{max(number, 1), "the last entry is not a verification"}
	case !last.isOf(name):
		return last, &Fault{number, fmt.Sprintf("last entry is verification %s of %s, want %s", last.Board, last.AsOf, name)}
	}
	return last, nil
}

// Append adds the stage of a verification, which is the last of the entries, signed with the key of
// the log. It returns the files of the stage for a content folder: the entries, one a line, and the
// checkpoint. After an error the log must not be used.
func (l *Log) Append(name string, entries []Entry, signer note.Signer) (lines, checkpoint []byte, err error) {
	for _, e := range entries {
		lines = append(e.Append(lines), '\n')
	}
	last, fault := l.addLines(name, lines)
	if fault == nil {
		root, err := l.Root(l.Size())
		if err == nil {
			checkpoint, err = (&Checkpoint{Origin: signer.Name(), Size: l.Size(), Root: root}).sign(signer)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("append to log: %w", err)
		}
		fault = l.end(name, last, checkpoint)
	}
	if fault != nil {
		return nil, nil, fmt.Errorf("append to log: %w", errors.New(fault.What))
	}
	return lines, checkpoint, nil
}

func (l *Log) add(line []byte) (e Entry, err error) {
	if e, err = ParseEntry(line); err != nil {
		return e, err
	}
	if err = l.count(&e); err != nil {
		return e, err
	}
	hashes, err := merkle.StoredHashes(l.Size(), line, l)
	l.entries, l.hashes = append(l.entries, e), append(l.hashes, hashes...)
	return e, err
}

func (l *Log) count(e *Entry) error {
	if (e.Kind == Vouched || e.Kind == Correction) && (e.Index < 0 || e.Index >= l.Size()) {
		return fmt.Errorf("index %d: want one of the %d entries before it", e.Index, l.Size())
	}
	as := None
	switch e.Kind {
	case Vouched:
		if kind := l.entries[e.Index].Kind; kind != Registration && kind != Own {
			return fmt.Errorf("entry %d is vouched for, but is not a registration", e.Index)
		}
		if _, twice := l.vouched[e.Index]; twice {
			return fmt.Errorf("entry %d is already vouched for", e.Index)
		}
		as, l.vouched[e.Index] = Vouched, l.Size()
	case Correction:
		if err := l.correct(e); err != nil {
			return err
		}
	case Verification:
		if n := l.vouchedWithoutRegistration(); n > 0 {
			return fmt.Errorf("%d agents are vouched for, but their registrations do not count", n)
		}
	default:
		if before, twice := l.records[e.Hash]; twice {
			return fmt.Errorf("entry %d repeats the record of entry %d", l.Size(), before)
		}
		as, l.records[e.Hash] = e.Kind, l.Size()
	}
	l.counts.add(as, 1)
	l.countsAs = append(l.countsAs, as)
	return nil
}

func (l *Log) correct(e *Entry) error {
	about, was := l.entries[e.Index], l.countsAs[e.Index]
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

func (l *Log) vouchedWithoutRegistration() (n int) {
	for registration, agent := range l.vouched {
		if l.countsAs[agent] == Vouched && l.countsAs[registration] != Registration {
			n++
		}
	}
	return n
}
