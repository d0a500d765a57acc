package openapi

import (
	"net/http"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/generator/answers"
	"anteroom/generator/model"
	"anteroom/generator/ordered"
	"anteroom/generator/schema"
)

// parameters are the parameters of the operations that a method chooses from. A parameter is
// required only where there is one operation: with several, its absence may choose another one.
func (d *description) parameters(operations []*api.Operation, method string) (parameters []object) {
	for _, op := range operations {
		fields := answers.AllFields(op)
		if method == http.MethodPost { // of its query only dry_run is read
			fields = fields[len(op.Fields):]
		}
		for i := range fields {
			f := &fields[i]
			for _, name := range answers.QueryNames(f) {
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

// parameter describes a parameter.
func (d *description) parameter(op *api.Operation, f *input.Field, name string, required bool) object {
	meaning := d.FieldMeaning(op, name)
	shape := schema.InputSchema(f, func(string) string { return meaning }, "")
	example := model.JSON(answers.FieldTemplate(f))
	if f.Example == "" && len(f.Values) > 0 {
		example = jsondoc.AppendString(nil, f.Values[0])
	}
	if len(f.QueryNames) > 0 {
		shape = object{{"type", "string"}, {"pattern", `^[^\x00-\x1F\x7F]+:[0-9]+$`}}
		example = SeatExample(f, name)
	} else if slices.Contains(f.Aliases, name) {
		meaning = schema.SameAs(f)
	}
	switch f.Type {
	case input.List:
		shape = d.list(f)
	case input.Switch:
		shape = object{{"type", "string"}, {"enum", f.Values}}
	}
	shape = slices.DeleteFunc(shape, func(m ordered.Member) bool { return m.Name == "description" })
	in := "query"
	if name == api.Key.Name {
		in = "header"
	}
	described := object{{"name", name}, {"in", in}, {"description", meaning}}
	if required {
		described.Set("required", true)
	}
	described.Set("schema", shape)
	if f.Type == input.List { // its values are joined with commas
		described.Set("style", "form")
		described.Set("explode", false)
	}
	if len(example) > 0 {
		described.Set("example", example)
	}
	if name == api.DryRun.Name || name == api.Key.Name {
		d.shared.Set(name, described)
		return ref("parameters", name)
	}
	return described
}

// list is the array form of a list field. Its values are a component, which gives their type the
// name that oapi-codegen needs.
func (d *description) list(f *input.Field) object {
	list := schema.ListItems(f)
	list.Set("items", d.component(strings.ToUpper(f.Name[:1])+f.Name[1:]+"Value", list.Get("items").(object)))
	return list
}

// SeatExample is the query form name:number of one item of the field's example array: of the item
// that holds the parameter's name.
func SeatExample(f *input.Field, parameter string) model.JSON {
	example, err := jsondoc.Parse(answers.FieldTemplate(f))
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

func requestName(op *api.Operation) string { return strings.ToUpper(op.ID[:1]) + op.ID[1:] + "Request" }

// requestBody describes the body of a POST. The body is optional where an empty object is enough.
func (d *description) requestBody(route *api.Route, operations []*api.Operation) object {
	bodies, examples, required := []object{}, object{}, true
	for _, op := range operations {
		shape := schema.InputObject(op.Fields, func(name string) string { return d.FieldMeaning(op, name) }, "")
		if op.DryRun {
			properties := shape.Get("properties").(object)
			properties.Set(api.DryRun.Name, schema.InputSchema(&api.DryRun, func(name string) string { return d.FieldMeaning(op, name) }, ""))
			shape.Set("properties", properties)
		}
		for i := range op.Fields {
			f := &op.Fields[i]
			property, _ := shape.Get("properties").(object).Get(f.Name).(object)
			switch {
			case f.Type == input.List:
				property.Get("oneOf").([]object)[1] = d.list(f)
			case f.Same != "":
				property.Set("items", ref("schemas", requestName(route.Operation(f.Same))))
			}
		}
		if len(op.AnyOf) > 0 {
			shape.Set("anyOf", schema.OneRequired(op.AnyOf).Get("anyOf"))
		}
		if op.Strict {
			shape.Set("additionalProperties", false)
		}
		bodies = append(bodies, d.component(requestName(op), shape))
		needs := func(f input.Field) bool { return f.Required }
		if len(op.AnyOf) == 0 && !slices.ContainsFunc(op.Fields, needs) {
			required = false
		}
		examples.Set(op.ID, object{{"value", d.Example(op).Template}})
	}
	shape := anyOf(bodies)
	if len(bodies) > 1 { // oapi-codegen encodes a union only as a component
		shape = d.component(strings.ToUpper(route.ID[:1])+route.ID[1:]+"Request", shape)
	}
	content := object{{"schema", shape}, {"examples", examples}}
	return object{
		{"description", "A JSON object. A missing Content-Type is read as JSON."},
		{"required", required},
		{"content", object{{respond.MediaJSON, content}}},
	}
}
