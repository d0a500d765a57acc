package contract

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/signal"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/generator/model"
)

// Contract has the first sentence of each field's description; OpenAPI and the page about the
// endpoint have all.
func (g *Answers) Contract(route *api.Route) model.Contract {
	contract := model.Contract{
		Endpoint:   route.ID,
		Path:       route.Path,
		Methods:    route.Methods(),
		What:       g.Summary(route.ID),
		FieldGuide: g.URL(api.Twin(EndpointPath(route))),
	}
	for _, op := range ReadsFirst(route) {
		contract.Operations = append(contract.Operations, g.operation(route, op))
	}
	if n := g.Site.Service.Limits.WritesPerMinute; n > 0 && Writes(route) {
		contract.WriteLimit = &model.WriteLimit{
			Writes:        n,
			WindowSeconds: api.Window,
			Per:           "client address: an IPv4 address or an IPv6 /64; all endpoints that write share it",
		}
	}
	for _, p := range ProblemsOf(route.Operations...) {
		contract.Errors = append(contract.Errors, strconv.Itoa(p.Status)+" "+p.Slug)
	}
	return contract
}

// ownContract is for a document that itself describes the endpoint. listed names its members that
// list the values of a field.
func (g *Answers) ownContract(route *api.Route, listed map[string]string) model.Contract {
	contract := g.Contract(route)
	for i := range contract.Operations {
		op := &contract.Operations[i]
		op.What, op.Notes = g.Summary(op.ID), nil
		for j := range op.Fields {
			if member := listed[op.Fields[j].Name]; member != "" {
				op.Fields[j].Values, op.Fields[j].ValuesIn = nil, member
			}
		}
	}
	return contract
}

func (g *Answers) askedContract(route *api.Route, op *api.Operation) model.AskedContract {
	fields := slices.DeleteFunc(g.operation(route, op).Fields,
		func(f model.ContractField) bool { return f.In == inHeader })
	return model.AskedContract{ID: op.ID, Methods: op.Methods, Path: route.Path, Fields: fields}
}

const inHeader = "header"

func (g *Answers) operation(route *api.Route, op *api.Operation) model.ContractOperation {
	contract := model.ContractOperation{
		ID:      op.ID,
		Methods: op.Methods,
		What:    g.Description(op.ID),
		Writes:  op.Writes,
		DryRun:  op.DryRun,
		Fields:  []model.ContractField{},
		AnyOf:   op.AnyOf,
		Rule:    op.Rule,
		Notes:   g.Site.Endpoints[op.ID].Notes,
	}
	if listsIgnored(op) {
		contract.OtherFields = "listed in ignored_fields"
	}
	if op.Strict {
		contract.OtherFields = "refused"
	}
	for _, f := range allFields(op) {
		contract.Fields = append(contract.Fields, g.contractField(op, &f, ""))
	}
	if len(op.Fields) > 0 && slices.Contains(op.Methods, "GET") {
		contract.GetTemplate = g.GetTemplate(route, op)
	}
	if slices.Contains(op.Methods, "POST") {
		contract.ExampleBody = BodyTemplate(op)
	}
	return contract
}

