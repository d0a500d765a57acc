package generator

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/civil"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/endpoint/signal"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/jsonrpc"
	"anteroom/edge/kernel"
	"anteroom/edge/respond"
	"anteroom/generator/model"
)

// openAPIVersion is the newest that every tool reads.
const openAPIVersion = "3.1.1"

// openAPI publishes the description of every endpoint, made of the route table, the answer types
// and the words of the content. All operations of one method and path are one there.
func (g *generation) openAPI() {
	s := &g.site.Service
	d := description{
		generation: g,
		schemas:    schemas{types: map[string]reflect.Type{}},
	}
	var err error
	if d.edge, err = api.Load(d.snapshot); err != nil {
		d.fault("openapi.json: %w", err)
		return
	}
	tags, paths := []object{}, object{}
	for _, route := range g.routes {
		if !slices.ContainsFunc(tags, func(tag object) bool { return tag.get("name") == route.Tag }) {
			tags = append(tags, object{{"name", route.Tag}, {"description", g.tagDescription(route.Tag)}})
		}
		item := object{{"summary", g.what(route.ID)}}
		for _, method := range route.Methods() {
			item.set(strings.ToLower(method), d.operation(route, method))
		}
		if route.Refusal != nil && !route.Answers(http.MethodGet) {
			item.set("get", d.refusal(route))
		}
		item.set("options", d.options(route.Tag, route.Path))
		paths.set(route.Path, item)
	}
	tags = append(tags, object{{"name", documentsTag}, {"description", "The published documents, and the pages."}})
	d.documentPaths(&paths)
	doc := object{
		{"openapi", openAPIVersion},
		{"info", object{
			{"title", s.Name},
			{"summary", s.Summary},
			{"description", strings.Join(append([]string{s.Notice}, g.site.LLMs.Intro...), "\n\n") + "\n\n" +
				"Every path that answers GET answers HEAD alike, without a body and without an effect. Another method than those that are listed gets the 405 that stands beside them. " +
				"No endpoint needs a credential, and any origin may read every answer under /api/. A path under /api/ that is not listed here gets 404 with the list of live endpoints. " +
				"Each operation under /api/ is named as in the contract of its endpoint; where a method chooses among several, it has the name of the one that a bare request gets, and " +
				"x-operations names all."},
			{"version", model.DescriptionVersion},
			{"termsOfService", g.url(g.route("aup").Path)},
			{"contact", object{{"name", s.Operator}, {"url", s.BaseURL() + "/"}, {"email", s.Contact}}},
			{"license", object{{"name", s.License}, {"identifier", s.License}}},
		}},
		{"externalDocs", object{{"url", g.url("/field-guide.html")}, {"description", "Field guide"}}},
		{"servers", []object{{{"url", g.base}, {"description", "Canonical host"}}}},
		{"security", []string{}},
		{"tags", tags},
		{"paths", paths},
		{"components", object{
			{"schemas", d.schemas.components}, {"responses", d.responses}, {"headers", d.headers},
		}},
	}
	g.add("/openapi.json", g.indented(doc))
}

func (g *generation) tagDescription(tag string) string {
	var paths []string
	for _, route := range g.routes {
		if route.Tag == tag {
			paths = append(paths, route.Path)
		}
	}
	return "The endpoints " + strings.Join(paths, ", ") + "."
}

// description is an OpenAPI document in the making.
type description struct {
	*generation
	edge      *api.API // answers the examples
	schemas   schemas
	responses object
	headers   object
}

