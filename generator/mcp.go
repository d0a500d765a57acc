package generator

import (
	"reflect"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/input"
	"anteroom/generator/model"
	"anteroom/generator/site"
)

// mcp puts the answers of the MCP server into the snapshot, and publishes the server's entry for a
// registry.
func (g *generation) mcp() {
	words, service := &g.site.MCP, &g.site.Service
	server := object{
		{"name", words.Name},
		{"title", service.Name},
		{"version", protocol.ServerVersion},
		{"description", service.Summary},
		{"websiteUrl", g.url("/")},
	}
	fixedList := object{{"listChanged", false}}
	g.addToSnapshot(api.MCPServer, object{
		{"capabilities", object{{"tools", fixedList}, {"prompts", fixedList}}},
		{"serverInfo", server},
		{"instructions", words.Instructions},
	})
	tools, summaries := []object{}, []object{}
	for i := range api.Tools {
		tool := g.toolEntry(&api.Tools[i])
		tools = append(tools, tool)
		isSchema := func(m member) bool { return strings.HasSuffix(m.name, "Schema") }
		summaries = append(summaries, slices.DeleteFunc(slices.Clone(tool), isSchema))
	}
	g.addToSnapshot(api.MCPTools, object{{"tools", tools}})
	prompts := []object{}
	for i := range api.Prompts {
		prompts = append(prompts, g.promptEntry(&api.Prompts[i]))
	}
	g.addToSnapshot(api.MCPPrompts, object{{"prompts", prompts}})
	g.addToSnapshot(api.MCPInstall, object{
		{"endpoint", g.url(protocol.Path)},
		{"transport", "streamable-http"},
		{"protocol_versions", protocol.Versions},
		{"stateless_versions", []string{protocol.Stateless}},
		{"install", g.installBlocks()},
		{"tools", summaries},
	})
	g.serverJSON()
}

// toolEntry is an entry of tools/list. Its schemas have no $id, no $ref and, at their top, no
// anyOf: some clients drop a tool, or all tools, for one of these.
func (g *generation) toolEntry(t *api.Tool) object {
	words := g.site.MCP.Tools[t.Name]
	_, op := g.operation(t.Operation)
	return object{
		{"name", g.toolName(t)},
		{"title", words.Title},
		{"description", words.Description + " In openapi.json: " + op.ID + "."},
		{"inputSchema", g.toolInput(t, op)},
		{"outputSchema", g.toolOutput(t, op)},
		{"annotations", object{
			{"title", words.Title},
			{"readOnlyHint", !op.Writes},
			{"destructiveHint", false},
			{"idempotentHint", !op.Writes},
			{"openWorldHint", true},
		}},
	}
}

// toolInput is the schema of a tool's arguments: the fields of its operation, without the field
// that the tool omits and with the name that the tool gives to one of them. It says of them what a
// model needs to fill them in. The endpoint checks the rest, and openapi.json has it.
func (g *generation) toolInput(t *api.Tool, op *api.Operation) object {
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
		fields = append(fields, api.DryRun)
	}
	schema := inputObject(fields, func(name string) string { return firstSentence(g.fieldMeaning(op, name)) }, "")
	properties := schema.get("properties").(object)
	for i := range fields {
		properties[i].value = toolArgument(&fields[i], properties[i].value.(object))
		if properties[i].name == t.Renames {
			properties[i].name = t.As
		}
	}
	if required, ok := schema.get("required").([]string); ok {
		if i := slices.Index(required, t.Renames); i >= 0 {
			required[i] = t.As
		}
	}
	if op.Strict {
		schema.set("additionalProperties", false)
	}
	return schema
}

// toolArgument makes the schema of a field that of a tool's argument.
func toolArgument(f *input.Field, schema object) object {
	switch {
	case f.Name == api.DryRun.Name:
		schema.set("description", "With true, the call is checked and has no effect.")
	case f.Type == input.List: // some models cannot fill in what has two types
		return object{
			{"type", "string"},
			{"description", "One of " + strings.Join(f.Values, ", ") + "; or several, joined with commas."},
		}
	case len(f.Items) > 0:
		items := schema.get("items").(object).get("properties").(object)
		for i := range items {
			items[i].value = only(items[i].value.(object), "type", "enum", "minimum")
		}
	}
	return slices.DeleteFunc(schema, func(m member) bool { return m.name == "pattern" || m.value == "int32" })
}

