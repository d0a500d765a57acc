package input_test

import (
	"slices"
	"strings"
	"testing"

	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
)

// faults are the faults of an input as texts: field, code and detail.
func faults(in *input.Input) (texts []string) {
	for _, f := range in.List {
		texts = append(texts, strings.TrimSpace(f.Field+" "+f.Code+": "+f.Detail))
	}
	return texts
}

// Text gives a value verbatim, or names its faults. A blank value counts as absent.
func TestText(t *testing.T) {
	text := input.Field{Name: "a", Type: input.Text, Min: 2, Max: 4, Aliases: []string{"b", "c"}}
	name, required, email := text, text, input.Field{Name: "a", Type: input.Email, Max: 3}
	name.Type, required.Required = input.Name, true
	unbounded, template := input.Field{Name: "a", Type: input.Text}, input.Field{Name: "a", Type: input.Text, Placeholder: "<yours>"}
	for _, c := range []struct {
		field *input.Field
		body  string
		want  string
		fault string
	}{
		{&text, `{"a":"xy"}`, "xy", ""},
		{&text, `{"a":" x "}`, " x ", ""},
		{&text, `{"a":"xy","b":"xy","c":null}`, "xy", ""},
		{&text, `{"a":" \t\n"}`, "", ""},
		{&text, `{"a":"x\t\n\r"}`, "x\t\n\r", ""},
		{&text, `{"a":"x"}`, "", "a too_short: must have at least 2 characters, but has 1"},
		{&text, `{"a":"ééééé"}`, "", "a too_long: must have at most 4 characters, but has 5"},
		{&text, `{"a":"xy","b":"yz"}`, "xy", "b conflicting_alias: b and a are the same field and disagree: send one of them"},
		{&text, `{"a":7}`, "", "a wrong_type: must be a string, not a number"},
		{&text, `{"a":"x\u001f"}`, "", "a control_character: contains the control character U+001f at byte 1"},
		{&text, `{"a":"éx\u007f\u0000"}`, "", "a control_character: contains the control character U+007f at byte 3"},
		{&name, `{"a":"x\t"}`, "", "a control_character: contains the control character U+0009 at byte 1"},
		{&required, `{}`, "", "a required: a is missing or blank"},
		{&unbounded, `{"a":"` + strings.Repeat("x", 999) + `"}`, strings.Repeat("x", 999), ""},
		{&template, `{"a":"<yours>"}`, "", "a placeholder: is an unchanged placeholder: replace it with your own text"},
		{&template, `{"a":"{a}"}`, "", "a placeholder: is an unchanged placeholder: replace it with your own text"},
		{&template, `{"a":"{b}"}`, "{b}", ""},
		{&unbounded, `{"a":"{a}"}`, "{a}", ""},
		{&email, `{"a":"ada"}`, "", "a not_an_email: is not an e-mail address: send a bare one, like name@host.example, or leave it out"},
	} {
		in := input.ParseBody([]byte(c.body))
		if got := in.Text(c.field); got != c.want || strings.Join(faults(in), "; ") != c.fault {
			t.Errorf("%s: %q, %q, want %q, %q", c.body, got, faults(in), c.want, c.fault)
		}
	}
}

// A number is an integer of 32 bits, and is text in a query.
func TestNumbers(t *testing.T) {
	optional := input.Field{Name: "n", Type: input.Integer, Min: 2}
	required := optional
	required.Required = true
	for _, c := range []struct {
		field *input.Field
		sent  string // a body, or a query where the text begins with ?
		want  int
		fault string
	}{
		{&optional, `{"n":3.00}`, 3, ""},
		{&optional, `?n=2147483647`, 2147483647, ""},
		{&optional, `{"n":null}`, 0, ""},
		{&required, `{}`, 0, "n required: n is missing"},
		{&required, `?n=%20`, 0, "n required: n is missing"},
		{&optional, `{"n":""}`, 0, "n wrong_type: must be an integer, not a string"},
		{&optional, `{"n":1}`, 0, "n below_minimum: must be at least 2, but is 1"},
		{&optional, `{"n":2.01}`, 0, "n not_an_integer: must be a 32-bit integer in digits, but is 2.01"},
		{&optional, `{"n":2e0}`, 0, "n not_an_integer: must be a 32-bit integer in digits, but is 2e0"},
	} {
		in := read(c.sent)
		if got := in.Integer(c.field); got != c.want || strings.Join(faults(in), "; ") != c.fault {
			t.Errorf("%s: %d, %q, want %d, %q", c.sent, got, faults(in), c.want, c.fault)
		}
	}
}

