package generator

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"anteroom/edge/jsondoc"
	"anteroom/generator/contract"
	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

type object = output.Object

// schemaDialect is the dialect of the published JSON Schemas.
const schemaDialect = "https://json-schema.org/draft/2020-12/schema"

func lists(a *contract.Answers) ([]File, error) {
	return []File{
		list(a, output.JobsPath, &a.Site.Jobs),
		listSchema(a, output.JobsSchemaPath, output.JobsPath, "Job", &a.Site.Jobs),
		list(a, output.AuditorsPath, &a.Site.Auditors),
		listSchema(a, output.AuditorsSchemaPath, output.AuditorsPath, "Audit", &a.Site.Auditors),
	}, nil
}

func listSchema(a *contract.Answers, path, document, entry string, l *site.List) File {
	name := strings.ToLower(entry)
	trailer := contract.Inline(reflect.TypeFor[model.Trailer]())
	of := contract.OfList(l, "#/$defs/"+name)
	of.Set("properties", slices.Concat(of.Get("properties").(object), trailer.Get("properties").(object)))
	of.Set("required", slices.Concat(of.Get("required").([]string), trailer.Get("required").([]string)))
	return output.NewFile(path, output.Indented(slices.Concat(object{
		{"$schema", schemaDialect},
		{"$id", a.URL(path)},
		{"title", strings.TrimPrefix(document, "/")},
		{"description", output.As(document).Sentence()},
	}, of, object{{"$defs", object{{name, contract.OfEntry(entry, l)}}}})))
}

func list(a *contract.Answers, path string, l *site.List) File {
	w := jsondoc.Writer{Buf: make([]byte, 0, 3*l.Size/2+4<<10)} // room for what is about as long as its file
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
	a.DocumentTrailer(&w)
	w.Close('}')
	return output.NewFile(path, append(w.Buf, '\n'))
}

func boards(a *contract.Answers) ([]File, error) {
	f := contract.Family{Answers: a}
	f.AddWithTrailer("/scoreboard.json", a.Roster())
	for i := range a.Site.Scoreboards {
		s := &a.Site.Scoreboards[i]
		f.Add(contract.BoardPath(s), contract.BoardDocument(s))
	}
	return f.Result()
}
