package generator_test

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/edge"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/input"
	"anteroom/edge/turn"
	"anteroom/generator"
)

// twinText is the Markdown twin of a page without the escapes of Markdown.
func twinText(t *testing.T, o *generator.Output, page string) string {
	t.Helper()
	return strings.ReplaceAll(string(document(t, o, "/"+page+".html.md")), `\`, "")
}

// says reports each text that a page lacks.
func says(t *testing.T, page, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if want = strings.Join(strings.Fields(want), " "); want == "" || !strings.Contains(text, want) {
			t.Errorf("the page %s lacks %q", page, want)
		}
	}
}

// getter answers GETs of the paths and queries of the canonical host, by an edge of the output.
func getter(t *testing.T, o *generator.Output) func(method, target, body string) turn.Outcome {
	t.Helper()
	e, err := edge.Load(o.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	return func(method, target, body string) turn.Outcome {
		return e.Handle(&turn.Turn{Request: turn.Request{Method: method, Target: target, Host: o.Snapshot.CanonicalHost, Body: []byte(body)}})
	}
}

// The fields of the form are those of the endpoint, with its values and limits, so that the browser
// alone can ask it.
func TestBusinessDaysForm(t *testing.T) {
	o := generate(t, shippedContent)
	page := string(document(t, o, "/business-days.html"))
	form := regexp.MustCompile(`(?s)<form .*</form>`).FindString(page)
	says(t, "business-days", form, `method="get" action="/api/business-days" autocomplete="off"`)

	type control struct {
		readers string
		tag     string
		values  []string
	}
	controls := map[string]control{}
	var names []string
	block := regexp.MustCompile(`(?s)<div data-for="([^"]*)"><label for="([^"]+)">[^<]+</label> *(<(?:select|input)[^>]*>)(.*?)</div>`)
	option := regexp.MustCompile(`<option value="([^"]*)">`)
	attribute := func(tag, name string) string {
		if m := regexp.MustCompile(` ` + name + `="([^"]*)"`).FindStringSubmatch(tag); m != nil {
			return html.UnescapeString(m[1])
		}
		return ""
	}
	for _, m := range block.FindAllStringSubmatch(form, -1) {
		c := control{readers: m[1], tag: m[3]}
		for _, v := range option.FindAllStringSubmatch(m[4], -1) {
			c.values = append(c.values, html.UnescapeString(v[1]))
		}
		name := attribute(c.tag, "name")
		if attribute(c.tag, "id") != m[2] {
			t.Errorf("the label of %s is for %s", name, m[2])
		}
		for _, id := range strings.Fields(attribute(c.tag, "aria-describedby")) {
			if !strings.Contains(form, `id="`+id+`"`) {
				t.Errorf("%s is described by %s, which is not there", name, id)
			}
		}
		names, controls[name] = append(names, name), c
	}
	if n := strings.Count(form, ` name="`); n != len(names) {
		t.Errorf("%d named controls, and %d fields", n, len(names))
	}
	var want []string
	first, last := bizday.Range()
	for _, f := range bizday.Fields {
		want = append(want, f.Name)
		c := controls[f.Name]
		if !slices.Equal(c.values, f.Values) {
			t.Errorf("%s offers %v, and takes %v", f.Name, c.values, f.Values)
		}
		if f.Type == input.Date && (attribute(c.tag, "type") != "date" || attribute(c.tag, "min") != first || attribute(c.tag, "max") != last) {
			t.Errorf("%s is %s", f.Name, c.tag)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("the form has %v, the endpoint %v", names, want)
	}

	// Sent as a browser without scripts sends it, with all that is in it, each operation answers.
	filled := map[string]string{"date": "2026-12-24", "start": "2026-12-23", "end": "2027-01-04", "days": "2"}
	ask := getter(t, o)
	for _, operation := range bizday.Operations {
		query := url.Values{}
		for _, name := range names {
			query.Set(name, "")
			if c := controls[name]; len(c.values) > 0 {
				query.Set(name, c.values[0])
			}
			reads := slices.Contains(operation.Reads(), name)
			if reads {
				query.Set(name, query.Get(name)+filled[name])
			}
			if readers := controls[name].readers; readers != "" && slices.Contains(strings.Fields(readers), operation.Name) != reads {
				t.Errorf("%s says that %s reads it: %v", name, operation.Name, !reads)
			}
		}
		query.Set("op", operation.Name)
		if r := ask("GET", "/api/business-days?"+query.Encode(), "").Response; r.Status != 200 {
			t.Errorf("%s: %d %s", query.Encode(), r.Status, r.Body)
		}
	}
}
