package pages

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/input"
	"anteroom/generator/model"
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
		for _, c := range model.Calendars() {
			texts[c.ID] = c.Name
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

func (g *family) businessDaysCall() string {
	var answer struct {
		Result  string           `json:"result"`
		Skipped []bizday.Holiday `json:"holidays_skipped"`
	}
	route, op := g.Operation("computeBusinessDays")
	g.exampleAnswer(op, &answer)
	return fmt.Sprintf("```sh\n%s\n```\n\n`result` is `%s`. `holidays_skipped` says which closed weekdays it passed over:\n\n",
		g.GetCommand(route, op), answer.Result) +
		table("Date | Holiday | Calendar", answer.Skipped, func(h bizday.Holiday) string {
			return fmt.Sprintf("%s | %s | `%s`", h.Date, markdownText(h.Name), h.Calendar)
		})
}

// exampleAnswer reads what an operation answers to its example.
func (g *family) exampleAnswer(op *api.Operation, answer any) {
	if err := json.Unmarshal(g.Example(op).Answer, answer); err != nil {
		g.Fail("the example of %s: %w", op.ID, err)
	}
}

func (g *family) businessDaysCalendars() string {
	var b strings.Builder
	for _, c := range model.Calendars() {
		fmt.Fprintf(&b, "### `%s`: %s {#%s}\n\n- **Authority:** %s\n- **Holds:** %s\n- **Leaves out:** %s\n\n",
			c.ID, markdownText(c.Name), c.ID, markdownText(c.Authority), markdownText(c.Scope), markdownText(c.LeavesOut))
	}
	return strings.TrimSpace(b.String())
}

func (g *family) businessDaysOperations() string {
	return table("`"+businessDaysChoice+"` | Computes | Reads", bizday.Operations(), func(o bizday.Operation) string {
		return fmt.Sprintf("`%s` | %s | %s", o.Name, markdownText(o.What), codes(o.Takes))
	})
}

func (g *family) businessDaysConventions() string {
	return table("Convention | FpML | Meaning", bizday.Conventions, func(c bizday.Convention) string {
		return fmt.Sprintf("`%s` | `%s` | %s", c.Name, c.FpML, markdownText(c.What))
	}) + fmt.Sprintf("\nWhere none is named, it is `%s`.\n", bizday.Conventions[0].Name)
}

// businessDaysCounting says how days are counted, and what the data does not know.
func (g *family) businessDaysCounting() string {
	first, last := bizday.Range()
	return list([][2]string{
		{"Counting", bizday.Counting},
		{"Adding", bizday.Adding},
		{"Joint calendars", bizday.Joint},
		{"Range", "Dates from " + first + " to " + last + ". What leads outside is refused, never guessed."},
		{"Data", "The rules were last compared with their sources on " + bizday.DataVersion + ". " + bizday.Caveat},
	}, func(rule [2]string) string { return fmt.Sprintf("**%s:** %s", rule[0], markdownText(rule[1])) })
}
