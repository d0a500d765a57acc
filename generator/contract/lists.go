package contract

import (
	"maps"
	"reflect"
	"slices"

	"anteroom/edge/jsondoc"
	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

func Jobs(a *Answers) ([]output.File, error) {
	return list(a, output.JobsPath, output.JobsSchemaPath, "job", &a.Site.Jobs)
}

func Auditors(a *Answers) ([]output.File, error) {
	return list(a, output.AuditorsPath, output.AuditorsSchemaPath, "audit", &a.Site.Auditors)
}

func Boards(a *Answers) ([]output.File, error) {
	f := Family{Answers: a}
	f.AddWithTrailer("/scoreboard.json", a.Roster())
	for i := range a.Site.Scoreboards {
		s := &a.Site.Scoreboards[i]
		f.Add(BoardPath(s), BoardDocument(s))
	}
	return f.Result()
}

func list(a *Answers, path, schemaPath, entry string, l *site.List) ([]output.File, error) {
	f := Family{Answers: a}
	w := jsondoc.Writer{Buf: make([]byte, 0, 3*l.Size/2+4<<10)} // about the size of its file
	w.Open('{')
	w.Str("as_of", l.AsOf)
	for i := range l.Groups {
		w.Name(l.Groups[i].Name)
		w.Buf = l.Groups[i].AppendJSON(w.Buf)
	}
	w.Begin("counts", '{')
	for _, name := range slices.Sorted(maps.Keys(l.Counts)) {
		w.Int(name, int64(l.Counts[name]))
	}
	w.Close('}')
	f.documentTrailer(&w)
	w.Close('}')
	f.Add(path, append(w.Buf, '\n'))

	trailer := Inline(reflect.TypeFor[model.Trailer]())
	schema := listSchema(l, "#/$defs/"+entry)
	schema.Set("properties", slices.Concat(schema.Object("properties"), trailer.Object("properties")))
	schema.Set("required", slices.Concat(schema.Texts("required"), trailer.Texts("required")))
	f.AddJSON(schemaPath, slices.Concat(object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", f.URL(schemaPath)},
		{"title", path[1:]},
		{"description", output.Listed[path].What},
	}, schema, object{{"$defs", object{{entry, entrySchema(l)}}}}))
	return f.Result()
}

func listSchema(l *site.List, ref string) object {
	entries := object{{"type", "array"}, {"items", object{{"$ref", ref}}}}
	all := object{{"as_of", object{
		{"type", "string"}, {"format", "date"}, {"description", "Date of the newest change that the operator vouches for."},
	}}}
	for _, group := range l.Groups {
		all.Set(group.Name, entries)
	}
	counts, names := object{}, slices.Sorted(maps.Keys(l.Counts))
	for _, name := range names {
		counts.Set(name, object{{"type", "integer"}, {"minimum", 0}})
	}
	all.Set("counts", object{
		{"type", "object"}, {"properties", counts}, {"required", names}, {"description", "Number of entries."},
	})
	names = nil
	for _, m := range all {
		names = append(names, m.Name)
	}
	return object{{"type", "object"}, {"properties", all}, {"required", names}}
}

func entrySchema(l *site.List) object {
	entry := l.EntryType()
	return append(object{{"title", entry.Name()}}, Inline(entry)...)
}
