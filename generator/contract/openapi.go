package contract

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/respond"
	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

const openAPIVersion = "3.1.1" // the newest that common tools read

// linedLevels puts each operation and component on a line. Indented, the text is more than half as
// long again.
const linedLevels = 3

// OpenAPI describes every endpoint and the documents for programs by OpenAPI 3.1. Common generators
// make a client of it because no $ref points into properties, no type is several except null, and
// names are unique in all sections of the components. Operations of the route table that share a
// method and a path are described together.
func OpenAPI(a *Answers) ([]output.File, error) {
	service := &a.Site.Service
	d := description{Family: Family{Answers: a}, schemas: &schemas{}}
	tags, paths := []object{}, object{}
	for _, route := range api.Routes {
		if !slices.ContainsFunc(tags, func(tag object) bool { return tag.Get("name") == route.Tag }) {
			tags = append(tags, object{{"name", route.Tag}, {"description", d.tagDescription(route.Tag)}})
		}
		item := object{}
		if len(route.Operations) > 1 { // otherwise the operation has a summary
			item.Set("summary", a.Summary(route.ID))
		}
		for _, method := range route.Methods() {
			item.Set(strings.ToLower(method), d.operation(route, method))
		}
		if route.Refusal != nil && !route.Answers(http.MethodGet) {
			item.Set("get", d.refusedGet(route))
		}
		paths.Set(route.Path, item)
	}
	tags = append(tags, object{
		{"name", documentsTag},
		{"description", "The documents that programs read; manifest.json lists all others."},
	})
	for _, path := range []string{
		"/manifest.json", "/scoreboard.json", output.JobsPath,
		output.AuditorsPath, "/llms.txt",
	} {
		paths.Set(path, d.documentPath(path))
	}
	doc := object{
		{"openapi", openAPIVersion},
		{"info", object{
			{"title", service.Name},
			{"summary", service.Summary},
			{"description", service.Notice + "\n\n" +
				"HEAD works wherever GET does, without a body or an effect. " +
				"OPTIONS gets 204 on every path under /api/, also as a CORS preflight. " +
				"Any other unlisted method gets 405. " +
				"No endpoint needs a credential, and any origin may read every answer under /api/. " +
				"An unlisted path under /api/ gets 404 with the list of live endpoints. " +
				"Each endpoint and each problem type has a page. " +
				"Operations are named by method and path. " +
				"x-operations lists their names in the endpoint's contract. " +
				"A GET that can write is described only as a read, without the parameters that write, " +
				"so that no generated query writes. " +
				"To write, use the POST, or the get_template of the contract. " +
				"This description is version " + model.DescriptionVersion + ", the MCP server version " +
				protocol.ServerVersion + "; manifest.json has all versions."},
			{"version", model.DescriptionVersion},
			{"termsOfService", a.URL(Route("aup").Path)},
			{"contact", object{{"name", service.Operator}, {"url", service.BaseURL() + "/"}, {"email", service.Contact}}},
			{"license", object{{"name", service.License}, {"identifier", service.License}}},
		}},
		{"externalDocs", object{{"url", a.URL("/field-guide.html")}, {"description", "Field guide"}}},
		{"servers", []object{{{"url", a.Base}, {"description", "Canonical host"}}}},
		{"security", []string{}},
		{"tags", tags},
		{"paths", paths},
		{"components", object{
			{"schemas", d.schemas.components}, {"responses", d.responses}, {"parameters", d.shared}, {"headers", d.headers},
		}},
	}
	d.Add(output.OpenAPIPath, output.Lined(doc, linedLevels))
	return d.Result()
}

func (d *description) tagDescription(tag string) string {
	var paths []string
	for _, route := range api.Routes {
		if route.Tag == tag {
			paths = append(paths, route.Path)
		}
	}
	return "The endpoints " + strings.Join(paths, ", ") + "."
}

type description struct {
	Family
	schemas   *schemas
	responses object
	shared    object // parameters of several operations
	headers   object
}

