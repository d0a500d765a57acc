package generator

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// apiReference writes the API reference. It reads the OpenAPI document that is published, so that
// the two cannot differ.
type apiReference struct {
	strings.Builder
	document object
}

// operationsSection describes every operation, response, header and schema of the OpenAPI document.
func (g *generation) operationsSection() section {
	var r apiReference
	for i := range g.documents {
		if g.documents[i].Path == openAPIPath {
			r.document, _ = orderedJSON(g.documents[i].Bytes, "example", "examples").(object)
		}
	}
	if r.document == nil {
		g.fault("reference page: no %s was made before it", openAPIPath)
		return section{}
	}
	for _, tag := range list(r.document.get("tags")) {
		r.tag(tag.(object))
	}
	r.responses()
	r.headers()
	r.schemas()
	return section{markdown: r.String()}
}

// number is the text of a number.
type number string

// orderedJSON is a JSON text as objects whose members keep their order. Numbers keep their text.
// Members with a name to leave out are skipped, but for properties of a schema.
func orderedJSON(text []byte, leaveOut ...string) any {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text)) // it reads a buffer in place
	var value func(of string) any
	value = func(of string) any {
		token, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		switch token.Kind() {
		case '{':
			o := object{}
			for dec.PeekKind() == '"' {
				token, _ := dec.ReadToken()
				name := token.String()
				if of != "properties" && slices.Contains(leaveOut, name) {
					_ = dec.SkipValue()
					continue
				}
				o = append(o, member{name, value(name)})
			}
			_, _ = dec.ReadToken()
			return o
		case '[':
			items := []any{}
			for kind := dec.PeekKind(); kind != ']' && kind != 0; kind = dec.PeekKind() {
				items = append(items, value(""))
			}
			_, _ = dec.ReadToken()
			return items
		case '"':
			return token.String()
		case '0':
			return number(token.String())
		}
		if kind := token.Kind(); kind == 't' || kind == 'f' {
			return token.Bool()
		}
		return nil
	}
	return value("")
}

// list, members and words are a value as an array, an object or a text; empty where it is none.
func list(v any) []any {
	items, _ := v.([]any)
	return items
}

func members(v any) object {
	o, _ := v.(object)
	return o
}

func words(v any) string {
	s, _ := v.(string)
	return s
}

// methodsInOrder are the members of a path item that are operations, in the order of the reference.
// Those of OPTIONS come behind them, since they are all alike.
var methodsInOrder = []string{"get", "post", "put", "patch", "delete"}

// tag describes the operations of one tag.
func (r *apiReference) tag(tag object) {
	name := words(tag.get("name"))
	fmt.Fprintf(r, "## %s {#tag-%s}\n\n%s\n", strings.ToUpper(name[:1])+name[1:], name, markdownText(words(tag.get("description"))))
	each := func(methods []string, describe func(method, path string, op object)) {
		for _, path := range members(r.document.get("paths")) {
			for _, method := range methods {
				op := members(members(path.value).get(method))
				if op != nil && slices.Contains(list(op.get("tags")), any(name)) {
					describe(method, path.name, op)
				}
			}
		}
	}
	each(methodsInOrder, r.operation)
	each([]string{"options"}, r.options)
}

// operation describes one operation.
func (r *apiReference) operation(method, path string, op object) {
	id := words(op.get("operationId"))
	fmt.Fprintf(r, "\n### %s %s {#%s}\n\n`%s`", strings.ToUpper(method), markdownText(path), id, id)
	for _, other := range list(op.get("x-operations")) {
		if other != id {
			fmt.Fprintf(r, ", `%s`", words(other))
		}
	}
	fmt.Fprintf(r, ". %s\n\n%s\n", markdownText(words(op.get("summary"))), markdownLines(words(op.get("description"))))
	if parameters := list(op.get("parameters")); len(parameters) > 0 {
		r.WriteByte('\n')
		row := beginTable(&r.Builder, "Parameter", "Takes", "Meaning")
		for _, p := range parameters {
			p := r.resolve(p)
			required := "optional"
			if p.get("required") == true {
				required = "required"
			}
			row("`"+words(p.get("name"))+"`", words(p.get("in"))+", "+required+", "+r.kind(r.fieldSchema(p)), markdownText(words(p.get("description"))+words(r.fieldSchema(p).get("description"))))
		}
	}
	if body := members(op.get("requestBody")); body != nil {
		fmt.Fprintf(r, "\nBody: %s. %s\n", r.content(body), markdownText(words(body.get("description"))))
	}
	r.WriteString("\nAnswers:\n\n")
	r.answers(op)
}

