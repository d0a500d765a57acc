package generator_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/endpoint/bizday"
)

// Sent as a browser without scripts sends the form, with all that is in it, each operation answers.
func TestBusinessDaysForm(t *testing.T) {
	o := shipped()
	h, first, readers := keyedHost(t, o), map[string]string{}, map[string]string{}
	block := regexp.MustCompile(`(?s)<div data-for="([^"]*)"[^>]*>.*? name="([^"]+)"(.*?)</div>`)
	option := regexp.MustCompile(`<option value="([^"]+)"`)
	for _, m := range block.FindAllStringSubmatch(between(string(document(t, o, "/business-days.html")), `<form id="ask"`, "</form>"), -1) {
		readers[m[2]] = m[1]
		if chosen := option.FindStringSubmatch(m[3]); chosen != nil {
			first[m[2]] = chosen[1]
		}
	}
	if len(readers) != len(bizday.Fields) {
		t.Errorf("the form has the fields %v", readers)
	}
	filled := map[string]string{"date": "2026-12-24", "start": "2026-12-23", "end": "2027-01-04", "days": "2"}
	for _, operation := range bizday.Operations {
		query := url.Values{}
		for name := range readers {
			query.Set(name, first[name])
			reads := slices.Contains(operation.Reads(), name)
			if reads && filled[name] != "" {
				query.Set(name, filled[name])
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
