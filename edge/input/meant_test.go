package input_test

import (
	"encoding/json"
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
		{"agent_name", "agent", "agent", "agent_name"},
		{"agent_name", "agentname", "agentname", "agent_name"},
		{"agent_name", "AGENT-NAME", "AGENT-NAME", "agent_name"},
		{"agent_name", "agent_nam", "agent_nam", "agent_name"},
		{"agent_name", "gaent_nmae", "gaent_nmae", "agent_name"},
		{"agent_name", "agentna", "", ""},
		{"agent_name", "name agent agent_name_", "agent_name_", "agent_name"},
		{"agent_name", "gent", "", ""},
		{"days", "day", "day", "days"},
		{"days", "dyas", "dyas", "days"},
		{"days", "dayss day", "dayss", "days"},
		{"days", "x day dasy dats DAYS", "DAYS", "days"},
		{"days", "date", "", ""},
		{"op", "o", "o", "op"},
		{"op", "operator", "", ""},
		{"roster", "rooster", "rooster", "roster"},
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

// Names from anywhere are compared in good time, and are echoed no longer than any.
func FuzzMeant(f *testing.F) {
	for _, name := range []string{"name", "", "_", "agent__name", "\x00", "é", "agent_nam\u2028", strings.Repeat("agent_", 99)} {
		f.Add(name, "agent_name")
		f.Add("agent_name", name)
	}
	f.Fuzz(func(t *testing.T, sent, name string) {
		body, err := json.Marshal(map[string]string{sent: "x"})
		if err != nil {
			t.Fatal(err)
		}
		in := input.ParseBody(body)
		in.Fields = []input.Field{{Name: name, Aliases: []string{"other_name"}}}
		in.Missing("it is missing", &in.Fields[0])
		if n := len(in.List[0].Detail); n > len("it is missing")+4*input.MaxEcho+len(name)+100 {
			t.Errorf("%q for %q: a detail of %d bytes", sent, name, n)
		}
		in.RejectUnknown()
	})
}
