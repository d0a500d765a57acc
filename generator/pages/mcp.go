package pages

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/generator/contract"
	"anteroom/generator/site"

	"github.com/a-h/templ"
)

type tool struct {
	*api.Operation
	Name, What, Path, Arguments string
}

func (g *family) Tools() (tools []tool) {
	for i := range api.Tools {
		t := &api.Tools[i]
		route, op := api.Find(t.Operation)
		tools = append(tools, tool{
			op, g.ToolName(t), contract.FirstSentence(g.Site.MCP.Tools[t.Name].Description),
			contract.EndpointPath(route) + "#" + op.ID, g.toolArguments(t, op),
		})
	}
	return tools
}

func (g *family) Toolless() (links []string) {
	for _, route := range site.RoutesWithoutTool() {
		links = append(links, endpointLink(route))
	}
	return links
}

func endpointLink(route *api.Route) string {
	return fmt.Sprintf("[%s](%s)", route.Path, contract.EndpointPath(route))
}

func (g *family) toolArguments(t *api.Tool, op *api.Operation) string {
	schema := g.ToolInput(t, op)
	var arguments []string
	for _, property := range schema.Object("properties") {
		argument := property.Name
		if slices.Contains(schema.Texts("required"), property.Name) {
			argument += " (required)"
		}
		arguments = append(arguments, argument)
	}
	text := strings.Join(arguments, ", ")
	if len(op.AnyOf) > 0 {
		text += "; at least one of " + enumeration(op.AnyOf, "and")
	}
	return text
}

// openClients blocks are shown, the others folded.
const openClients = 2

func (g *family) installBlocks() (blocks []templ.Component) {
	for _, client := range g.Site.MCP.Install {
		blocks = append(blocks, g.fromTemplate("client", client))
	}
	return blocks
}

func (g *family) installLink(client site.Install) string {
	var config struct{ MCPServers, Servers map[string]map[string]any }
	if client.Config != "" {
		if err := json.Unmarshal([]byte(client.Config), &config); err != nil {
			g.Fail("client %s: %w", client.ID, err)
		}
	}
	name := g.Site.MCP.Name
	switch cursor, code := config.MCPServers[name], config.Servers[name]; {
	case client.ID == "cursor" && cursor != nil:
		text, _ := json.Marshal(cursor)
		return "cursor://anysphere.cursor-deeplink/mcp/install?name=" + name + "&config=" +
			url.QueryEscape(base64.StdEncoding.EncodeToString(text))
	case client.ID == "vscode" && code != nil:
		code["name"] = name
		text, _ := json.Marshal(code)
		return "vscode:mcp/install?" + url.PathEscape(string(text))
	}
	return ""
}

func (g *family) serverRows() []slipRow {
	limits := &g.Site.Service.Limits
	return []slipRow{
		{Name: "Address", Value: g.URL(contract.Route("mcp").Path)},
		{Name: "Transport", Value: "Streamable HTTP"},
		{Name: "Credential", Value: "none"},
		{Name: "Sessions", Value: "none"},
		{Name: "Tools", Value: strconv.Itoa(len(api.Tools))},
		{Name: "Prompts", Value: strconv.Itoa(len(api.Prompts))},
		{Name: "Messages in a batch", Value: fmt.Sprint(limits.BatchMessages, " at most")},
		{Name: "Writes in a batch", Value: fmt.Sprint(limits.BatchWrites, " at most")},
		{Name: "Writes a minute", Value: strconv.Itoa(limits.WritesPerMinute)},
	}
}
