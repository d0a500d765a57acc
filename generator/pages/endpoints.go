package pages

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/input"
	"anteroom/generator/answers"
	"anteroom/generator/model"
	"anteroom/generator/ordered"
	"anteroom/generator/schema"
	"anteroom/generator/site"
)

func (g *family) endpointPages() (pages []site.Page) {
	for _, route := range g.Routes {
		pages = append(pages, site.Page{
			Name:        answers.EndpointPage(route),
			Title:       route.Path,
			Description: g.Summary(route.ID),
			Markdown:    []byte(g.endpointSection(route)),
		})
	}
	return pages
}

func (g *family) endpointSection(route *api.Route) string {
	var b strings.Builder
	c := g.Contract(route)
	fmt.Fprintf(&b, "`%s` answers %s, besides HEAD and OPTIONS. No key is needed. What [every endpoint](/field-guide.html#conventions) "+
		"has in common is in the field guide.\n", g.URL(route.Path), enumeration(route.Methods(), "and"))
	if about := strings.TrimSpace(g.Site.Endpoints[route.ID].About); about != "" {
		fmt.Fprintf(&b, "\n%s\n", about)
	}
	if c.WriteLimit != nil {
		fmt.Fprintf(&b, "\nLimit: %d writes in %d seconds for one %s.\n",
			c.WriteLimit.Writes, c.WriteLimit.WindowSeconds, markdownText(c.WriteLimit.Per))
	}
	// The contract comes last, since the page says what it says, and so does what has no answer.
	for _, last := range []bool{false, true} {
		for i, op := range answers.ReadsFirst(route) {
			if (op.Document == route.Contract || slices.Contains(op.Methods, http.MethodDelete)) == last {
				g.operationSection(&b, route, op, &c.Operations[i])
			}
		}
	}
	return b.String() + "\n## Errors {#errors}\n\n" + problemLinks(answers.ProblemsOf(route.Operations...))
}

func (g *family) operationSection(b *strings.Builder, route *api.Route, op *api.Operation, c *model.ContractOperation) {
	heading := markdownText(strings.TrimSuffix(g.Summary(op.ID), "."))
	fmt.Fprintf(b, "\n## %s: %s {#%s}\n\n%s\n", enumeration(op.Methods, "or"), heading, op.ID, markdownText(cmp.Or(c.What, g.Summary(op.ID))))
	g.callsSection(b, route, op)
	if len(c.Fields) > 0 {
		fmt.Fprintf(b, "\n### Fields of %s {#%s-fields}\n\n", op.ID, op.ID)
		b.WriteString(table("Field | Takes | Meaning", withItems("", c.Fields), func(f model.ContractField) string {
			return fmt.Sprintf("`%s` | %s | %s", f.Name, fieldRules(c, &f), markdownText(f.Meaning))
		}))
		fmt.Fprintf(b, "\n%s\n", otherFields[c.OtherFields])
	}
	g.answerSection(b, route, op)
	if words := strings.TrimSpace(g.Site.Endpoints[op.ID].Canonical); words != "" {
		fmt.Fprintf(b, "\n### Canonical string of %s {#%s-canonical}\n\n%s\n", op.ID, op.ID, words)
	}
	if len(c.Notes) > 0 {
		fmt.Fprintf(b, "\n### Notes on %s {#%s-notes}\n\n", op.ID, op.ID)
	}
	b.WriteString(list(c.Notes, markdownText))
	for i := range api.Tools {
		if t := &api.Tools[i]; t.Operation == op.ID {
			fmt.Fprintf(b, "\nAlso: the MCP tool [%s](/mcp.html#%s).\n", g.ToolName(t), g.ToolName(t))
		}
	}
}

// withItems are fields, each with those of its items behind it, under their dotted names.
func withItems(prefix string, fields []model.ContractField) (all []model.ContractField) {
	for _, f := range fields {
		f.Name = prefix + f.Name
		all = append(append(all, f), withItems(f.Name+"[].", f.Items)...)
	}
	return all
}

