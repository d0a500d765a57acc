package contract

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/generator/model"
)

func (d *description) parameters(operations []*api.Operation, method string) (parameters []object) {
	for _, op := range operations {
		fields := allFields(op)
		if method == http.MethodPost { // of its query only dry_run is read
			fields = fields[len(op.Fields):]
		}
		for i := range fields {
			f := &fields[i]
			parameters = append(parameters, d.parameter(op, f, f.Required && len(operations) == 1))
		}
	}
	return parameters
}

func (d *description) parameter(op *api.Operation, f *input.Field, required bool) object {
	name, meaning := f.Name, d.FieldMeaning(op, f.Name)
	shape := d.inputSchema(op, f, "")
	example := model.JSON(FieldTemplate(f))
	if f.Example == "" && len(f.Values) > 0 {
		example = jsondoc.AppendString(nil, f.Values[0])
	}
	switch f.Type {
	case input.List: // some generated clients send an array as several parameters
		shape = object{{"type", "string"}}
		meaning += " One of " + strings.Join(f.Values, ", ") + "."
		example = jsondoc.AppendString(nil, strings.Join(f.Values[:2], ","))
	case input.Switch:
		shape = object{{"type", "string"}, {"enum", f.Values}}
	}
	shape = without(shape, "description")
	in := "query"
	if name == api.Key.Name {
		in, shape = "header", object{{"type", "string"}, {"pattern", keyPattern()}}
	}
	described := object{{"name", name}, {"in", in}, {"description", meaning}}
	if required {
		described.Set("required", true)
	}
	described.Set("schema", shape)
	if len(example) > 0 {
		described.Set("example", example)
	}
	if name == api.DryRun.Name || name == api.Key.Name {
		d.shared.Set(name, described)
		return ref("parameters", name)
	}
	return described
}

// keyPattern matches the keys that the API reads: printable ASCII, bare without a comma, or a
// string of RFC 9651, whose escapes the lengths do not count.
func keyPattern() string {
	least, most := api.Key.Min, api.Key.Max
	return fmt.Sprintf(`^([!#-+\--~][ -+\--~]{%d,%d}[!-+\--~]|"([ !#-\[\]-~]|\\["\\]){%d,%d}")$`, least-2,
		most-2, least, most)
}

func (d *description) listItems(f *input.Field) object {
	list := listItems(f)
	list.Set("items", d.component(Capital(f.Name)+"Value", list.Object("items")))
	return list
}

func (d *description) requestBody(route *api.Route, operations []*api.Operation) object {
	bodies, examples, required := []object{}, object{}, true
	for _, op := range operations {
		shape := d.inputObject(op, op.Fields, "")
		if op.DryRun {
			properties := shape.Object("properties")
			properties.Set(api.DryRun.Name, d.inputSchema(op, &api.DryRun, ""))
			shape.Set("properties", properties)
		}
		for i := range op.Fields {
			f := &op.Fields[i]
			property := shape.Object("properties").Object(f.Name)
			switch {
			case f.Type == input.List:
				property.Get("oneOf").([]object)[1] = d.listItems(f)
			case f.Same != "":
				property.Set("items", ref("schemas", Capital(f.Same)+"Request"))
			}
		}
		if len(op.AnyOf) > 0 {
			requireOne(&shape, op.AnyOf)
		}
		if op.Strict {
			shape.Set("additionalProperties", false)
		}
		bodies = append(bodies, d.component(Capital(op.ID)+"Request", shape))
		needs := func(f input.Field) bool { return f.Required }
		if len(op.AnyOf) == 0 && !slices.ContainsFunc(op.Fields, needs) {
			required = false
		}
		examples.Set(op.ID, object{{"value", d.Example(op).Template}})
	}
	shape := oneOf(bodies)
	if len(bodies) > 1 { // oapi-codegen encodes a union only as a component
		shape = d.component(Capital(route.ID)+"Request", shape)
	}
	content := object{{"schema", shape}, {"examples", examples}}
	return object{
		{"description", "A JSON object. A missing Content-Type is read as JSON."},
		{"required", required},
		{"content", object{{respond.MediaJSON, content}}},
	}
}

const maxExample = 1000

func (d *description) successResponse(operations []*api.Operation, method string) object {
	var answers []object
	names := []string{}
	headers := []string{"Cache-Control", "Request-Id"}
	examples := object{}
	for _, op := range operations {
		types := d.AnswerTypes(op)
		for _, answer := range types {
			answers = append(answers, d.withTrailer(d.schemas.ref(answer)))
			name := Capital(op.ID) + "Answer"
			if len(types) > 1 {
				name += answer.Name()
			}
			names = append(names, name)
		}
		if op.Document != nil {
			headers = append(headers, "ETag")
		}
		if op.Writes {
			headers = append(headers, "RateLimit-Policy", "RateLimit")
		}
		// GETs, and long answers, have no example.
		if op.Handle != nil && method == http.MethodPost && len(d.Example(op).Template) <= maxExample {
			if example := d.Example(op).Answer; len(example) <= maxExample {
				examples.Set(op.ID, object{{"value", example}})
			}
		}
	}
	if method == http.MethodGet {
		headers = append(headers, "Link")
	}
	if len(answers) > 1 {
		for i := range answers {
			answers[i] = d.component(names[i], answers[i])
		}
	}
	content := object{{"schema", oneOf(answers)}}
	if len(examples) > 0 {
		content.Set("examples", examples)
	}
	description := "The answer."
	if len(answers) > 1 {
		description = "One of the answers."
	}
	return d.response(description, respond.MediaJSON, content, headers...)
}

