package contract

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/generator/model"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

// MaxTools bounds the bytes of tools/list, which begins conversations. maxEnvelope of them are for
// the members around the list.
const MaxTools, maxEnvelope = 16_384, 128

func (g *Answers) mcp() error {
	words, service := &g.Site.MCP, &g.Site.Service
	server := object{
		{"name", words.Name},
		{"title", service.Name},
		{"version", protocol.ServerVersion},
		{"description", service.Summary},
		{"websiteUrl", g.URL("/")},
	}
	fixedList := object{{"listChanged", false}}
	g.addToSnapshot(api.MCPServer, object{
		{"capabilities", object{{"tools", fixedList}, {"prompts", fixedList}}},
		{"serverInfo", server},
		{"instructions", words.Instructions},
	})
	tools, summaries, names := []object{}, []object{}, []string{}
	for i := range api.Tools {
		tool := g.toolEntry(&api.Tools[i])
		if _, op := api.Find(api.Tools[i].Operation); op.Document != nil {
			document := g.Snapshot.Documents[op.Document.ID]
			if result := toolResult(document); !bytes.Equal(result, document) {
				g.Snapshot.Documents[api.MCPResult+op.Document.ID] = result
			}
		}
		tools = append(tools, tool)
		isSchema := func(m output.Member) bool { return strings.HasSuffix(m.Name, "Schema") }
		names = append(names, g.ToolName(&api.Tools[i]))
		summaries = append(summaries, slices.DeleteFunc(slices.Clone(tool), isSchema))
	}
	g.addToSnapshot(api.MCPTools, object{{"tools", tools}})
	if n, most := len(g.Snapshot.Documents[api.MCPTools]), MaxTools-maxEnvelope; n > most {
		return fmt.Errorf("tools/list has %d bytes, want at most %d (shorten descriptions of tools in mcp.yaml)", n, most)
	}
	prompts := []object{}
	for i := range api.Prompts {
		prompts = append(prompts, g.promptEntry(&api.Prompts[i]))
	}
	g.addToSnapshot(api.MCPPrompts, object{{"prompts", prompts}})
	g.addToSnapshot(api.MCPInstall, object{
		{"endpoint", g.URL(protocol.Path)},
		{"transport", "streamable-http"},
		{"protocol_versions", protocol.Versions},
		{"stateless_versions", []string{protocol.Stateless}},
		{"install", installBlocks(words.Install)},
		{"tools", summaries},
	})
	g.addToSnapshot(api.MCPNoStream, object{
		{"endpoint", g.URL(protocol.Path)},
		{"install", installBlocks(words.Install[:min(1, len(words.Install))])},
		{"tools", names},
		{"more", g.URL("/mcp.html")},
	})
	return nil
}

// toolEntry returns an entry of tools/list. Its schemas have no $id, no $ref and, at their top, no
// anyOf: some clients drop a tool, or all tools, for one of these.
func (g *Answers) toolEntry(t *api.Tool) object {
	words := g.Site.MCP.Tools[t.Name]
	route, op := api.Find(t.Operation)
	return object{
		{"name", g.ToolName(t)},
		{"title", words.Title},
		{"description", words.Description + " OpenAPI: " + operationID(op.Methods[len(op.Methods)-1], route.Path) + "."},
		{"inputSchema", g.ToolInput(t, op)},
		{"outputSchema", g.toolOutput(op)},
		{"annotations", object{
			{"title", words.Title}, // where the directory of Anthropic reads it
			{"readOnlyHint", !op.Writes},
			{"destructiveHint", false},
			{"idempotentHint", !op.Writes},
			{"openWorldHint", true},
		}},
	}
}

// ToolInput returns the schema of a tool's arguments: the fields of its operation, without the one
// that the tool omits. It has what a model needs to fill them in; the endpoint checks the rest.
func (g *Answers) ToolInput(t *api.Tool, op *api.Operation) object {
	var fields []input.Field
	for _, f := range op.Fields {
		if f.Name == t.Omits || f.QueryOnly {
			continue
		}
		f.Required = f.Required || f.Name == t.Requires
		f.Aliases = nil
		fields = append(fields, f)
	}
	if op.DryRun {
		key := api.Key
		key.Name = api.KeyArgument
		fields = append(fields, api.DryRun, key)
	}
	schema := g.inputObject(op, fields, "")
	properties := schema.Object("properties")
	for i := range fields {
		argument := properties[i].Value.(object)
		argument.Set("description", FirstSentence(argument.Get("description").(string)))
		properties[i].Value = g.toolArgument(&fields[i], argument)
		if properties[i].Name == t.Renames {
			properties[i].Name = t.As
		}
	}
	if required := schema.Texts("required"); slices.Contains(required, t.Renames) {
		required[slices.Index(required, t.Renames)] = t.As
	}
	return schema
}

// Some providers of models refuse every tool of a request that has another keyword. They take
// pattern, maxLength, minItems and maxItems too, which only cost space.
var argumentKeywords = []string{
	"type", "description", "properties", "required", "items", "enum", "minimum", "maximum", "minLength",
}

func (g *Answers) toolArgument(f *input.Field, schema object) object {
	switch {
	case f.Name == api.DryRun.Name:
		return object{{"type", "boolean"}}
	case f.Name == api.KeyArgument:
		return object{{"type", "string"}, {"description", "A UUID: a repeat is made once."}}
	case f.Type == input.List: // some models cannot fill in two types
		return object{
			{"type", "string"},
			{"description", strings.Join(f.Values, ", ") + "; or several with commas."},
		}
	case f.Type == input.Date:
		schema.Set("description", "YYYY-MM-DD. "+schema.Get("description").(string))
	case f.AnswerOf != "":
		_, op := api.Find(f.AnswerOf)
		schema.Set("properties", g.answerMembers(op))
	case len(f.Items) > 0:
		items := schema.Object("items").Object("properties")
		for i := range items {
			items[i].Value = only(items[i].Value.(object), "type", "enum", "minimum")
		}
	}
	return only(schema, argumentKeywords...)
}

