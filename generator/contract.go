package generator

import (
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

// contract says what may be sent to an endpoint and which errors it may answer with.
func (g *generation) contract(route *api.Route) model.Contract {
	contract := model.Contract{
		Endpoint:   route.ID,
		Path:       route.Path,
		Methods:    route.Methods(),
		What:       g.summary(route.ID),
		FieldGuide: g.url(endpointPath(route)),
	}
	for _, op := range readsFirst(route) {
		contract.Operations = append(contract.Operations, g.contractOperation(route, op))
	}
	if n := g.site.Service.Limits.WritesPerMinute; n > 0 && writes(route) {
		contract.WriteLimit = &model.WriteLimit{
			Writes:        n,
			WindowSeconds: api.Window,
			Per:           "client address: an IPv4 address or an IPv6 /64; all endpoints that write share it",
		}
	}
	for _, p := range problemsOf(route.Operations...) {
		contract.Errors = append(contract.Errors, strconv.Itoa(p.Status)+" "+p.Slug)
	}
	return contract
}

// briefContract is a contract as answers carry it, with the first sentence of each field's words.
// The OpenAPI description and the page about the endpoint have all words.
func (g *generation) briefContract(route *api.Route) model.Contract {
	contract := g.contract(route)
	for i := range contract.Operations {
		shorten(contract.Operations[i].Fields)
	}
	return contract
}

// ownContract is briefContract within a document that itself says how the endpoint works. listed
// are the members of that document, by the names of fields whose values it lists.
func (g *generation) ownContract(route *api.Route, listed map[string]string) model.Contract {
	contract := g.briefContract(route)
	for i := range contract.Operations {
		op := &contract.Operations[i]
		op.What, op.Notes = g.summary(op.ID), nil
		for j := range op.Fields {
			if member := listed[op.Fields[j].Name]; member != "" {
				op.Fields[j].Values, op.Fields[j].ValuesIn = nil, member
			}
		}
	}
	return contract
}

// askedContract is what a 400 shows of the operation that was asked for.
func (g *generation) askedContract(route *api.Route, op *api.Operation) model.AskedContract {
	contract := g.contractOperation(route, op)
	shorten(contract.Fields)
	return model.AskedContract{ID: op.ID, Methods: op.Methods, Path: route.Path, Fields: contract.Fields}
}

// shorten leaves the first sentence of each field's words.
func shorten(fields []model.ContractField) {
	for i := range fields {
		sentence, _, more := strings.Cut(fields[i].Meaning, ". ")
		if fields[i].Meaning = sentence; more {
			fields[i].Meaning += "."
		}
		shorten(fields[i].Items)
	}
}

// contractOperation is the part of a contract about one operation.
func (g *generation) contractOperation(route *api.Route, op *api.Operation) model.ContractOperation {
	contract := model.ContractOperation{
		ID:      op.ID,
		Methods: op.Methods,
		What:    g.description(op.ID),
		Writes:  op.Writes,
		DryRun:  op.DryRun,
		Fields:  []model.ContractField{},
		AnyOf:   op.AnyOf,
		Rule:    op.Rule,
		Notes:   g.site.Endpoints[op.ID].Notes,
	}
	if listsIgnored(op) {
		contract.OtherFields = "listed in ignored_fields"
	}
	if op.Strict {
		contract.OtherFields = "refused"
	}
	for _, f := range withDryRun(op) {
		contract.Fields = append(contract.Fields, g.contractField(op, &f, ""))
	}
	if len(op.Fields) > 0 && slices.Contains(op.Methods, "GET") {
		contract.GetTemplate = g.getTemplate(route, op)
	}
	if slices.Contains(op.Methods, "POST") {
		contract.ExampleBody = bodyTemplate(op)
	}
	return contract
}

// contractField is the part of a contract about one input field. prefix is the dotted name of the
// field around it, with a dot at its end; it is empty for a field of the operation itself.
func (g *generation) contractField(op *api.Operation, f *input.Field, prefix string) model.ContractField {
	contract := model.ContractField{
		Name:            f.Name,
		Type:            jsonType(f.Type),
		Required:        f.Required,
		Aliases:         f.Aliases,
		QueryParameters: f.QueryNames,
		QueryForm:       f.QueryForm,
		Meaning:         g.fieldMeaning(op, prefix+f.Name),
	}
	// No example holds an e-mail address, which needs its owner's consent.
	if f.Type != input.Array && f.Type != input.Email && len(f.Values) == 0 && (f.Example != "" || f.Placeholder != "") {
		contract.Example = fieldTemplate(f)
	}
	if f.Type != input.Switch { // a switch has values in a query only; a body has a boolean
		contract.Values = f.Values
	}
	switch f.Type {
	case input.Integer:
		contract.Minimum, contract.Maximum = f.Min, f.Max
	case input.Array:
		contract.MinItems, contract.MaxItems = f.Min, f.Max
	case input.Flag:
	default:
		contract.MinLength, contract.MaxLength = f.Min, f.Max
	}
	if f.Type == input.Email || f.Type == input.Date {
		contract.Format = string(f.Type)
	}
	switch {
	case f.Type == input.Switch: // a POST may have it in its query too
	case f.QueryOnly || !slices.Contains(op.Methods, "POST"):
		contract.In = "query"
	case prefix != "": // as the field around it
	case f.BodyOnly || !slices.Contains(op.Methods, "GET"):
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

// listsIgnored reports whether the answer of an operation lists the fields that were sent and not
// read.
func listsIgnored(op *api.Operation) bool {
	for _, answer := range op.Answers {
		for f := range reflect.TypeOf(answer).Fields() {
			if f.Tag.Get("json") == "ignored_fields" {
				return true
			}
		}
	}
	return false
}

// summary is the one-line wording of a route or an operation.
func (g *generation) summary(id string) string { return g.site.Endpoints[id].Summary }

// description is the long wording of a route or an operation.
func (g *generation) description(id string) string { return g.site.Endpoints[id].Description }

// fieldMeaning is the wording of an input field or of a query parameter, by its dotted name.
func (g *generation) fieldMeaning(op *api.Operation, name string) string {
	if name == api.DryRun.Name {
		return "1 in a query or true in a body: nothing is stored, sent or counted. The request is checked and answered with its hash."
	}
	return g.site.Endpoints[op.ID].Fields[name]
}

// getTemplate is the URI template (RFC 6570) of an operation's GET form.
func (g *generation) getTemplate(route *api.Route, op *api.Operation) string {
	var names []string
	for i := range op.Fields {
		names = append(names, queryNames(&op.Fields[i])...)
	}
	return g.url(route.Path) + "{?" + strings.Join(names, ",") + "}"
}

// queryNames are the query parameters that give a field.
func queryNames(f *input.Field) []string {
	switch {
	case f.BodyOnly:
		return nil
	case len(f.QueryNames) > 0:
		return f.QueryNames
	}
	return []string{f.Name}
}

// bodyTemplate is a body that the operation takes once its placeholders are replaced. It holds the
// required fields and the other fields that have an example. It holds no e-mail address, because an
// address needs its owner's consent. It is nil where a required field has no example.
func bodyTemplate(op *api.Operation) model.JSON { return buildBody(op, fieldTemplate) }

// exampleBody is bodyTemplate with examples in the place of the placeholders.
func exampleBody(op *api.Operation) model.JSON {
	return buildBody(op, func(f *input.Field) []byte { return []byte(f.Example) })
}

// buildBody writes a body with the value that the function gives for each field.
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

// fieldTemplate is the value of a field in a template: its placeholder, else its example, in which
// the placeholders of items take the place of their examples.
func fieldTemplate(f *input.Field) []byte {
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
			w.Raw(member.Name, string(fieldTemplate(&member)))
		}
		w.Close('}')
	}
	w.Close(']')
	return w.Buf
}

// jsonType names the JSON type of a field in the words of a contract.
func jsonType(t input.Type) string {
	switch t {
	case input.Integer, input.Array, input.Object:
		return string(t)
	case input.List:
		return "string or array"
	case input.Switch:
		return "boolean"
	case input.ID:
		return "string or number"
	}
	return "string"
}

func writes(route *api.Route) bool {
	return slices.ContainsFunc(route.Operations, func(op *api.Operation) bool { return op.Writes })
}

// operationsWith are the operations of a route that a method chooses from. Those that only read
// come first.
func operationsWith(route *api.Route, method string) (operations []*api.Operation) {
	for _, op := range readsFirst(route) {
		if slices.Contains(op.Methods, method) {
			operations = append(operations, op)
		}
	}
	return operations
}

// readsFirst are the operations of a route in the order of the documentation, those that only read
// first. The route table has them in another order, in which the edge tries them.
func readsFirst(route *api.Route) []*api.Operation {
	operations := slices.Clone(route.Operations)
	slices.SortStableFunc(operations, func(a, b *api.Operation) int {
		switch {
		case a.Writes == b.Writes:
			return 0
		case b.Writes:
			return -1
		}
		return 1
	})
	return operations
}

// problemURL is the type of a problem: the address of the page about it.
func (g *generation) problemURL(p *respond.ProblemType) string { return g.url(p.Path()) }

// problemsOf are the problems that a request for one of the operations may get, in the order of the
// documentation.
func problemsOf(operations ...*api.Operation) (problems []*respond.ProblemType) {
	statuses := []int{400, 405, 414, 421}
	known := []*respond.ProblemType{respond.Internal}
	for _, op := range operations {
		known = append(known, op.Errors...)
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

// route is the route with the given ID. Where there is none, route adds a fault and gives an empty
// route, so that generation goes on and finds further faults.
func (g *generation) route(id string) *api.Route {
	for _, route := range g.routes {
		if route.ID == id {
			return route
		}
	}
	g.fault("the route table lacks %s, which other documents refer to", id)
	return &api.Route{}
}

// withDryRun gives the fields of an operation, with api.DryRun behind them where the operation
// takes a dry run.
func withDryRun(op *api.Operation) []input.Field {
	if !op.DryRun {
		return op.Fields
	}
	return append(slices.Clone(op.Fields), api.DryRun)
}
