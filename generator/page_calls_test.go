package generator_test

import (
	"encoding/json"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/generator/contract"
)

// TestEndpointPages compares the pages about endpoints with the routes: the path is the heading,
// each operation keeps its anchors, and each member, field and problem is on the page and in its
// twin.
func TestEndpointPages(t *testing.T) {
	o := generate(t, shippedContent)
	reference := string(document(t, o, "/reference.html"))
	for _, route := range api.Routes {
		group := "<code>" + route.Path + "</code></th>"
		if n := len(route.Operations); n > 1 {
			group = `rowspan="` + strconv.Itoa(n) + `">` + group
		}
		if !strings.Contains(reference, group) {
			t.Errorf("reference.html has no group %s", group)
		}
		path := contract.EndpointPath(route)
		page, twin, ids := string(document(t, o, path)), string(document(t, o, path+".md")), identifiers(t, o, path)
		if title := between(page, "<title>", "</title>"); strings.Contains(title, "/") {
			t.Errorf("%s: the title is %s", path, title)
		}
		if between(page, "<h1>", "</h1>") != "<code>"+route.Path+"</code>" || !strings.HasPrefix(twin, "# "+route.Path+"\n") {
			t.Errorf("%s: the heading is not the path", path)
		}
		for _, link := range []string{`<a href="/reference.html">API</a> /`, `<a href="/reference.html" aria-current="true">`} {
			if !strings.Contains(page, link) {
				t.Errorf("%s lacks %s", path, link)
			}
		}
		var names []string
		for _, op := range route.Operations {
			anchors := []string{op.ID}
			names = append(names, op.ID)
			if len(op.Fields) > 0 {
				anchors = append(anchors, op.ID+"-fields")
			}
			if op.Document != nil || len(op.Answers) > 0 {
				anchors = append(anchors, op.ID+"-answer")
			}
			for _, id := range anchors {
				if !slices.Contains(ids, id) {
					t.Errorf("%s has no #%s", path, id)
				}
			}
			for i := range op.Fields {
				names = append(names, op.Fields[i].Name)
			}
		}
		for _, p := range contract.ProblemsOf(route.Operations...) {
			names = append(names, p.Path())
		}
		for _, name := range names {
			for what, text := range map[string]string{"page": page, "twin": twin} {
				if !strings.Contains(text, name) {
					t.Errorf("%s: the %s lacks %s", path, what, name)
				}
			}
		}
		for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \| .* \|$`).FindAllStringSubmatch(twin, -1) {
			if cell := strings.Trim(row[1], "`"); !strings.Contains(page, ">"+cell+"<") && cell != "---" {
				t.Errorf("%s lacks the row %s of its twin", path, cell)
			}
		}
		if n := strings.Count(page, "&quot;served_from&quot;"); n > strings.Count(twin, `"served_from"`) || n > len(route.Operations) {
			t.Errorf("%s shows %d whole answers", path, n)
		}
	}
}

// TestAnswersOnSlips compares the answer on the slip of each endpoint with its example, and the
// stamp with what the answer says.
func TestAnswersOnSlips(t *testing.T) {
	o := generate(t, shippedContent)
	rows := regexp.MustCompile(`<div(?: class="wrap")?><dt>([a-z0-9_]+)</dt><dd>(.*?)</dd></div>`)
	stamps := map[string]bool{}
	for _, route := range api.Routes {
		page := string(document(t, o, contract.EndpointPath(route)))
		slip := between(page, `<div class="slip"`, "</section>")
		_, shown, answers := strings.Cut(slip, "<h3>Answer, 200</h3>")
		stamps[route.ID] = strings.Contains(slip, `class="stamp`)
		if !answers {
			continue
		}
		var example map[string]any
		text, _, _ := strings.Cut(blocks(string(document(t, o, contract.EndpointPath(route)+".md")), "json")[0], "\n```")
		if err := json.Unmarshal([]byte(text), &example); err != nil {
			t.Fatal(err)
		}
		found := rows.FindAllStringSubmatch(shown, -1)
		for i, row := range found {
			if slices.ContainsFunc(found[:i], func(other []string) bool { return other[1] == row[1] }) {
				t.Errorf("%s: the slip has %s twice", route.Path, row[1])
			}
			value := html.UnescapeString(anyTag.ReplaceAllString(row[2], ""))
			if text, _ := json.Marshal(example[row[1]]); value != strings.Trim(string(text), `"`) {
				t.Errorf("%s: the slip has %s %s, and the example %s", route.Path, row[1], value, text)
			}
		}
		if len(found) < 2 {
			t.Errorf("%s: the slip has %d members", route.Path, len(found))
		}
	}
	for id, stamped := range stamps {
		if stamped != slices.Contains([]string{"org", "waitlist"}, id) {
			t.Errorf("the slip of %s is stamped: %v", id, stamped)
		}
	}
}

// TestToolTable compares the table of tools with what tools/list says of them.
func TestToolTable(t *testing.T) {
	o := generate(t, shippedContent)
	page, ids := string(document(t, o, "/mcp.html")), identifiers(t, o, "/mcp.html")
	var list struct {
		Tools []struct {
			Name        string
			InputSchema struct{ Properties map[string]any }
			Annotations struct{ ReadOnlyHint bool }
		}
	}
	if err := json.Unmarshal(o.Snapshot.Documents[api.MCPTools], &list); err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		row := anyTag.ReplaceAllString(between(page, `<tr id="`+tool.Name+`">`, "</tr>"), "|")
		_, hasDryRun := tool.InputSchema.Properties["dry_run"]
		want := map[bool]map[bool]string{
			true:  {false: "|no||–|"},
			false: {true: "|yes|||yes|", false: "|yes|||no|"},
		}[tool.Annotations.ReadOnlyHint][hasDryRun]
		if !strings.HasSuffix(row, want) {
			t.Errorf("%s: the row is %s, want an end like %s", tool.Name, row, want)
		}
		for argument := range tool.InputSchema.Properties {
			if !strings.Contains(between(page, "Arguments of each tool", "</table>"), argument) {
				t.Errorf("the page lacks the argument %s of %s", argument, tool.Name)
			}
		}
	}
	want := strings.Fields("now tools arguments no-tools answers prompts revisions batches")
	for _, p := range api.Prompts {
		want = append(want, "prompt-service_"+p.Name)
	}
	for _, client := range []string{"generic", "claude_code", "cursor", "curl"} {
		want = append(want, "install-"+client)
	}
	for _, id := range want {
		if !slices.Contains(ids, id) {
			t.Errorf("mcp.html has no #%s", id)
		}
	}
	if len(list.Tools) != len(api.Tools) {
		t.Errorf("tools/list has %d tools", len(list.Tools))
	}
}

// A page closes each part that it folds, and a twin has no marks of HTML.
func TestFolds(t *testing.T) {
	for _, d := range generate(t, shippedContent).Documents {
		text := string(d.Bytes)
		if n, closed := strings.Count(text, "<details"), strings.Count(text, "</details>"); n != closed {
			t.Errorf("%s folds %d parts, and closes %d", d.Path, n, closed)
		}
		if strings.HasSuffix(d.Path, ".html.md") && strings.Contains(text, "<!--") {
			t.Errorf("%s has the mark %s", d.Path, between(text, "<!--", "-->"))
		}
	}
}

// between returns what a text has between two marks.
func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
}
