package generator

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"anteroom/edge/jsondoc"
	"anteroom/generator/model"
	"anteroom/generator/site"
)

// The lists that grow, and their JSON Schemas.
const (
	jobsPath           = "/jobs.json"
	auditorsPath       = "/auditors.json"
	jobsSchemaPath     = "/schemas/jobs.json"
	auditorsSchemaPath = "/schemas/auditors.json"
)

// schemaDialect is the dialect of the published JSON Schemas.
const schemaDialect = "https://json-schema.org/draft/2020-12/schema"

// listSchemas publishes the JSON Schemas of both lists. The schema of an entry is a definition in
// that of its list, so that one link leads to both.
func (g *generation) listSchemas() {
	for _, s := range []struct {
		path, list, entry string
		of                *site.List
	}{{jobsSchemaPath, jobsPath, "Job", &g.site.Jobs}, {auditorsSchemaPath, auditorsPath, "Audit", &g.site.Auditors}} {
		name := strings.ToLower(s.entry)
		inline := schemas{inline: true}
		trailer := inline.ofType(reflect.TypeFor[model.Trailer]())
		schema := listDocumentSchema(s.of, "#/$defs/"+name)
		schema.set("properties", slices.Concat(schema.get("properties").(object), trailer.get("properties").(object)))
		schema.set("required", slices.Concat(schema.get("required").([]string), trailer.get("required").([]string)))
		g.add(s.path, g.indentedJSON(slices.Concat(object{
			{"$schema", schemaDialect},
			{"$id", g.url(s.path)},
			{"title", strings.TrimPrefix(s.list, "/")},
			{"description", sentence(publishedAs(s.list).what)},
		}, schema, object{{"$defs", object{{name, g.listEntrySchema(s.entry, s.of)}}}})))
	}
}

// listDocumentSchema is the schema of a list that grows, where that of an entry is at ref.
func listDocumentSchema(l *site.List, ref string) object {
	entries := object{{"type", "array"}, {"items", object{{"$ref", ref}}}}
	all := object{{"as_of", object{
		{"type", "string"}, {"format", "date"}, {"description", "Date of the newest change that the operator vouches for."},
	}}}
	for _, group := range l.Groups {
		all.set(group.Name, entries)
	}
	counts, names := object{}, slices.Sorted(maps.Keys(l.Counts))
	for _, name := range names {
		counts.set(name, object{{"type", "integer"}, {"minimum", 0}})
	}
	all.set("counts", object{
		{"type", "object"}, {"properties", counts}, {"required", names}, {"description", "How many entries there are."},
	})
	names = nil
	for _, m := range all {
		names = append(names, m.name)
	}
	return object{{"type", "object"}, {"properties", all}, {"required", names}}
}

// list publishes a list that grows: its groups and its totals.
func (g *generation) list(path string, l *site.List) {
	w := jsondoc.Writer{}
	w.Open('{')
	w.Str("as_of", l.AsOf)
	for i := range l.Groups {
		w.Name(l.Groups[i].Name)
		w.Buf = l.Groups[i].AppendJSON(w.Buf)
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
