package openapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/respond"
	"anteroom/generator/answers"
	"anteroom/generator/model"
	"anteroom/generator/ordered"
	"anteroom/generator/page"
	"anteroom/generator/published"
	"anteroom/generator/schema"
	"anteroom/generator/site"
)

const documentsTag = "documents"

// datedScoreboards is the path of all dated scoreboards, as a template.
const datedScoreboards = "/scoreboard/{as_of}.json"

// documentPaths adds the published documents to the paths of the description. A pattern of the
// table of published paths becomes a template, unless it matches one known document.
func (d *description) documentPaths(paths *object) {
	known := d.knownPaths()
	for i := range published.Paths {
		p := &published.Paths[i]
		if p.MediaType == "" {
			continue
		}
		before, after, several := strings.Cut(p.Pattern, "*")
		var names []string
		for _, one := range known {
			if several && published.As(one) == p {
				names = append(names, one[len(before):len(one)-len(after)])
			}
		}
		switch {
		case p.Pattern == published.KeyPattern && len(names) == 0:
		case !several:
			paths.Set(p.Pattern, d.documentPath(p, p.Pattern, nil))
		case len(names) == 1:
			paths.Set(before+names[0]+after, d.documentPath(p, before+names[0]+after, nil))
		default:
			parameter := d.documentParameter(p, before, names)
			name := parameter.Get("name").(string)
			template := before + "{" + name + "}" + after
			if other := d.shared.Get(name); other == nil || reflect.DeepEqual(other, parameter) {
				d.shared.Set(name, parameter)
				parameter = ref("parameters", name)
			}
			paths.Set(template, d.documentPath(p, template, parameter))
		}
	}
	paths.Set("/", d.documentPath(published.As("/index.html"), "/", nil))
}

