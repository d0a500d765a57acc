// Package jsondoc reads JSON strictly and writes it exactly.
//
// Parse accepts RFC 8259 JSON and nothing besides it: no byte order mark, no trailing data, no
// duplicate names, no invalid UTF-8, no unpaired surrogate escape, at most MaxDepth levels and
// MaxMembers members of one object. A number keeps its text, so that its reader decides what it
// means.
//
// A Writer gives what ECMAScript's JSON.stringify gives for the same object: no white space,
// non-ASCII left as it is, escapes only where JSON demands them.
//
//	{"agent_name":"ledger-lark","pubkey":null}
package jsondoc

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	MaxDepth   = 32  // how deep arrays and objects may nest: it bounds every recursion over a Value
	MaxMembers = 256 // members of one object: it bounds the look-up of a name, which is linear
)

// Fault is a kind of fault. An error of Parse wraps exactly one.
type Fault string

// The kinds of faults.
const (
	ErrSyntax   Fault = "not valid JSON"
	ErrUnicode  Fault = "not valid Unicode"
	ErrTooDeep  Fault = "nested deeper than 32 levels"
	ErrTooMany  Fault = "more than 256 members in one object"
	ErrTrailing Fault = "data after the JSON value"
)

func (f Fault) Error() string { return string(f) }

// Error names the place where a document is invalid, and the reason.
type Error struct {
	Kind   Fault
	Offset int64  // in bytes, of the first fault
	Detail string // "" where Kind says it all
	Name   string // of a member that is twice in one object, whole
}

func (e *Error) Error() string {
	s := "parse JSON at byte " + strconv.FormatInt(e.Offset, 10) + ": " + string(e.Kind)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

func (e *Error) Unwrap() error { return e.Kind }

// Kind is the kind of a Value.
type Kind byte

// The kinds. Absent is that of the zero Value, a missing member.
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
	True    bool     // a Bool's value
	Text    string   // a String's characters, or a Number as it was written
	Raw     []byte   // the bytes of the value, aliasing the input
	Items   []Value  // an Array's elements
	Members []Member // an Object's members, in the order sent
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value Value
}

// Get returns the value of the member with exactly this name; of kind Absent if it is missing.
func (v *Value) Get(name string) *Value {
	for i := range v.Members {
		if v.Members[i].Name == name {
			return &v.Members[i].Value
		}
	}
	return &absent
}

var absent Value

// Parse reads one JSON value from doc. Its error is an *Error, and the Value is then zero.
func Parse(doc []byte) (Value, error) {
	if i := invalidUTF8(doc); i >= 0 {
		return Value{}, &Error{Kind: ErrUnicode, Offset: int64(i)}
	}
	p := parser{doc: doc, copy: string(doc)}
	var v Value
	p.value(&v, 1)
	if p.space(); p.fault == nil && p.at < len(doc) {
		p.fail(ErrTrailing, p.at, "")
	}
	if p.fault != nil {
		return Value{}, p.fault
	}
	return v, nil
}

// parser reads a document from its start. Once it has found a fault it is at the end.
type parser struct {
	doc   []byte
	copy  string // a copy of doc: texts without escapes are parts of it
	room  []byte // where a text with escapes is put together: without them it is shorter than in doc
	at    int
	fault *Error
}

func (p *parser) fail(kind Fault, offset int, detail string) {
	if p.fault == nil {
		p.fault = &Error{Kind: kind, Offset: int64(offset), Detail: detail}
	}
	p.at = len(p.doc)
}

// peek is the next byte, and 0 at the end: JSON has no byte 0 inside a string or outside of one.
func (p *parser) peek() byte {
	if p.at < len(p.doc) {
		return p.doc[p.at]
	}
	return 0
}