func (d *description) operation(route *api.Route, method string) object {
	operations := OperationsWith(route, method)
	var summaries, texts, ids []string
	writesByQuery := func(op *api.Operation) bool { return method == http.MethodGet && op.Writes }
	for _, op := range operations {
		ids = append(ids, op.ID)
		if !writesByQuery(op) {
			summaries = append(summaries, d.Summary(op.ID))
		}
		text := d.Description(op.ID)
		if fullAt := op.Methods[len(op.Methods)-1]; fullAt != method {
			text = "The same as " + fullAt + ", described there, with query parameters."
		}
		if writesByQuery(op) {
			text += " It writes, so only the contract has its parameters."
		}
		if len(operations) > 1 {
			text = "`" + op.ID + "`: " + text
		}
		texts = append(texts, text)
	}
	described := object{
		{"tags", []string{route.Tag}},
		{"operationId", operationID(method, route.Path)},
		{"summary", strings.Join(summaries, " ")},
		{"description", strings.Join(texts, "\n\n")},
		{"x-operations", ids},
	}
	operations = slices.DeleteFunc(operations, writesByQuery)
	if parameters := d.parameters(operations, method); len(parameters) > 0 {
		described.Set("parameters", parameters)
	}
	if op := operations[0]; op.Protocol {
		d.jsonRPCOperation(&described, op)
		return described
	}
	if method == http.MethodPost {
		described.Set("requestBody", d.requestBody(route, operations))
	}
	responses := object{}
	if len(d.AnswerTypes(operations[0])) == 0 {
		responses.Set("204", d.sharedResponse("NothingToDo", "Accepted, without effect.", "Cache-Control"))
	} else {
		responses.Set("200", d.successResponse(operations, method))
	}
	if method == http.MethodGet && slices.ContainsFunc(operations,
		func(op *api.Operation) bool { return op.Document != nil }) {
		responses.Set("304", d.notModified())
	}
	problems := ProblemsOf(operations...)
	if method == http.MethodGet { // the body of a GET is not read
		problems = slices.DeleteFunc(problems,
			func(p *respond.ProblemType) bool { return p.Status == 413 || p.Status == 415 })
	}
	d.addProblems(&responses, problems...)
	described.Set("responses", responses)
	return described
}

func (d *description) refusedGet(route *api.Route) object {
	p := respond.MethodNotAllowed
	problem := refTo[model.Problem](d)
	shape := oneOf([]object{
		{{"allOf", []object{problem, refTo[model.MCPInstall](d), {{"required", []string{"contract"}}}}}},
		{{"allOf", []object{problem, refTo[model.MCPNoStream](d)}}},
	})
	responses := object{{strconv.Itoa(p.Status), d.response(p.Title+": "+d.Site.Problems.Types[p.Slug],
		respond.MediaProblem, object{{"schema", shape}}, "Allow", "Cache-Control", "Link", "Request-Id")}}
	d.addProblems(&responses, respond.Misdirected, respond.Internal)
	return object{
		{"tags", []string{route.Tag}},
		{"operationId", operationID(http.MethodGet, route.Path)},
		{"summary", "Read how to install the server, and its tools, in the body of a 405."},
		{"description", "There is no stream, so a GET gets 405. " +
			"Its body explains how to add the server to common clients, and lists the tools. " +
			"A GET that accepts only `text/event-stream`, as SDKs send first, " +
			"gets one block and the names of the tools."},
		{"responses", responses},
	}
}

