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

// describedDocuments are data for programs. All other documents are in the manifest.
var describedDocuments = []string{"/manifest.json", "/scoreboard.json", output.JobsPath, output.AuditorsPath, "/llms.txt"}

func (d *description) documentPath(path string) object {
	p := output.As(path)
	mediaType, _, _ := strings.Cut(p.MediaType, ";")
	return object{{"get", object{
		{"tags", []string{documentsTag}},
		{"operationId", OperationID(http.MethodGet, path)},
		{"summary", p.Title},
		{"description", p.Sentence()},
		{"responses", object{
			{"200", d.response("The document.", mediaType, object{{"schema", d.documentSchema(path)}}, "Cache-Control", "ETag", "Link")},
			{"304", d.notModified()},
			{"405", d.sharedResponse("ReadOnly", "The method is neither GET nor HEAD.", "Allow", "Cache-Control", "Link")},
		}},
	}}}
}

func (d *description) notModified() object {
	return d.sharedResponse("NotModified", "Not modified: the entity tag of If-None-Match still holds.", "ETag", "Cache-Control", "Link")
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
		return d.withTrailer(d.listSchema("Jobs", "Job", output.JobsSchemaPath, &d.Site.Jobs))
	case output.AuditorsPath:
		return d.withTrailer(d.listSchema("Auditors", "Audit", output.AuditorsSchemaPath, &d.Site.Auditors))
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
		half := slices.Clone(shape)
		half.Set("properties", slices.DeleteFunc(slices.Clone(shape.Get("properties").(object)), func(m output.Member) bool { return fromEdge[m.Name] != edge }))
		half.Set("required", slices.DeleteFunc(slices.Clone(shape.Get("required").([]string)), func(name string) bool { return fromEdge[name] != edge }))
		return half
	}
	return half(false), half(true)
}

func (d *description) listSchema(name, entry, path string, l *site.List) object {
	shape := OfEntry(entry, l)
	isWords := func(m output.Member) bool { return m.Name == "title" || m.Name == "description" }
	properties := shape.Get("properties").(object)
	for i := range properties {
		properties[i].Value = slices.DeleteFunc(properties[i].Value.(object), isWords)
	}
	shape = slices.DeleteFunc(shape, isWords)
	shape.Set("description", "What each member means is in "+path+".")
	d.component(entry, shape)
	return d.component(name, OfList(l, "#/components/schemas/"+entry))
}