// otherFields says what happens with fields that a contract does not name, by the words that the
// contract has for it.
var otherFields = map[string]string{
	"":                         "Other fields are ignored.",
	"listed in ignored_fields": "Other fields are ignored, and listed in `ignored_fields` of the answer.",
	"refused":                  "Other fields are refused.",
}

// callsSection shows exact calls of an operation. A call that writes holds placeholders, which are
// refused as they are, or is a dry run.
func (g *family) callsSection(b *strings.Builder, route *api.Route, op *api.Operation) {
	address := g.URL(route.Path)
	call := func(lead, code string) { fmt.Fprintf(b, "\n%s\n\n```sh\n%s\n```\n", lead, code) }
	body, posts := answers.BodyTemplate(op), slices.Contains(op.Methods, http.MethodPost)
	switch {
	case posts && body == nil:
		call(fmt.Sprintf("The call, where the file %s.json holds what `%s` takes, as it was received:", route.ID, objectField(op)),
			fmt.Sprintf("printf '{\"%s\":%%s}' \"$(cat %s.json)\" | curl -s %s --json @-", objectField(op), route.ID, address))
	case posts && bytes.IndexByte(body, '<') >= 0:
		call("The call. Replace what is in angle brackets, which is refused as it is:",
			fmt.Sprintf("curl -s %s --json %s", address, answers.ShellQuoted(string(body))))
	case posts:
		call("The call:", fmt.Sprintf("curl -s %s --json %s", address, answers.ShellQuoted(string(body))))
	case slices.Contains(op.Methods, http.MethodGet) && !op.Writes:
		call("The call:", g.GetCommand(route, op))
	case !slices.Contains(op.Methods, http.MethodGet):
		call("The call:", fmt.Sprintf("curl -s -X %s %s", op.Methods[0], address))
	}
	if posts && !op.Writes && slices.Contains(op.Methods, http.MethodGet) {
		call("The same by GET:", g.GetCommand(route, op))
	}
	if op.DryRun {
		call("A dry run checks and hashes the same and has no effect. This one works as it is:",
			fmt.Sprintf("curl -s '%s?%s=1' --json %s", address, api.DryRun.Name, answers.ShellQuoted(string(answers.ExampleBody(op)))))
	}
	if op.Writes && len(op.Fields) > 0 && slices.Contains(op.Methods, http.MethodGet) {
		fmt.Fprintf(b, "\nGET form, as a URI template (RFC 6570). A GET that is filled in writes, so put none into a link: `%s`\n", g.GetTemplate(route, op))
	}
}

func objectField(op *api.Operation) string {
	for i := range op.Fields {
		if op.Fields[i].Type == input.Object {
			return op.Fields[i].Name
		}
	}
	return ""
}

