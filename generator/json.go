package generator

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any
}

// set adds a member, or replaces the member of that name.
func (o *object) set(name string, value any) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{name, value})
}

// get is the value of a member, and nil where there is none.
func (o object) get(name string) any {
	for _, m := range o {
		if m.name == name {
			return m.value
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
	err    error  // the first error
}

// value writes v. newline is the line break and the indentation of the line in which v begins; it
// is empty in a compact text.
func (w *jsonWriter) value(v any, newline string) {
	switch v := v.(type) {
	case object:
		w.elements('{', '}', len(v), newline, func(i int, newline string) {
			w.string(v[i].name)
			w.buf = append(w.buf, ':')
			if w.indent != "" {
				w.buf = append(w.buf, ' ')
			}
			w.value(v[i].value, newline)
		})
	case []object:
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
		doc, err := json.Marshal(v, options...)
		w.buf = append(w.buf, doc...)
		w.keepError(err)
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

func (w *jsonWriter) string(s string) {
	var err error
	w.buf, err = jsontext.AppendQuote(w.buf, s)
	w.keepError(err)
}

// keepError keeps the first error.
func (w *jsonWriter) keepError(err error) {
	if w.err == nil {
		w.err = err
	}
}
