package pages

import (
	"cmp"
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
)

type tool struct {
	Name      string
	What      string
	Path      string // of its operation, on the page of the endpoint
	Writes    string // yes or no
	DryRun    string // yes, no, or a dash if it does not write
	Arguments string
}

// Tools returns the MCP tools.
func (g *family) Tools() (tools []tool) {
	yes := func(is bool) string {
		if is {
			return "yes"
		}
		return "no"
	}
	for i := range api.Tools {
		t := &api.Tools[i]
		route, op := api.Find(t.Operation)
		view := tool{
			Name: g.ToolName(t), What: contract.FirstSentence(g.Site.MCP.Tools[t.Name].Description),
			Path: contract.EndpointPath(route) + "#" + op.ID, Writes: yes(op.Writes), DryRun: "–",
			Arguments: g.toolArguments(t, op),
		}
		if op.Writes {
			view.DryRun = yes(op.DryRun)
		}
		tools = append(tools, view)
	}
	return tools
}

// Toolless links to the endpoints that no tool calls.
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
	required, _ := schema.Get("required").([]string)
	var arguments []string
	for _, property := range schema.Get("properties").(object) {
		argument := property.Name
		if slices.Contains(required, property.Name) {
			argument += " (required)"
		}
		arguments = append(arguments, argument)
	}
	text := cmp.Or(strings.Join(arguments, ", "), "none")
	if len(op.AnyOf) > 0 {
		text += "; at least one of " + enumeration(op.AnyOf, "and")
	}
	return text
}

// fold is a block to install the server. Its identifier was that of a section.
type fold struct{ ID, Summary, Body string }

// openClients blocks are shown, the others folded.
const openClients = 2

func (g *family) folds() (folds []fold) {
	for _, client := range g.Site.MCP.Install {
		body, err := renderMarkdown([]byte(g.execute("client", client)), nil)
		if err != nil {
			g.Fail("client %s: %w", client.ID, err)
		}
		folds = append(folds, fold{ID: "install-" + client.ID, Summary: client.Client, Body: body.HTML[inText]})
	}
	return folds
}

// ownConfig returns the configuration of a client, but for one that has a command and the
// configuration that is shown first.
func (g *family) ownConfig(client site.Install) string {
	if first := &g.Site.MCP.Install[0]; client.Command != "" && client.Config == first.Config {
		return ""
	}
	return client.Config
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