// options describes an operation of OPTIONS in short.
func (r *apiReference) options(method, path string, op object) {
	id := words(op.get("operationId"))
	fmt.Fprintf(r, "\n#### %s %s {#%s}\n\n`%s`. %s\n\n", strings.ToUpper(method), markdownText(path), id, id, markdownText(words(op.get("summary"))))
	r.answers(op)
}

// answers lists the answers of an operation by their statuses.
func (r *apiReference) answers(op object) {
	var errors []string
	for _, answer := range members(op.get("responses")) {
		response := members(answer.value)
		if ref := refName(response); ref != "" {
			errors = append(errors, fmt.Sprintf("%s [%s](#response-%s)", answer.name, ref, ref))
			continue
		}
		fmt.Fprintf(r, "- %s: %s", answer.name, markdownText(words(response.get("description"))))
		r.body(response)
	}
	if len(errors) > 0 {
		fmt.Fprintf(r, "- %s\n", strings.Join(errors, ", "))
	}
}

// resolve follows a reference, of a parameter or to a field of a body.
func (r *apiReference) resolve(v any) object {
	o := members(v)
	ref := words(o.get("$ref"))
	if ref == "" {
		return o
	}
	o = r.document
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		o = members(o.get(name))
	}
	return o
}

// fieldSchema is the schema of a parameter. That of a field which a body takes too has its words.
func (r *apiReference) fieldSchema(parameter object) object {
	return r.resolve(parameter.get("schema"))
}

// body names the body and the headers of a response, at the end of a line.
func (r *apiReference) body(response object) {
	if content := r.content(response); content != "" {
		fmt.Fprintf(r, " Body: %s.", content)
	}
	var names []string
	for _, h := range members(response.get("headers")) {
		names = append(names, h.name)
	}
	if len(names) > 0 {
		fmt.Fprintf(r, " Headers: %s.", strings.Join(names, ", "))
	}
	r.WriteByte('\n')
}