func enumeration(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

// answerSection describes what an operation answers, with each member and its meaning and, where
// that is not long, what it answers to its example.
func (g *family) answerSection(b *strings.Builder, route *api.Route, op *api.Operation) {
	types := g.AnswerTypes(op)
	if len(types) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### Answer of %s {#%s-answer}\n\n", op.ID, op.ID)
	for i, t := range types {
		switch {
		case i > 0:
			b.WriteString("\nOr:\n\n")
		case op.Cache == api.NoStore:
			b.WriteString("Status 200, never to be cached, with these members and the [trailer](/field-guide.html#trailer):\n\n")
		default:
			fmt.Fprintf(b, "Status 200, `Cache-Control: %s`, with these members and the [trailer](/field-guide.html#trailer):\n\n", op.Cache)
		}
		if t == contractType && op.ID != contractOperation {
			b.WriteString(contractMembers)
			continue
		}
		shape := schema.Inline(t)
		_, more := t.FieldByName(contractType.Name())
		if more {
			isContract := func(m ordered.Member) bool { return slices.Contains(answers.ContractMembers(), m.Name) }
			shape.Set("properties", slices.DeleteFunc(shape.Get("properties").(object), isContract))
		}
		b.WriteString(table("Member | Type | Meaning", answerMembers(shape, ""), strings.Clone))
		if more {
			b.WriteString(contractMembers)
		}
	}
	if op.Handle == nil {
		return
	}
	if example := g.Example(op).Answer; len(example) <= maxShownExample {
		fmt.Fprintf(b, "\nThe answer to the example:\n\n```json\n%s```\n", ordered.Indented(example))
	}
}

const maxShownExample = 2000

// contractType is the type of a contract. Several answers are one, or have its members besides
// their own. The page with contractOperation describes them.
var contractType = reflect.TypeFor[model.Contract]()

const (
	contractOperation = "readWaitlistContract"
	contractMembers   = "\nIt has the members of a [contract](/endpoints/waitlist.html#" + contractOperation + "-answer).\n"
)

// answerMembers describes the members of an object by its schema, and those of the objects within
// it, as rows of a table.
func answerMembers(schema object, prefix string) (rows []string) {
	required, _ := schema.Get("required").([]string)
	properties, _ := schema.Get("properties").(object)
	patterns, _ := schema.Get("patternProperties").(object)
	for i, m := range slices.Concat(properties, patterns) {
		member, name := m.Value.(object), prefix+strings.Trim(m.Name, "^$")
		kind := memberKind(member)
		if i < len(properties) && !slices.Contains(required, m.Name) {
			kind += ", may be absent"
		}
		rows = append(rows, fmt.Sprintf("`%s` | %s | %s", name, kind, markdownText(member.Get("description").(string))))
		items, isArray := member.Get("items").(object)
		for ; isArray; items, isArray = items.Get("items").(object) {
			member, name = items, name+"[]"
		}
		rows = append(rows, answerMembers(member, name+".")...)
	}
	return rows
}

// memberKind says in words which values a schema takes.
func memberKind(schema object) string {
	types, _ := schema.Get("type").([]string)
	if one, is := schema.Get("type").(string); is {
		types = []string{one}
	}
	null := ""
	if i := slices.Index(types, "null"); i >= 0 {
		null, types = " or null", slices.Delete(slices.Clone(types), i, i+1)
	}
	kind := strings.Join(types, " or ")
	if items, is := schema.Get("items").(object); is && len(items) > 0 {
		kind = "array of " + memberKind(items) + "s"
	}
	if values, is := schema.Get("enum").([]string); is {
		kind = codes(values)
	} else if format := schema.Get("format"); format != nil {
		kind += fmt.Sprintf(" (%s)", format)
	}
	return kind + null
}

func requirement(op *model.ContractOperation, f *model.ContractField) string {
	switch {
	case f.Required:
		return "required"
	case slices.Contains(op.AnyOf, f.Name):
		others := slices.DeleteFunc(slices.Clone(op.AnyOf), func(name string) bool { return name == f.Name })
		return "required unless " + strings.Join(others, " or ") + " is given"
	}
	return "optional"
}

// fieldRules says in words what a field takes.
func fieldRules(op *model.ContractOperation, f *model.ContractField) string {
	rules := []string{cmp.Or(f.Format, f.Type), requirement(op, f)}
	between := func(least, most int, unit string) {
		switch {
		case least != 0 && least == most:
			rules = append(rules, fmt.Sprintf("exactly %d%s", most, unit))
		case least != 0 && most != 0:
			rules = append(rules, fmt.Sprintf("%d to %d%s", least, most, unit))
		case most != 0:
			rules = append(rules, fmt.Sprintf("at most %d%s", most, unit))
		case least != 0:
			rules = append(rules, fmt.Sprintf("at least %d%s", least, unit))
		}
	}
	between(f.MinLength, f.MaxLength, " code points")
	between(f.Minimum, f.Maximum, "")
	between(f.MinItems, f.MaxItems, " items")
	if len(f.Values) > 0 {
		rules = append(rules, "one of "+codes(f.Values))
	}
	if len(f.Aliases) > 0 {
		rules = append(rules, "also as "+codes(f.Aliases))
	}
	if len(f.QueryParameters) > 0 {
		rules = append(rules, "in a query as "+codes(f.QueryParameters)+", each `"+f.QueryForm+"`")
	}
	if f.In != "" {
		rules = append(rules, f.In+" only")
	}
	return strings.Join(rules, "; ")
}
