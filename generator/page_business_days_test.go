package generator_test

import (
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/turn"
)

// The form works without its script, and asks at first what the slip answers.
func TestBusinessDaysForm(t *testing.T) {
	o := generate(t, shippedContent)
	page := string(document(t, o, "/business-days.html"))
	form := between(page, `<form id="ask"`, "</form>")
	chosen, first, readers := map[string]string{}, map[string]string{}, map[string]string{}
	block := regexp.MustCompile(`(?s)<div data-for="([^"]*)"[^>]*>.*? name="([^"]+)"(.*?)</div>`)
	option := regexp.MustCompile(`<option value="([^"]+)"( selected)?>`)
	for _, m := range block.FindAllStringSubmatch(form, -1) {
		name, control := m[2], m[3]
		readers[name], chosen[name] = m[1], html.UnescapeString(between(control, ` value="`, `"`))
		for i, o := range option.FindAllStringSubmatch(control, -1) {
			if i == 0 {
				first[name], chosen[name] = o[1], o[1]
			}
			if o[2] != "" {
				chosen[name] = o[1]
			}
		}
	}
	if len(readers) != len(bizday.Fields) {
		t.Errorf("the form has the fields %v", readers)
	}
	h := keyedHost(t, o)
	ask := func(query url.Values) *turn.Response {
		r := send(t, h, o, call{"GET", o.Snapshot.BaseURL() + "/api/business-days?" + query.Encode(), ""})
		if r.Status != 200 {
			t.Errorf("%s: %d %s", query.Encode(), r.Status, r.Body)
		}
		return r
	}

	asked := url.Values{}
	for name, value := range chosen {
		asked.Set(name, value)
	}
	for _, box := range regexp.MustCompile(`value="([^"]+)" checked`).FindAllStringSubmatch(form, -1) {
		asked.Set("calendar", asked.Get("calendar")+","+box[1])
	}
	slip := anyTag.ReplaceAllString(between(page, `id="answer"`, "</section>"), " ")
	var answer struct {
		Result           string
		Calendar         []string
		Holidays_skipped []struct{ Date, Name string }
	}
	if err := json.Unmarshal(ask(asked).Body, &answer); err != nil {
		t.Fatal(err)
	}
	shown := []string{answer.Result, strings.Join(answer.Calendar, ","), asked.Get("start")}
	for _, day := range answer.Holidays_skipped {
		shown = append(shown, day.Date, day.Name)
	}
	for _, text := range shown {
		if !strings.Contains(slip, text) {
			t.Errorf("the slip lacks %q of the answer to %s", text, asked.Encode())
		}
	}
	if len(answer.Calendar) < 2 || len(answer.Holidays_skipped) < 2 {
		t.Errorf("the example joins %v and passes over %v", answer.Calendar, answer.Holidays_skipped)
	}

	// Sent as a browser without scripts sends it, with all that is in it, each operation answers.
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
		ask(query)
	}
}
