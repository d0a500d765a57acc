package input_test

import (
	"strings"
	"testing"

	"anteroom/edge/input"
)

// The fault of a missing field names the name that was sent and is closest to the field's own, if
// one is close and is not a field itself.
func TestMeant(t *testing.T) {
	fields := []input.Field{
		{Name: "agent_name", Type: input.Name, Required: true},
		{Name: "days", Type: input.Integer},
		{Name: "date", Type: input.Date},
		{Name: "op", Type: input.Name},
		{Name: "roster", Type: input.Array, QueryNames: []string{"operator"}},
		{Name: "suggestion", Type: input.Text, Aliases: []string{"message"}},
	}
	field := func(name string) *input.Field {
		for i := range fields {
			if fields[i].Name == name {
				return &fields[i]
			}
		}
		t.Fatal(name)
		return nil
	}
	for _, c := range []struct{ missing, sent, meant, field string }{
		{"agent_name", "name", "name", "agent_name"},
		{"agent_name", "agentname", "agentname", "agent_name"},
		{"agent_name", "AGENT-NAME", "AGENT-NAME", "agent_name"},
		{"agent_name", "gaent_nmae", "gaent_nmae", "agent_name"},
		{"agent_name", "agentna", "", ""},
		{"agent_name", "name agent agent_name_", "agent_name_", "agent_name"},
		{"agent_name", "gent", "", ""},
		{"days", "dayss day", "dayss", "days"},
		{"days", "x day dasy dats DAYS", "DAYS", "days"},
		{"days", "date", "", ""},
		{"op", "o", "o", "op"},
		{"op", "operator", "", ""},
		{"suggestion", "mesage", "mesage", "message"},
		{"suggestion", "massages suggestions", "suggestions", "suggestion"},
	} {
		in := input.ParseQuery(strings.ReplaceAll(c.sent, " ", "&"))
		in.Fields = fields
		in.Missing("it is missing", field(c.missing))
		want := "it is missing"
		if c.meant != "" {
			want += `; "` + c.meant + `" is not a field: did you mean ` + c.field + `?`
		}
		if fault := in.List[0]; fault.Field != c.missing || fault.Code != input.Required || fault.Detail != want {
			t.Errorf("%s of %s: %+v, want %s", c.missing, c.sent, fault, want)
		}
	}
	null := input.ParseBody([]byte(`{"name":null,"agentname":"read"}`))
	null.Member("agentname")
	if null.Missing("it is missing", field("agent_name")); null.List[0].Detail != "it is missing" {
		t.Errorf("null is not a value, and what was read is a field: %+v", null.List)
	}
	renamed := input.ParseBody([]byte(`{"reciept":{}}`))
	renamed.Rename("verify", "receipt")
	if renamed.Missing("it is missing", &input.Field{Name: "verify"}); renamed.List[0] != (input.Fault{Field: "receipt", Code: input.Required, Detail: `it is missing; "reciept" is not a field: did you mean receipt?`}) {
		t.Errorf("a field under another name: %+v", renamed.List)
	}
	strict := input.ParseBody([]byte(`{"agent":"x","dats":1,"zebra":2}`))
	strict.Fields = fields
	if strict.RejectUnknown(); strings.Join(faults(strict), "|") != "agent unknown_field: is not a field: did you mean agent_name?|dats unknown_field: is not a field: did you mean days?|zebra unknown_field: is not a field" {
		t.Errorf("%q", faults(strict))
	}
}