func (d *description) operation(route *api.Route, method string) object {
	operations := operationsWith(route, method)
	var summaries, texts []string
	for _, op := range operations {
		summaries = append(summaries, d.what(op.ID))
		text := d.description(op.ID)
		if len(operations) > 1 {
			text = "`" + op.ID + "`: " + text
		}
		for _, note := range d.site.Endpoints[op.ID].Notes {
			text += "\n- " + note
		}
		texts = append(texts, text)
	}
	o := object{
		{"tags", []string{route.Tag}},
		{"operationId", bare(route, method).ID},
		{"summary", strings.Join(summaries, " ")},
		{"description", strings.Join(texts, "\n\n")},
		{"externalDocs", object{{"url", d.url("/field-guide.html#" + endpointAnchor(route))}}},
	}
	if len(operations) > 1 {
		ids := []string{}
		for _, op := range operations {
			ids = append(ids, op.ID)
		}
		o.set("x-operations", ids)
	}
	if parameters := d.parameters(operations, method); len(parameters) > 0 {
		o.set("parameters", parameters)
	}
	if op := route.Protocol(method); op != nil {
		d.protocol(&o, op)
		return o
	}
	if method == http.MethodPost {
		o.set("requestBody", d.requestBody(route, operations))
	}
	responses := object{}
	if len(d.answerTypes(operations[0])) == 0 {
		responses.set("204", object{{"description", "Nothing to do, and nothing done."}, {"headers", d.headerRefs("Cache-Control")}})
	} else {
		responses.set("200", d.success(route, operations, method))
	}
	if method == http.MethodGet && slices.ContainsFunc(operations, func(op *api.Operation) bool { return op.Cache != api.NoStore }) {
		responses.set("304", object{
			{"description", notModified},
			{"headers", d.headerRefs("ETag", "Cache-Control", "Link")},
		})
	}
	problems := problemsOf(operations...)
	if method == http.MethodGet { // A body is no fault of a GET.
		problems = slices.DeleteFunc(problems, func(p *respond.ProblemType) bool { return p.Status == 413 || p.Status == 415 })
	}
	for len(problems) > 0 {
		n := 1
		for n < len(problems) && problems[n].Status == problems[0].Status {
			n++
		}
		responses.set(strconv.Itoa(problems[0].Status), d.problem(problems[:n]))
		problems = problems[n:]
	}
	o.set("responses", responses)
	return o
}

const notModified = "Not modified: the entity tag of If-None-Match still holds."

// bare is the operation that a request of a method gets which says no more: the last of those that the edge tries.
func bare(route *api.Route, method string) (op *api.Operation) {
	for _, op = range slices.Backward(route.Operations) {
		if slices.Contains(op.Methods, method) {
			break
		}
	}
	return op
}

// refusal describes what a GET is told where nothing is to be read: how to go on.
func (d *description) refusal(route *api.Route) object {
	p := respond.MethodNotAllowed
	schema := object{{"allOf", []object{
		d.schemas.ref(reflect.TypeFor[model.Problem]()), d.schemas.ref(reflect.TypeFor[model.MCPInstall]()), {{"required", []string{"contract"}}},
	}}}
	responses := object{{strconv.Itoa(p.Status), object{
		{"description", p.Title + ": " + d.site.Problems.Types[p.Slug]},
		{"headers", d.headerRefs("Allow", "Cache-Control", "Link")},
		{"content", object{{respond.MediaProblem, object{{"schema", schema}}}}},
	}}}
	for _, p := range []*respond.ProblemType{respond.Misdirected, respond.Internal} {
		responses.set(strconv.Itoa(p.Status), d.problem([]*respond.ProblemType{p}))
	}
	return object{
		{"tags", []string{route.Tag}},
		{"operationId", derivedID(http.MethodGet, route.Path)},
		{"summary", "How to install the server, and its tools, in the body of a refusal."},
		{"description", "There is no stream to listen to, so a GET is answered 405. Its body tells how to add the server to common clients, and lists the tools."},
		{"externalDocs", object{{"url", d.url("/field-guide.html#" + endpointAnchor(route))}}},
		{"responses", responses},
	}
}

