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
	"anteroom/edge/turn"
	"anteroom/generator"
)

// twinText is the Markdown twin of a page without the escapes of Markdown.
func twinText(t *testing.T, o *generator.Output, page string) string {
	t.Helper()
	return strings.ReplaceAll(string(document(t, o, "/"+page+".html.md")), `\`, "")
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

// The form works without its script.
func TestBusinessDaysForm(t *testing.T) {
	o := generate(t, shippedContent)
	page := string(document(t, o, "/business-days.html"))
	form := regexp.MustCompile(`(?s)<form .*</form>`).FindString(page)
	values, readers := map[string]string{}, map[string]string{} // the first of each list; the operations that read a field
	block := regexp.MustCompile(`(?s)<div data-for="([^"]*)">.*? name="([^"]+)"(.*?)</div>`)
	option := regexp.MustCompile(`<option value="([^"]+)">`)
	for _, m := range block.FindAllStringSubmatch(form, -1) {
		values[m[2]], readers[m[2]] = "", m[1]
		if first := option.FindStringSubmatch(m[3]); first != nil {
			values[m[2]] = html.UnescapeString(first[1])
		}
	}
	if len(values) != len(bizday.Fields) {
		t.Errorf("the form has the fields %v", values)
	}

	// Sent as a browser without scripts sends it, with all that is in it, each operation answers.
	filled := map[string]string{"date": "2026-12-24", "start": "2026-12-23", "end": "2027-01-04", "days": "2"}
	ask := getter(t, o)
	for _, operation := range bizday.Operations {
		query := url.Values{}
		for name, value := range values {
			query.Set(name, value)
			reads := slices.Contains(operation.Reads(), name)
			if reads {
				query.Set(name, query.Get(name)+filled[name])
			}
			if readers[name] != "" && slices.Contains(strings.Fields(readers[name]), operation.Name) != reads {
				t.Errorf("%s says that %s reads it: %v", name, operation.Name, !reads)
			}
		}
		query.Set("op", operation.Name)
		if r := ask("GET", "/api/business-days?"+query.Encode(), "").Response; r.Status != 200 {
			t.Errorf("%s: %d %s", query.Encode(), r.Status, r.Body)
		}
	}
}
