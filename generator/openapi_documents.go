package generator

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"anteroom/edge/respond"
	"anteroom/generator/model"
	"anteroom/generator/page"
	"anteroom/generator/site"
)

// documentsTag groups the published documents.
const documentsTag = "documents"

// datedScoreboards is the path of all dated scoreboards, as a template.
const datedScoreboards = "/scoreboard/{as_of}.json"

// documentPaths adds the published documents to the paths of the description. A pattern of the
// table of published paths becomes a template, unless it stands for one document that is known.
func (d *openAPIDocument) documentPaths(paths *object) {
	known := d.knownPaths()
	for i := range publishedPaths {
		p := &publishedPaths[i]
		if p.mediaType == "" || p.pattern == SecurityTxtPath && d.site.NoSecurityTxt {
			continue
		}
		before, after, several := strings.Cut(p.pattern, "*")
		var names []string
		for _, one := range known {
			if several && publishedAs(one) == p {
				names = append(names, one[len(before):len(one)-len(after)])
			}
		}
		switch {
		case p.pattern == keyPattern && len(names) == 0:
		case !several:
			paths.set(p.pattern, d.documentPath(p, p.pattern, nil))
		case len(names) == 1:
			paths.set(before+names[0]+after, d.documentPath(p, before+names[0]+after, nil))
		default:
			parameter := d.documentParameter(p, before, names)
			name := parameter.get("name").(string)
			template := before + "{" + name + "}" + after
			if other := d.shared.get(name); other == nil || reflect.DeepEqual(other, parameter) {
				d.shared.set(name, parameter)
				parameter = object{{"$ref", "#/components/parameters/" + name}}
			}
			paths.set(template, d.documentPath(p, template, parameter))
		}
	}
	paths.set("/", d.documentPath(publishedAs("/index.html"), "/", nil))
}

// knownPaths are the paths of the documents whose names follow from the content and the route
// table, sorted. Dated scoreboards are not among them: a new one leaves the description as it is.
func (d *openAPIDocument) knownPaths() (paths []string) {
	pages := []string{}
	for i := range d.site.Pages {
		pages = append(pages, "/"+d.site.Pages[i].Name+".html")
	}
	for _, route := range d.routes {
		pages = append(pages, endpointPath(route))
	}
	for _, p := range respond.ProblemTypes {
		pages = append(pages, p.Path())
	}
	for _, page := range pages {
		paths = append(paths, page, page+".md")
	}
	for script := range page.Scripts {
		paths = append(paths, script)
	}
	if key := d.site.Service.IndexNow.Key; key != "" {
		paths = append(paths, strings.Replace(keyPattern, "*", key, 1))
	}
	slices.Sort(paths)
	return paths
}

// documentParameter is what stands in a template in the place of the pattern's asterisk, which
// follows before. It is called after the first word of the title.
func (d *openAPIDocument) documentParameter(p *published, before string, names []string) object {
	name, _, _ := strings.Cut(strings.ToLower(p.title), " ")
	name = strings.TrimSuffix(name, ",")
	parameter := func(name, what string, schema object, example string) object {
		o := object{{"name", name}, {"in", "path"}, {"required", true}, {"description", what}, {"schema", schema}}
		if example != "" {
			o.set("example", example)
		}
		return o
	}
	switch {
	case before == "/scoreboard/":
		return parameter("as_of", "Date of the hand verification; of a further one on a date with a hyphen and its number behind it.",
			object{{"type", "string"}, {"pattern", "^[0-9]{4}-[0-9]{2}-[0-9]{2}(-[0-9]+)?$"}}, d.site.Scoreboards[0].File)
	case len(names) == 0:
		return parameter(name, "Its name.", object{{"type", "string"}}, "")
	}
	return parameter(name, "Its name.", object{{"type", "string"}, {"enum", names}}, names[0])
}

// sentence makes a sentence of a part of one.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// documentPath is the path item of a document, or of several by one template.
func (d *openAPIDocument) documentPath(p *published, path string, parameter object) object {
	get := object{
		{"tags", []string{documentsTag}},
		{"operationId", derivedID(http.MethodGet, path)},
		{"summary", p.title},
		{"description", sentence(p.what)},
	}
	responses := object{
		{"200", d.documentResponse(p, path)},
		{"304", d.notModified()},
	}
	if parameter != nil {
		get.set("parameters", []object{parameter})
		responses.set("404", d.sharedResponse("NoDocument", "There is no such document.", "Cache-Control"))
	}
	responses.set("405", d.sharedResponse("ReadOnly", "The method is neither GET nor HEAD.", "Allow", "Cache-Control", "Link"))
	get.set("responses", responses)
	return object{{"get", get}}
}

