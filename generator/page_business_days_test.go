package generator_test

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/endpoint/bizday"
)

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
	h := keyedHost(t, o)
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
		if r := send(t, h, o, call{"GET", o.Snapshot.BaseURL() + "/api/business-days?" + query.Encode(), ""}); r.Status != 200 {
			t.Errorf("%s: %d %s", query.Encode(), r.Status, r.Body)
		}
	}
}