// protocol describes an operation whose requests and answers are JSON-RPC messages, one or an array of them.
func (d *description) protocol(o *object, op *api.Operation) {
	request := inputObject(op.Fields, func(name string) string { return d.meaning(op, name) }, "")
	d.schemas.components.set("MCPMessage", request)
	most := d.site.Service.Limits.BatchMessages
	oneOrMore := func(message object) object {
		return anyOf([]object{message, {{"type", "array"}, {"items", message}, {"minItems", 1}, {"maxItems", most}}})
	}
	example := exampleBody(op)
	o.set("requestBody", object{
		{"description", "A JSON-RPC 2.0 message, or an array of them. A missing Content-Type is read as JSON."},
		{"required", true},
		{"content", object{{respond.MediaJSON, object{
			{"schema", oneOrMore(object{{"$ref", "#/components/schemas/MCPMessage"}})},
			{"examples", object{{op.ID, object{{"summary", d.what(op.ID)}, {"value", example}}}}},
		}}}},
	})
	answer := d.schemas.ref(reflect.TypeFor[model.MCPAnswer]())
	failed := func(code int, message string) object {
		return object{{respond.MediaJSON, object{
			{"schema", oneOrMore(answer)},
			{"example", object{{"jsonrpc", "2.0"}, {"id", nil}, {"error", object{{"code", code}, {"message", message}}}}},
		}}}
	}
	pong := object{{"jsonrpc", "2.0"}, {"id", 1}, {"result", object{}}}
	responses := object{
		{"200", object{
			{"description", "An answer to every request, an array for an array. A call that the endpoint refused is a result with isError true and the problem document as its text; " +
				"so is one over the limit of writes (429), and one whose relay or store fails (502, 503)."},
			{"headers", d.headerRefs("Cache-Control", "RateLimit-Policy", "RateLimit")},
			{"content", object{{respond.MediaJSON, object{
				{"schema", oneOrMore(answer)},
				{"examples", object{{"ping", object{{"summary", "The answer to ping."}, {"value", pong}}}}},
			}}}},
		}},
		{"202", object{{"description", "There were notifications or responses only: nothing to answer."}, {"headers", d.headerRefs("Cache-Control")}}},
	}
	for _, p := range problemsOf(op) {
		status := strconv.Itoa(p.Status)
		switch p.Status {
		case http.StatusMethodNotAllowed, http.StatusMisdirectedRequest:
			responses.set(status, d.problem([]*respond.ProblemType{p}))
			continue
		}
		if p == respond.InvalidInput {
			responses.set("404", object{
				{"description", "Method not found, as a JSON-RPC error, of a request that is of revision " + protocol.Stateless + " by itself."},
				{"headers", d.headerRefs("Cache-Control")},
				{"content", failed(jsonrpc.MethodNotFound, "Method not found")},
			})
		}
		code, message := jsonrpc.InvalidRequest, "Invalid request: "+p.Title
		if p.Status == http.StatusInternalServerError {
			code, message = jsonrpc.InternalError, "Internal error"
		}
		responses.set(status, object{
			{"description", p.Title + ", as a JSON-RPC error."}, {"headers", d.headerRefs("Cache-Control")}, {"content", failed(code, message)},
		})
	}
	o.set("responses", responses)
}

// parameters are those of a query. One is required where the method leaves no other choice.
func (d *description) parameters(operations []*api.Operation, method string) (parameters []object) {
	for _, op := range operations {
		fields := withDryRun(op)
		if method == http.MethodPost { // its query is not read, but for that
			fields = fields[len(op.Fields):]
		}
		for i := range fields {
			f := &fields[i]
			for _, name := range queryNames(f) {
				parameters = append(parameters, d.parameter(op, f, name, f.Required && len(operations) == 1))
			}
			if len(f.QueryNames) == 0 {
				for _, alias := range f.Aliases {
					parameters = append(parameters, d.parameter(op, f, alias, false))
				}
			}
		}
	}
	return parameters
}

func (d *description) parameter(op *api.Operation, f *input.Field, name string, required bool) object {
	meaning := d.meaning(op, name)
	schema := inputSchema(f, func(string) string { return meaning }, "")
	example := model.JSON(filledIn(f))
	if f.Example == "" && len(f.Values) > 0 {
		example = jsondoc.AppendString(nil, f.Values[0])
	}
	if len(f.QueryNames) > 0 {
		schema = object{{"type", "string"}, {"pattern", `^[^\x00-\x1F\x7F]+:[0-9]+$`}}
		example = seatExample(f, name)
	} else if slices.Contains(f.Aliases, name) {
		meaning = sameAs(f)
	}
	switch f.Type {
	case input.List:
		schema.set("type", "array")
	case input.Switch:
		schema = object{{"type", "string"}, {"enum", f.Values}}
	}
	schema = slices.DeleteFunc(schema, func(m member) bool { return m.name == "description" })
	p := object{{"name", name}, {"in", "query"}, {"description", meaning}, {"required", required}, {"schema", schema}}
	if f.Type == input.List { // joined with commas
		p.set("style", "form")
		p.set("explode", false)
	}
	if len(example) > 0 {
		p.set("example", example)
	}
	return p
}

