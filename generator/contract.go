package generator

import (
	"reflect"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/core"
	"anteroom/edge/documents"
	"anteroom/edge/jsondoc"
)

// dryRunMeaning is what api.DryRun means, which many operations take besides their fields.
const dryRunMeaning = "the request is checked and answered with its hash, and has no effect: nothing is stored, sent or counted."

// contracts puts the contract of every route into the snapshot, and the list of endpoints.
func (g *generation) contracts() {
	for _, route := range g.routes {
		contract := g.contract(route)
		switch route.ID {
		case "org":
			g.publish(route.Contract.ID, g.orgRules(route, contract))
		case "receipt":
			g.publish(route.Contract.ID, g.receiptSpec(contract))
		case "business-days":
			g.publish(route.Contract.ID, g.businessDays(contract))
		default:
			g.publish(route.Contract.ID, contract)
		}
	}
	g.publish("endpoints", g.liveEndpoints())
}

// publish puts a document into the snapshot.
func (g *generation) publish(id string, v any) { g.snapshot.Documents[id] = g.text(v) }

func (g *generation) contract(route *api.Route) documents.Contract {
	c := documents.Contract{
		Endpoint:   route.ID,
		URL:        g.url(route.Path),
		Path:       route.Path,
		Methods:    route.Methods(),
		What:       g.what(route.ID),
		OpenAPI:    g.url("/openapi.json"),
		FieldGuide: g.url("/field-guide.html#" + endpointAnchor(route)),
	}
	for _, op := range readsFirst(route) {
		c.Operations = append(c.Operations, g.contractOperation(route, op))
	}
	if n := g.site.Service.Limits.WritesPerMinute; n > 0 && writes(route) {
		c.WriteLimit = &documents.WriteLimit{
			Writes:        n,
			WindowSeconds: api.Window,
			Per:           "client address: an IPv4 address or an IPv6 /64; all endpoints that write share it",
		}
	}
	for _, p := range problemsOf(route.Operations...) {
		c.Errors = append(c.Errors, documents.ContractError{Status: p.Status, Type: g.problemURL(p), Title: p.Title})
	}
	return c
}

func (g *generation) contractOperation(route *api.Route, op *api.Operation) documents.ContractOperation {
	o := documents.ContractOperation{
		ID:          op.ID,
		Methods:     op.Methods,
		What:        g.description(op.ID),
		Writes:      op.Writes,
		DryRun:      op.DryRun,
		Fields:      []documents.ContractField{},
		OtherFields: "ignored",
		AnyOf:       op.AnyOf,
		Rule:        op.Rule,
		Notes:       g.site.Endpoints[op.ID].Notes,
	}
	if listsIgnored(op) {
		o.OtherFields = "listed in ignored_fields"
	}
	if op.Strict {
		o.OtherFields = "refused"
	}
	for _, f := range withDryRun(op) {
		o.Fields = append(o.Fields, g.contractField(op, &f, ""))
	}
	if len(op.Fields) > 0 && slices.Contains(op.Methods, "GET") {
		o.GetTemplate = g.getTemplate(route, op)
	}
	if slices.Contains(op.Methods, "POST") {
		o.ExampleBody = template(op)
	}
	return o
}

func (g *generation) contractField(op *api.Operation, f *core.Field, prefix string) documents.ContractField {
	c := documents.ContractField{
		Name:            f.Name,
		Type:            jsonType(f.Type),
		Required:        f.Required,
		Aliases:         f.Aliases,
		QueryParameters: f.QueryNames,
		QueryForm:       f.QueryForm,
		In:              "query or body",
		Meaning:         g.meaning(op, prefix+f.Name),
	}
	if f.Type != core.Switch { // its value is that in a query
		c.Values = f.Values
	}
	switch f.Type {
	case core.Integer:
		c.Minimum, c.Maximum = f.Min, f.Max
	case core.Array:
		c.MinItems, c.MaxItems = f.Min, f.Max
	case core.Flag:
	default:
		c.MinLength, c.MaxLength = f.Min, f.Max
	}
	if f.Type == core.Email || f.Type == core.Date {
		c.Format = string(f.Type)
	}
	switch {
	case f.Type == core.Switch: // in the query of a POST too
	case f.QueryOnly || !slices.Contains(op.Methods, "POST"):
		c.In = "query"
	case f.BodyOnly || prefix != "" || !slices.Contains(op.Methods, "GET"):
		c.In = "body"
	}
	for i := range f.Items {
		c.Items = append(c.Items, g.contractField(op, &f.Items[i], prefix+f.Name+"."))
	}
	return c
}