func (p *parser) space() {
	for p.at < len(p.doc) {
		switch p.doc[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *parser) expect(c byte) {
	if p.space(); p.peek() != c {
		p.fail(ErrSyntax, p.at, "")
		return
	}
	p.at++
}

func (p *parser) value(v *Value, depth int) {
	p.space()
	start := p.at
	switch c := p.peek(); {
	case c == '{' || c == '[':
		if depth > MaxDepth {
			p.fail(ErrTooDeep, start, "")
			return
		}
		if p.at++; c == '{' {
			v.Kind = Object
			p.members(v, depth)
		} else {
			v.Kind = Array
			p.items(v, depth)
		}
	case c == '"':
		v.Kind = String
		v.Text = p.text()
	case c == '-' || '0' <= c && c <= '9':
		v.Kind = Number
		p.number()
		v.Text = p.copy[start:p.at]
	case c == 'n':
		v.Kind = Null
		p.word("null")
	case c == 't':
		v.Kind, v.True = Bool, true
		p.word("true")
	case c == 'f':
		v.Kind = Bool
		p.word("false")
	default:
		detail := ""
		if strings.HasPrefix(p.copy[start:], "\ufeff") {
			detail = "there is a byte order mark"
		}
		p.fail(ErrSyntax, start, detail)
	}
	v.Raw = p.doc[start:p.at]
}

func (p *parser) items(v *Value, depth int) {
	if p.space(); p.peek() == ']' {
		p.at++
		return
	}
	for {
		v.Items = append(v.Items, Value{})
		p.value(&v.Items[len(v.Items)-1], depth+1)
		if p.space(); p.peek() != ',' {
			p.expect(']')
			return
		}
		p.at++
	}
}

func (p *parser) members(v *Value, depth int) {
	if p.space(); p.peek() == '}' {
		p.at++
		return
	}
	for {
		p.space()
		if len(v.Members) == MaxMembers {
			p.fail(ErrTooMany, p.at, "")
			return
		}
		start := p.at
		if p.peek() != '"' {
			p.fail(ErrSyntax, start, "")
			return
		}
		name := p.text()
		for i := range v.Members {
			if v.Members[i].Name == name {
				p.fail(ErrSyntax, start, "a member name is twice in one object")
				p.fault.Name = name
				return
			}
		}
		p.expect(':')
		v.Members = append(v.Members, Member{Name: name})
		p.value(&v.Members[len(v.Members)-1].Value, depth+1)
		if p.space(); p.peek() != ',' {
			p.expect('}')
			return
		}
		p.at++
	}
}

func (p *parser) word(word string) {
	for i := range len(word) {
		if p.peek() != word[i] {
			p.fail(ErrSyntax, p.at, "")
			return
		}
		p.at++
	}
}

func (p *parser) number() {
	if p.peek() == '-' {
		p.at++
	}
	if p.peek() == '0' {
		p.at++
	} else {
		p.digits()
	}
	if p.peek() == '.' {
		p.at++
		p.digits()
	}
	if p.peek()|0x20 == 'e' {
		if p.at++; p.peek() == '+' || p.peek() == '-' {
			p.at++
		}
		p.digits()
	}
}

func (p *parser) digits() {
	start := p.at
	for '0' <= p.peek() && p.peek() <= '9' {
		p.at++
	}
	if p.at == start {
		p.fail(ErrSyntax, start, "")
	}
}

func (p *parser) text() (text string) {
	p.at++
	start, plain := p.at, unescaped(p.doc[p.at:])
	p.at += plain
	if p.peek() == '\\' {
		text = p.unquote(start)
	} else {
		text = p.copy[start:p.at]
	}
	if p.peek() != '"' {
		p.fail(ErrSyntax, p.at, "")
		return ""
	}
	p.at++
	return text
}

// unquote reads the rest of a string with an escape, and gives all characters from start. It goes
// byte by byte, as a text with one escape usually has more.
func (p *parser) unquote(start int) string {
	if p.room == nil {
		p.room = make([]byte, len(p.doc)-start)
	}
	doc, text, at := p.doc, p.room, p.at
	n := copy(text, doc[start:at])
	for at < len(doc) && doc[at] >= ' ' && doc[at] != '"' {
		if doc[at] == '\\' {
			at++
			p.at = at
			if c := p.peek(); c != '"' && c != '\\' && c != '/' { // these escapes are the characters themselves
				n += p.escape(text[n:])
				at = p.at
				continue
			}
		}
		text[n] = doc[at]
		n++
		at++
	}
	p.at = at
	return string(text[:n])
}

// escape reads an escape whose backslash was read, and which is not its own letter. It writes the
// character into b, and gives its length.
func (p *parser) escape(b []byte) int {
	start, c := p.at-1, p.peek()
	if c == 'u' {
		return utf8.EncodeRune(b, p.codePoint(start))
	}
	const letters, meant = "bfnrt", "\b\f\n\r\t"
	for i := range len(letters) {
		if letters[i] == c {
			p.at++
			b[0] = meant[i]
			return 1
		}
	}
	p.fail(ErrSyntax, start, "")
	return 0
}

// codePoint reads the rest of a \u escape whose backslash was read, and all of the second escape of
// a surrogate pair.
func (p *parser) codePoint(start int) rune {
	first := p.unit(start)
	if first < 0xd800 || first > 0xdfff {
		return first
	}
	if first < 0xdc00 && p.peek() == '\\' {
		p.at++
		if second := p.unit(start); second >= 0xdc00 && second <= 0xdfff {
			return 0x10000 + (first-0xd800)<<10 + second - 0xdc00
		}
	}
	p.fail(ErrUnicode, start, "")
	return 0
}

// unit reads "u" and four hexadecimal digits. It is 0 where they are missing.
func (p *parser) unit(start int) (unit rune) {
	if p.peek() != 'u' {
		return 0
	}
	for range 4 {
		p.at++
		digit := Hex(p.peek())
		if digit < 0 {
			p.fail(ErrSyntax, start, "")
			return 0
		}
		unit = unit<<4 | digit
	}
	p.at++
	return unit
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

// Integer reads ASCII digits with an optional "-" and no leading zero, of at most 18 digits.
func Integer(s string) (n int64, ok bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > 18 || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	if len(digits) < len(s) {
		n = -n
	}
	return n, true
}

// Hex is the value of a hexadecimal digit; -1 for any other byte.
func Hex(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// Writer appends JSON to a buffer. It does not check that its calls make a document.
type Writer struct {
	Buf []byte
}

// comma is what separates the next element from the one before it; 0 for the first.
func (w *Writer) comma() byte {
	if n := len(w.Buf); n > 0 && w.Buf[n-1] != '{' && w.Buf[n-1] != '[' && w.Buf[n-1] != ':' {
		return ','
	}
	return 0
}

func (w *Writer) separate() {
	if c := w.comma(); c != 0 {
		w.Buf = append(w.Buf, c)
	}
}

// Open begins an object or an array: c is '{' or '['.
func (w *Writer) Open(c byte) {
	w.separate()
	w.Buf = append(w.Buf, c)
}

// Close ends an object or an array: c is '}' or ']'.
func (w *Writer) Close(c byte) { w.Buf = append(w.Buf, c) }

// Name begins a member of the open object. Its value must follow.
func (w *Writer) Name(name string) {
	w.Buf = appendQuoted(w.Buf, w.comma(), name, ':')
}

// Begin begins a member that is an object or an array: c is '{' or '['.
func (w *Writer) Begin(name string, c byte) {
	w.Name(name)
	w.Buf = append(w.Buf, c)
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

// Members writes the members of an object whose JSON text is known.
func (w *Writer) Members(object []byte) {
	if inner := object[1 : len(object)-1]; len(inner) > 0 {
		w.separate()
		w.Buf = append(slices.Grow(w.Buf, len(inner)+1024), inner...) // and room for the members that follow
	}
}

// Strs writes a member that is an array of strings. It is [] where values is nil.
func (w *Writer) Strs(name string, values []string) {
	w.Begin(name, '[')
	for _, v := range values {
		w.Item(v)
	}
	w.Close(']')
}

// Item writes a string as the next element of the open array.
func (w *Writer) Item(value string) {
	w.Buf = appendQuoted(w.Buf, w.comma(), value, 0)
}

const hex = "0123456789abcdef"

// AppendString appends s, which must be valid UTF-8, as JSON.stringify writes it (ECMA-262,
// QuoteJSONString).
func AppendString(dst []byte, s string) []byte { return appendQuoted(dst, 0, s, 0) }

// appendQuoted is AppendString with one byte before the string and one behind it; 0 is left out.
// Most texts need no escape: they are copied as a whole, into room made once.
func appendQuoted(dst []byte, before byte, s string, behind byte) []byte {
	at, plain := len(dst), unescaped(s)
	if cap(dst)-at < len(s)+len(`,"":`) {
		dst = slices.Grow(dst, len(s)+len(`,"":`))
	}
	dst = dst[:at+len(s)+len(`,"":`)]
	if before != 0 {
		dst[at] = before
		at++
	}
	dst[at] = '"'
	at += 1 + copy(dst[at+1:], s[:plain])
	if plain < len(s) {
		dst = appendEscaped(dst[:at], s[plain:])
		at = len(dst)
		dst = append(dst, `":`...)
	}
	dst[at] = '"'
	at++
	if behind != 0 {
		dst[at] = behind
		at++
	}
	return dst[:at]
}

// shortEscapes has the letter of the escape of each character before the space. 'u' is for a
// character without a short escape.
const shortEscapes = "uuuuuuuubtnufruuuuuuuuuuuuuuuuuu"

// appendEscaped appends s to dst, which has room for s without escapes. It goes byte by byte, as a
// text with one escape usually has more.
func appendEscaped(dst []byte, s string) []byte {
	at := len(dst)
	dst = dst[:cap(dst)]
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			dst[at] = c
			at++
			continue
		}
		if room := len(s) - i + len(`u00xx`); len(dst)-at < room {
			dst = slices.Grow(dst[:at], room)
			dst = dst[:cap(dst)]
		}
		dst[at] = '\\'
		switch {
		case c >= ' ':
			dst[at+1] = c
		case shortEscapes[c] != 'u':
			dst[at+1] = shortEscapes[c]
		default:
			copy(dst[at+1:], "u00")
			dst[at+4], dst[at+5] = hex[c>>4], hex[c&15]
			at += len(`u00x`)
		}
		at += len(`\"`)
	}
	return dst[:at]
}
