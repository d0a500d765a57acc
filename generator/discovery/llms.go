package discovery

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/generator/contract"
	"anteroom/generator/output"
)

var llmsDocuments = []string{
	output.OpenAPIPath, "/manifest.json", "/scoreboard.json", output.JobsPath, output.AuditorsPath, "/verify/verify.py",
}

// llmsPages have what no endpoint returns. The guide links to all others.
var llmsPages = []string{"field-guide", contract.LogPage, "privacy", "terms"}

var llmsCalls = []string{"mintReceipt", "verifyReceipt", "sendSuggestion", "registerAgent"}

// llmsText makes llms.txt (llmstxt.org): a title, a summary on one line, paragraphs, and then
// sections in which every line is a link. The reference parser of llmstxt.org takes nothing else.
func (g *family) llmsText(documents []output.File, manifestSize int) string {
	service, words := &g.Site.Service, &g.Site.LLMs
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n> %s\n", service.Name, service.Summary)
	last := words.Elsewhere + " " + strings.Join(usualPlaces(documents), ", ") + ". " + words.Absent + " " + words.Sizes
	for _, paragraph := range slices.Concat(words.Intro, []string{words.Calls, g.llmsCalls(), last}) {
		if strings.HasPrefix(paragraph, "#") || strings.Contains(paragraph, "\n#") {
			g.Fail("llms.yaml: a paragraph holds a heading, and llms.txt may have none there: %.40q", paragraph)
		}
		fmt.Fprintf(&b, "\n%s\n", paragraph)
	}
	sizes := map[string]int{"/manifest.json": manifestSize}
	for i := range documents {
		sizes[documents[i].Path] = len(documents[i].Bytes)
	}
	for _, route := range api.Routes {
		sizes[route.Path] = g.Size(route.Path)
	}
	section := func(title string) { fmt.Fprintf(&b, "\n## %s\n\n", title) }
	link := func(title, path string, notes ...string) {
		if n := sizes[path]; n > 0 {
			notes = append([]string{kilobytes(n)}, notes...)
		}
		fmt.Fprintf(&b, "- [%s](%s)", strings.NewReplacer("[", "(", "]", ")").Replace(title), g.URL(path))
		if len(notes) > 0 {
			b.WriteString(": " + strings.Join(strings.Fields(strings.Join(notes, ". ")), " "))
		}
		b.WriteByte('\n')
	}

	section("Endpoints")
	for _, route := range api.Routes {
		path := route.Path
		if !route.Answers(http.MethodGet) {
			path = contract.EndpointPath(route) + ".md"
		}
		link(strings.Join(route.Methods(), ", ")+" "+route.ID, path, g.Summary(route.ID))
	}

	section("Documents")
	for _, path := range llmsDocuments {
		link(output.Listed[path].Title, path)
	}
	link("Holidays", output.CalendarPath(bizday.IDs()[0], "json"), "Also as .ics, and for each calendar")

	section("Optional")
	for i := range g.Site.Pages {
		p := &g.Site.Pages[i]
		if slices.Contains(llmsPages, p.Name) {
			link(p.Title, contract.TwinPath(p))
		}
	}
	link(output.Listed["/llms-full.txt"].Title, "/llms-full.txt")
	return b.String()
}

func usualPlaces(documents []output.File) (paths []string) {
	for i := range documents {
		path := documents[i].Path
		if path == "/server.json" || strings.HasPrefix(path, "/.well-known/") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

func (g *family) llmsCalls() string {
	var b strings.Builder
	call := func(what, command string) { fmt.Fprintf(&b, "- %s: `%s`\n", strings.TrimSuffix(what, "."), command) }
	for _, id := range llmsCalls {
		call(g.Summary(id), g.QuestCurl(&g.Site.Quest.Steps[g.QuestStepOf(id)-1]))
	}
	call("Check a charter", g.charterCommand())
	route, op := api.Find("computeBusinessDays")
	call(g.Summary(op.ID), g.GetCommand(route, op))
	call(g.Summary("callMCP"), contract.Curl(g.URL(protocol.Path))+` -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`)
	return strings.TrimSuffix(b.String(), "\n")
}

func (g *family) charterCommand() string {
	route, op := api.Find("fileCharter")
	command := "curl -sG " + g.URL(route.Path) + " -d " + api.DryRun.Name + "=1"
	example, _ := jsondoc.Parse(contract.ExampleBody(op)) // it was sent to the endpoint
	for _, m := range example.Members {
		required := slices.ContainsFunc(op.Fields, func(f input.Field) bool { return f.Name == m.Name && f.Required })
		if required && m.Value.Kind == jsondoc.String {
			command += " --data-urlencode " + contract.ShellQuoted(m.Name+"="+m.Value.Text)
		}
		for i := range m.Value.Items {
			command += " -d " + contract.SeatParameter(&m.Value.Items[i])
		}
	}
	return command
}

func kilobytes(n int) string { return fmt.Sprintf("%.1f KB", float64(n)/1000) }
