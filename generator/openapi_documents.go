package generator

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"anteroom/generator/model"
	"anteroom/generator/site"
)

// documentsTag groups the published documents.
const documentsTag = "documents"

// datedScoreboards is the path of all dated scoreboards, as a template.
const datedScoreboards = "/scoreboard/{as_of}.json"

// documentPaths adds the published documents to the paths of the description. A pattern of the
// table of published paths is added once for each document that it stands for.
func (d *openAPIDocument) documentPaths(paths *object) {
	for i := range publishedPaths {
		p := &publishedPaths[i]
		if p.mediaType == "" || p.pattern == SecurityTxtPath && d.site.NoSecurityTxt {
			continue
		}
		switch p.pattern {
		case "/scoreboard/*.json":
			paths.set(datedScoreboards, d.documentPath(p, datedScoreboards, p.title, sentence(p.what)))
		case "/*.txt":
			if key := d.site.Service.IndexNow.Key; key != "" {
				path := "/" + key + ".txt"
				paths.set(path, d.documentPath(p, path, p.title, sentence(p.what)))
			}
		case "/*.html.md", "/*.html":
			for i := range d.site.Pages {
				page := &d.site.Pages[i]
				path, title := twinPath(page), page.Title+", as Markdown"
				if p.mediaType == mediaHTML {
					path, title = "/"+page.Name+".html", page.Title
					if path != page.Path() {
						paths.set(page.Path(), d.documentPath(p, page.Path(), title, page.Description))
					}
				}
				paths.set(path, d.documentPath(p, path, title, page.Description))
			}
		case "/endpoints/*.html.md", "/endpoints/*.html", "/problems/*.html.md", "/problems/*.html":
			// Templates of these paths would say less than the pages of the reference.
		default:
			paths.set(p.pattern, d.documentPath(p, p.pattern, p.title, sentence(p.what)))
		}
	}
}

// sentence makes a sentence of a part of one.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// documentPath is the path item of a document.
func (d *openAPIDocument) documentPath(p *published, path, title, text string) object {
	schema := d.documentSchema(path)
	if schema == nil {
		schema = object{{"type", "string"}}
	}
	mediaType, _, _ := strings.Cut(p.mediaType, ";")
	get := object{
		{"tags", []string{documentsTag}},
		{"operationId", derivedID(http.MethodGet, path)},
		{"summary", title},
		{"description", text},
	}
	responses := object{
		{"200", object{
			{"description", text},
			{"headers", d.headerRefs("Cache-Control", "ETag", "Link")},
			{"content", object{{mediaType, object{{"schema", schema}}}}},
		}},
		{"304", object{{"description", notModified}, {"headers", d.headerRefs("Cache-Control", "ETag", "Link")}}},
	}
	if strings.Contains(path, "{") {
		get.set("parameters", []object{{
			{"name", "as_of"},
			{"in", "path"},
			{"required", true},
			{"description", "Date of the hand verification; of a further one on a date with a hyphen and its number behind it."},
			{"schema", object{{"type", "string"}, {"pattern", "^[0-9]{4}-[0-9]{2}-[0-9]{2}(-[0-9]+)?$"}}},
			{"example", d.site.Current().File},
		}})
		responses.set("404", object{{"description", "There is no such hand verification."}, {"headers", d.headerRefs("Cache-Control")}})
	}
	responses.set("405", object{
		{"description", "The method is neither GET nor HEAD."},
		{"headers", d.headerRefs("Allow", "Cache-Control", "Link")},
	})
	get.set("responses", responses)
	return object{{"summary", title}, {"get", get}}
}