// read reads a body, or a query where the text begins with ?.
func read(sent string) *input.Input {
	if query, ok := strings.CutPrefix(sent, "?"); ok {
		return input.ParseQuery(query)
	}
	return input.ParseBody([]byte(sent))
}

// A blank value is sent to Has, and to Sent only for a JSON integer. Null is sent to
// neither.
func TestSent(t *testing.T) {
	text, number := input.Field{Name: "a", Type: input.Text}, input.Field{Name: "a", Type: input.Integer}
	for sent, want := range map[string][3]bool{ // Sent as a text, Sent as an integer, Has
		`{}`: {}, `?`: {}, `{"a":null}`: {}, `{"b":"x"}`: {}, `?b=x`: {},
		`{"a":"x"}`: {true, true, true}, `{"a":7}`: {true, true, true}, `{"a":false}`: {true, true, true}, `?a=x`: {true, true, true},
		`{"a":""}`: {false, true, true}, `{"a":" "}`: {false, true, true}, `?a=`: {false, false, true}, `?a=+`: {false, false, true},
	} {
		in := read(sent)
		if got := [3]bool{in.Sent(&text), in.Sent(&number), in.Has("z", "a")}; got != want {
			t.Errorf("%s: %v, want %v", sent, got, want)
		}
	}
}

// A name that no field reads is ignored and listed, or refused. A hidden name is never read.
func TestNames(t *testing.T) {
	a := input.Field{Name: "a", Type: input.Text}
	in := input.ParseBody([]byte(`{"x":1,"w":2,"a":"t","y":null,"n":null,"é` + strings.Repeat("é", 64) + `":3}`))
	if in.Names() != 6 {
		t.Errorf("%d names", in.Names())
	}
	got := in.Text(&a)
	in.Hide(&input.Field{Name: "w", Aliases: []string{"n"}})
	in.Hide(&input.Field{Name: "nothing"})
	if got != "t" || in.Member("w").Kind != jsondoc.Absent || in.Names() != 4 {
		t.Errorf("%q, %v of %d names", got, in.Member("w"), in.Names())
	}
	if got, want := in.Ignored(), []string{"x", strings.Repeat("é", 64), "w"}; !slices.Equal(got, want) {
		t.Errorf("ignored %q, want %q", got, want)
	}
	if in.RejectUnknown(); !slices.Equal(faults(in), []string{"x unknown_field: is not a field", strings.Repeat("é", 64) + " unknown_field: is not a field"}) {
		t.Errorf("%q", faults(in))
	}
	if in.RejectUnknown(); in.Total != 2 || !slices.Equal(in.Ignored(), []string{"w"}) {
		t.Errorf("refused twice: %q, ignored %q", faults(in), in.Ignored())
	}
	renamed := input.ParseBody([]byte(`{"a":"1","b":"2"}`))
	renamed.Rename("a", "b")
	if got := renamed.Text(&a); got != "2" || renamed.SentAs("a") != "b" || renamed.SentAs("c") != "c" || !slices.Equal(renamed.Ignored(), []string{"a"}) {
		t.Errorf("%q, ignored %q", got, renamed.Ignored())
	}
}

// The faults and the ignored names of an element have its place, and all are counted.
func TestObjects(t *testing.T) {
	in := input.ParseBody([]byte(`{"roster":[1,{"a":1,"b":2,"c":null}]}`))
	for _, inner := range in.Objects(&input.Field{Name: "roster"}, nil) {
		inner.Text(&input.Field{Name: "a", Type: input.Text})
		for range 60 {
			inner.Add("z", input.TooLong, "is too long")
		}
	}
	if got := faults(in); len(got) != 50 || in.Total != 62 || got[0] != "roster[0] wrong_type: must be an object, not a number" || got[1] != "roster[1].a wrong_type: must be a string, not a number" || got[2] != "roster[1].z too_long: is too long" {
		t.Errorf("%d faults of %d: %q", len(got), in.Total, got[:3])
	}
	if got := in.Ignored(); !slices.Equal(got, []string{"roster[1].b"}) {
		t.Errorf("ignored %q", got)
	}
	other := input.ParseQuery("q=1&r=2")
	other.Member("q")
	if in.Merge(other); !slices.Equal(in.Ignored(), []string{"roster[1].b", "r"}) {
		t.Errorf("ignored %q", in.Ignored())
	}
}

