package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/generator/answers"
	"anteroom/generator/discovery"
	"anteroom/generator/model"
	"anteroom/generator/ordered"
)

func (g *family) toolsSection() string {
	var b strings.Builder
	called := map[*api.Route]bool{}
	for i := range api.Tools {
		t := &api.Tools[i]
		words := g.Site.MCP.Tools[t.Name]
		route, op := g.Operation(t.Operation)
		called[route] = true
		fmt.Fprintf(&b, "### %s {#%s}\n\n%s. %s %s: [%s %s](%s#%s). %s\n\n",
			g.ToolName(t), g.ToolName(t), markdownText(words.Title), markdownText(answers.FirstSentence(words.Description)),
			discovery.Choose(op.Writes, "Writes", "Writes nothing"), lastMethod(op), route.Path, answers.EndpointPath(route), op.ID, g.toolArguments(t, op))
	}
	var paths []string
	for _, route := range g.Routes {
		if !called[route] && route.Path != protocol.Path {
			paths = append(paths, fmt.Sprintf("[%s](%s)", route.Path, answers.EndpointPath(route)))
		}
	}
	fmt.Fprintf(&b, "### What is no tool {#no-tools}\n\nCall these by HTTP: %s. The same holds for the documents, [jobs.json](/jobs.html) and [auditors.json](/auditors.html) among them.\n",
		enumeration(paths, "and"))
	return b.String()
}

// lastMethod is POST where an operation takes it, and else the method that it has.
func lastMethod(op *api.Operation) string {
	if slices.Contains(op.Methods, http.MethodPost) {
		return http.MethodPost
	}
	return strings.Join(op.Methods, "")
}

func (g *family) toolArguments(t *api.Tool, op *api.Operation) string {
	schema := g.ToolInput(t, op)
	required, _ := schema.Get("required").([]string)
	var arguments []string
	for _, property := range schema.Get("properties").(object) {
		argument := "`" + property.Name + "`"
		if slices.Contains(required, property.Name) {
			argument += " (required)"
		}
		arguments = append(arguments, argument)
	}
	if len(arguments) == 0 {
		return "No arguments."
	}
	text := "Arguments: " + strings.Join(arguments, ", ") + "."
	if len(op.AnyOf) > 0 {
		text += " At least one of " + enumeration(op.AnyOf, "and") + " must be there."
	}
	return text
}

func (g *family) promptsSection() string {
	var b strings.Builder
	for i := range api.Prompts {
		p := &api.Prompts[i]
		words, name := g.Site.MCP.Prompts[p.Name], g.Site.Service.ToolPrefix+p.Name
		fmt.Fprintf(&b, "### %s {#prompt-%s}\n\n%s\n", name, name, markdownText(words.Description))
		if len(p.Arguments) == 0 {
			b.WriteString("No arguments.\n")
		} else {
			b.WriteByte('\n')
		}
		for _, f := range p.Arguments {
			fmt.Fprintf(&b, "- `%s` (%s): %s\n", f.Name, discovery.Choose(f.Required, "required", "optional"), markdownText(words.Arguments[f.Name].Description))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (g *family) installSection() string {
	var b strings.Builder
	for _, i := range g.Site.MCP.Install {
		fmt.Fprintf(&b, "### %s {#install-%s}\n\n%s\n", markdownText(i.Client), i.ID, markdownText(i.How))
		block := func(language, code string) {
			if code != "" {
				fmt.Fprintf(&b, "\n```%s\n%s\n```\n", language, strings.TrimSpace(code))
			}
		}
		block("sh", i.Command)
		if i.Config != "" {
			block("json", string(ordered.Compact(model.JSON(i.Config))))
		}
		block("toml", i.TOML)
		b.WriteByte('\n')
	}
	return b.String()
}
