package jsondoc_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/jsondoc"

	"github.com/go-json-experiment/json/jsontext"
)

func TestParse(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	members := func(n int) string {
		names := make([]string, n)
		for i := range names {
			names[i] = `"` + strings.Repeat("x", i) + `":0`
		}
		return "{" + strings.Join(names, ",") + "}"
	}
	for _, c := range []struct {
		doc  string
		want error
	}{
		{`{"agent_name":"ledger-lark","pubkey":null}`, nil},
		{` [1, -0, 1.50, 1e5, true, "\ud83d\ude00\/"] `, nil},
		{deep(jsondoc.MaxDepth), nil},
		{deep(jsondoc.MaxDepth + 1), jsondoc.ErrTooDeep},
		{strings.Repeat("[", 50000), jsondoc.ErrTooDeep},
		{members(jsondoc.MaxMembers), nil},
		{members(jsondoc.MaxMembers + 1), jsondoc.ErrTooMany},
		{`{"a":1,"a":1}`, jsondoc.ErrSyntax},
		{`{"a":1} {}`, jsondoc.ErrTrailing},
		{``, jsondoc.ErrSyntax},
		{"\ufeff{}", jsondoc.ErrSyntax},
		{`{"a":01}`, jsondoc.ErrSyntax},
		{`[1,]`, jsondoc.ErrSyntax},
		{`{a:1}`, jsondoc.ErrSyntax},
		{`{"a":NaN}`, jsondoc.ErrSyntax},
		{`[}`, jsondoc.ErrSyntax},
		{"[\"\x01\"]", jsondoc.ErrSyntax},
		{"[\"\\n\x01\"]", jsondoc.ErrSyntax},
		{`["\n\`, jsondoc.ErrSyntax},
		{`["\n\u00`, jsondoc.ErrSyntax},
		{`["\x"]`, jsondoc.ErrSyntax},
		{`["\ud800"]`, jsondoc.ErrUnicode},
		{`["\ud800\u0041"]`, jsondoc.ErrUnicode},
		{`["\udc00\udc00"]`, jsondoc.ErrUnicode},
		{"[\"\xff\"]", jsondoc.ErrUnicode},
		{"[\"\xed\xa0\x80\"]", jsondoc.ErrUnicode},
	} {
		v, err := jsondoc.Parse([]byte(c.doc))
		if !errors.Is(err, c.want) || (err != nil) != (c.want != nil) {
			t.Errorf("%.40s: error %v, want %v", c.doc, err, c.want)
		}
		if err != nil && v.Kind != jsondoc.Absent {
			t.Errorf("%.40s: a partial result beside an error", c.doc)
		}
	}
}

// An error says where the fault begins, and what was found. Most texts here are JSON to people and
// programs who know JavaScript, Python or a configuration.
func TestErrors(t *testing.T) {
	for doc, want := range map[string]string{
		"\xff":                  "1, column 1: not valid Unicode: a byte that is not UTF-8",
		"[\"a\xff\"]":           "1, column 4: not valid Unicode: a byte that is not UTF-8",
		"[\"\ufffd\xff\"]":      "1, column 4: not valid Unicode: a byte that is not UTF-8", // the first character is valid: U+FFFD itself
		"\xff\xfe{\x00}\x00":    "1, column 1: not valid Unicode: UTF-16, want UTF-8",
		"\xfe\xff\x00{\x00}":    "1, column 1: not valid Unicode: UTF-16, want UTF-8",
		"{\x00}\x00":            "1, column 1: not valid Unicode: UTF-16, want UTF-8",
		"\x00{\x00}":            "1, column 1: not valid Unicode: UTF-16, want UTF-8",
		`["ab\ud800\n"]`:        "1, column 5: not valid Unicode: half of a surrogate pair",
		`["ab\x"]`:              "1, column 5: not valid JSON: unknown escape",
		`["ab\u00g0"]`:          "1, column 5: not valid JSON: unknown escape",
		"\ufeff{}":              "1, column 1: not valid JSON: got a byte order mark, want a value",
		"{\n  \"é\": 1,\n}":     "3, column 1: not valid JSON: got a trailing comma, want a name in double quotes",
		"[1, ]":                 "1, column 5: not valid JSON: got a trailing comma, want a value",
		`{"é":NaN}`:             "1, column 6: not valid JSON: got NaN, want a value",
		`{"a":-Infinity}`:       "1, column 7: not valid JSON: got Infinity, want a digit",
		`{"a":None}`:            "1, column 6: not valid JSON: got None, want a value",
		`[nul]`:                 "1, column 2: not valid JSON: got nul, want null",
		"{} // x":               "1, column 4: data after the JSON value: got a comment",
		"[1, # x\n2]":           "1, column 5: not valid JSON: got a comment, want a value",
		"{'a':1}":               "1, column 2: not valid JSON: got a single quote, want a name in double quotes",
		"['a']":                 "1, column 2: not valid JSON: got a single quote, want a value",
		"{a:1}":                 "1, column 2: not valid JSON: got a, want a name in double quotes",
		"[\"a\tb\"]":            `1, column 4: not valid JSON: got the raw control character \t, want its escape`,
		"[\"a\x1f\"]":           `1, column 4: not valid JSON: got the raw control character \u001f, want its escape`,
		`["a`:                   `1, column 4: not valid JSON: got the end of the text, want "`,
		`[1 2]`:                 "1, column 4: not valid JSON: got 2, want ]",
		`{"a" 1}`:               "1, column 6: not valid JSON: got 1, want :",
		`[1] 2`:                 "1, column 5: data after the JSON value: got 2",
		`[-]`:                   "1, column 3: not valid JSON: got ], want a digit",
		`{"a":1,"b":2,"a":3}`:   "1, column 14: not valid JSON: duplicate name in an object",
		strings.Repeat("[", 33): "1, column 33: nested deeper than 32 levels",
	} {
		if _, err := jsondoc.Parse([]byte(doc)); err == nil || err.Error() != "parse JSON at line "+want {
			t.Errorf("%q: %v, want %s", doc, err, want)
		}
	}
}

// A number keeps its text, whatever its digits. A string gives the characters that its escapes
// stand for.
func TestScalars(t *testing.T) {
	for _, number := range []string{"0", "9", "90", "-9.09", "1E+9", "1e-90", "-0.0e0", "19.95"} {
		if v, err := jsondoc.Parse([]byte(number)); err != nil || v.Kind != jsondoc.Number || v.Text != number || string(v.Raw) != number {
			t.Errorf("%s: %+v, %v", number, v, err)
		}
	}
	for doc, want := range map[string]string{
		`"\ud7ff\ue000"`: "\ud7ff\ue000", `"\ud800\udc00"`: "\U00010000", `"\udbff\udfff"`: "\U0010ffff", `"\uD83D\uDE00"`: "😀",
		`"\u0009\u09aF"`: "\t\u09af", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\ufffd"`: "\ufffd",
	} {
		if v, err := jsondoc.Parse([]byte(doc)); err != nil || v.Kind != jsondoc.String || v.Text != want {
			t.Errorf("%s: %q, %v, want %q", doc, v.Text, err, want)
		}
	}
	for doc, want := range map[string]bool{"true": true, "false": false} {
		if v, err := jsondoc.Parse([]byte(doc)); err != nil || v.Kind != jsondoc.Bool || v.True != want {
			t.Errorf("%s: %+v, %v", doc, v, err)
		}
	}
}

// AppendString writes what JSON.stringify writes: only characters that JSON demands to be escaped
// are.
func TestAppendString(t *testing.T) {
	all := make([]rune, 0, 0x100)
	for r := rune(0); r < 0x100; r++ {
		all = append(all, r)
	}
	got := string(jsondoc.AppendString(nil, string(all)+"\u2028\u2029\ufeff😀<>&/"))
	want := `"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_` +
		"`" + `abcdefghijklmnopqrstuvwxyz{|}~` + string(all[0x7f:]) + "\u2028\u2029\ufeff😀<>&/" + `"`
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// An escape is found anywhere in a text, and beside anything.
func TestEscapesAnywhere(t *testing.T) {
	for n := range 20 {
		for c := range rune(0x80) {
			for _, next := range []string{"", "!#[]^~\x7fé\u0080 a", `\"` + "\x00\x1f"} {
				text := strings.Repeat("é", n%3) + strings.Repeat("a", n) + string(c) + next
				written := jsondoc.AppendString(nil, text)
				var want string
				if err := json.Unmarshal(written, &want); err != nil || want != text {
					t.Fatalf("%q is written as %s: %q, %v", text, written, want, err)
				}
				if v, err := jsondoc.Parse(written); err != nil || v.Text != text {
					t.Fatalf("%s is read as %q: %v", written, v.Text, err)
				}
			}
		}
	}
}

// Texts with escapes share a buffer while they are read, and no text changes another.
func TestManyEscapes(t *testing.T) {
	var texts []string
	var w jsondoc.Writer
	w.Open('{')
	for i := range 20 {
		text := strings.Repeat("\"", i) + strconv.Itoa(i) + "\\\n"
		texts = append(texts, text)
		w.Strs(text, texts)
	}
	w.Close('}')
	v, err := jsondoc.Parse(w.Buf)
	if err != nil || len(v.Members) != len(texts) {
		t.Fatalf("%d members, want %d: %v", len(v.Members), len(texts), err)
	}
	for i, text := range texts {
		items := v.Get(text).Items
		if len(items) != i+1 {
			t.Fatalf("%q has %d items, want %d", text, len(items), i+1)
		}
		for j := range items {
			if items[j].Text != texts[j] {
				t.Errorf("%q: item %d is %q, want %q", text, j, items[j].Text, texts[j])
			}
		}
	}
}

// Members writes the members of an object as if they were written one by one. Those of an empty
// object leave no comma.
func TestMembers(t *testing.T) {
	for _, c := range []struct{ object, want string }{
		{`{}`, `{"a":1,"z":2}`},
		{`{"b":[{}],"c":null}`, `{"a":1,"b":[{}],"c":null,"z":2}`},
	} {
		var w jsondoc.Writer
		w.Open('{')
		w.Int("a", 1)
		w.Members([]byte(c.object))
		w.Int("z", 2)
		w.Close('}')
		if string(w.Buf) != c.want {
			t.Errorf("%s: %s, want %s", c.object, w.Buf, c.want)
		}
	}
}

// Parse accepts what jsontext accepts, another strict reader, apart from its own limits. Strings
// read as the standard library reads them, and survive being written.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"agent_name":"ledger-lark","pubkey":null}`, `[1,-2.5e3,"\ud83d\ude00",true,{}]`, `"\ud800"`, `{"a":{"a":[[]]}}`, "\"\xff\"", ` "x" `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		v, err := jsondoc.Parse(doc)
		limited := errors.Is(err, jsondoc.ErrTooDeep) || errors.Is(err, jsondoc.ErrTooMany)
		if strict := jsontext.Value(doc).IsValid(); strict != (err == nil) && !limited {
			t.Fatalf("%q: %v, and jsontext takes it: %v", doc, err, strict)
		}
		if err != nil {
			if own := (*jsondoc.Error)(nil); !errors.As(err, &own) || v.Kind != jsondoc.Absent {
				t.Fatalf("%q: %T beside %v", doc, err, v.Kind)
			}
			return
		}
		if !json.Valid(doc) {
			t.Fatalf("%q is taken and not valid", doc)
		}
		if v.Kind != jsondoc.String {
			return
		}
		var want string
		if err := json.Unmarshal(doc, &want); err != nil || want != v.Text {
			t.Fatalf("%q reads %q, want %q", doc, v.Text, want)
		}
		again, err := jsondoc.Parse(jsondoc.AppendString(nil, v.Text))
		if err != nil || again.Text != v.Text {
			t.Fatalf("%q does not survive: %v", v.Text, err)
		}
	})
}
