package contract

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

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
		names = append(names, g.ToolName(&api.Tools[i]))
		summaries = append(summaries, without(slices.Clone(tool), "inputSchema", "outputSchema"))
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
		// The directory of Anthropic reads the title here.
		{"annotations", model.MCPHints{Title: words.Title, ReadOnly: !op.Writes, Idempotent: !op.Writes, OpenWorld: true}},
	}
}

// ToolInput has what a model needs to fill in the arguments; the endpoint checks the rest.
func (g *Answers) ToolInput(t *api.Tool, op *api.Operation) object {
	arguments, required := object{}, []string{}
	for i := range op.Fields {
		f := &op.Fields[i]
		if f.Name == t.Omits || f.QueryOnly {
			continue
		}
		name := f.Name
		if name == t.Renames {
			name = t.As
		}
		arguments.Set(name, g.toolArgument(op, f))
		if f.Required || f.Name == t.Requires {
			required = append(required, name)
		}
	}
	if op.DryRun {
		arguments.Set(api.DryRun.Name, object{{"type", "boolean"}})
		arguments.Set(api.KeyArgument, object{{"type", "string"}, {"description", "A UUID that makes a retry safe."}})
	}
	schema := object{{"type", "object"}, {"properties", arguments}}
	if len(required) > 0 {
		schema.Set("required", required)
	}
	return schema
}

// Some providers of models refuse every tool of a request that has another keyword. They take
// pattern, maxLength, minItems and maxItems too, which only cost space.
var argumentKeywords = []string{
	"type", "description", "properties", "required", "items", "enum", "minimum", "maximum", "minLength",
}

func (g *Answers) toolArgument(op *api.Operation, f *input.Field) object {
	meaning := FirstSentence(g.FieldMeaning(op, f.Name))
	switch f.Type {
	case input.List: // some models cannot fill in two types
		return object{{"type", "string"}, {"description", strings.Join(f.Values, ", ") + "; or several with commas."}}
	case input.Date:
		meaning = "YYYY-MM-DD. " + meaning
	}
	schema := only(g.inputSchema(op, f, ""), argumentKeywords...)
	schema.Set("description", meaning)
	if f.AnswerOf != "" {
		_, op := api.Find(f.AnswerOf)
		members, sent := g.toolAnswer(op).Object("properties"), object{}
		for _, m := range members {
			if kind := members.Object(m.Name).Get("type"); kind == "string" || kind == "boolean" {
				sent.Set(m.Name, m.Value)
			}
		}
		schema.Set("properties", sent)
	}
	items := schema.Object("items").Object("properties")
	for i, m := range items {
		items[i].Value = only(items.Object(m.Name), "type", "enum", "minimum")
	}
	return schema
}

func FirstSentence(text string) string {
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}

// described lists the members of results whose members the result's schema describes.
var described = []string{
	"registration", "charter", "roster", "promise", "pilot_waitlist", "orgs", "suggestions", "excluded_from_counts",
	"observed_attention", "result",
}

// toolOutput requires members only of the scoreboard, which must have all counts.
func (g *Answers) toolOutput(op *api.Operation) object {
	schema := g.toolAnswer(op)
	if op.Document != nil && op.Document.Check != nil {
		schema.Set("required", slices.DeleteFunc(Inline(g.AnswerTypes(op)[0]).Texts("required"), isLeftOut))
	}
	return schema
}

func (g *Answers) toolAnswer(op *api.Operation) object {
	s := schemas{inline: true, tool: true}
	return s.ofType(g.AnswerTypes(op)[0])
}

func isLeftOut(name string) bool {
	return slices.Contains(api.Omitted, name) || slices.Contains(ContractMembers(), name)
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

func ContractMembers() (names []string) {
	for f := range reflect.TypeFor[model.Contract]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func only(schema object, keywords ...string) object {
	return slices.DeleteFunc(schema, func(m output.Member) bool { return !slices.Contains(keywords, m.Name) })
}

func without(schema object, keywords ...string) object {
	return slices.DeleteFunc(schema, func(m output.Member) bool { return slices.Contains(keywords, m.Name) })
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

func (g *Answers) ToolName(t *api.Tool) string { return g.Site.Service.ToolPrefix + t.Name }
