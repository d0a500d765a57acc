// Package ordered writes JSON whose objects keep the order of their members.
package ordered

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Object is a JSON object whose members keep their order.
type Object []Member

// Member is a member of an object.
type Member = struct {
	Name  string
	Value any
}

// Set adds a member, or replaces the member of that name.
func (o *Object) Set(name string, value any) {
	for i := range *o {
		if (*o)[i].Name == name {
			(*o)[i].Value = value
			return
		}
	}
	*o = append(*o, Member{name, value})
}

// Get is the value of a member, and nil if there is none.
func (o Object) Get(name string) any {
	for _, m := range o {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// jsonWriter writes JSON texts. It writes objects, arrays and strings itself and leaves all other
// types to package json, which takes several times as long.
type jsonWriter struct {
	buf    []byte
	indent string // indentation of one level; the text is compact where it is empty
	lines  int    // levels down to which a text without indentation has line breaks; 0 is all
	level  int    // of the object or array that is being written
}

// value writes v. newline is the line break and the indentation of the line in which v begins; it
// is empty in a compact text.
func (w *jsonWriter) value(v any, newline string) {
	switch v := v.(type) {
	case Object:
		w.elements('{', '}', len(v), newline, func(i int, newline string) {
			w.string(v[i].Name)
			w.buf = append(w.buf, ':')
			if w.indent != "" {
				w.buf = append(w.buf, ' ')
			}
			w.value(v[i].Value, newline)
		})
	case []Object:
		w.elements('[', ']', len(v), newline, func(i int, newline string) { w.value(v[i], newline) })
	case []any:
		w.elements('[', ']', len(v), newline, func(i int, newline string) { w.value(v[i], newline) })
	case []string:
		w.elements('[', ']', len(v), newline, func(i int, _ string) { w.string(v[i]) })
	case string:
		w.string(v)
	default:
		options := []json.Options{json.Deterministic(true)}
		if w.indent != "" {
			options = append(options, jsontext.WithIndent(w.indent), jsontext.WithIndentPrefix(strings.TrimPrefix(newline, "\n")))
		}
		w.buf = append(w.buf, must(json.Marshal(v, options...))...)
	}
}

// elements writes n elements between brackets, each on a line of its own where the text is
// indented.
func (w *jsonWriter) elements(open, end byte, n int, newline string, write func(i int, newline string)) {
	if w.level++; w.lines > 0 && w.level > w.lines {
		newline = ""
	}
	inner := newline + w.indent
	if room := 4096; cap(w.buf)-len(w.buf) < room {
		w.buf = slices.Grow(w.buf, len(w.buf)+room) // append alone would copy a long text five times
	}
	w.buf = append(w.buf, open)
	for i := range n {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(w.buf, inner...)
		write(i, inner)
	}
	if n > 0 {
		w.buf = append(w.buf, newline...)
	}
	w.buf = append(w.buf, end)
	w.level--
}

func (w *jsonWriter) string(s string) { w.buf = must(jsontext.AppendQuote(w.buf, s)) }

// must panics where a text cannot be written: the content is UTF-8, and all else is the program's.
func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

// Compact is the JSON text of v without white space.
func Compact(v any) []byte {
	w := jsonWriter{}
	w.value(v, "")
	return w.buf
}

// Indented is the JSON text of v, indented and with a line break at its end.
func Indented(v any) []byte {
	w := jsonWriter{indent: "  "}
	w.value(v, "\n")
	return append(w.buf, '\n')
}

// Lined is the JSON text of v with a line for each member or element, down to a level, and a
// line break at its end. It is not indented.
func Lined(v any, levels int) []byte {
	w := jsonWriter{lines: levels}
	w.value(v, "\n")
	return append(w.buf, '\n')
}
