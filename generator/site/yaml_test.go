package site

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestYAML holds what YAML leaves to its readers or to its versions: what is a text, what is a
// number, and where it is.
func TestYAML(t *testing.T) {
	const (
		syntax = ` (indent with spaces; quote a string that holds ": " or begins with a special character)`
		key    = "a key that is not plain text (merge keys, anchors and complex keys are not used here)"
	)
	tests := []struct{ name, src, want string }{
		{"a date", "text: 2026-11-20", `{"text":"2026-11-20"}`},
		{"yes", "texts: [yes, no, on, off, y, n]", `{"texts":["yes","no","on","off","y","n"]}`},
		{"no boolean", "flag: yes", "f:1:7: flag: want a boolean, got a string (write true or false)"},
		{"true", "flag: True", `{"flag":true}`},
		{"octal", "text: 0777\ncount: 0777", "f:1:7: text: want a string, got an integer (put it in quotes)\n" +
			`f:2:8: count: "0777" is not a plain decimal integer up to 2147483647 (write digits only)`},
		{"exponent", "text: 1e3\ncount: 1e3", "f:2:8: count: want an integer, got a string (write digits, without quotes)"},
		{"float", "text: 1.5", "f:1:7: text: want a string, got a number (put it in quotes)"},
		{"grouped digits", "count: 1_000", `f:1:8: count: "1_000" is not a plain decimal integer up to 2147483647 (write digits only)`},
		{"null", "text: ~\ncount: null\ntexts: [~, Null, a, ]", "f:3:9: texts[0] has no value (write one)\nf:3:12: texts[1] has no value (write one)"},
		{"no value", "words:\n  a:\n  b: # c\n  c: ''", "f:2:5: words.a has no value (write one)\nf:3:5: words.b has no value (write one)\nf:4:6: words.c is blank (write it)"},
		{"tag", "text: !!str x\ntexts: [! x, !own y]\nwords: !!map {a: b}", "f:1:7: text: want a string, got a tag (write it as a string)\n" +
			"f:2:9: texts[0]: want a string, got a tag (write it as a string)\nf:2:14: texts[1]: want a string, got a tag (write it as a string)\n" +
			"f:3:8: words: want a mapping, got a tag (write key: value lines here)"},
		{"anchor", "text: &a x\ntexts: &b [*a]\nwords: {c: *b}", "f:1:7: text: want a string, got an anchor or alias (write it as a string)\n" +
			"f:2:8: texts: want a list, got an anchor or alias (begin each element with \"- \", or write [] for none)\n" +
			"f:3:12: words.c: want a string, got an anchor or alias (write it as a string)"},
		{"aliases that multiply", "a: &a [x, x]\nb: &b [*a, *a]\nwords: {c: [*b, *b]}", "f:1:1: unknown key a (known: text, count, flag, texts, words)\n" +
			"f:2:1: unknown key b (known: text, count, flag, texts, words)\nf:3:12: words.c: want a string, got a list (write it as a string)"},
		{"merge key", "words:\n  <<: {a: b}\n  \"<<\": quoted", "f:2:3: " + key},
		{"keys", "words:\n  ~: x\n  &a b: x\n  !!str c: x\n  [d]: x\n  1: x\n  true: x\n  2026-11-20: x", "f:2:3: " + key + "\nf:3:3: " + key + "\nf:4:3: " + key + "\nf:5:3: " + key},
		{"the same key", "words: {1: a, \"1\": b}", "f:1:15: duplicate key 1 (keep one of them)"},
		{"characters before it", "words: {é: 1, 日本: 2, 😀: 3}", "f:1:12: words.é: want a string, got an integer (put it in quotes)\n" +
			"f:1:19: words.日本: want a string, got an integer (put it in quotes)\nf:1:25: words.😀: want a string, got an integer (put it in quotes)"},
		{"characters before a syntax error", "text: 😀é: x", "f:1:9: not valid YAML: mapping values are not allowed in this context" + syntax},
		{"tab indentation", "words:\n\ta: b", "f:2:1: not valid YAML: found character that cannot start any token" + syntax},
		{"a line break of YAML 1.1", "text: a \u2028 b", "f:1:9: contains the control character U+2028 (remove it)"},
		{"an escaped one", `text: "a\Lb"`, `{"text":"a\u2028b"}`},
		{"CRLF", "# c\r\n\r\ntexts:\r\n  - |\r\n    a\r\n    b\r\n  - c\r\n    d\r\n", `{"texts":["a\nb","c d"]}`},
		{"bracket left open", "text: a\ntexts: [a,\n  b\n", "f:2:8: not valid YAML: did not find expected ',' or ']'" + syntax},
		{"no colon", "text: a\ncount\nflag: true\n", "f:2:1: not valid YAML: could not find expected ':'" + syntax},
		{"content behind the document", "text: a\n...\nx: [b", "f:3:4: not valid YAML: did not find expected ',' or ']'" + syntax},
		{"null alone", "~", "f:1:1: want a mapping, got nothing (write key: value lines here)"},
		{"only a marker", "--- # c\n", "f: empty (write it)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var target struct {
				Text  string            `yaml:"text,omitempty" json:"text,omitempty"`
				Count int               `yaml:"count,omitempty" json:"count,omitempty"`
				Flag  bool              `yaml:"flag,omitempty" json:"flag,omitempty"`
				Texts []string          `yaml:"texts,omitempty" json:"texts,omitempty"`
				Words map[string]string `yaml:"words,omitempty" json:"words,omitempty"`
			}
			d := newDocument("f")
			d.decode([]byte(test.src), &target)
			data, err := json.Marshal(target)
			if err != nil {
				t.Fatal(err)
			}
			got := string(data)
			if err := d.faults.err(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// TestLongLines has long lines, and what stays open in them.
func TestLongLines(t *testing.T) {
	for _, src := range []string{"[", "- ", "? ", "{a: ", "a", "a, ", "\"", "é", " ", "\t"} {
		d := newDocument("f")
		var target struct{}
		d.decode([]byte("a: "+strings.Repeat(src, (1<<20)/len(src))), &target)
		if len(d.faults) != 1 {
			t.Errorf("%q: %v", src, d.faults)
		}
	}
}
