// Package jsondoc reads JSON strictly and writes it exactly.
//
// Parse accepts RFC 8259 JSON and nothing besides it: no byte order mark, no
// trailing data, no duplicate names, no invalid UTF-8, no unpaired surrogate
// escape, at most MaxDepth levels and MaxMembers members of one object. A
// number keeps its text, so that what it means is decided by who reads it.
//
// A Writer gives what ECMAScript's JSON.stringify gives for the same object:
// no white space, non-ASCII left as it is, escapes only where JSON demands them.
//
//	{"agent_name":"ledger-lark","pubkey":null}
package jsondoc

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxDepth is how deep arrays and objects may nest, the outermost counted.
	// It bounds the stack of every recursion over a Value.
	MaxDepth = 32
	// MaxMembers is how many members one object may have. Looking up a name is
	// linear, so this bounds the work that a caller can ask for.
	MaxMembers = 256
)

// What Parse finds wrong. An error of Parse wraps exactly one of them.
var (
	ErrSyntax   = errors.New("not valid JSON")
	ErrUnicode  = errors.New("not valid Unicode")
	ErrTooDeep  = errors.New("nested deeper than " + strconv.Itoa(MaxDepth) + " levels")
	ErrTooMany  = errors.New("more than " + strconv.Itoa(MaxMembers) + " members in one object")
	ErrTrailing = errors.New("data after the JSON value")
)

// Error says where a document is at fault.
type Error struct {
	Kind   error  // one of the Err values
	Offset int64  // in bytes, of the first fault
	Detail string // may be empty
}

