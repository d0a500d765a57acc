package output

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Object is a JSON object whose members keep their order.
type Object []Member

type Member = struct {
	Name  string
	Value any
}

func (o *Object) Set(name string, value any) {
	for i := range *o {
		if (*o)[i].Name == name {
			(*o)[i].Value = value
			return
		}
	}
	*o = append(*o, Member{name, value})
}

func (o Object) Get(name string) any {
	for _, m := range o {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

func (o Object) Object(name string) Object {
	object, _ := o.Get(name).(Object)
	return object
}

func (o Object) Texts(name string) []string {
	texts, _ := o.Get(name).([]string)
	return texts
}

func (o Object) MarshalJSONTo(e *jsontext.Encoder) error {
	err := e.WriteToken(jsontext.BeginObject)
	for i := 0; i < len(o) && err == nil; i++ {
		if err = e.WriteToken(jsontext.String(o[i].Name)); err == nil {
			err = json.MarshalEncode(e, o[i].Value)
		}
	}
	if err != nil {
		return err
	}
	return e.WriteToken(jsontext.EndObject)
}

// Compact returns JSON without white space. It panics on an error, which only a mistake in this
// program causes.
func Compact(v any, options ...json.Options) []byte {
	text, err := json.Marshal(v, append(options, json.Deterministic(true))...)
	if err != nil {
		panic(err)
	}
	return text
}

// Indented returns indented JSON with a line break at its end.
func Indented(v any) []byte { return append(Compact(v, jsontext.WithIndent("  ")), '\n') }

// Lined returns JSON with a line for each member or element down to a level, not indented.
func Lined(v any, levels int) (b []byte) {
	for line := range bytes.Lines(Compact(v, jsontext.WithIndent("\t"), jsontext.SpaceAfterColon(false))) {
		words := bytes.TrimSpace(line)
		level := bytes.IndexByte(line, words[0])
		if words[0] == '}' || words[0] == ']' { // on a line next to the members
			level++
		}
		if b != nil && level <= levels {
			b = append(b, '\n')
		}
		b = append(b, words...)
	}
	return append(b, '\n')
}
