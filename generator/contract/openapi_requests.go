package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/generator/model"
	"anteroom/generator/output"
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
	shape := inputSchema(f, func(string) string { return meaning }, "")
	example := model.JSON(FieldTemplate(f))
	if f.Example == "" && len(f.Values) > 0 {
		example = jsondoc.AppendString(nil, f.Values[0])
	}
	switch f.Type {
	case input.List:
		shape = d.listItems(f)
	case input.Switch:
		shape = object{{"type", "string"}, {"enum", f.Values}}
	}
	shape = slices.DeleteFunc(shape, func(m output.Member) bool { return m.Name == "description" })
	in := "query"
	if name == api.Key.Name {
		in, shape = "header", object{{"type", "string"}, {"pattern", keyPattern()}}
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

// keyPattern matches what api.ReadKey reads: printable ASCII, bare without a comma, or a string of
// RFC 9651, whose escapes the lengths do not count.
func keyPattern() string {
	least, most := api.Key.Min, api.Key.Max
	return fmt.Sprintf(`^([!#-+\--~][ -+\--~]{%d,%d}[!-+\--~]|"([ !#-\[\]-~]|\\["\\]){%d,%d}")$`, least-2,
		most-2, least, most)
}

func (d *description) listItems(f *input.Field) object {
	list := listItems(f)
	list.Set("items", d.component(strings.ToUpper(f.Name[:1])+f.Name[1:]+"Value", list.Get("items").(object)))
	return list
}

func componentName(op *api.Operation, kind string) string {
	return strings.ToUpper(op.ID[:1]) + op.ID[1:] + kind
}

func (d *description) requestBody(route *api.Route, operations []*api.Operation) object {
	bodies, examples, required := []object{}, object{}, true
	for _, op := range operations {
		shape := inputObject(op.Fields, func(name string) string { return d.FieldMeaning(op, name) }, "")
		if op.DryRun {
			properties := shape.Get("properties").(object)
			properties.Set(api.DryRun.Name,
				inputSchema(&api.DryRun, func(name string) string { return d.FieldMeaning(op, name) }, ""))
			shape.Set("properties", properties)
		}
		for i := range op.Fields {
			f := &op.Fields[i]
			property, _ := shape.Get("properties").(object).Get(f.Name).(object)
			switch {
			case f.Type == input.List:
				property.Get("oneOf").([]object)[1] = d.listItems(f)
			case f.Same != "":
				property.Set("items", ref("schemas", componentName(route.Operation(f.Same), "Request")))
			}
		}
		if len(op.AnyOf) > 0 {
			requireOne(&shape, op.AnyOf)
		}
		if op.Strict {
			shape.Set("additionalProperties", false)
		}
		bodies = append(bodies, d.component(componentName(op, "Request"), shape))
		needs := func(f input.Field) bool { return f.Required }
		if len(op.AnyOf) == 0 && !slices.ContainsFunc(op.Fields, needs) {
			required = false
		}
		examples.Set(op.ID, object{{"value", d.Example(op).Template}})
	}
	shape := oneOf(bodies)
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