func (g *Answers) answerMembers(op *api.Operation) object {
	members := memberTypes(Inline(g.AnswerTypes(op)[0]), "type").Object("properties")
	return slices.DeleteFunc(members, func(m output.Member) bool {
		kind, one := m.Value.(object).Get("type").(string)
		return !one || kind == "array"
	})
}

// FirstSentence returns the first sentence of a text.
func FirstSentence(text string) string {
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}

// described are the members of results whose own members the schema of a result has.
var described = []string{
	"registration", "charter", "roster", "promise", "pilot_waitlist", "orgs", "suggestions", "excluded_from_counts",
	"observed_attention", "result",
}

// toolOutput returns the schema of a tool's structured content: the types of its members and, for
// the scoreboard, whose counts must all be there, the required ones.
func (g *Answers) toolOutput(op *api.Operation) object {
	answer := Inline(g.AnswerTypes(op)[0])
	schema := memberTypes(answer, "type", "enum")
	if op.Document != nil && op.Document.Check != nil {
		schema.Set("required", slices.DeleteFunc(answer.Texts("required"), isLeftOut))
	}
	return schema
}

func isLeftOut(name string) bool {
	return slices.Contains(api.Omitted, name) || slices.Contains(ContractMembers(), name)
}

func memberTypes(schema object, keywords ...string) object {
	typed, properties := object{}, schema.Object("properties")
	for _, m := range properties {
		list, total := strings.CutSuffix(m.Name, "_total")
		total = total && properties.Get(list) != nil && !slices.Contains(schema.Texts("required"), m.Name) // of a list that is cut short
		if !total && !isLeftOut(m.Name) {
			typed.Set(m.Name, memberType(m.Value.(object), slices.Contains(described, m.Name), keywords))
		}
	}
	return object{{"type", "object"}, {"properties", typed}}
}

func memberType(schema object, whole bool, keywords []string) object {
	items := schema.Get("items")
	if choices, is := schema.Get("oneOf").([]object); is { // clients drop a tool for the keyword
		kinds := []string{}
		for _, choice := range choices {
			kinds = append(kinds, choice.Get("type").(string))
			items = cmp.Or(items, choice.Get("items"))
		}
		schema = object{{"type", kinds}}
	}
	short := only(slices.Clone(schema), keywords...)
	if values := short.Texts("enum"); len(values) == 1 {
		short = only(short, "type")
	}
	if element, is := items.(object); whole && is && element.Get("properties") != nil {
		short.Set("items", memberTypes(element, "type"))
	} else if whole && schema.Get("properties") != nil {
		return memberTypes(schema, "type")
	}
	return short
}

func toolResult(document []byte) []byte {
	v, _ := jsondoc.Parse(document)
	v.Members = slices.DeleteFunc(v.Members, func(m jsondoc.Member) bool { return isLeftOut(m.Name) })
	return output.Compact(withoutOmitted(&v))
}

func withoutOmitted(v *jsondoc.Value) any {
	switch v.Kind {
	case jsondoc.Object:
		kept := object{}
		for i := range v.Members {
			if m := &v.Members[i]; !slices.Contains(api.Omitted, m.Name) {
				kept.Set(m.Name, withoutOmitted(&m.Value))
			}
		}
		return kept
	case jsondoc.Array:
		kept := []any{}
		for i := range v.Items {
			kept = append(kept, withoutOmitted(&v.Items[i]))
		}
		return kept
	}
	return model.JSON(v.Raw)
}

// ContractMembers returns the names of a contract's members.
var ContractMembers = sync.OnceValue(func() (names []string) {
	for _, m := range Inline(reflect.TypeFor[model.Contract]()).Object("properties") {
		names = append(names, m.Name)
	}
	return names
})

func only(schema object, keywords ...string) object {
	return slices.DeleteFunc(schema, func(m output.Member) bool { return !slices.Contains(keywords, m.Name) })
}

func (g *Answers) promptEntry(p *api.Prompt) object {
	words := g.Site.MCP.Prompts[p.Name]
	arguments, names := []object{}, []string{}
	for _, f := range p.Arguments {
		arguments = append(arguments, object{
			{"name", f.Name}, {"description", words.Arguments[f.Name].Description}, {"required", f.Required},
		})
		names = append(names, f.Name)
	}
	var parts []any
	for i, part := range words.Parts(names) {
		if i%2 == 1 {
			parts = append(parts, object{{"argument", part}, {"absent", words.Arguments[part].Absent}})
			continue
		}
		parts = append(parts, part)
	}
	g.addToSnapshot(api.MCPPrompt+p.Name, object{{"description", words.Description}, {"text", parts}})
	entry := object{
		{"name", g.Site.Service.ToolPrefix + p.Name},
		{"title", words.Title},
		{"description", words.Description},
	}
	if len(arguments) > 0 {
		entry.Set("arguments", arguments)
	}
	return entry
}

func installBlocks(install []site.Install) object {
	all := object{}
	for _, i := range install {
		block := model.MCPClient{Client: i.Client, How: i.How, Command: i.Command, TOML: i.TOML}
		if i.Config != "" {
			block.Config = model.JSON(i.Config)
		}
		all.Set(i.ID, block)
	}
	return all
}

// ToolName returns the name of a tool as clients see it.
func (g *Answers) ToolName(t *api.Tool) string { return g.Site.Service.ToolPrefix + t.Name }