// documentResponse is the answer that gives a document. Documents that are not JSON share one for
// each media type.
func (d *openAPIDocument) documentResponse(p *published, path string) object {
	mediaType, _, _ := strings.Cut(p.mediaType, ";")
	headers := d.headerRefs("Cache-Control", "ETag", "Link")
	if strings.HasSuffix(mediaType, "json") {
		schema := d.documentSchema(path)
		if schema == nil {
			schema = object{{"type", "object"}}
		}
		return object{{"description", "The document."}, {"headers", headers}, {"content", object{{mediaType, object{{"schema", schema}}}}}}
	}
	name := strings.TrimPrefix(derivedID("", strings.ReplaceAll(mediaType, "+", "-")), "/")
	d.responses.set(name, object{
		{"description", "The document."},
		{"headers", headers},
		{"content", object{{mediaType, object{}}}},
	})
	return object{{"$ref", "#/components/responses/" + name}}
}

// sharedResponse refers to a response without a described body, and makes it where there is none
// yet.
func (d *openAPIDocument) sharedResponse(name, text string, headers ...string) object {
	d.responses.set(name, object{{"description", text}, {"headers", d.headerRefs(headers...)}})
	return object{{"$ref", "#/components/responses/" + name}}
}

// notModified is the answer 304.
func (d *openAPIDocument) notModified() object {
	return d.sharedResponse("NotModified", "Not modified: the entity tag of If-None-Match still holds.", "ETag", "Cache-Control", "Link")
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
	case serverCardPath:
		return thirdPartySchema(object{{"$schema", "string"}, {"name", "string"}, {"version", "string"}, {"description", "string"}, {"remotes", "array"}})
	case aiCatalogPath:
		return thirdPartySchema(object{{"specVersion", "string"}, {"host", "object"}, {"entries", "array"}})
	case skillsIndexPath:
		return thirdPartySchema(object{{"$schema", "string"}, {"skills", "array"}})
	case jsonFeedPath:
		return thirdPartySchema(object{{"version", "string"}, {"title", "string"}, {"items", "array"}})
	case vectorsPath:
		return vectorsSchema()
	case jobsSchemaPath, auditorsSchemaPath:
		return thirdPartySchema(object{{"$schema", "string"}, {"$id", "string"}, {"type", "string"}, {"properties", "object"}})
	case "/manifest.json":
		return object{{"allOf", []object{d.schemas.ref(reflect.TypeFor[model.Manifest]()), d.schemas.ref(reflect.TypeFor[model.Trailer]())}}}
	case "/scoreboard.json":
		board := reflect.TypeFor[model.Roster]()
		published, added := splitEdgeMembers(d.schemas.ofStruct(board), board)
		schema := withTrailer("Scoreboard", published)
		d.schemas.components.set(componentName(board), object{{"allOf", []object{{{"$ref", "#/components/schemas/Scoreboard"}}, added}}})
		return schema
	case datedScoreboards:
		inline := schemas{inline: true}
		numbers := inline.ofType(reflect.TypeFor[model.Verification]())
		groups := numbers.get("properties").(object)
		for i := range groups { // their names are long, and would stand twice
			groups[i].value = slices.DeleteFunc(groups[i].value.(object), func(m member) bool { return m.name == "required" })
		}
		numbers.set("description", "Every number means what it means in Scoreboard.")
		return numbers
	case jobsPath:
		return withTrailer("Jobs", d.listSchema("Job", jobsSchemaPath, &d.site.Jobs))
	case auditorsPath:
		return withTrailer("Auditors", d.listSchema("Audit", auditorsSchemaPath, &d.site.Auditors))
	}
	return nil
}

// thirdPartySchema is the schema of a document whose format is described elsewhere. It has the
// members that are always there, with their types.
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

// splitEdgeMembers makes two of the schema of a type: one with the members that are published, and
// one with those that only the edge adds.
func splitEdgeMembers(schema object, t reflect.Type) (published, added object) {
	fromEdge := map[string]bool{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fromEdge[name] = f.Tag.Get("from") == "edge"
	}
	half := func(edge bool) object {
		half := slices.Clone(schema)
		half.set("properties", slices.DeleteFunc(slices.Clone(schema.get("properties").(object)), func(m member) bool { return fromEdge[m.name] != edge }))
		half.set("required", slices.DeleteFunc(slices.Clone(schema.get("required").([]string)), func(name string) bool { return fromEdge[name] != edge }))
		return half
	}
	return half(false), half(true)
}

// listSchema is the schema of a list that grows. Its entries are a component of their own. The
// words of their members stand in the schema that is published at path.
func (d *openAPIDocument) listSchema(entry, path string, l *site.List) object {
	schema := d.listEntrySchema(entry, l)
	isWords := func(m member) bool { return m.name == "title" || m.name == "description" }
	properties := schema.get("properties").(object)
	for i := range properties {
		properties[i].value = slices.DeleteFunc(properties[i].value.(object), isWords)
	}
	schema = slices.DeleteFunc(schema, isWords)
	schema.set("description", "What each member means stands in "+path+".")
	d.schemas.components.set(entry, schema)
	return listDocumentSchema(l, "#/components/schemas/"+entry)
}