func (e *Error) Error() string {
	s := "parse JSON at byte " + strconv.FormatInt(e.Offset, 10) + ": " + e.Kind.Error()
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

func (e *Error) Unwrap() error { return e.Kind }

// Kind is the kind of a Value.
type Kind byte

// The kinds. Absent is the zero Value, what a missing member gives.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

func (k Kind) String() string {
	return [...]string{"nothing", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Value is one JSON value.
type Value struct {
	Kind    Kind
	True    bool     // of a Bool
	Text    string   // a String's characters, or a Number as it was written
	Raw     []byte   // the bytes of the value, aliasing the input
	Items   []Value  // of an Array
	Members []Member // of an Object, in the order sent
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value Value
}

// Get returns the member called name, exactly so; a Value of kind Absent when there is none.
func (v *Value) Get(name string) *Value {
	for i := range v.Members {
		if v.Members[i].Name == name {
			return &v.Members[i].Value
		}
	}
	return &absent
}

var absent Value

// Parse reads one JSON value from doc. On an error, always an *Error, the Value is the zero Value.
func Parse(doc []byte) (Value, error) {
	if i := invalidUTF8(doc); i >= 0 {
		return Value{}, &Error{Kind: ErrUnicode, Offset: int64(i)}
	}
	p := parser{doc: doc, dec: jsontext.NewDecoder(bytes.NewBuffer(doc))}
	v, err := p.value(1)
	if err == nil {
		if _, end := p.dec.ReadToken(); end != io.EOF {
			err = &Error{Kind: ErrTrailing, Offset: p.dec.InputOffset()}
		}
	}
	if err != nil {
		return Value{}, p.classify(err)
	}
	return v, nil
}

type parser struct {
	doc []byte
	dec *jsontext.Decoder
}

func (p *parser) value(depth int) (Value, error) {
	kind := p.dec.PeekKind()
	if kind != '{' && kind != '[' {
		return p.scalar()
	}
	if depth > MaxDepth {
		return Value{}, &Error{Kind: ErrTooDeep, Offset: p.dec.InputOffset()}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return Value{}, err
	}
	start := p.dec.InputOffset() - 1
	v := Value{Kind: Array}
	for {
		switch p.dec.PeekKind() {
		case ']', '}':
			if _, err := p.dec.ReadToken(); err != nil {
				return Value{}, err
			}
			if kind == '{' {
				v.Kind = Object
			}
			v.Raw = p.doc[start:p.dec.InputOffset()]
			return v, nil
		}
		if kind == '[' {
			item, err := p.value(depth + 1)
			if err != nil {
				return Value{}, err
			}
			v.Items = append(v.Items, item)
			continue
		}
		if len(v.Members) == MaxMembers {
			return Value{}, &Error{Kind: ErrTooMany, Offset: p.dec.InputOffset()}
		}
		name, err := p.dec.ReadToken()
		if err != nil {
			return Value{}, err
		}
		m := Member{Name: name.String()}
		if m.Value, err = p.value(depth + 1); err != nil {
			return Value{}, err
		}
		v.Members = append(v.Members, m)
	}
}

func (p *parser) scalar() (Value, error) {
	read, err := p.dec.ReadValue()
	if err != nil {
		return Value{}, err
	}
	end := p.dec.InputOffset()
	raw := p.doc[end-int64(len(read)) : end]
	switch raw[0] {
	case 'n':
		return Value{Kind: Null, Raw: raw}, nil
	case 't', 'f':
		return Value{Kind: Bool, True: raw[0] == 't', Raw: raw}, nil
	case '"':
		if bytes.IndexByte(raw, '\\') < 0 {
			return Value{Kind: String, Text: string(raw[1 : len(raw)-1]), Raw: raw}, nil
		}
		text, err := jsontext.AppendUnquote(nil, raw)
		return Value{Kind: String, Text: string(text), Raw: raw}, err
	}
	return Value{Kind: Number, Text: string(raw), Raw: raw}, nil
}

func (p *parser) classify(err error) error {
	if own := (*Error)(nil); errors.As(err, &own) {
		return own
	}
	e := &Error{Kind: ErrSyntax, Offset: p.dec.InputOffset()}
	if syntactic := (*jsontext.SyntacticError)(nil); errors.As(err, &syntactic) {
		e.Offset = syntactic.ByteOffset
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			e.Detail = "a member name stands twice in one object"
		case loneSurrogate(p.doc, e.Offset):
			e.Kind = ErrUnicode
		}
	}
	return e
}

// loneSurrogate reports whether the escape at offset, where a decoder gave up, is a
// surrogate: a proper pair is none that a decoder gives up at.
func loneSurrogate(doc []byte, offset int64) bool {
	if offset < 0 || offset+4 > int64(len(doc)) {
		return false
	}
	e := doc[offset:]
	return e[0] == '\\' && e[1] == 'u' && (e[2] == 'd' || e[2] == 'D') && e[3] >= '8' && (e[3] <= '9' || e[3]|0x20 >= 'a' && e[3]|0x20 <= 'f')
}

func invalidUTF8(doc []byte) int {
	if utf8.Valid(doc) {
		return -1
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(doc[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
}

// Writer appends JSON to a buffer. Its methods do not check that what they are asked
// for is a document: that is for the tests of who calls them.
type Writer struct {
	Buf []byte
}

func (w *Writer) comma() {
	if n := len(w.Buf); n > 0 && w.Buf[n-1] != '{' && w.Buf[n-1] != '[' && w.Buf[n-1] != ':' {
		w.Buf = append(w.Buf, ',')
	}
}

// Open begins an object or an array: c is '{' or '['.
func (w *Writer) Open(c byte) {
	w.comma()
	w.Buf = append(w.Buf, c)
}

// Close ends it: c is '}' or ']'.
func (w *Writer) Close(c byte) { w.Buf = append(w.Buf, c) }

// Name begins a member of the open object; its value must follow.
func (w *Writer) Name(name string) {
	w.comma()
	w.Buf = append(AppendString(w.Buf, name), ':')
}

// Str writes a member that is a string.
func (w *Writer) Str(name, value string) {
	w.Name(name)
	w.Buf = AppendString(w.Buf, value)
}

// StrOrNull writes a member that is a string, null where value is empty.
func (w *Writer) StrOrNull(name, value string) {
	if value == "" {
		w.Raw(name, "null")
		return
	}
	w.Str(name, value)
}

// Int writes a member that is an integer.
func (w *Writer) Int(name string, value int64) {
	w.Name(name)
	w.Buf = strconv.AppendInt(w.Buf, value, 10)
}

// Bool writes a member that is a boolean.
func (w *Writer) Bool(name string, value bool) {
	w.Name(name)
	w.Buf = strconv.AppendBool(w.Buf, value)
}

// Raw writes a member whose value is JSON text already.
func (w *Writer) Raw(name, value string) {
	w.Name(name)
	w.Buf = append(w.Buf, value...)
}

// Strs writes a member that is an array of strings, [] when there are none.
func (w *Writer) Strs(name string, values []string) {
	w.Name(name)
	w.Open('[')
	for _, v := range values {
		w.Item(v)
	}
	w.Close(']')
}

// Item writes a string as the next element of the open array.
func (w *Writer) Item(value string) {
	w.comma()
	w.Buf = AppendString(w.Buf, value)
}

const hex = "0123456789abcdef"

// AppendString appends s, which must be valid UTF-8, as JSON.stringify writes it
// (ECMA-262 QuoteJSONString).
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
