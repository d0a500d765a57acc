package generator

import (
	"net/http"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/generator/model"
)

// parameters are the query parameters of the operations that a method chooses from. A parameter is
// required only where there is one operation: with several, its absence may choose another one.
func (d *openAPIDocument) parameters(operations []*api.Operation, method string) (parameters []object) {
	for _, op := range operations {
		fields := withDryRun(op)
		if method == http.MethodPost { // of its query only dry_run is read
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

// parameter describes a query parameter. Its schema is that of the same field of the body, with its
// words, where the operation takes the field in a body too.
func (d *openAPIDocument) parameter(op *api.Operation, f *input.Field, name string, required bool) object {
	meaning := d.fieldMeaning(op, name)
	schema := inputSchema(f, func(string) string { return meaning }, "")
	example := model.JSON(fieldTemplate(f))
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
	described := object{{"name", name}, {"in", "query"}}
	if slices.Contains(op.Methods, http.MethodPost) && !f.QueryOnly && f.Type != input.List && f.Type != input.Switch && len(f.QueryNames) == 0 {
		schema = object{{"$ref", "#/components/schemas/" + requestName(op) + "/properties/" + name}}
	} else {
		described.set("description", meaning)
	}
	if required {
		described.set("required", true)
	}
	described.set("schema", schema)
	if f.Type == input.List { // its values are joined with commas
		described.set("style", "form")
		described.set("explode", false)
	}
	if len(example) > 0 {
		described.set("example", example)
	}
	if name == api.DryRun.Name {
		d.shared.set(name, described)
		return object{{"$ref", "#/components/parameters/" + name}}
	}
	return described
}

// seatExample is the query form name:number of one item of the field's example array: of the item
// that holds the parameter's name.
func seatExample(f *input.Field, parameter string) model.JSON {
	example, err := jsondoc.Parse(fieldTemplate(f))
	if err != nil {
		return nil
	}
	for _, item := range example.Items {
		name, number, found := "", "", false
		for _, m := range item.Members {
			switch {
			case m.Value.Text == parameter:
				found = true
			case m.Value.Kind == jsondoc.String:
				name = m.Value.Text
			case m.Value.Kind == jsondoc.Number:
				number = m.Value.Text
			}
		}
		if found {
			return jsondoc.AppendString(nil, name+":"+number)
		}
	}
	return nil
}

// requestName is the name of the component for an operation's body.
func requestName(op *api.Operation) string { return strings.ToUpper(op.ID[:1]) + op.ID[1:] + "Request" }

// requestBody describes the body of a POST. The body is optional where an empty object is enough.
func (d *openAPIDocument) requestBody(route *api.Route, operations []*api.Operation) object {
	bodies, examples, required := []object{}, object{}, true
	for _, op := range operations {
		schema := inputObject(op.Fields, func(name string) string { return d.fieldMeaning(op, name) }, "")
		if op.DryRun {
			d.schemas.components.set("DryRun", inputSchema(&api.DryRun, func(name string) string { return d.fieldMeaning(op, name) }, ""))
			properties := schema.get("properties").(object)
			properties.set(api.DryRun.Name, object{{"$ref", "#/components/schemas/DryRun"}})
			schema.set("properties", properties)
		}
		if len(op.AnyOf) > 0 {
			schema.set("anyOf", oneRequired(op.AnyOf).get("anyOf"))
		}
		if op.Strict {
			schema.set("additionalProperties", false)
		}
		name := requestName(op)
		d.schemas.components.set(name, schema)
		bodies = append(bodies, object{{"$ref", "#/components/schemas/" + name}})
		needs := func(f input.Field) bool { return f.Required }
		if len(op.AnyOf) == 0 && !slices.ContainsFunc(op.Fields, needs) {
			required = false
		}
		if example := d.exampleRequest(route, op, bodyTemplate); len(example) <= maxExample {
			examples.set(op.ID, object{{"value", example}})
		}
	}
	content := object{{"schema", anyOf(bodies)}, {"examples", examples}}
	return object{
		{"description", "A JSON object. A missing Content-Type is read as JSON."},
		{"required", required},
		{"content", object{{respond.MediaJSON, content}}},
	}
}
