package contract

import (
	"cmp"
	"path"
	"reflect"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/input"
	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

// schemas makes JSON Schemas (2020-12) of Go types. A named struct becomes a component.
type schemas struct {
	components object
	inline     bool           // structs are written in place
	tool       bool           // inline, but only the types of a tool's result
	enclosing  []reflect.Type // inline structs being written; a nested copy is any object
}

// Inline returns a schema without references and with all descriptions.
func Inline(t reflect.Type) object {
	s := schemas{inline: true}
	return s.ofType(t)
}

func (s *schemas) ref(t reflect.Type) object {
	name := typeName(t)
	if !slices.ContainsFunc(s.components, func(m output.Member) bool { return m.Name == name }) {
		s.components.Set(name, nil) // keeps its place, and ends a recursion
		s.components.Set(name, s.ofStruct(t))
	}
	return ref("schemas", name)
}

func typeName(t reflect.Type) string {
	pkg := path.Base(t.PkgPath())
	prefix := Capital(pkg)
	if slices.Contains([]string{"model", "respond", "input"}, pkg) || strings.HasPrefix(t.Name(), prefix) {
		return t.Name()
	}
	return prefix + t.Name()
}

func (s *schemas) ofType(t reflect.Type) object {
	if t == reflect.TypeFor[model.JSON]() {
		return anyObject()
	}
	switch t.Kind() {
	case reflect.String:
		return object{{"type", "string"}}
	case reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return object{{"type", "integer"}}
	case reflect.Pointer:
		return s.ofType(t.Elem())
	case reflect.Map:
		return object{{"type", "object"}, {"additionalProperties", s.ofType(t.Elem())}}
	case reflect.Slice:
		return object{{"type", "array"}, {"items", s.ofType(t.Elem())}}
	case reflect.Struct:
		switch {
		case !s.inline:
			return s.ref(t)
		case slices.Contains(s.enclosing, t):
			return anyObject()
		}
		s.enclosing = append(s.enclosing, t)
		schema := s.ofStruct(t)
		s.enclosing = s.enclosing[:len(s.enclosing)-1]
		return schema
	}
	panic("no schema for the type " + t.String() + " of an answer")
}

// ofStruct follows the tags that package model describes. An embedded struct is a component; the
// members before and after it are separate parts, so that all keep their order.
func (s *schemas) ofStruct(t reflect.Type) object {
	parts := []object{{}}
	own := structSchema{}
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		for f := range t.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && (s.inline || f.Tag.Get("flat") == "true"):
				add(f.Type)
				continue
			case f.Anonymous:
				parts[len(parts)-1] = own.schema()
				own = structSchema{}
				parts = append(parts, s.ofType(f.Type), object{})
				continue
			case name == "-", s.tool && (options == "embed" || isLeftOut(name)):
				continue
			case options == "embed":
				schema := s.ofType(f.Type.Elem())
				schema.Set("description", f.Tag.Get("doc"))
				own.patterns.Set(f.Tag.Get("pattern"), schema)
				continue
			}
			absent := strings.Contains(options, "omit") && f.Tag.Get("from") != "edge"
			own.properties.Set(name, s.ofMember(&f, name, absent))
			if !absent && !s.tool {
				own.required = append(own.required, name)
			}
			if f.Tag.Get("total") == "true" && !s.tool {
				meaning := "Total number, if " + name + " is cut short."
				own.properties.Set(name+"_total", object{{"type", "integer"}, {"description", meaning}})
			}
		}
	}
	add(t)
	parts[len(parts)-1] = own.schema()
	parts = slices.DeleteFunc(parts,
		func(part object) bool { return part.Get("$ref") == nil && len(part.Object("properties")) == 0 })
	if len(parts) == 1 {
		return parts[0]
	}
	return object{{"allOf", parts}} // oapi-codegen drops properties next to an allOf
}

// openapi-typescript reads an object without additionalProperties as one without members.
func anyObject() object { return object{{"type", "object"}, {"additionalProperties", true}} }

type structSchema struct {
	properties, patterns object
	required             []string
}

func (p *structSchema) schema() object {
	schema := object{{"type", "object"}, {"properties", append(object{}, p.properties...)}}
	if len(p.patterns) > 0 {
		schema.Set("patternProperties", p.patterns)
	}
	if len(p.required) > 0 {
		schema.Set("required", p.required)
	}
	return schema
}

func (s *schemas) ofMember(f *reflect.StructField, name string, absent bool) object {
	schema := s.ofType(f.Type)
	if f.Tag.Get("null") == "true" || f.Type.Kind() == reflect.Pointer && !absent {
		if schema.Get("$ref") != nil {
			schema = object{{"oneOf", []object{schema, {{"type", "null"}}}}}
		} else {
			schema.Set("type", []string{schema.Get("type").(string), "null"})
		}
	}
	if also := f.Tag.Get("also"); also != "" {
		var types []object
		if s.tool { // clients drop a tool for the keyword oneOf
			schema.Set("type", append(strings.Split(also, ","), schema.Get("type").(string)))
			return only(schema, "type", "items")
		}
		for name := range strings.SplitSeq(also, ",") {
			one := object{{"type", name}}
			if name == "array" {
				one.Set("items", object{})
			}
			types = append(types, one)
		}
		schema = choice(schema, append(types, slices.Clone(schema))...)
	}
	if s.tool {
		keywords := []string{"type"}
		if slices.Contains(described, name) {
			keywords = append(keywords, "properties", "items")
		}
		schema = only(schema, keywords...)
		if values := strings.Split(f.Tag.Get("enum"), ","); len(values) > 1 && len(s.enclosing) == 1 {
			schema.Set("enum", values)
		}
		return schema
	}
	if doc := f.Tag.Get("doc"); s.inline || tells(doc) {
		schema.Set("description", doc)
	}
	if items, is := schema.Get("items").(object); is && f.Type.Elem().Kind() == reflect.String {
		schema.Set("items", limited(items, f.Tag))
		if most := f.Tag.Get("maxItems"); most != "" {
			schema.Set("maxItems", model.JSON(most))
		}
		return schema
	}
	return limited(schema, f.Tag)
}

