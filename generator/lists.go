package generator

import (
	"maps"
	"slices"

	"anteroom/edge/jsondoc"
	"anteroom/generator/site"
)

// list publishes a list that grows: its groups and its totals. The entries are JSON text already
// and can be many, so list writes the document in one pass instead of marshalling it.
func (g *generation) list(path string, l *site.List) {
	const otherMembers = 4 << 10 // room for what is not an entry, in bytes
	w := jsondoc.Writer{Buf: make([]byte, 0, l.Size()+otherMembers)}
	w.Open('{')
	w.Str("as_of", l.AsOf)
	for _, group := range l.Groups() {
		w.Name(group)
		w.Buf = l.AppendJSON(w.Buf, group)
	}
	w.Name("counts")
	w.Open('{')
	for _, name := range slices.Sorted(maps.Keys(l.Counts)) {
		w.Int(name, int64(l.Counts[name]))
	}
	w.Close('}')
	g.snapshot.Trailer(&w, g.site.Service.CanonicalHost)
	w.Close('}')
	g.add(path, append(w.Buf, '\n'))
}
