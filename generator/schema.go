package generator

import (
	"path"
	"reflect"
	"slices"
	"strings"

	"anteroom/edge/input"
	"anteroom/generator/model"
	"anteroom/generator/site"
)

// schemas makes JSON Schemas (2020-12) of Go types and of input fields. A named struct becomes a
// component that other schemas refer to.
type schemas struct {
	components object
	types      map[string]reflect.Type // types of the components, by name
	inline     bool                    // structs are written in place instead of becoming components
	enclosing  []reflect.Type          // inline structs being written; inside itself a struct is any object
}

// ref refers to the component of a struct type, and makes the component where there is none yet.
func (s *schemas) ref(t reflect.Type) object {
	name := componentName(t)
	if known := s.types[name]; known == nil {
		s.types[name] = t
		s.components.set(name, nil) // keeps the component's place, and ends a recursion
		s.components.set(name, s.ofStruct(t))
	} else if known != t {
		panic("two answer types make the component " + name + ": rename one of them")
	}
	return object{{"$ref", "#/components/schemas/" + name}}
}

// componentName is the name of a type. The name of its package stands before it where the type name
// alone says too little.
func componentName(t reflect.Type) string {
	pkg := path.Base(t.PkgPath())
	prefix := strings.ToUpper(pkg[:1]) + pkg[1:]
	if slices.Contains([]string{"model", "respond", "input"}, pkg) || strings.HasPrefix(t.Name(), prefix) {
		return t.Name()
	}
	return prefix + t.Name()
}

// ofType is the schema of the values of a type.
func (s *schemas) ofType(t reflect.Type) object {
	if t == reflect.TypeFor[model.JSON]() {
		return object{{"type", "object"}}
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
			return object{{"type", "object"}}
		}
		s.enclosing = append(s.enclosing, t)
		schema := s.ofStruct(t)
		s.enclosing = s.enclosing[:len(s.enclosing)-1]
		return schema
	}
	panic("no schema for the type " + t.String() + " of an answer")
}

// ofStruct is the schema of a struct. Package model says what its tags mean. An embedded struct is
// a component of its own; the members after it are a further part, so that all stand in their
// order.
func (s *schemas) ofStruct(t reflect.Type) object {
	parts := []object{{}}
	own := structSchema{}
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		for f := range t.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && s.inline:
				add(f.Type)
				continue
			case f.Anonymous:
				parts[len(parts)-1] = own.schema()
				own = structSchema{}
				parts = append(parts, s.ofType(f.Type), object{})
				continue
			case options == "embed":
				schema := s.ofType(f.Type.Elem())
				schema.set("description", f.Tag.Get("doc"))
				own.patterns.set(f.Tag.Get("pattern"), schema)
				continue
			}
			absent := strings.Contains(options, "omit") && f.Tag.Get("from") != "edge"
			own.properties.set(name, s.ofMember(&f, absent))
			if !absent {
				own.required = append(own.required, name)
			}
		}
	}
	add(t)
	parts[len(parts)-1] = own.schema()
	if more := slices.DeleteFunc(parts[1:], func(part object) bool { return part.get("$ref") == nil && len(part.get("properties").(object)) == 0 }); len(more) > 0 {
		parts[0].set("allOf", more)
	}
	return parts[0]
}

// structSchema is what the members of a struct, or some of them, say of an object.
type structSchema struct {
	properties, patterns object
	required             []string
}

func (p *structSchema) schema() object {
	schema := object{{"type", "object"}, {"properties", append(object{}, p.properties...)}}
	if len(p.patterns) > 0 {
		schema.set("patternProperties", p.patterns)
	}
	if len(p.required) > 0 {
		schema.set("required", p.required)
	}
	return schema
}

// ofMember is the schema of one member. A pointer may be null, unless the member is absent where
// there is no value.
func (s *schemas) ofMember(f *reflect.StructField, absent bool) object {
	schema := s.ofType(f.Type)
	if f.Tag.Get("null") == "true" || f.Type.Kind() == reflect.Pointer && !absent {
		if schema.get("$ref") != nil {
			schema = object{{"anyOf", []object{schema, {{"type", "null"}}}}}
		} else {
			schema.set("type", []any{schema.get("type"), "null"})
		}
	}
	if also := f.Tag.Get("also"); also != "" {
		types := append(strings.Split(also, ","), schema.get("type").(string))
		schema.set("type", types)
		if slices.Contains(types, "array") && schema.get("items") == nil {
			schema.set("items", object{})
		}
	}
	if doc := f.Tag.Get("doc"); tells(doc) {
		schema.set("description", doc)
	}
	for _, key := range []string{"format", "pattern"} {
		if value := f.Tag.Get(key); value != "" {
			schema.set(key, value)
		}
	}
	if enum := f.Tag.Get("enum"); enum != "" {
		schema.set("enum", strings.Split(enum, ","))
	}
	if minimum := f.Tag.Get("minimum"); minimum != "" {
		schema.set("minimum", model.JSON(minimum))
	}
	return schema
}

