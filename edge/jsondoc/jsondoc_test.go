package jsondoc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/jsondoc"

	"github.com/go-json-experiment/json/jsontext"
)

// An error says where the fault begins, and what was found. Most texts here are JSON to people and
// programs who know JavaScript, Python or a configuration.
func TestErrors(t *testing.T) {
	members := func(n int) string {
		names := make([]string, n)
		for i := range names {
			names[i] = `"` + strings.Repeat("x", i) + `":0`
		}
		return "{" + strings.Join(names, ",") + "}"
	}
	for _, most := range []string{members(256), strings.Repeat("[", 32) + strings.Repeat("]", 32)} {
		if _, err := jsondoc.Parse([]byte(most)); err != nil {
			t.Error(err)
		}
	}
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
		"{} // x":               "1, column 4: data after the JSON value: got /",
		"[1, # x\n2]":           "1, column 5: not valid JSON: got #, want a value",
		"{'a':1}":               "1, column 2: not valid JSON: got ', want a name in double quotes",
		"['a']":                 "1, column 2: not valid JSON: got ', want a value",
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
		members(257):            "1, column 33922: more than 256 members in one object",
	} {
		if _, err := jsondoc.Parse([]byte(doc)); err == nil || err.Error() != "parse JSON at line "+want {
			t.Errorf("%q: %v, want %s", doc, err, want)
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

// Parse accepts what jsontext accepts, another strict reader, apart from its own limits. Scalars
// read as the standard library reads them, and strings survive being written.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"agent_name":"ledger-lark","pubkey":null}`, `{"a":{"a":[[]]}}`, ` [1, -0, 1.50, 1e5, true, "\ud83d\ude00\/"] `, ` "x" `, `true`, `false`,
		`{"a":1,"a":1}`, `{"a":1} {}`, ``, `{"a":01}`, `[1,]`, `[}`, `["\n\`, `["\n\u00`, `["\x"]`, "[\"\x01\"]", "[\"\\n\x01\"]",
		`["\ud800"]`, `["\ud800\u0041"]`, `["\udc00\udc00"]`, "\"\xff\"", "[\"\xed\xa0\x80\"]",
		`0`, `9`, `90`, `-9.09`, `1E+9`, `1e-90`, `-0.0e0`, `19.95`, `"\ud7ff\ue000"`, `"\ud800\udc00"`, `"\udbff\udfff"`, `"\u0009\u09aF"`, `"\"\\\/\b\f\n\r\t"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		v, err := jsondoc.Parse(doc)
		if err != nil {
			own := (*jsondoc.Error)(nil)
			if !errors.As(err, &own) || v.Kind != jsondoc.Absent || jsontext.Value(doc).IsValid() && own.Kind != jsondoc.ErrTooDeep && own.Kind != jsondoc.ErrTooMany {
				t.Fatalf("%q: %T %v beside %v", doc, err, err, v.Kind)
			}
			return
		}
		var want any
		decoder := json.NewDecoder(bytes.NewReader(doc))
		decoder.UseNumber()
		if err := decoder.Decode(&want); err != nil || !jsontext.Value(doc).IsValid() {
			t.Fatalf("%q is taken and not valid: %v", doc, err)
		}
		var got any = v.Text
		switch v.Kind {
		case jsondoc.Number:
			got = json.Number(v.Text)
		case jsondoc.Bool:
			got = v.True
		case jsondoc.String:
			if again, err := jsondoc.Parse(jsondoc.AppendString(nil, v.Text)); err != nil || again.Text != v.Text {
				t.Fatalf("%q does not survive: %v", v.Text, err)
			}
		default:
			return
		}
		if got != want || string(v.Raw) != strings.Trim(string(doc), " \t\r\n") {
			t.Fatalf("%q reads %v of %q, want %v", doc, got, v.Raw, want)
		}
	})
}
