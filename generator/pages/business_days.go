package pages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/turn"
	"anteroom/generator/page"
)

// businessDaysForm is the form that asks the endpoint. Its fields are those of the endpoint, so
// that it works without its script, too.
func (g *family) businessDaysForm() section {
	form := &page.CalendarForm{Action: g.Route("business-days").Path}
	for i := range bizday.Fields {
		f := &bizday.Fields[i]
		form.Fields = append(form.Fields, businessDaysField(f))
		if f.Type == input.List {
			form.Calendar = f.Name
		}
	}
	return section{markdown: "The HTML page has a form here, which asks the endpoint.\n", html: page.BusinessDaysForm(form)}
}

// businessDaysField is the form's field for a field of the endpoint.
func businessDaysField(f *input.Field) page.FormField {
	field := page.FormField{Name: f.Name, Label: strings.ToUpper(f.Name[:1]) + f.Name[1:], Type: "text", Required: f.Required}
	texts := map[string]string{}
	switch f.Type {
	case input.Date:
		field.Type = "date"
		field.Min, field.Max = bizday.Range()
	case input.Integer:
		field.Type = "number"
		if f.Max != 0 {
			field.Min, field.Max = strconv.Itoa(f.Min), strconv.Itoa(f.Max)
		}
	case input.List:
		ids, calendars := bizday.Describe()
		for i := range ids {
			texts[ids[i]] = calendars[i].Name
		}
	}
	var readers []string
	for _, o := range bizday.Operations() {
		if slices.Contains(o.Takes, f.Name) {
			readers = append(readers, o.Name)
		}
		if f.Name == businessDaysChoice {
			texts[o.Name], field.Label = o.What, "What to compute"
		}
	}
	if readers != nil {
		field.For, field.Hint = strings.Join(readers, " "), "For "+strings.Join(readers, ", ")+"."
	}
	for _, value := range f.Values {
		option := page.FormOption{Value: value, Text: value}
		if text := texts[value]; text != "" {
			option.Text = value + " - " + text
		}
		field.Options = append(field.Options, option)
	}
	return field
}

// businessDaysChoice is the field that chooses the operation.
var businessDaysChoice = bizday.Fields[0].Name

// businessDaysCall is the example of the endpoint as a GET, and what it answers.
func (g *family) businessDaysCall() section {
	var answer struct {
		Result  string           `json:"result"`
		Skipped []bizday.Holiday `json:"holidays_skipped"`
	}
	g.rehearse(bizday.Compute, bizday.Example, &answer)
	var b strings.Builder
	fmt.Fprintf(&b, "```sh\ncurl -s '%s?%s'\n```\n\n", g.URL(g.Route("business-days").Path), g.exampleQuery(bizday.Example))
	fmt.Fprintf(&b, "`result` is `%s`. `holidays_skipped` says which closed weekdays it passed over:\n\n", answer.Result)
	row := beginTable(&b, "Date", "Holiday", "Calendar")
	for _, h := range answer.Skipped {
		row(h.Date, markdownText(h.Name), "`"+h.Calendar+"`")
	}
	return section{markdown: b.String()}
}

// rehearse reads what an endpoint answers to a body, of a dry run where it writes.
func (g *family) rehearse(handle func(*turn.Turn, *input.Input) *turn.Response, body string, answer any) {
	current := &turn.Turn{Request: turn.Request{Host: g.Site.Service.CanonicalHost}}
	current.Begin(g.Snapshot)
	in := input.ParseBody([]byte(body))
	in.DryRun = true
	response := handle(current, in)
	if err := json.Unmarshal(response.Body, answer); err != nil || response.Status != http.StatusOK {
		g.Fail("an endpoint does not answer its own example %s: %d %s", body, response.Status, response.Body)
	}
}

// exampleQuery is an example body as a query. An array is joined with commas, which a query may
// hold as they are.
func (g *family) exampleQuery(body string) string {
	example, err := jsondoc.Parse([]byte(body))
	if err != nil {
		g.Fail("example %s: %w", body, err)
	}
	var parts []string
	for _, m := range example.Members {
		value := m.Value.Text
		for i, item := range m.Value.Items {
			if i > 0 {
				value += ","
			}
			value += item.Text
		}
		parts = append(parts, m.Name+"="+strings.ReplaceAll(url.QueryEscape(value), "%2C", ","))
	}
	return strings.Join(parts, "&")
}

// businessDaysCalendars describes every calendar.
func (g *family) businessDaysCalendars() section {
	var b strings.Builder
	ids, calendars := bizday.Describe()
	for i, c := range calendars {
		fmt.Fprintf(&b, "### `%s`: %s {#%s}\n\n- **Authority:** %s\n- **Holds:** %s\n- **Leaves out:** %s\n\n",
			ids[i], markdownText(c.Name), ids[i], markdownText(c.Authority), markdownText(c.Scope), markdownText(c.LeavesOut))
	}
	return section{markdown: strings.TrimSpace(b.String())}
}

// businessDaysOperations lists the operations, with the fields that each reads.
func (g *family) businessDaysOperations() section {
	var b strings.Builder
	row := beginTable(&b, "`"+businessDaysChoice+"`", "Computes", "Reads")
	for _, o := range bizday.Operations() {
		row("`"+o.Name+"`", markdownText(o.What), "`"+strings.Join(o.Takes, "`, `")+"`")
	}
	return section{markdown: b.String()}
}

// businessDaysConventions lists the conventions.
func (g *family) businessDaysConventions() section {
	var b strings.Builder
	row := beginTable(&b, "Convention", "FpML", "Meaning")
	for _, c := range bizday.Conventions {
		row("`"+c.Name+"`", "`"+c.FpML+"`", markdownText(c.What))
	}
	fmt.Fprintf(&b, "\nWhere none is named, it is `%s`.\n", bizday.Conventions[0].Name)
	return section{markdown: b.String()}
}

// businessDaysCounting says how days are counted, and what the data does not know.
func (g *family) businessDaysCounting() section {
	first, last := bizday.Range()
	var b strings.Builder
	for _, rule := range [][2]string{
		{"Counting", bizday.Counting},
		{"Adding", bizday.Adding},
		{"Joint calendars", bizday.Joint},
		{"Range", "Dates from " + first + " to " + last + ". What leads outside is refused, never guessed."},
		{"Data", "The rules were last compared with their sources on " + bizday.DataVersion + ". " + bizday.Caveat},
	} {
		fmt.Fprintf(&b, "- **%s:** %s\n", rule[0], markdownText(rule[1]))
	}
	return section{markdown: b.String()}
}
