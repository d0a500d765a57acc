// Package ordered writes JSON whose objects keep the order of their members.
package output

import (
	"bytes"

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

// MarshalJSONTo writes the members in their order.
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

// Compact is the JSON text of v without white space. It panics where v cannot be written: the
// content is UTF-8, and all else is the program's.
func Compact(v any, options ...json.Options) []byte {
	text, err := json.Marshal(v, append(options, json.Deterministic(true))...)
	if err != nil {
		panic(err)
	}
	return text
}

// Indented is the JSON text of v, indented and with a line break at its end.
func Indented(v any) []byte { return append(Compact(v, jsontext.WithIndent("  ")), '\n') }

// Lined is the JSON text of v with a line for each member or element, down to a level, and a
// line break at its end. It is not indented.
func Lined(v any, levels int) (b []byte) {
	for line := range bytes.Lines(Compact(v, jsontext.WithIndent("\t"), jsontext.SpaceAfterColon(false))) {
		words := bytes.TrimSpace(line)
		level := bytes.IndexByte(line, words[0])
		if words[0] == '}' || words[0] == ']' { // in a line of its own where the members are
			level++
		}
		if b != nil && level <= levels {
			b = append(b, '\n')
		}
		b = append(b, words...)
	}
	return append(b, '\n')
}
