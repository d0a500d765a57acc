package tlog

import (
	"slices"

	"golang.org/x/mod/sumdb/note"
)

// Forge adds a stage as Append does, and refuses nothing: it is what whoever has the key can sign.
func (l *Log) Forge(name string, entries []Entry, signer note.Signer) error {
	t := l.tree(signer.Name())
	if l.begins(t) {
		entries = slices.Insert(slices.Clone(entries), 0, Entry{Kind: Previous, Checkpoint: bare(l.Current().Checkpoint)})
	}
	for i := range entries {
		if l.recount.add(&entries[i]) != nil {
			l.recount.push(letterOf(entries[i].Kind))
		}
		t.add(entries[i].Append(nil))
	}
	root, err := t.Root(t.Size())
	if err != nil {
		return err
	}
	checkpoint, err := (&Checkpoint{Origin: t.Origin, Size: t.Size(), Root: root}).sign(signer)
	l.Stages = append(l.Stages, Stage{name, t, t.Size(), checkpoint, nil, entries[len(entries)-1]})
	return err
}
