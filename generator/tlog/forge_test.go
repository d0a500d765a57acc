package tlog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"golang.org/x/mod/sumdb/note"
)

// Forge adds a stage as Append does, and refuses nothing: it is what whoever has the key can sign.
// Counts of a verification that are not nil are signed as they are.
func (l *Log) Forge(name string, entries []Entry, counts *Counts, signer note.Signer) error {
	l.order = nil
	t := l.tree(signer.Name())
	if l.begins(t) {
		entries = slices.Insert(slices.Clone(entries), 0, Entry{Kind: Previous, Checkpoint: bare(l.Current().Checkpoint)})
	}
	var last Entry
	for i := range entries {
		last = entries[i]
		if last.Kind == Verification && counts == nil {
			last.Counts = l.recount.counts
		} else if last.Kind == Verification {
			last.Counts = *counts
		}
		if l.recount.add(&last) != nil {
			l.recount.push(letterOf(last.Kind))
		}
		t.add(last.Append(nil))
	}
	root, err := t.Root(t.Size())
	if err != nil {
		return err
	}
	checkpoint, err := (&Checkpoint{Origin: t.Origin, Size: t.Size(), Root: root}).sign(signer)
	l.Stages = append(l.Stages, Stage{name, t, t.Size(), checkpoint, nil, last})
	return err
}

// ForgeLookup is the file of the look-up that has a hash, with a line for each of its entries or,
// once, with one line for each hash.
func (l *Log) ForgeLookup(hash string, once bool) []byte {
	var order []hashed
	for index := range l.Size() {
		if !l.IsRecordAt(index) || l.HashAt(index)[:lookupDigits] != hash[:lookupDigits] {
			continue
		}
		start, err := hex.DecodeString(l.HashAt(index)[:16])
		if err != nil {
			panic(err)
		}
		order = append(order, hashed{binary.BigEndian.Uint64(start), uint32(index)})
	}
	slices.SortFunc(order, func(a, b hashed) int {
		return bytes.Compare([]byte(l.HashAt(int64(a.index))), []byte(l.HashAt(int64(b.index))))
	})
	if once {
		order = slices.CompactFunc(order, func(a, b hashed) bool { return l.HashAt(int64(a.index)) == l.HashAt(int64(b.index)) })
	}
	return l.lookupFile(order)
}
