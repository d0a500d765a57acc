package contract

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

const documentsTag = "documents"

// describedDocuments are data for programs. The manifest lists all documents.
var describedDocuments = map[string]string{
	"/manifest.json":    "Every document with its SHA-256, every endpoint, limits and versions.",
	"/scoreboard.json":  "The counts of the last hand verification.",
	output.JobsPath:     "Open and completed work.",
	output.AuditorsPath: "Audits claimed under registered names.",
	"/llms.txt":         "An overview for language models (llmstxt.org).",
}

func (d *description) documentPath(path string) object {
	mediaType, _, _ := strings.Cut(output.As(path).MediaType, ";")
	document := object{{"schema", d.documentSchema(path)}}
	return object{{"get", object{
		{"tags", []string{documentsTag}},
		{"operationId", OperationID(http.MethodGet, path)},
		{"summary", output.Titles[path]},
		{"description", describedDocuments[path]},
		{"responses", object{
			{"200", d.response("The document.", mediaType, document, "Cache-Control", "ETag", "Link")},
			{"304", d.notModified()},
			{"405", d.sharedResponse("ReadOnly", "The method is neither GET nor HEAD.", "Allow", "Cache-Control", "Link")},
		}},
	}}}
}

func (d *description) notModified() object {
	return d.sharedResponse("NotModified", "Not modified: the entity tag of If-None-Match still holds.",
		"ETag", "Cache-Control", "Link")
}

func (d *description) documentSchema(path string) object {
	switch path {
	case "/manifest.json":
		return d.withTrailer(d.schemas.Ref(reflect.TypeFor[model.Manifest]()))
	case "/scoreboard.json":
		board := reflect.TypeFor[model.Roster]()
		published, added := splitEdgeMembers(d.schemas.ofStruct(board), board)
		shape := d.component("Scoreboard", published)
		d.component(typeName(board), object{{"allOf", []object{shape, added}}})
		return d.withTrailer(shape)
	case output.JobsPath:
		return d.withTrailer(d.list("Jobs", output.JobsSchemaPath, &d.Site.Jobs))
	case output.AuditorsPath:
		return d.withTrailer(d.list("Auditors", output.AuditorsSchemaPath, &d.Site.Auditors))
	}
	return object{{"type", "string"}}
}

func (d *description) withTrailer(shape object) object {
	return object{{"allOf", []object{shape, d.schemas.Ref(reflect.TypeFor[model.Trailer]())}}}
}

func (d *description) component(name string, shape object) object {
	d.schemas.Components.Set(name, shape)
	return ref("schemas", name)
}

func splitEdgeMembers(shape object, t reflect.Type) (published, added object) {
	fromEdge := map[string]bool{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fromEdge[name] = f.Tag.Get("from") == "edge"
	}
	half := func(edge bool) object {
		other := func(name string) bool { return fromEdge[name] != edge }
		otherMember := func(m output.Member) bool { return other(m.Name) }
		half := slices.Clone(shape)
		half.Set("properties", slices.DeleteFunc(slices.Clone(shape.Get("properties").(object)), otherMember))
		half.Set("required", slices.DeleteFunc(slices.Clone(shape.Get("required").([]string)), other))
		return half
	}
	return half(false), half(true)
}

// list describes a list without the descriptions of its members, which are in the schema at path.
func (d *description) list(name, path string, l *site.List) object {
	shape := entrySchema(l)
	entry := shape.Get("title").(string)
	isWords := func(m output.Member) bool { return m.Name == "title" || m.Name == "description" }
	properties := shape.Get("properties").(object)
	for i := range properties {
		properties[i].Value = slices.DeleteFunc(properties[i].Value.(object), isWords)
	}
	shape = slices.DeleteFunc(shape, isWords)
	shape.Set("description", "What each member means is in "+path+".")
	d.component(entry, shape)
	return d.component(name, listSchema(l, "#/components/schemas/"+entry))
}