// documentSchema is the schema of a JSON document, and nil for a document that is not JSON.
func (d *openAPIDocument) documentSchema(path string) object {
	withTrailer := func(name string, schema object) object {
		d.schemas.components.set(name, schema)
		return object{{"allOf", []object{{{"$ref", "#/components/schemas/" + name}}, d.schemas.ref(reflect.TypeFor[model.Trailer]())}}}
	}
	switch path {
	case openAPIPath:
		return thirdPartySchema(object{{"openapi", "string"}, {"info", "object"}, {"paths", "object"}})
	case "/server.json":
		return thirdPartySchema(object{
			{"$schema", "string"}, {"name", "string"}, {"description", "string"}, {"version", "string"}, {"remotes", "array"},
		})
	case "/.well-known/api-catalog":
		return thirdPartySchema(object{{"linkset", "array"}})
	case vectorsPath:
		return vectorsSchema()
	case "/manifest.json":
		return object{{"allOf", []object{d.schemas.ref(reflect.TypeFor[model.Manifest]()), d.schemas.ref(reflect.TypeFor[model.Trailer]())}}}
	case "/scoreboard.json":
		return withTrailer("Scoreboard", withoutEdgeMembers(d.schemas.ofStruct(reflect.TypeFor[model.Roster]()), reflect.TypeFor[model.Roster]()))
	case datedScoreboards:
		d.schemas.components.set("Verification", d.schemas.subset(reflect.TypeFor[model.Verification](), reflect.TypeFor[model.Roster]()))
		return object{{"$ref", "#/components/schemas/Verification"}}
	case "/jobs.json":
		return withTrailer("Jobs", d.listSchema("Job", &d.site.Jobs))
	case "/auditors.json":
		return withTrailer("Auditors", d.listSchema("Audit", &d.site.Auditors))
	}
	return nil
}

// thirdPartySchema is the schema of a document whose format others define. It has the members that
// are always there, with their types.
func thirdPartySchema(types object) object {
	properties, required := object{}, []string{}
	for _, m := range types {
		schema := object{{"type", m.value}}
		if m.value == "array" {
			schema.set("items", object{{"type", "object"}})
		}
		properties.set(m.name, schema)
		required = append(required, m.name)
	}
	return object{{"type", "object"}, {"properties", properties}, {"required", required}}
}

// withoutEdgeMembers removes from the schema of a type the members that only the edge adds.
func withoutEdgeMembers(schema object, t reflect.Type) object {
	fromEdge := map[string]bool{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fromEdge[name] = f.Tag.Get("from") == "edge"
	}
	schema.set("properties", slices.DeleteFunc(schema.get("properties").(object), func(m member) bool { return fromEdge[m.name] }))
	schema.set("required", slices.DeleteFunc(schema.get("required").([]string), func(name string) bool { return fromEdge[name] }))
	return schema
}

// subset is the schema of a struct whose members are some of those of another struct and mean the
// same.
func (s *schemas) subset(t, whole reflect.Type) object {
	properties, required := object{}, []string{}
	for f := range t.Fields() {
		for same := range whole.Fields() {
			name, _, _ := strings.Cut(same.Tag.Get("json"), ",")
			if name != f.Tag.Get("json") {
				continue
			}
			property := s.ofMember
			if f.Type.Kind() == reflect.Struct {
				property = func(same *reflect.StructField, _ bool) object {
					return append(s.subset(f.Type, same.Type), member{"description", same.Tag.Get("doc")})
				}
			}
			properties.set(name, property(&same, false))
			required = append(required, name)
		}
	}
	return object{{"type", "object"}, {"properties", properties}, {"required", required}}
}

// listSchema is the schema of a list that grows. Its entries are a component of their own.
func (d *openAPIDocument) listSchema(entry string, l *site.List) object {
	properties, required := object{}, []string{}
	for _, m := range l.Members() {
		text := object{{"type", "string"}}
		if m.Format != "" {
			text.set("format", m.Format)
		}
		if m.Pattern != "" {
			text.set("pattern", m.Pattern)
		}
		if m.Values != nil {
			text.set("enum", m.Values)
		}
		schema := text
		switch m.Type {
		case "integer":
			schema = object{{"type", m.Type}, {"minimum", 0}, {"maximum", m.Max}}
		case "array":
			text.set("maxLength", m.Max)
			schema = object{{"type", m.Type}, {"items", text}, {"maxItems", m.MaxItems}}
		default:
			if m.Max > 0 {
				schema.set("maxLength", m.Max)
			}
			if m.Nullable {
				schema.set("type", []string{m.Type, "null"})
			}
		}
		schema.set("description", m.Doc)
		properties.set(m.Name, schema)
		if !m.Optional {
			required = append(required, m.Name)
		}
	}
	d.schemas.components.set(entry, object{{"type", "object"}, {"properties", properties}, {"required", required}})
	entries := object{{"type", "array"}, {"items", object{{"$ref", "#/components/schemas/" + entry}}}}
	all := object{{"as_of", object{
		{"type", "string"}, {"format", "date"}, {"description", "Date of the newest change that the operator vouches for."},
	}}}
	for _, group := range l.Groups() {
		all.set(group, entries)
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
