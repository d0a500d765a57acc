package pages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/generator/contract"
	"anteroom/generator/model"
	"anteroom/generator/output"
)

// Draft returns the answer for the example of a charter. Pages show it in no call, so that no one
// files it.
func (g *family) Draft() (draft org.Answer) {
	g.exampleAnswer(contract.WriteOperation(contract.Route("org")), &draft)
	return draft
}

func (g *family) waitlistRows() []slipRow {
	example, _ := jsondoc.Parse(g.Example(contract.WriteOperation(contract.Route("waitlist"))).Answer)
	rows := textRows(example.Get("registration"), "agent_name", "pubkey")
	return append(rows, textRows(&example, "payload_sha256")...)
}

func (g *family) CharterForm() string { return string(output.Lined(g.OrgRules().PostTemplate, 2)) }

func (g *family) CharterParameters() (parameters []string) {
	for _, f := range contract.WriteOperation(contract.Route("org")).Fields {
		template, _ := jsondoc.Parse(contract.FieldTemplate(&f))
		if f.Required && len(f.QueryNames) == 0 {
			parameters = append(parameters, f.Name+"="+template.Text)
		}
		for i := range template.Items {
			parameters = append(parameters, contract.SeatParameter(&template.Items[i]))
		}
	}
	return parameters
}

func businessDaysFields(asked map[string]any) (filled, others []formField) {
	for i := range bizday.Fields {
		field := businessDaysField(&bizday.Fields[i])
		value, isAsked := asked[field.Name]
		if !isAsked {
			others = append(others, field)
			continue
		}
		field.Value = fmt.Sprint(value)
		chosen := strings.Split(field.Value, ",")
		for j := range field.Options {
			o := &field.Options[j]
			o.Chosen, o.Joint = o.Value == chosen[0], slices.Contains(chosen[1:], o.Value)
		}
		filled = append(filled, field)
	}
	return filled, others
}

func businessDaysField(f *input.Field) formField {
	field := formField{Name: f.Name, Label: contract.Capital(f.Name), Type: "text", Required: f.Required}
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
		field.Joins = true
		for _, c := range model.Calendars() {
			texts[c.ID] = c.Name
		}
	}
	var readers []string
	for _, o := range bizday.Operations {
		if slices.Contains(o.Reads(), f.Name) {
			readers = append(readers, o.Name)
		}
		if f.Name == businessDaysChoice {
			texts[o.Name], field.Label = o.What, "What to compute"
		}
	}
	field.For = strings.Join(readers, " ")
	for _, value := range f.Values {
		field.Options = append(field.Options, formOption{Value: value, Text: cmp.Or(texts[value], value)})
	}
	return field
}

var businessDaysChoice = bizday.Fields[0].Name

type businessDaysExample struct {
	Command string           `json:"-"`
	Asked   map[string]any   `json:"-"`
	Result  string           `json:"result"`
	Skipped []bizday.Holiday `json:"holidays_skipped"`
}

func (g *family) BusinessDaysExample() (example *businessDaysExample) {
	route, op := api.Find("computeBusinessDays")
	g.exampleAnswer(op, &example)
	example.Command = g.GetCommand(route, op)
	_ = json.Unmarshal(contract.ExampleBody(op), &example.Asked) // it was sent to the endpoint
	return example
}

func (e *businessDaysExample) Says() string {
	result, _ := time.Parse(time.DateOnly, e.Result) // the endpoint computed it
	return fmt.Sprintf("%s. %v business days after %s.", result.Weekday(), e.Asked["days"], e.Asked["start"])
}

func (e *businessDaysExample) Rows() []slipRow {
	rows := []slipRow{{Name: "calendar", Value: fmt.Sprint(e.Asked["calendar"])}}
	for _, day := range e.Skipped {
		what := day.Date + ", " + day.Name + ", " + day.Calendar
		rows = append(rows, slipRow{Name: "passed over", Value: what})
	}
	return rows
}

func (g *family) mintRows() []slipRow {
	shown := g.Site.Receipt
	if shown == nil {
		example, _ := jsondoc.Parse(g.Example(contract.WriteOperation(contract.Route("receipt"))).Answer)
		shown = &example
	}
	return textRows(shown, "issued_by", "issued_at", "agent_name", "note", "payload_sha256")
}

func textRows(shown *jsondoc.Value, names ...string) (rows []slipRow) {
	for _, name := range names {
		if text := shown.Get(name).Text; text != "" {
			rows = append(rows, slipRow{Name: name, Value: text})
		}
	}
	return rows
}

func (g *family) exampleAnswer(op *api.Operation, answer any) {
	_ = json.Unmarshal(g.Example(op).Answer, answer) // the endpoint made it
}