func (d *description) jsonRPCOperation(described *object, op *api.Operation) {
	request := d.component("MCPMessage", d.inputObject(op, op.Fields, ""))
	maxMessages := d.Site.Service.Limits.BatchMessages
	oneOrMore := func(message object) object {
		return oneOf([]object{message, {{"type", "array"}, {"items", message}, {"minItems", 1}, {"maxItems", maxMessages}}})
	}
	described.Set("requestBody", object{
		{"description", "A JSON-RPC 2.0 message, or an array of them. A missing Content-Type is read as JSON."},
		{"required", true},
		{"content", object{{respond.MediaJSON, object{
			{"schema", oneOrMore(request)},
			{"examples", object{{op.ID, object{{"value", ExampleBody(op)}}}}},
		}}}},
	})
	shape := d.component("MCPAnswers", oneOrMore(refTo[model.MCPAnswer](d)))
	replies := func(example object) object {
		return object{{"schema", shape}, {"example", example}}
	}
	d.responses.Set("JSONRPCError",
		d.response("A JSON-RPC error; its message explains it.", respond.MediaJSON,
			replies(object{
				{"jsonrpc", "2.0"},
				{"id", nil},
				{"error", object{{"code", protocol.InvalidRequest}, {"message", "Invalid request"}}},
			}),
			"Cache-Control"))
	failed := ref("responses", "JSONRPCError")
	responses := object{
		{"200", d.response("A response to each request; a batch gets an array. "+
			"A call that the endpoint refuses is a result with isError true and the problem as its text. "+
			"That includes the write limit (429) and a failed relay or store (502, 503).",
			respond.MediaJSON, replies(object{
				{"jsonrpc", "2.0"},
				{"id", 1},
				{"result", object{}},
			}), "Cache-Control", "Request-Id", "RateLimit-Policy", "RateLimit")},
		{"202", d.sharedResponse("NothingToAnswer",
			"Only notifications or responses: no answer is due.", "Cache-Control")},
		// An unknown method of the revision without a handshake.
		{strconv.Itoa(http.StatusNotFound), failed},
	}
	for _, p := range ProblemsOf(op) {
		switch p.Status {
		case http.StatusMethodNotAllowed, http.StatusMisdirectedRequest:
			d.addProblems(&responses, p)
		default:
			responses.Set(strconv.Itoa(p.Status), failed)
		}
	}
	described.Set("responses", responses)
}

func refTo[T any](d *description) object { return d.schemas.ref(reflect.TypeFor[T]()) }

func ref(kind, name string) object { return object{{"$ref", "#/components/" + kind + "/" + name}} }

func oneOf(schemas []object) object {
	if len(schemas) == 1 {
		return schemas[0]
	}
	return object{{"oneOf", schemas}}
}

const documentsTag = "documents"

func (d *description) documentPath(path string) object {
	mediaType, _, _ := strings.Cut(output.As(path).MediaType, ";")
	document := object{{"schema", d.documentSchema(path)}}
	return object{{"get", object{
		{"tags", []string{documentsTag}},
		{"operationId", operationID(http.MethodGet, path)},
		{"summary", output.Listed[path].Title},
		{"description", output.Listed[path].What},
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
		return d.withTrailer(refTo[model.Manifest](d))
	case "/scoreboard.json":
		return d.withTrailer(refTo[model.Scoreboard](d))
	case output.JobsPath:
		return d.withTrailer(d.list("Jobs", output.JobsSchemaPath, &d.Site.Jobs))
	case output.AuditorsPath:
		return d.withTrailer(d.list("Auditors", output.AuditorsSchemaPath, &d.Site.Auditors))
	}
	return object{{"type", "string"}}
}

func (d *description) withTrailer(shape object) object {
	return object{{"allOf", []object{shape, refTo[model.Trailer](d)}}}
}

func (d *description) component(name string, shape object) object {
	d.schemas.components.Set(name, shape)
	return ref("schemas", name)
}

func (d *description) list(name, path string, l *site.List) object {
	shape := entrySchema(l)
	entry := shape.Get("title").(string)
	properties := shape.Object("properties")
	for i := range properties {
		properties[i].Value = without(properties[i].Value.(object), "title", "description")
	}
	shape = without(shape, "title", "description")
	shape.Set("description", "The members are described in "+path+".")
	d.component(entry, shape)
	return d.component(name, listSchema(l, "#/components/schemas/"+entry))
}
