package generator

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/generator/site"
)

// llmsDocuments are the documents that llms.txt lists besides the endpoints and the pages.
var llmsDocuments = []string{
	openAPIPath, "/manifest.json", "/scoreboard.json", jsonFeedPath, jobsPath, auditorsPath, "/verify/verify.py", vectorsPath,
}

// llmsPages are the pages that say what no answer of an endpoint says. The guide leads to all
// others.
var llmsPages = []string{"field-guide", logPage, "privacy", "terms"}

// llmsCalls are the operations whose exact calls stand in llms.txt. Each is a step of the quest.
var llmsCalls = []string{"mintReceipt", "verifyReceipt", "sendSuggestion", "registerAgent"}

// llms publishes llms.txt (llmstxt.org): a title, a summary on one line, paragraphs, and then
// sections in which every line is a link. The reference parser of llmstxt.org takes nothing else.
func (g *generation) llms() {
	service, words := &g.site.Service, &g.site.LLMs
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n> %s\n", service.Name, service.Summary)
	last := words.Elsewhere + " " + strings.Join(g.usualPlaces(), ", ") + ". " + words.Absent + " " + words.Sizes
	for _, paragraph := range slices.Concat(words.Intro, []string{words.Calls, g.llmsCalls(), last}) {
		if strings.HasPrefix(paragraph, "#") || strings.Contains(paragraph, "\n#") {
			g.fault("llms.yaml: a paragraph holds a heading, and llms.txt may have none there: %.40q", paragraph)
		}
		fmt.Fprintf(&b, "\n%s\n", paragraph)
	}
	sizes := g.sizes()
	section := func(title string) { fmt.Fprintf(&b, "\n## %s\n\n", title) }
	link := func(title, path string, notes ...string) {
		if n := sizes[path]; n > 0 {
			notes = append([]string{kilobytes(n)}, notes...)
		}
		fmt.Fprintf(&b, "- [%s](%s)", strings.NewReplacer("[", "(", "]", ")").Replace(title), g.url(path))
		if len(notes) > 0 {
			b.WriteString(": " + strings.Join(strings.Fields(strings.Join(notes, ". ")), " "))
		}
		b.WriteByte('\n')
	}

	section("Endpoints")
	for _, route := range g.routes {
		path := route.Path
		if !route.Answers(http.MethodGet) {
			path = endpointPath(route) + ".md"
		}
		link(strings.Join(route.Methods(), ", ")+" "+route.ID, path, g.summary(route.ID))
	}

	section("Documents")
	for _, path := range llmsDocuments {
		p, notes := publishedAs(path), []string{}
		if sizes[path] == 0 {
			notes = append(notes, p.what)
		}
		link(p.title, path, notes...)
	}

	section("Optional")
	for i := range g.site.Pages {
		if p := &g.site.Pages[i]; slices.Contains(llmsPages, p.Name) {
			link(p.Title, twinPath(p))
		}
	}
	link(publishedAs("/llms-full.txt").title, "/llms-full.txt")
	g.add("/llms.txt", []byte(b.String()))
}

// usualPlaces are the paths of the documents that clients look for by themselves.
func (g *generation) usualPlaces() (paths []string) {
	for i := range g.documents {
		if path := g.documents[i].Path; strings.HasPrefix(path, "/.well-known/") || path == "/server.json" {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// llmsCalls lists one exact call of each kind.
func (g *generation) llmsCalls() string {
	var b strings.Builder
	call := func(what, command string) { fmt.Fprintf(&b, "- %s: `%s`\n", strings.TrimSuffix(what, "."), command) }
	for _, id := range llmsCalls {
		i := slices.IndexFunc(g.site.Quest.Steps, func(s site.QuestStep) bool { return s.Operation == id })
		if i < 0 {
			g.fault("llms.txt shows how to call %s, and no step of the quest does", id)
			continue
		}
		call(g.summary(id), g.questCurl(&g.site.Quest.Steps[i]))
	}
	route, op := g.operation("computeBusinessDays")
	call(g.summary(op.ID), g.getCommand(route, op))
	call(g.summary("callMCP"), curl(g.url(protocol.Path))+` -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`)
	return strings.TrimSuffix(b.String(), "\n")
}

// sizes are the bytes of every document and of what a GET of an endpoint answers, by their paths.
// The manifest has none: llms.txt is listed there, so each would have to be made before the other.
func (g *generation) sizes() map[string]int {
	sizes := map[string]int{}
	for i := range g.documents {
		sizes[g.documents[i].Path] = len(g.documents[i].Bytes)
	}
	maps.Copy(sizes, g.answerSizes)
	return sizes
}

// kilobytes writes a size with one decimal.
func kilobytes(n int) string { return fmt.Sprintf("%.1f KB", float64(n)/1000) }