// withDryRun gives the fields of an operation, api.DryRun the last of them where it takes that.
func withDryRun(op *api.Operation) []input.Field {
	if !op.DryRun {
		return op.Fields
	}
	return append(slices.Clone(op.Fields), api.DryRun)
}

// seatExample is the form of a seat for the element of an example array that holds the parameter's name.
func seatExample(f *input.Field, parameter string) model.JSON {
	example, err := jsondoc.Parse(filledIn(f))
	if err != nil {
		return nil
	}
	for _, item := range example.Items {
		name, number, here := "", "", false
		for _, m := range item.Members {
			switch {
			case m.Value.Text == parameter:
				here = true
			case m.Value.Kind == jsondoc.String:
				name = m.Value.Text
			case m.Value.Kind == jsondoc.Number:
				number = m.Value.Text
			}
		}
		if here {
			return jsondoc.AppendString(nil, name+":"+number)
		}
	}
	return nil
}

// requestBody is that of a POST. It may be missing where an empty object is enough.
func (d *description) requestBody(route *api.Route, operations []*api.Operation) object {
	bodies, examples, required := []object{}, object{}, true
	for _, op := range operations {
		schema := inputObject(withDryRun(op), func(name string) string { return d.meaning(op, name) }, "")
		if len(op.AnyOf) > 0 {
			schema.set("anyOf", oneRequired(op.AnyOf).get("anyOf"))
		}
		if op.Strict {
			schema.set("additionalProperties", false)
		}
		name := strings.ToUpper(op.ID[:1]) + op.ID[1:] + "Request"
		d.schemas.components.set(name, schema)
		bodies = append(bodies, object{{"$ref", "#/components/schemas/" + name}})
		needs := func(f input.Field) bool { return f.Required }
		if len(op.AnyOf) == 0 && !slices.ContainsFunc(op.Fields, needs) {
			required = false
		}
		examples.set(op.ID, object{{"summary", d.what(op.ID)}, {"value", d.request(route, op, template)}})
	}
	content := object{{"schema", anyOf(bodies)}, {"examples", examples}}
	return object{
		{"description", "A JSON object. A missing Content-Type is read as JSON."},
		{"required", required},
		{"content", object{{respond.MediaJSON, content}}},
	}
}

// request is a body for an operation, as make makes it. An object that must be there, and has no
// example, is what the route's writing operation answers: a receipt to verify.
func (d *description) request(route *api.Route, op *api.Operation, make func(*api.Operation) model.JSON) model.JSON {
	filled := *op
	filled.Fields = slices.Clone(op.Fields)
	for i := range filled.Fields {
		if f := &filled.Fields[i]; f.Type == input.Object && f.Example == "" && !op.Writes {
			f.Example = string(d.exampleAnswer(route, writer(route)))
		}
	}
	return make(&filled)
}

// exampleAnswer is what the handler of an operation answers to the example request, on a host
// without a key.
func (d *description) exampleAnswer(route *api.Route, op *api.Operation) model.JSON {
	request := d.request(route, op, exampleBody)
	response := d.turn(kernel.Request{}, func(t *kernel.Turn) *kernel.Response { return op.Handle(t, input.ParseBody(request)) })
	if response == nil || response.Status != http.StatusOK {
		d.fault("openapi.json: %s does not answer its own example %s", op.ID, request)
		return nil
	}
	return response.Body
}

// turn takes a request to the canonical host to its answer, at noon of the last hand verification.
func (d *description) turn(request kernel.Request, handle func(*kernel.Turn) *kernel.Response) *kernel.Response {
	day, _ := civil.ParseDate(d.snapshot.AsOf)
	request.Host = d.snapshot.CanonicalHost
	return kernel.Run(&kernel.Turn{Request: request, Now: int64(day)*24*60*60 + 12*60*60}, func(t *kernel.Turn) kernel.Outcome {
		t.Begin(d.snapshot)
		return t.Outcome(handle(t))
	}, d.perform)
}

