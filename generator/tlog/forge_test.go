package tlog

import (
	"slices"

	"golang.org/x/mod/sumdb/note"
)

// Forge adds a stage as Append does, and refuses nothing: it is what whoever has the key can sign.
func (l *Log) Forge(name string, entries []Entry, signer note.Signer) error {
	t, err := l.tree(signer.Name())
	if err != nil {
		return err
	}
	if l.begins(t) {
		entries = slices.Insert(slices.Clone(entries), 0, Entry{Kind: Previous, Checkpoint: bare(l.Current().Checkpoint)})
	}
	for i := range entries {
		if e := &entries[i]; e.Kind == Verification && e.LookupSHA256 == "" {
			_ = l.lookUp(name)
			e.LookupSHA256 = l.lookup.sum()
		}
		if l.count(&entries[i]) != nil {
			l.push(entries[i].Kind)
		}
		if err := t.add(&entries[i], entries[i].Append(nil)); err != nil {
			return err
		}
	}
	root, err := t.Root(t.Size())
	if err != nil {
		return err
	}
	checkpoint, err := (&Checkpoint{Origin: t.Origin, Size: t.Size(), Root: root}).sign(signer)
	l.Stages = append(l.Stages, Stage{name, t, t.Size(), checkpoint, nil, entries[len(entries)-1]})
	return err
}
