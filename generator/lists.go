package generator

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"anteroom/edge/jsondoc"
	"anteroom/generator/answers"
	"anteroom/generator/model"
	"anteroom/generator/ordered"
	"anteroom/generator/published"
	"anteroom/generator/schema"
	"anteroom/generator/site"
)

type object = ordered.Object

// schemaDialect is the dialect of the published JSON Schemas.
const schemaDialect = "https://json-schema.org/draft/2020-12/schema"

func lists(a *answers.Answers) ([]File, error) {
	return []File{
		list(a, published.JobsPath, &a.Site.Jobs),
		listSchema(a, published.JobsSchemaPath, published.JobsPath, "Job", &a.Site.Jobs),
		list(a, published.AuditorsPath, &a.Site.Auditors),
		listSchema(a, published.AuditorsSchemaPath, published.AuditorsPath, "Audit", &a.Site.Auditors),
	}, nil
}

// listSchema is the JSON Schema of a list. The schema of an entry is a definition in that of its
// list, so that one link leads to both.
func listSchema(a *answers.Answers, path, document, entry string, l *site.List) File {
	name := strings.ToLower(entry)
	trailer := schema.Inline(reflect.TypeFor[model.Trailer]())
	of := schema.OfList(l, "#/$defs/"+name)
	of.Set("properties", slices.Concat(of.Get("properties").(object), trailer.Get("properties").(object)))
	of.Set("required", slices.Concat(of.Get("required").([]string), trailer.Get("required").([]string)))
	return published.NewFile(path, ordered.Indented(slices.Concat(object{
		{"$schema", schemaDialect},
		{"$id", a.URL(path)},
		{"title", strings.TrimPrefix(document, "/")},
		{"description", published.As(document).Sentence()},
	}, of, object{{"$defs", object{{name, schema.OfEntry(entry, l)}}}})))
}

// list is a list that grows: its groups and its totals.
func list(a *answers.Answers, path string, l *site.List) File {
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
	return published.NewFile(path, append(w.Buf, '\n'))
}

func boards(a *answers.Answers) ([]File, error) {
	f := answers.Family{Answers: a}
	f.AddWithTrailer("/scoreboard.json", a.Roster())
	for i := range a.Site.Scoreboards {
		s := &a.Site.Scoreboards[i]
		f.Add(answers.BoardPath(s), answers.BoardDocument(s))
	}
	return f.Result()
}