// perform performs effects so that all of them succeed: the first statement gives the number 1, the key file is
// there, every other server is content, and the service answers itself.
func (d *description) perform(effects []kernel.Effect) (results []kernel.Result) {
	for _, effect := range effects {
		var result kernel.Result
		switch e := effect.(type) {
		case kernel.Exec:
			result.Rows = make([][][]any, len(e.Statements))
			result.Rows[0] = [][]any{{int64(1)}}
		case kernel.Fetch:
			result.Status = http.StatusOK
			target := strings.TrimPrefix(e.URL, d.base)
			switch {
			case e.Self:
				answer := d.turn(kernel.Request{Method: e.Method, Target: target, Body: e.Body}, d.edge.Handle)
				result.Status, result.Data = answer.Status, answer.Body
			case target == "/"+d.snapshot.IndexNowKey+".txt":
				result.Data = []byte(d.snapshot.IndexNowKey)
			}
		}
		results = append(results, result)
	}
	return results
}

func anyOf(schemas []object) object {
	if len(schemas) == 1 {
		return schemas[0]
	}
	return object{{"anyOf", schemas}}
}

// success is the 200 answer of the operations that a request may choose from.
func (d *description) success(route *api.Route, operations []*api.Operation, method string) object {
	var answers []object
	var what []string
	headers := []string{"Cache-Control"}
	examples := object{}
	for _, op := range operations {
		for _, answer := range d.answerTypes(op) {
			answers = append(answers, object{{"allOf", []object{d.schemas.ref(answer), d.schemas.ref(reflect.TypeFor[model.Trailer]())}}})
		}
		what = append(what, d.what(op.ID))
		if op.Cache != api.NoStore {
			headers = append(headers, "ETag")
		}
		if op.Writes {
			headers = append(headers, "RateLimit-Policy", "RateLimit")
		}
		if doc := op.Document; doc != nil && doc.Tail == nil && doc != route.Contract {
			text := slices.Clone(d.snapshot.Documents[doc.ID])
			examples.set(op.ID, object{{"summary", d.what(op.ID)}, {"value", model.JSON(d.withTrailer(text))}})
		}
		if op.Handle != nil {
			examples.set(op.ID, object{{"summary", d.what(op.ID)}, {"value", d.exampleAnswer(route, op)}})
		}
	}
	if method == http.MethodGet {
		headers = append(headers, "Link")
	}
	content := object{{"schema", anyOf(answers)}}
	if len(examples) > 0 {
		content.set("examples", examples)
	}
	return object{
		{"description", strings.Join(what, " ")},
		{"headers", d.headerRefs(headers...)},
		{"content", object{{respond.MediaJSON, content}}},
	}
}