func (g *Answers) contractField(op *api.Operation, f *input.Field, prefix string) model.ContractField {
	contract := model.ContractField{
		Name:            f.Name,
		Type:            jsonType(f.Type),
		Required:        f.Required,
		Aliases:         f.Aliases,
		QueryParameters: f.QueryNames,
		QueryForm:       f.QueryForm,
		Meaning:         FirstSentence(g.FieldMeaning(op, prefix+f.Name)),
	}
	// No example holds an e-mail address, which needs its owner's consent.
	if f.Type != input.Array && f.Type != input.Email && len(f.Values) == 0 && (f.Example != "" || f.Placeholder != "") {
		contract.Example = FieldTemplate(f)
	}
	if f.Type != input.Switch { // a switch has values in a query only; a body has a boolean
		contract.Values = f.Values
	}
	switch f.Type {
	case input.Integer:
		contract.Minimum, contract.Maximum = f.Min, f.Max
	case input.Array:
		contract.MinItems, contract.MaxItems = f.Min, f.Max
	default:
		contract.MinLength, contract.MaxLength = f.Min, f.Max
	}
	if f.Type == input.Email || f.Type == input.Date {
		contract.Format = string(f.Type)
	}
	switch {
	case f.Type == input.Switch: // a POST may have it in its query too
	case f.Name == api.Key.Name:
		contract.In = inHeader
	case f.QueryOnly || !slices.Contains(op.Methods, "POST"):
		contract.In = "query"
	case prefix != "": // as the field around it
	case !slices.Contains(op.Methods, "GET"):
		contract.In = "body"
	}
	example, _ := jsondoc.Parse([]byte(f.Example))
	for _, item := range f.Items {
		if len(example.Items) > 0 {
			item.Example = string(example.Items[0].Get(item.Name).Raw)
		}
		contract.Items = append(contract.Items, g.contractField(op, &item, prefix+f.Name+"."))
	}
	return contract
}

// WithItems lists fields, each before its items: roster, roster[].position.
func WithItems(prefix string, fields []model.ContractField) (all []model.ContractField) {
	for _, f := range fields {
		f.Name = prefix + f.Name
		all = append(append(all, f), WithItems(f.Name+"[].", f.Items)...)
	}
	return all
}

func listsIgnored(op *api.Operation) bool {
	return slices.ContainsFunc(answers[op.ID], func(answer any) bool {
		f, _ := reflect.TypeOf(answer).FieldByName("IgnoredFields")
		return f.Tag.Get("json") == "ignored_fields" // in every answer
	})
}

func operationID(method, path string) string {
	id := strings.ToLower(method)
	separates := func(r rune) bool { return strings.ContainsRune("/.-_", r) }
	for word := range strings.FieldsFuncSeq(strings.TrimPrefix(path, "/api"), separates) {
		id += Capital(word)
	}
	return id
}

func Capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func (g *Answers) Summary(id string) string { return g.Site.Endpoints[id].Summary }

func (g *Answers) Description(id string) string { return g.Site.Endpoints[id].Description }

// FieldMeaning takes a dotted name.
func (g *Answers) FieldMeaning(op *api.Operation, name string) string {
	switch name {
	case api.DryRun.Name:
		return "With true, or 1 in a query, nothing is stored, sent or counted. " +
			"The request is checked, and the answer has its hash."
	case api.Key.Name, api.KeyArgument:
		return "Makes a retry safe: a UUID, or 16 to 64 other printable ASCII characters, " +
			"compared byte for byte. It stands for one call of this endpoint, by GET, POST " +
			"or MCP. The same call sent again gets the first answer, with replayed true. " +
			"Another call with the key is refused (key_reused)."
	}
	return g.Site.Endpoints[op.ID].Fields[name]
}

// GetTemplate returns a URI template (RFC 6570).
func (g *Answers) GetTemplate(route *api.Route, op *api.Operation) string {
	var names []string
	for _, f := range op.Fields {
		if names = append(names, f.QueryNames...); len(f.QueryNames) == 0 {
			names = append(names, f.Name)
		}
	}
	return g.URL(route.Path) + "{?" + strings.Join(names, ",") + "}"
}

// BodyTemplate returns a body with placeholders: the required fields, and those with an example. An
// e-mail address needs its owner's consent, so there is none. It is nil if a required field has no
// example.
func BodyTemplate(op *api.Operation) model.JSON { return buildBody(op, FieldTemplate) }

func ExampleBody(op *api.Operation) model.JSON {
	return buildBody(op, func(f *input.Field) []byte { return []byte(f.Example) })
}