// A switch that is sent in a wrong way is a fault, and on: whoever misspells a dry run wants no
// write.
func TestSwitch(t *testing.T) {
	f := input.Field{Name: "dry_run", Type: input.Switch, Values: input.Switches}
	for _, c := range []struct {
		sent     string
		on, told bool
		fault    string
	}{
		{`{"dry_run":1}`, true, true, "dry_run wrong_type: must be a boolean, not a number"},
		{`{"dryrun":false}`, true, true, "dryrun unknown_field: is not a field: did you mean dry_run?"},
		{`{"-DRY--run_":true}`, true, true, "-DRY--run_ unknown_field: is not a field: did you mean dry_run?"},
		{`{"dry_runs":true}`, false, false, ""},
		{`{"":true,"_":true}`, false, false, ""},
		{`?dry_run=false`, false, true, ""},
		{`?dry_run=`, true, true, "dry_run unknown_value: must be one of 1, true, 0, false"},
		{`?dry=1&run=1`, false, false, ""},
	} {
		in := read(c.sent)
		on, told := in.Switch(&f)
		if on != c.on || told != c.told || strings.Join(faults(in), "; ") != c.fault {
			t.Errorf("%s: on %v, sent %v, %q", c.sent, on, told, faults(in))
		}
		if told && len(in.Ignored()) != 0 {
			t.Errorf("%s: ignored %q", c.sent, in.Ignored())
		}
	}
}

// A body is one JSON object, or blank. Everything else is a fault with a code of its own.
func TestBodies(t *testing.T) {
	for body, want := range map[string]string{
		" \t\r\n": "", "null": "wrong_type: the body must be a JSON object, not null",
		"{": "invalid_json: parse JSON at line 1, column 2: not valid JSON: got the end of the text, want a name in double quotes", "\v": `invalid_json: parse JSON at line 1, column 1: not valid JSON: got the raw control character \u000b, want a value`,
		"\xff":                  "invalid_unicode: parse JSON at line 1, column 1: not valid Unicode: a byte that is not UTF-8",
		strings.Repeat("[", 33): "too_deep: parse JSON at line 1, column 33: nested deeper than 32 levels",
	} {
		if in := input.ParseBody([]byte(body)); strings.Join(faults(in), "; ") != want {
			t.Errorf("%q: %q, want %q", body, faults(in), want)
		}
	}
	members := ""
	for i := range jsondoc.MaxMembers + 1 {
		members += `"` + strings.Repeat("x", i) + `":0,`
	}
	if in := input.ParseBody([]byte("{" + strings.TrimSuffix(members, ",") + "}")); len(in.List) != 1 || in.List[0].Code != input.TooMany {
		t.Errorf("%q", faults(in))
	}
}

// Each way in which a query cannot be decoded has a code.
func TestQueries(t *testing.T) {
	for query, want := range map[string]string{
		"a=%": "a bad_escape: has a % without two hexadecimal digits after it", "a=%4": "a bad_escape: has a % without two hexadecimal digits after it",
		"a=%4g": "a bad_escape: has a % without two hexadecimal digits after it", "a=%g4": "a bad_escape: has a % without two hexadecimal digits after it",
		"a%zz=1": "a%zz bad_escape: has a % without two hexadecimal digits after it",
		"a=%ff":  "a invalid_unicode: is not valid UTF-8 once its escapes are decoded", "b%ff=1": "b invalid_unicode: is not valid UTF-8 once its escapes are decoded",
		"a=1&a=1": "a repeated_parameter: is in the query more than once", "a=1&%61=2": "a repeated_parameter: is in the query more than once",
	} {
		if in := input.ParseQuery(query); strings.Join(faults(in), "; ") != want {
			t.Errorf("%q: %q, want %q", query, faults(in), want)
		}
	}
}