// tells reports whether the words of a member say more than its name does. Few words without a
// qualification do not.
func tells(words string) bool {
	const few = 48
	return len(words) >= few || strings.ContainsAny(words, ",;:0123456789") || strings.Contains(words, "null")
}

// Patterns of strings: the control characters that each type refuses, written so that ECMA-262, RE2
// and Python read the patterns alike.
const (
	noControls  = `^[^\x00-\x1F\x7F]*$`
	textPattern = `^[^\x00-\x08\x0B\x0C\x0E-\x1F\x7F]*$`
)

// inputSchema is the schema of an input field in a JSON body. meaning gives the words of a field by
// its dotted name; prefix is the dotted name of the field around it, with a dot at its end.
func inputSchema(f *input.Field, meaning func(name string) string, prefix string) object {
	schema := object{{"type", jsonType(f.Type)}, {"description", meaning(prefix + f.Name)}}
	if f.Type == input.ID {
		schema.set("type", []string{"string", "number"})
	}
	if f.Type == input.List {
		// items says what an array may hold; no keyword says it of a text with commas.
		schema.set("type", []string{"string", "array"})
		schema.set("items", object{{"type", "string"}, {"enum", f.Values}})
		schema.set("minItems", 1)
		return schema
	}
	if f.Type == input.Switch {
		return schema
	}
	bounds := func(least, most string) {
		if f.Min != 0 {
			schema.set(least, f.Min)
		}
		if f.Max != 0 {
			schema.set(most, f.Max)
		}
	}
	switch f.Type {
	case input.Integer:
		schema.set("format", "int32")
		bounds("minimum", "maximum")
	case input.Array:
		items := inputObject(f.Items, meaning, prefix+f.Name+".")
		schema.set("items", items)
		bounds("minItems", "maxItems")
	case input.Email, input.Date:
		schema.set("format", string(f.Type))
	case input.Name:
		bounds("minLength", "maxLength")
		if len(f.Values) == 0 {
			schema.set("pattern", noControls)
		}
	case input.Text:
		bounds("minLength", "maxLength")
		schema.set("pattern", textPattern)
	}
	if len(f.Values) > 0 {
		schema.set("enum", f.Values)
	}
	return schema
}

// inputObject is the schema of an object of input fields. An alias is a property of its own.
func inputObject(fields []input.Field, meaning func(name string) string, prefix string) object {
	properties, required, oneNameOf := object{}, []string{}, []any{}
	for i := range fields {
		f := &fields[i]
		if f.QueryOnly {
			continue
		}
		properties.set(f.Name, inputSchema(f, meaning, prefix))
		for _, alias := range f.Aliases {
			schema := inputSchema(f, meaning, prefix)
			schema.set("description", sameAs(f))
			properties.set(alias, schema)
		}
		switch {
		case !f.Required:
		case len(f.Aliases) == 0:
			required = append(required, f.Name)
		default:
			oneNameOf = append(oneNameOf, oneRequired(append([]string{f.Name}, f.Aliases...)))
		}
	}
	schema := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		schema.set("required", required)
	}
	if len(oneNameOf) > 0 {
		schema.set("allOf", oneNameOf)
	}
	return schema
}

// sameAs is the description of a field's alias. The alias of an address field says, like the field,
// that an address needs its owner's consent.
func sameAs(f *input.Field) string {
	text := "The same as " + f.Name + ". Where both are given, they must agree"
	if f.Type == input.Email {
		text += "; " + site.Consent
	}
	return text + "."
}

// oneRequired demands at least one of some properties.
func oneRequired(names []string) object {
	choices := []object{}
	for _, name := range names {
		choices = append(choices, object{{"required", []string{name}}})
	}
	return object{{"anyOf", choices}}
}

// listEntrySchema is the schema of one entry of a list that grows, with the name of what an entry
// is as its title. It refers to nothing outside itself.
func (*generation) listEntrySchema(entry string, l *site.List) object {
	properties, required := object{}, []string{}
	for _, m := range l.Members() {
		text := object{{"type", "string"}}
		if m.Format != "" {
			text.set("format", m.Format)
		}
		if m.Pattern != "" {
			text.set("pattern", m.Pattern)
		}
		if m.Values != nil {
			text.set("enum", m.Values)
		}
		schema := text
		switch m.Type {
		case "integer":
			schema = object{{"type", m.Type}, {"minimum", 0}, {"maximum", m.Max}}
		case "array":
			text.set("maxLength", m.Max)
			schema = object{{"type", m.Type}, {"items", text}, {"maxItems", m.MaxItems}}
		default:
			if m.Max > 0 {
				schema.set("maxLength", m.Max)
			}
			if m.Nullable {
				schema.set("type", []string{m.Type, "null"})
			}
		}
		schema.set("description", m.Doc)
		properties.set(m.Name, schema)
		if !m.Optional {
			required = append(required, m.Name)
		}
	}
	return object{{"title", entry}, {"type", "object"}, {"properties", properties}, {"required", required}}
}