func limited(schema object, tag reflect.StructTag) object {
	format, pattern := site.Keywords(tag.Get("is"))
	minimum, most := tag.Get("minimum"), "maxLength"
	if tag.Get("is") == "count" {
		minimum, most = "0", "maximum"
	}
	if format = cmp.Or(tag.Get("format"), format); format != "" {
		schema.Set("format", format)
	}
	if pattern = cmp.Or(tag.Get("pattern"), pattern); pattern != "" {
		schema.Set("pattern", pattern)
	}
	if enum := tag.Get("enum"); enum != "" {
		schema.Set("enum", strings.Split(enum, ","))
	}
	if minimum != "" {
		schema.Set("minimum", model.JSON(minimum))
	}
	if limit := tag.Get("max"); limit != "" {
		schema.Set(most, model.JSON(limit))
	}
	return schema
}

func tells(words string) bool {
	const few = 48
	return len(words) >= few || strings.ContainsAny(words, ",;:0123456789") || strings.Contains(words, "null")
}

// The control characters that each type refuses, so that ECMA-262, RE2 and Python read the patterns
// the same way.
const (
	noControls  = `^[^\x00-\x1F\x7F]*$`
	textPattern = `^[^\x00-\x08\x0B\x0C\x0E-\x1F\x7F]*$`
)

// inputSchema takes the dotted name of the field around this one as prefix, with a final dot.
func (g *Answers) inputSchema(op *api.Operation, f *input.Field, prefix string) object {
	schema := object{{"type", jsonType(f.Type)}, {"description", g.FieldMeaning(op, prefix+f.Name)}}
	switch f.Type {
	case input.ID:
		return choice(schema, object{{"type", "string"}}, object{{"type", "number"}})
	case input.List: // no keyword describes a string with commas
		return choice(schema, object{{"type", "string"}}, listItems(f))
	case input.Object:
		schema.Set("additionalProperties", true)
		return schema
	case input.Switch:
		return schema
	}
	bounds := func(least, most string) {
		if f.Min != 0 {
			schema.Set(least, f.Min)
		}
		if f.Max != 0 {
			schema.Set(most, f.Max)
		}
	}
	switch f.Type {
	case input.Integer:
		schema.Set("format", "int32")
		bounds("minimum", "maximum")
	case input.Array:
		schema.Set("items", g.inputObject(op, f.Items, prefix+f.Name+"."))
		bounds("minItems", "maxItems")
	case input.Email, input.Date:
		schema.Set("format", string(f.Type))
	case input.Name:
		bounds("minLength", "maxLength")
		if len(f.Values) == 0 {
			schema.Set("pattern", noControls)
		}
	case input.Text:
		bounds("minLength", "maxLength")
		schema.Set("pattern", textPattern)
	}
	if len(f.Values) > 0 {
		schema.Set("enum", f.Values)
	}
	return schema
}

func listItems(f *input.Field) object {
	return object{{"type", "array"}, {"items", object{{"type", "string"}, {"enum", f.Values}}}, {"minItems", 1}}
}

func choice(schema object, types ...object) object {
	return append(only(schema, "description"), output.Member{Name: "oneOf", Value: types})
}

func (g *Answers) inputObject(op *api.Operation, fields []input.Field, prefix string) object {
	schema, properties, required := object{{"type", "object"}}, object{}, []string{}
	for i := range fields {
		f := &fields[i]
		if f.QueryOnly {
			continue
		}
		properties.Set(f.Name, g.inputSchema(op, f, prefix))
		for _, alias := range f.Aliases {
			same := g.inputSchema(op, f, prefix)
			same.Set("description", sameAs(f))
			properties.Set(alias, same)
		}
		switch {
		case !f.Required:
		case len(f.Aliases) == 0:
			required = append(required, f.Name)
		default:
			requireOne(&schema, append([]string{f.Name}, f.Aliases...))
		}
	}
	schema.Set("properties", properties)
	if len(required) > 0 {
		schema.Set("required", required)
	}
	return schema
}

func sameAs(f *input.Field) string {
	text := "The same as " + f.Name + ". If both are sent, they must agree"
	if f.Type == input.Email {
		text += "; " + site.Consent
	}
	return text + "."
}

// requireOne demands at least one of some properties, by a condition: of each choice of an anyOf,
// generators of clients make a separate type.
func requireOne(schema *object, names []string) {
	first := object{{"properties", object{{names[0], object{}}}}, {"required", names[:1]}}
	if len(names) == 1 {
		*schema = append(*schema, first...)
		return
	}
	rest := object{}
	requireOne(&rest, names[1:])
	schema.Set("if", first)
	schema.Set("else", rest)
}

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