func buildBody(op *api.Operation, value func(*input.Field) []byte) model.JSON {
	if op.Example != "" {
		return model.JSON(op.Example)
	}
	w := jsondoc.Writer{}
	w.Open('{')
	for i := range op.Fields {
		f := &op.Fields[i]
		switch {
		case f.Example == "" && f.Required:
			return nil
		case f.Example == "" || f.QueryOnly || f.Type == input.Email:
			continue
		}
		w.Raw(f.Name, string(value(f)))
	}
	w.Close('}')
	return w.Buf
}

func FieldTemplate(f *input.Field) []byte {
	if f.Placeholder != "" {
		return jsondoc.AppendString(nil, f.Placeholder)
	}
	example, _ := jsondoc.Parse([]byte(f.Example))
	if len(f.Items) == 0 || example.Kind != jsondoc.Array {
		return []byte(f.Example)
	}
	w := jsondoc.Writer{}
	w.Open('[')
	for _, item := range example.Items {
		w.Open('{')
		for i := range f.Items {
			member := f.Items[i]
			member.Example = string(item.Get(member.Name).Raw)
			w.Raw(member.Name, string(FieldTemplate(&member)))
		}
		w.Close('}')
	}
	w.Close(']')
	return w.Buf
}

func Writes(route *api.Route) bool {
	return WriteOperation(route).Writes
}

// WrittenByGet returns the routes on which a GET writes.
func (g *Answers) WrittenByGet() (routes []*api.Route) {
	writes := func(op *api.Operation) bool { return op.Writes }
	for _, route := range api.Routes {
		if slices.ContainsFunc(OperationsWith(route, "GET"), writes) {
			routes = append(routes, route)
		}
	}
	return routes
}

func OperationsWith(route *api.Route, method string) (operations []*api.Operation) {
	for _, op := range ReadsFirst(route) {
		if slices.Contains(op.Methods, method) {
			operations = append(operations, op)
		}
	}
	return operations
}

// ReadsFirst returns operations in the order of the documentation; the edge tries them in the order
// of the route table.
func ReadsFirst(route *api.Route) (operations []*api.Operation) {
	for _, writes := range []bool{false, true} {
		for _, op := range route.Operations {
			if op.Writes == writes {
				operations = append(operations, op)
			}
		}
	}
	return operations
}

func (g *Answers) ProblemURL(p *respond.ProblemType) string { return g.URL(p.Path()) }

// ExtensionMembers are the extra members (RFC 9457, section 3.2) of problem types.
var ExtensionMembers = map[*respond.ProblemType]reflect.Type{respond.SignalFailed: reflect.TypeFor[signal.Failure]()}

func ProblemsOf(operations ...*api.Operation) (problems []*respond.ProblemType) {
	statuses := []int{400, 405, 414, 421}
	known := []*respond.ProblemType{respond.Internal}
	for _, op := range operations {
		known = append(known, op.Errors...)
		if op.Writes && !op.Protocol {
			known = append(known, respond.TooManyWrites)
		}
		if op.DryRun {
			known = append(known, respond.KeyReused, respond.StoreUnavailable)
			if slices.Contains(op.Methods, "GET") {
				known = append(known, respond.TooEarly)
			}
		}
		if slices.Contains(op.Methods, "POST") {
			statuses = append(statuses, 413, 415)
		}
		if op.Document != nil && op.Document.Check != nil {
			known = append(known, respond.InconsistentCounts)
		}
	}
	for _, p := range respond.ProblemTypes {
		if slices.Contains(statuses, p.Status) || slices.Contains(known, p) {
			problems = append(problems, p)
		}
	}
	return problems
}

func Route(id string) *api.Route {
	for _, route := range api.Routes {
		if route.ID == id {
			return route
		}
	}
	panic("the route table lacks " + id + ", which other documents refer to")
}

func allFields(op *api.Operation) []input.Field {
	if !op.DryRun {
		return op.Fields
	}
	return append(slices.Clone(op.Fields), api.DryRun, api.Key)
}