// content names the media types and the schemas of a body.
func (r *apiReference) content(body object) string {
	var texts []string
	for _, media := range members(body.get("content")) {
		text := "`" + media.name + "`"
		if kind := r.kind(members(media.value).get("schema")); kind != "" {
			text += ", " + kind
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

// responses describes the responses that several operations share.
func (r *apiReference) responses() {
	components := members(r.document.get("components"))
	r.WriteString("\n## What operations share {#shared}\n\n### Answers {#responses}\n")
	for _, response := range members(components.get("responses")) {
		fmt.Fprintf(r, "\n#### %s {#response-%s}\n\n%s", response.name, response.name, markdownText(words(members(response.value).get("description"))))
		r.body(members(response.value))
	}
}

// headers describes the response headers.
func (r *apiReference) headers() {
	r.WriteString("\n### Headers {#headers}\n")
	for _, header := range members(members(r.document.get("components")).get("headers")) {
		h := members(header.value)
		fmt.Fprintf(r, "\n#### %s {#header-%s}\n\n%s: %s\n", header.name, header.name, r.kind(h.get("schema")), markdownText(words(h.get("description"))))
	}
}

// schemas describes the bodies.
func (r *apiReference) schemas() {
	r.WriteString("\n### Schemas {#schemas}\n\nA member that may be absent is marked as optional.\n")
	for _, schema := range members(members(r.document.get("components")).get("schemas")) {
		fmt.Fprintf(r, "\n#### %s {#schema-%s}\n\n", schema.name, schema.name)
		s := members(schema.value)
		parts := append([]any{s}, list(s.get("allOf"))...)
		if !slices.ContainsFunc(parts, func(part any) bool { return members(part).get("properties") != nil }) {
			fmt.Fprintf(r, "%s\n", r.kind(s))
			continue
		}
		row := beginTable(&r.Builder, "Member", "Type", "Meaning")
		for _, part := range parts {
			r.properties(row, members(part), "")
			if name := refName(members(part)); name != "" {
				row("all members of "+r.kind(part), "", "")
			}
		}
		if len(parts) == 1 && len(members(s.get("properties"))) == 0 {
			row("none", "", "")
		}
	}
}

// properties adds a row for each member of an object, and of the objects within it.
func (r *apiReference) properties(row func(...string), schema object, prefix string) {
	required := list(schema.get("required"))
	rows := func(properties object, kind func(name string) string) {
		for _, p := range properties {
			inner := members(p.value)
			row("`"+prefix+p.name+"`", r.kind(inner)+kind(p.name), markdownText(words(inner.get("description"))))
			path := prefix + p.name + "."
			if items := members(inner.get("items")); items != nil {
				inner, path = items, prefix+p.name+"[]."
			}
			r.properties(row, inner, path)
		}
	}
	rows(members(schema.get("properties")), func(name string) string {
		if slices.Contains(required, any(name)) {
			return ""
		}
		return ", optional"
	})
	rows(members(schema.get("patternProperties")), func(string) string { return ", optional" })
}

// refName is the name of the component that an object refers to, and "" where it refers to none.
func refName(o object) string {
	ref := words(o.get("$ref"))
	return ref[strings.LastIndexByte(ref, '/')+1:]
}

// kind says in words which values a schema takes.
func (r *apiReference) kind(v any) string {
	schema := members(v)
	if name := refName(schema); name != "" {
		return fmt.Sprintf("[%s](#schema-%s)", name, name)
	}
	for _, combined := range []struct{ keyword, conjunction string }{{"allOf", "and"}, {"anyOf", "or"}, {"oneOf", "or"}} {
		var kinds []string
		for _, one := range list(schema.get(combined.keyword)) {
			if kind := r.kind(one); kind != "" {
				kinds = append(kinds, kind)
			}
		}
		if len(kinds) > 0 && schema.get("properties") == nil {
			return enumeration(kinds, combined.conjunction)
		}
	}
	var types []string
	for _, one := range append(list(schema.get("type")), schema.get("type")) {
		switch name := words(one); name {
		case "":
		case "array":
			types = append(types, "array of "+r.kind(schema.get("items")))
		default:
			types = append(types, name)
		}
	}
	text := enumeration(types, "or")
	if values := list(schema.get("enum")); len(values) > 0 {
		text = ""
		for i, value := range values {
			if i > 0 {
				text += ", "
			}
			text += "`" + words(value) + "`"
		}
	}
	for _, limit := range limits {
		switch value := schema.get(limit.keyword).(type) {
		case number:
			text += ", " + fmt.Sprintf(limit.words, string(value))
		case string:
			text += ", " + fmt.Sprintf(limit.words, value)
		}
	}
	return text
}

// limits are the keywords of JSON Schema that limit a value, in words.
var limits = []struct{ keyword, words string }{
	{"format", "%s"},
	{"minimum", "%s or more"},
	{"maximum", "at most %s"},
	{"minLength", "%s characters or more"},
	{"maxLength", "at most %s characters"},
	{"minItems", "%s items or more"},
	{"maxItems", "at most %s items"},
	{"pattern", "pattern `%s`"},
}

// markdownLines writes a text of several lines as Markdown. Its lines that begin with a hyphen are
// a list.
func markdownLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if item, is := strings.CutPrefix(line, "- "); is {
			b.WriteString("- " + markdownText(item) + "\n")
		} else {
			b.WriteString(markdownText(line) + "\n")
		}
	}
	return strings.TrimSpace(b.String())
}
