package pages

import (
	"strings"

	"anteroom/edge/endpoint/org"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/generator/contract"
	"anteroom/generator/model"
)

// Draft returns the answer for the example of a charter. Pages show it in tables only, so that no
// one files it.
func (g *family) Draft() (draft org.Answer) {
	g.exampleAnswer(contract.WriteOperation(contract.Route("org")), &draft)
	return draft
}

// linePerSeat puts each seat of a charter on a line.
var linePerSeat = strings.NewReplacer(`[{`, "[\n  {", `},{`, "},\n  {", `}]`, "}\n]",
	`,"commissioner"`, ",\n\"commissioner\"", `,"roster"`, ",\n\"roster\"")

// CharterForm returns a charter with placeholders.
func (g *family) CharterForm() string { return linePerSeat.Replace(string(g.OrgRules().PostTemplate)) }

// CharterParameters returns a charter with placeholders as parameters of a query.
func (g *family) CharterParameters() (parameters []string) {
	op := contract.WriteOperation(contract.Route("org"))
	for i := range op.Fields {
		f := &op.Fields[i]
		for _, name := range contract.QueryNames(f) {
			value := contract.FieldTemplate(f)
			if len(f.QueryNames) > 0 {
				value = seatExample(f, name)
			}
			if text, err := jsondoc.Parse(value); err == nil && f.Required {
				parameters = append(parameters, name+"="+text.Text)
			}
		}
	}
	return parameters
}

func seatExample(f *input.Field, parameter string) model.JSON {
	example, err := jsondoc.Parse(contract.FieldTemplate(f))
	if err != nil {
		return nil
	}
	for _, item := range example.Items {
		name, number, found := "", "", false
		for _, m := range item.Members {
			switch {
			case m.Value.Text == parameter:
				found = true
			case m.Value.Kind == jsondoc.String:
				name = m.Value.Text
			case m.Value.Kind == jsondoc.Number:
				number = m.Value.Text
			}
		}
		if found {
			return jsondoc.AppendString(nil, name+":"+number)
		}
	}
	return nil
}