// knownPaths are the paths of the documents whose names follow from the content and the route
// table, sorted. Dated scoreboards are not among them: a new one leaves the description as it is.
func (d *description) knownPaths() (paths []string) {
	pages := []string{}
	for i := range d.Site.Pages {
		pages = append(pages, "/"+d.Site.Pages[i].Name+".html")
	}
	for _, route := range api.Routes {
		pages = append(pages, answers.EndpointPath(route))
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
	if key := d.Site.Service.IndexNow.Key; key != "" {
		paths = append(paths, strings.Replace(published.KeyPattern, "*", key, 1))
	}
	slices.Sort(paths)
	return paths
}

// documentParameter is what is in a template in place of the pattern's asterisk, which
// follows before. It is called after the first word of the title.
func (d *description) documentParameter(p *published.Path, before string, names []string) object {
	name, _, _ := strings.Cut(strings.ToLower(p.Title), " ")
	name = strings.TrimSuffix(name, ",")
	parameter := func(name, what string, shape object, example string) object {
		o := object{{"name", name}, {"in", "path"}, {"required", true}, {"description", what}, {"schema", shape}}
		if example != "" {
			o.Set("example", example)
		}
		return o
	}
	switch {
	case before == "/scoreboard/":
		return parameter("as_of", "Date of the hand verification; of a further one on a date with a hyphen and its number behind it.",
			object{{"type", "string"}, {"pattern", "^[0-9]{4}-[0-9]{2}-[0-9]{2}(-[0-9]+)?$"}}, d.Site.Scoreboards[0].File)
	case len(names) == 0:
		return parameter(name, "Its name.", object{{"type", "string"}}, "")
	}
	return parameter(name, "Its name.", object{{"type", "string"}, {"enum", names}}, names[0])
}

func (d *description) documentPath(p *published.Path, path string, parameter object) object {
	get := object{
		{"tags", []string{documentsTag}},
		{"operationId", derivedID(http.MethodGet, path)},
		{"summary", p.Title},
		{"description", p.Sentence()},
	}
	responses := object{
		{"200", d.documentResponse(p, path)},
		{"304", d.notModified()},
	}
	if parameter != nil {
		get.Set("parameters", []object{parameter})
		responses.Set("404", d.sharedResponse("NoDocument", "There is no such document.", "Cache-Control"))
	}
	responses.Set("405", d.sharedResponse("ReadOnly", "The method is neither GET nor HEAD.", "Allow", "Cache-Control", "Link"))
	get.Set("responses", responses)
	return object{{"get", get}}
}

// documentResponse is the answer that gives a document. Documents that are not JSON share one for
// each media type.
func (d *description) documentResponse(p *published.Path, path string) object {
	mediaType, _, _ := strings.Cut(p.MediaType, ";")
	content := object{}
	if strings.HasSuffix(mediaType, "json") {
		content.Set("schema", d.documentSchema(path))
	}
	response := d.response("The document.", mediaType, content, "Cache-Control", "ETag", "Link")
	if len(content) > 0 {
		return response
	}
	name := strings.TrimPrefix(derivedID("", strings.ReplaceAll(mediaType, "+", "-")), "/")
	d.responses.Set(name, response)
	return ref("responses", name)
}

func (d *description) notModified() object {
	return d.sharedResponse("NotModified", "Not modified: the entity tag of If-None-Match still holds.", "ETag", "Cache-Control", "Link")
}

func (d *description) documentSchema(path string) object {
	if types := thirdParties[path]; types != nil {
		return thirdPartySchema(types)
	}
	switch path {
	case "/manifest.json":
		return d.withTrailer(d.schemas.Ref(reflect.TypeFor[model.Manifest]()))
	case "/scoreboard.json":
		board := reflect.TypeFor[model.Roster]()
		published, added := splitEdgeMembers(d.schemas.OfStruct(board), board)
		shape := d.component("Scoreboard", published)
		d.component(schema.ComponentName(board), object{{"allOf", []object{shape, added}}})
		return d.withTrailer(shape)
	case datedScoreboards:
		return numbersSchema(answers.Verification(d.Site.Current()))
	case published.JobsPath:
		return d.withTrailer(d.listSchema("Jobs", "Job", published.JobsSchemaPath, &d.Site.Jobs))
	case published.AuditorsPath:
		return d.withTrailer(d.listSchema("Auditors", "Audit", published.AuditorsSchemaPath, &d.Site.Auditors))
	}
	return object{{"type", "object"}}
}

// withTrailer is the schema of an object with the members of the trailer.
func (d *description) withTrailer(shape object) object {
	return object{{"allOf", []object{shape, d.schemas.Ref(reflect.TypeFor[model.Trailer]())}}}
}

// component makes a component of a schema, and refers to it.
func (d *description) component(name string, shape object) object {
	d.schemas.Components.Set(name, shape)
	return ref("schemas", name)
}

// thirdParties are the documents that are described elsewhere or in themselves, with the members
// that are always there and their types.
var thirdParties = map[string]object{
	published.OpenAPIPath:      {{"openapi", "string"}, {"info", "object"}, {"paths", "object"}},
	"/server.json":             {{"$schema", "string"}, {"name", "string"}, {"description", "string"}, {"version", "string"}, {"remotes", "array"}},
	"/.well-known/api-catalog": {{"linkset", "array"}},
	published.ServerCardPath:   {{"$schema", "string"}, {"name", "string"}, {"version", "string"}, {"description", "string"}, {"remotes", "array"}},
	published.AICatalogPath:    {{"specVersion", "string"}, {"host", "object"}, {"entries", "array"}},
	published.SkillsIndexPath:  {{"$schema", "string"}, {"skills", "array"}},
	published.JSONFeedPath:     {{"version", "string"}, {"title", "string"}, {"items", "array"}},
	published.VectorsPath: {
		{"description", "texts"},
		{"test_keys", "object"},
		{"registrations", "array"},
		{"charters", "array"},
		{"receipts", "array"},
		{"verdicts", "array"},
		{"refused", "array"},
	},
	published.JobsSchemaPath:     {{"$schema", "string"}, {"$id", "string"}, {"type", "string"}, {"properties", "object"}},
	published.AuditorsSchemaPath: {{"$schema", "string"}, {"$id", "string"}, {"type", "string"}, {"properties", "object"}},
}

// thirdPartySchema is the schema of an object that has members of these types, and others.
func thirdPartySchema(types object) object {
	properties, required := object{}, []string{}
	for _, m := range types {
		shape := object{{"type", m.Value}}
		switch m.Value {
		case "array":
			shape.Set("items", object{{"type", "object"}})
		case "texts":
			shape = object{{"type", "array"}, {"items", object{{"type", "string"}}}}
		}
		properties.Set(m.Name, shape)
		required = append(required, m.Name)
	}
	return object{{"type", "object"}, {"properties", properties}, {"required", required}}
}

// numbersSchema is the schema of the numbers of one hand verification, in their groups.
func numbersSchema(numbers object) object {
	properties, required := object{}, []string{}
	for _, m := range numbers {
		required = append(required, m.Name)
		group, grouped := m.Value.(object)
		if !grouped {
			properties.Set(m.Name, object{{"type", "string"}, {"format", "date"}})
			continue
		}
		members := object{}
		for _, n := range group {
			members.Set(n.Name, object{{"type", "integer"}})
		}
		properties.Set(m.Name, object{{"type", "object"}, {"properties", members}})
	}
	return object{{"type", "object"}, {"properties", properties}, {"required", required}, {"description", "Every number means what it means in Scoreboard."}}
}

// splitEdgeMembers makes two of the schema of a type: one with the members that are published, and
// one with those that only the edge adds.
func splitEdgeMembers(shape object, t reflect.Type) (published, added object) {
	fromEdge := map[string]bool{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fromEdge[name] = f.Tag.Get("from") == "edge"
	}
	half := func(edge bool) object {
		half := slices.Clone(shape)
		half.Set("properties", slices.DeleteFunc(slices.Clone(shape.Get("properties").(object)), func(m ordered.Member) bool { return fromEdge[m.Name] != edge }))
		half.Set("required", slices.DeleteFunc(slices.Clone(shape.Get("required").([]string)), func(name string) bool { return fromEdge[name] != edge }))
		return half
	}
	return half(false), half(true)
}

// listSchema is the schema of a list that grows. Its entries are a component of their own. The
// words of their members are in the schema that is published at path.
func (d *description) listSchema(name, entry, path string, l *site.List) object {
	shape := schema.OfEntry(entry, l)
	isWords := func(m ordered.Member) bool { return m.Name == "title" || m.Name == "description" }
	properties := shape.Get("properties").(object)
	for i := range properties {
		properties[i].Value = slices.DeleteFunc(properties[i].Value.(object), isWords)
	}
	shape = slices.DeleteFunc(shape, isWords)
	shape.Set("description", "What each member means is in "+path+".")
	d.component(entry, shape)
	return d.component(name, schema.OfList(l, "#/components/schemas/"+entry))
}