// listsIgnored reports whether the answer of an operation lists what was sent and not read.
func listsIgnored(op *api.Operation) bool {
	if op.Answer == nil {
		return false
	}
	for f := range reflect.TypeOf(op.Answer).Fields() {
		if f.Tag.Get("json") == "ignored_fields" {
			return true
		}
	}
	return false
}

// what is the one-line wording of a route or an operation.
func (g *generation) what(id string) string { return g.site.Endpoints[id].Summary }

// description is the long wording of a route or an operation.
func (g *generation) description(id string) string { return g.site.Endpoints[id].Description }

// meaning is the wording of an input field or of a parameter, by its dotted name.
func (g *generation) meaning(op *api.Operation, name string) string {
	if name == api.DryRun.Name {
		return "With 1 in a query, or true in a body, " + dryRunMeaning
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

// queryNames are the parameters that give a field in a query.
func queryNames(f *core.Field) []string {
	switch {
	case f.BodyOnly:
		return nil
	case len(f.QueryNames) > 0:
		return f.QueryNames
	}
	return []string{f.Name}
}

// template is a body that the operation takes once its placeholders are replaced: what it needs and the other fields that
// have an example, but no address, which needs its owner's consent. It is nil where a field that must be there has none.
func template(op *api.Operation) documents.JSON { return body(op, filledIn) }

// exampleBody is template with examples in the place of the placeholders.
func exampleBody(op *api.Operation) documents.JSON {
	return body(op, func(f *core.Field) []byte { return []byte(f.Example) })
}

func body(op *api.Operation, value func(*core.Field) []byte) documents.JSON {
	if op.Example != "" {
		return documents.JSON(op.Example)
	}
	w := jsondoc.Writer{}
	w.Open('{')
	for i := range op.Fields {
		f := &op.Fields[i]
		switch {
		case f.Example == "" && f.Required:
			return nil
		case f.Example == "" || f.QueryOnly || f.Type == core.Email:
			continue
		}
		w.Raw(f.Name, string(value(f)))
	}
	w.Close('}')
	return w.Buf
}

// filledIn is the example of a field with its placeholder, or those of its items, in the place of words.
func filledIn(f *core.Field) []byte {
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
			w.Raw(member.Name, string(filledIn(&member)))
		}
		w.Close('}')
	}
	w.Close(']')
	return w.Buf
}

func jsonType(t core.Type) string {
	switch t {
	case core.Integer, core.Array, core.Object:
		return string(t)
	case core.List:
		return "string or array"
	case core.Switch:
		return "boolean"
	case core.ID:
		return "string or number"
	}
	return "string"
}

func writes(route *api.Route) bool {
	return slices.ContainsFunc(route.Operations, func(op *api.Operation) bool { return op.Writes })
}

// operationsWith are the operations of a route that a method chooses from, those that only read first.
func operationsWith(route *api.Route, method string) (operations []*api.Operation) {
	for _, op := range readsFirst(route) {
		if slices.Contains(op.Methods, method) {
			operations = append(operations, op)
		}
	}
	return operations
}

// readsFirst are the operations of a route in the order of the documentation: the table has them in
// the order in which the edge tries them.
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

func (g *generation) liveEndpoints() []documents.LiveEndpoint {
	live := []documents.LiveEndpoint{}
	for _, route := range g.routes {
		for _, method := range route.Methods() {
			e := documents.LiveEndpoint{Method: method, Path: route.Path}
			var what []string
			for _, op := range operationsWith(route, method) {
				what = append(what, g.what(op.ID))
				e.Writes = e.Writes || op.Writes
			}
			e.What = strings.Join(what, " ")
			live = append(live, e)
		}
	}
	return live
}

// problemURL is the type of a problem: an anchor in the field guide.
func (g *generation) problemURL(p *core.ProblemType) string {
	return g.url("/field-guide.html#" + p.Slug)
}

// problemsOf are the problems that a request for one of the operations may get, in the order of the documentation.
func problemsOf(operations ...*api.Operation) (problems []*core.ProblemType) {
	statuses := []int{400, 405, 414, 421}
	known := []*core.ProblemType{core.Internal}
	for _, op := range operations {
		known = append(known, op.Errors...)
		if slices.Contains(op.Methods, "POST") {
			statuses = append(statuses, 413, 415)
		}
		if op.Document != nil && op.Document.Check != nil {
			known = append(known, core.InconsistentCounts)
		}
	}
	for _, p := range core.ProblemTypes {
		if slices.Contains(statuses, p.Status) || slices.Contains(known, p) {
			problems = append(problems, p)
		}
	}
	return problems
}
