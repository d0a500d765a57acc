package pages

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/input"
	"anteroom/generator/contract"
	"anteroom/generator/model"
)

func (g *family) businessDaysForm() *calendarForm {
	form := &calendarForm{Action: contract.Route("business-days").Path}
	for i := range bizday.Fields {
		f := &bizday.Fields[i]
		form.Fields = append(form.Fields, businessDaysField(f))
		if f.Type == input.List {
			form.Calendar = f.Name
		}
	}
	return form
}

func businessDaysField(f *input.Field) formField {
	field := formField{Name: f.Name, Label: strings.ToUpper(f.Name[:1]) + f.Name[1:], Type: "text", Required: f.Required}
	texts := map[string]string{}
	switch f.Type {
	case input.Date:
		field.Type = "date"
		field.Min, field.Max = bizday.Range()
	case input.Integer:
		field.Type = "number"
		if f.Max != 0 { // the year, which replaces a span
			field.Min, field.Max = strconv.Itoa(f.Min), strconv.Itoa(f.Max)
			field.Label = "Or a " + f.Name
		}
	case input.List:
		for _, c := range model.Calendars() {
			texts[c.ID] = c.Name
		}
	}
	var readers, questions []string
	for _, o := range bizday.Operations {
		if slices.Contains(o.Reads(), f.Name) {
			readers, questions = append(readers, o.Name), append(questions, strings.TrimSuffix(o.What, "?"))
		}
		if f.Name == businessDaysChoice {
			texts[o.Name], field.Label = o.What, "What to compute"
		}
	}
	if readers != nil {
		field.For, field.Hint = strings.Join(readers, " "), "For: "+strings.Join(questions, "; ")+"."
	}
	for _, value := range f.Values {
		field.Options = append(field.Options, formOption{Value: value, Text: cmp.Or(texts[value], value)})
	}
	return field
}

var businessDaysChoice = bizday.Fields[0].Name

type businessDaysExample struct {
	Command string           `json:"-"`
	Result  string           `json:"result"`
	Skipped []bizday.Holiday `json:"holidays_skipped"`
}

// BusinessDaysExample returns the example of the endpoint.
func (g *family) BusinessDaysExample() (example businessDaysExample) {
	route, op := api.Find("computeBusinessDays")
	g.exampleAnswer(op, &example)
	example.Command = g.GetCommand(route, op)
	return example
}

func (g *family) exampleAnswer(op *api.Operation, answer any) {
	if err := json.Unmarshal(g.Example(op).Answer, answer); err != nil {
		g.Fail("the example of %s: %w", op.ID, err)
	}
}