// problem refers to the answer for the problem types of one status.
func (d *description) problem(types []*respond.ProblemType) object {
	name, texts := "", []string{}
	for _, p := range types {
		for word := range strings.FieldsSeq(p.Title) {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
		texts = append(texts, p.Title+": "+d.site.Problems.Types[p.Slug])
	}
	ref := object{{"$ref", "#/components/responses/" + name}}
	if d.responses.get(name) != nil {
		return ref
	}
	p := types[0]
	headers := []string{"Cache-Control", "Link"}
	var required []string
	switch p.Status {
	case 400:
		headers, required = append(headers, "RateLimit-Policy", "RateLimit"), []string{"errors", "contract"}
	case 405:
		headers, required = append(headers, "Allow"), []string{"contract"}
	case 413, 414, 415:
		required = []string{"errors"}
	case 429:
		headers, required = append(headers, "Retry-After", "RateLimit-Policy", "RateLimit"), []string{"errors"}
	case 500, 502:
		headers = append(headers, "RateLimit-Policy", "RateLimit")
	case 503:
		headers = append(headers, "Retry-After", "RateLimit-Policy", "RateLimit")
	}
	schema := d.schemas.ref(reflect.TypeFor[model.Problem]())
	if required != nil {
		schema = object{{"allOf", []object{schema, {{"required", required}}}}}
	}
	if members := membersOf[p]; members != nil {
		schema = object{{"allOf", []object{schema, d.schemas.ref(members)}}}
	}
	content := object{{"schema", schema}}
	if !slices.Contains(required, "contract") && membersOf[p] == nil {
		content.set("example", d.problemExample(p, required != nil))
	}
	d.responses.set(name, object{
		{"description", strings.Join(texts, " ")},
		{"headers", d.headerRefs(headers...)},
		{"content", object{{respond.MediaProblem, content}}},
	})
	return ref
}

// codeOf are the fault codes of the problems that are about the request as a whole.
var codeOf = map[*respond.ProblemType]string{
	respond.BodyTooLarge: api.TooLarge, respond.QueryTooLong: api.TooLarge, respond.UnsupportedType: api.NotJSON, respond.TooManyWrites: api.RateLimited,
}

// membersOf are the members that some problems have besides those of all.
var membersOf = map[*respond.ProblemType]reflect.Type{respond.SignalFailed: reflect.TypeFor[signal.Failed]()}

func (d *description) problemExample(p *respond.ProblemType, faults bool) model.JSON {
	example := model.Problem{
		Type: d.problemURL(p), Title: p.Title, Status: p.Status, Detail: d.site.Problems.Types[p.Slug], ContractURL: d.url("/openapi.json"),
		Trailer: model.Trailer{
			Notice: d.snapshot.Notice, ServedFrom: d.snapshot.CanonicalHost, CanonicalHost: d.snapshot.CanonicalHost, HostNote: d.snapshot.NoteCanonical,
		},
	}
	if faults {
		example.Errors = []model.Fault{{Code: codeOf[p], Detail: d.site.Problems.Codes[codeOf[p]]}}
	}
	return d.text(example)
}

// headerTexts are the response headers that an agent reads.
var headerTexts = map[string]struct{ what, kind, example string }{
	"Cache-Control":    {"How long the answer may be kept (RFC 9111).", "string", `"no-store"`},
	"ETag":             {"Strong entity tag for If-None-Match (RFC 9110); absent where the answer is computed or the URL has a query.", "string", `"\"5f1d9c0e\""`},
	"Link":             {"On an answer to GET or HEAD: where the descriptions are, or another form of a page (RFC 8288, RFC 8631, RFC 9727).", "string", `"</openapi.json>; rel=\"service-desc\""`},
	"Allow":            {"The methods that the path answers (RFC 9110).", "string", `"GET, HEAD, POST, OPTIONS"`},
	"Retry-After":      {"Seconds to wait before another try (RFC 9110).", "integer", "30"},
	"RateLimit-Policy": {"On every answer to a write: the limit of writes, as a structured field list (draft-ietf-httpapi-ratelimit-headers).", "string", ""},
	"RateLimit":        {"What is left of the limit, where the host knows (draft-ietf-httpapi-ratelimit-headers).", "string", `"\"writes\";r=29;t=60"`},
	// The CORS protocol (Fetch).
	"Access-Control-Allow-Origin":   {"Any origin may read the answer.", "string", `"*"`},
	"Access-Control-Allow-Methods":  {"The methods that any origin may use.", "string", `"GET, HEAD, POST, OPTIONS"`},
	"Access-Control-Allow-Headers":  {"The header fields that any origin may send.", "string", `"Content-Type, Accept, If-None-Match"`},
	"Access-Control-Max-Age":        {"For how many seconds a browser may remember this.", "integer", "86400"},
	"Access-Control-Expose-Headers": {"The header fields of an answer that any origin may read.", "string", ""},
}

func (d *description) headerRefs(names ...string) object {
	refs := object{}
	for _, name := range names {
		text, ok := headerTexts[name]
		if !ok {
			d.fault("openapi.json: no words for the header %s", name)
		}
		if name == "RateLimit-Policy" {
			text.example = strconv.Quote(fmt.Sprintf(`"writes";q=%d;w=%d`, d.site.Service.Limits.WritesPerMinute, api.Window))
		}
		if name == "Access-Control-Expose-Headers" {
			for _, common := range respond.CommonHeaders {
				if strings.EqualFold(common.Name, name) {
					text.example = strconv.Quote(common.Value)
				}
			}
		}
		refs.set(name, object{{"$ref", "#/components/headers/" + name}})
		d.headers.set(name, object{
			{"description", text.what}, {"schema", object{{"type", text.kind}}}, {"example", model.JSON(text.example)},
		})
	}
	return refs
}