// firstSentence is the first sentence of a text.
func firstSentence(text string) string {
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}

// toolOutput is the schema of a tool's structured content: what a client reads the answer of its
// operation by. It requires what is in every answer, and gives a type to what is no text. What only
// some answers have is allowed and not named, and so are the trailer and the contract of the
// endpoint, which speaks of HTTP.
func (g *generation) toolOutput(t *api.Tool, op *api.Operation) object {
	s := schemas{inline: true}
	answer, contract := s.ofType(g.answerTypes(op)[0]), s.ofType(reflect.TypeFor[model.Contract]()).get("properties").(object)
	required := slices.DeleteFunc(answer.get("required").([]string), func(name string) bool {
		return slices.Contains(t.Optional, name) || contract.get(name) != nil
	})
	typed := object{}
	for _, m := range answer.get("properties").(object) {
		if schema := m.value.(object); slices.Contains(required, m.name) && !isText(schema) {
			typed.set(m.name, only(schema, "type", "enum"))
		}
	}
	return object{{"type", "object"}, {"properties", typed}, {"required", required}}
}

// isText reports whether the values of a schema are any texts, or null in the place of one.
func isText(schema object) bool {
	kinds, _ := schema.get("type").([]any)
	return schema.get("enum") == nil && (schema.get("type") == "string" || slices.Equal(kinds, []any{"string", "null"}))
}

// only is a schema less all but some of its keywords.
func only(schema object, keywords ...string) object {
	return slices.DeleteFunc(schema, func(m member) bool { return !slices.Contains(keywords, m.name) })
}

// promptEntry is an entry of prompts/list. The prompt's text goes into the snapshot, split at its
// arguments.
func (g *generation) promptEntry(p *api.Prompt) object {
	words := g.site.MCP.Prompts[p.Name]
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
	entry := object{{"name", g.site.Service.ToolPrefix + p.Name}, {"title", words.Title}, {"description", words.Description}}
	if len(arguments) > 0 {
		entry.set("arguments", arguments)
	}
	return entry
}

// installBlocks say how to add the server to each client.
func (g *generation) installBlocks() object {
	all := object{}
	for _, i := range g.site.MCP.Install {
		all.set(i.ID, g.installBlock(&i))
	}
	return all
}

func (g *generation) installBlock(i *site.Install) object {
	block := object{{"client", i.Client}, {"how", i.How}}
	if i.Command != "" {
		block.set("command", i.Command)
	}
	if i.Config != "" {
		block.set("config", model.JSON(i.Config))
	}
	if i.TOML != "" {
		block.set("toml", i.TOML)
	}
	return block
}

// serverSchema is the format of server.json in the MCP registry.
const serverSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// maxRegistryText is the longest title or description that the registry takes, in characters.
const maxRegistryText = 100

// registryName is the server's name in reverse DNS notation, which registries want: the labels of
// the apex host stand in it in reverse order.
func (g *generation) registryName() string {
	labels := strings.Split(g.site.Service.ApexHost, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".") + "/" + g.site.MCP.Name
}

// registryDescription is the summary of the service or, where a registry does not take all of it,
// its first sentence.
func (g *generation) registryDescription() string {
	description := g.site.Service.Summary
	if first, _, more := strings.Cut(description, ". "); more && len([]rune(description)) > maxRegistryText {
		description = first + "."
	}
	return description
}

// registryIcons are the pictures that a list of servers can show.
func (g *generation) registryIcons() []object {
	return []object{{{"src", g.url(iconPath)}, {"mimeType", mediaSVG}, {"sizes", []string{"any"}}}}
}

// serverJSON publishes the server's entry for the MCP registry.
func (g *generation) serverJSON() {
	service := &g.site.Service
	description := g.registryDescription()
	for _, text := range []string{service.Name, description} {
		if len([]rune(text)) > maxRegistryText {
			g.fault("server.json: a registry takes at most %d characters, and this has more: "+
				"shorten name or the first sentence of summary in service.yaml: %.40q", maxRegistryText, text)
		}
	}
	g.add("/server.json", g.indentedJSON(object{
		{"$schema", serverSchema},
		{"name", g.registryName()},
		{"title", service.Name},
		{"description", description},
		{"version", protocol.ServerVersion},
		{"websiteUrl", g.url("/")},
		{"icons", g.registryIcons()},
		{"remotes", []object{{{"type", "streamable-http"}, {"url", g.url(protocol.Path)}}}},
	}))
}