func (d *description) response(text, mediaType string, content object, headers ...string) object {
	response := object{{"description", text}, {"headers", d.headerRefs(headers...)}}
	if content != nil {
		response.Set("content", object{{mediaType, content}})
	}
	return response
}

func (d *description) sharedResponse(name, text string, headers ...string) object {
	d.responses.Set(name, d.response(text, "", nil, headers...))
	return ref("responses", name)
}

func (d *description) addProblems(responses *object, types ...*respond.ProblemType) {
	for len(types) > 0 {
		n := 1
		for n < len(types) && types[n].Status == types[0].Status {
			n++
		}
		responses.Set(strconv.Itoa(types[0].Status), d.problemResponse(types[:n]))
		types = types[n:]
	}
}

func (d *description) problemResponse(types []*respond.ProblemType) object {
	name, texts := "", []string{}
	for _, p := range types {
		for word := range strings.FieldsSeq(p.Title) {
			name += Capital(word)
		}
		texts = append(texts, p.Title+" ("+p.Path()+").")
	}
	ref := ref("responses", name)
	if d.responses.Get(name) != nil {
		return ref
	}
	p := types[0]
	headers := []string{"Cache-Control", "Link", "Request-Id"}
	var required []string
	switch p.Status {
	case 400:
		required = []string{"errors", "contract"}
	case 405:
		headers, required = append(headers, "Allow"), []string{"contract"}
	case 413, 414, 415, 425, 429:
		required = []string{"errors"}
	}
	if p.Status == 429 || p.Status == 503 {
		headers = append(headers, "Retry-After")
	}
	if slices.Contains([]int{400, 429, 500, 502, 503}, p.Status) {
		headers = append(headers, "RateLimit-Policy", "RateLimit")
	}
	shape := refTo[model.Problem](d)
	if required != nil {
		more := object{{"required", required}}
		if contract := shownContracts[p.Status]; contract != nil {
			more.Set("properties", object{{"contract", d.schemas.ref(contract)}})
		}
		shape = object{{"allOf", []object{shape, more}}}
	}
	content := object{{"schema", shape}} // the page of each problem has an example
	d.responses.Set(name, d.response(strings.Join(texts, " "), respond.MediaProblem, content, headers...))
	return ref
}

var shownContracts = map[int]reflect.Type{
	400: reflect.TypeFor[model.AskedContract](),
	405: reflect.TypeFor[model.Contract](),
}

var headerTexts = map[string]struct{ what, kind, example string }{
	"Cache-Control": {"Time for which the answer may be cached (RFC 9111).", "string", `"no-store"`},
	"ETag": {"Entity tag for If-None-Match (RFC 9110), weak if the answer contains the " +
		"time; absent if the answer is computed.", "string", `"\"5f1d9c0e\""`},
	"Link": {"With GET or HEAD: links to the descriptions, or to another form of " +
		"a page (RFC 8288, RFC 8631, RFC 9727).", "string", `"</openapi.json>; rel=\"service-desc\""`},
	"Request-Id": {"Identifier of the request, as in the operator's log: 16 hexadecimal " +
		"digits, always new.", "string", `"5f1d9c0e8b7a4932"`},
	"Allow":       {"The methods that the path allows (RFC 9110).", "string", `"GET, HEAD, POST, OPTIONS"`},
	"Retry-After": {"Seconds to wait before another try (RFC 9110).", "integer", "30"},
	"RateLimit-Policy": {"With every write: the write limit, as a structured field list " +
		"(draft-ietf-httpapi-ratelimit-headers).", "string", ""},
	"RateLimit": {"The remaining writes, if the host knows them " +
		"(draft-ietf-httpapi-ratelimit-headers).", "string", `"\"writes\";r=29;t=60"`},
}

func (d *description) headerRefs(names ...string) object {
	refs := object{}
	for _, name := range names {
		text := headerTexts[name]
		if name == "RateLimit-Policy" {
			text.example = strconv.Quote(fmt.Sprintf(`"writes";q=%d;w=%d`, d.Site.Service.Limits.WritesPerMinute, api.Window))
		}
		refs.Set(name, ref("headers", name))
		d.headers.Set(name, object{
			{"description", text.what}, {"schema", object{{"type", text.kind}}}, {"example", model.JSON(text.example)},
		})
	}
	return refs
}
