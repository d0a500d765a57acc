// Package jsondoc reads JSON strictly and writes it exactly.
//
// Parse accepts RFC 8259 JSON without a byte order mark, trailing data, duplicate names, invalid
// UTF-8 or unpaired surrogates, of at most MaxDepth levels and MaxMembers members of one object. A
// number keeps its text.
//
// A Writer writes an object as ECMAScript's JSON.stringify does: no white space, non-ASCII
// unescaped, escapes only where JSON demands them.
//
//	{"agent_name":"ledger-lark","pubkey":null}
package jsondoc

import (
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	MaxDepth   = 32  // levels of arrays and objects: it bounds every recursion over a Value
	MaxMembers = 256 // members of one object: it bounds the linear search for a name
)

type Fault string

const (
	ErrSyntax   Fault = "not valid JSON"
	ErrUnicode  Fault = "not valid Unicode"
	ErrTooDeep  Fault = "nested deeper than 32 levels"
	ErrTooMany  Fault = "more than 256 members in one object"
	ErrTrailing Fault = "data after the JSON value"
)

type Error struct {
	Kind         Fault
	Line, Column int // in characters, from 1
	Detail       string
	Name         string // of a duplicate member
}

func (e *Error) Error() string {
	s := "parse JSON at line " + strconv.Itoa(e.Line) + ", column " + strconv.Itoa(e.Column) + ": " + string(e.Kind)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

type Kind byte

// The kinds. The zero Value, a missing member, is Absent.
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

type Value struct {
	Kind    Kind
	True    bool     // a Bool's value
	Text    string   // a String's characters, or a Number as written
	Raw     []byte   // the value's bytes, aliasing the input
	Items   []Value  // an Array's elements
	Members []Member // an Object's members, in order
}

type Member struct {
	Name  string
	Value Value
}

// Get returns an Absent value if no member has exactly this name.
func (v *Value) Get(name string) *Value {
	for i := range v.Members {
		if v.Members[i].Name == name {
			return &v.Members[i].Value
		}
	}
	return &absent
}

var absent Value

// Parse returns an *Error with a zero Value.
func Parse(doc []byte) (Value, error) {
	p := parser{doc: doc, copy: string(doc)}
	var v Value
	if i, first := invalidUTF8(doc), p.copy[:min(2, len(doc))]; first == "\xff\xfe" || first == "\xfe\xff" ||
		strings.IndexByte(first, 0) >= 0 {
		p.fail(ErrUnicode, 0, "UTF-16, want UTF-8")
	} else if i >= 0 {
		p.fail(ErrUnicode, i, "a byte that is not UTF-8")
	}
	p.value(&v, 1)
	if p.space(); p.fault == nil && p.at < len(doc) {
		p.fail(ErrTrailing, p.at, p.found(p.at))
	}
	if p.fault != nil {
		return Value{}, p.fault
	}
	return v, nil
}

// parser reads a document from its start. A fault puts it at the end.
type parser struct {
	doc   []byte
	copy  string // of doc: strings without escapes are parts of it
	room  []byte // the string with escapes that is being read
	at    int
	fault *Error
}

func (p *parser) fail(kind Fault, offset int, detail string) {
	if p.fault == nil {
		before := p.copy[:offset]
		line := before[strings.LastIndexByte(before, '\n')+1:]
		p.fault = &Error{
			Kind: kind, Line: 1 + strings.Count(before, "\n"), Column: 1 + utf8.RuneCountInString(line), Detail: detail,
		}
	}
	p.at = len(p.doc)
}

func (p *parser) unexpected(want string) {
	p.fail(ErrSyntax, p.at, p.found(p.at)+", want "+want)
}

func (p *parser) found(at int) string {
	rest, word := p.copy[at:], 0
	if rest == "" {
		return "got the end of the text"
	}
	switch c := rest[0]; {
	case strings.HasPrefix(rest, "\ufeff"):
		return "got a byte order mark"
	case (c == ']' || c == '}') && strings.HasSuffix(strings.TrimRight(p.copy[:at], " \t\r\n"), ","):
		return "got a trailing comma"
	case c < ' ':
		return "got the raw control character " + string(appendEscape(nil, c))
	}
	for word < min(len(rest), 16) && 'a' <= rest[word]|0x20 && rest[word]|0x20 <= 'z' {
		word++
	}
	_, first := utf8.DecodeRuneInString(rest)
	return "got " + rest[:max(word, first)]
}

// peek returns 0 at the end: JSON never has a byte 0.
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
		p.unexpected(string(rune(c)))
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
		p.unexpected("a value")
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
			p.unexpected("a name in double quotes")
			return
		}
		name := p.text()
		for i := range v.Members {
			if v.Members[i].Name == name {
				p.fail(ErrSyntax, start, "duplicate name in an object")
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
	if !strings.HasPrefix(p.copy[p.at:], word) {
		p.unexpected(word)
		return
	}
	p.at += len(word)
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
		p.unexpected("a digit")
	}
}

func (p *parser) text() (text string) {
	p.at++
	start, plain := p.at, unescaped(p.copy[p.at:])
	p.at += plain
	if p.peek() == '\\' {
		text = p.unquote(start)
	} else {
		text = p.copy[start:p.at]
	}
	if p.peek() != '"' {
		want := `"`
		if p.at < len(p.doc) {
			want = "its escape"
		}
		p.unexpected(want)
		return ""
	}
	p.at++
	return text
}

func (p *parser) unquote(start int) string {
	p.room = append(p.room[:0], p.doc[start:p.at]...)
	for p.peek() == '\\' {
		p.at++
		p.escape()
		plain := p.at + unescaped(p.copy[p.at:])
		p.room = append(p.room, p.doc[p.at:plain]...)
		p.at = plain
	}
	return string(p.room)
}

// Letters of the short escapes, and the characters they stand for. No writer escapes the slash.
const (
	escapeLetters     = `"\bfnrt/`
	escapedCharacters = "\"\\\b\f\n\r\t/"
)

func (p *parser) escape() {
	start, c := p.at-1, p.peek()
	if c == 'u' {
		p.room = utf8.AppendRune(p.room, p.codePoint(start))
		return
	}
	i := strings.IndexByte(escapeLetters, c)
	if i < 0 {
		p.fail(ErrSyntax, start, "unknown escape")
		return
	}
	p.room = append(p.room, escapedCharacters[i])
	p.at++
}

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
	p.fail(ErrUnicode, start, "half of a surrogate pair")
	return 0
}

func (p *parser) unit(start int) (unit rune) {
	if p.peek() != 'u' {
		return 0
	}
	for range 4 {
		p.at++
		digit := Hex(p.peek())
		if digit < 0 {
			p.fail(ErrSyntax, start, "unknown escape")
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

// Hex returns -1 for a byte that is no hexadecimal digit.
func Hex(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// Writer appends JSON to a buffer, and puts the commas. It does not check that its calls make a
// document.
type Writer struct {
	Buf []byte
}

//go:inline
func (w *Writer) separate() {
	if n := len(w.Buf); n > 0 && w.Buf[n-1] != '{' && w.Buf[n-1] != '[' && w.Buf[n-1] != ':' {
		w.put(',')
	}
}

// put appends a byte. Under TinyGo each append calls the runtime.
//
//go:inline
func (w *Writer) put(c byte) {
	buf, end := room(w.Buf, 1)
	buf[end] = c
	w.Buf = buf[:end+1]
}

// Grow allocates capacity for n more bytes.
func (w *Writer) Grow(n int) {
	buf, end := room(w.Buf, n)
	w.Buf = buf[:end]
}

// Open begins an object or an array: c is '{' or '[', and of Close '}' or ']'.
func (w *Writer) Open(c byte) {
	w.separate()
	w.put(c)
}

func (w *Writer) Close(c byte) { w.put(c) }

// Name begins a member of the open object. Its value must follow.
func (w *Writer) Name(name string) {
	w.separate()
	w.Buf = AppendString(w.Buf, name)
	w.put(':')
}

// Begin is Name and Open.
func (w *Writer) Begin(name string, c byte) {
	w.Name(name)
	w.put(c)
}

func (w *Writer) Str(name, value string) {
	w.Name(name)
	w.Buf = AppendString(w.Buf, value)
}

// StrOrNull writes null for "".
func (w *Writer) StrOrNull(name, value string) {
	if value == "" {
		w.Raw(name, "null")
		return
	}
	w.Str(name, value)
}

func (w *Writer) Int(name string, value int64) {
	w.Name(name)
	w.Buf = strconv.AppendInt(w.Buf, value, 10)
}

func (w *Writer) Bool(name string, value bool) {
	w.Name(name)
	w.Buf = strconv.AppendBool(w.Buf, value)
}

func (w *Writer) Raw(name, value string) {
	w.Name(name)
	w.Buf = append(w.Buf, value...)
}

// Members writes the members of an object that is JSON text.
func (w *Writer) Members(object []byte) {
	if inner := object[1 : len(object)-1]; len(inner) > 0 {
		w.separate()
		w.Grow(len(inner) + 1024) // with capacity for further members
		w.Buf = append(w.Buf, inner...)
	}
}

func (w *Writer) Strs(name string, values []string) {
	w.Begin(name, '[')
	for _, v := range values {
		w.Item(v)
	}
	w.Close(']')
}

func (w *Writer) Item(value string) {
	w.separate()
	w.Buf = AppendString(w.Buf, value)
}

// AppendString appends s, which must be valid UTF-8, as JSON.stringify writes it (ECMA-262,
// QuoteJSONString).
func AppendString(dst []byte, s string) []byte {
	dst, at := room(dst, 2*len(s)+word)
	dst[at] = '"'
	at++
	for len(s) >= word {
		n := plain(s[:word])
		copy(dst[at:at+word], s[:word]) // n of them stay
		at += n
		if s = s[n:]; n < word {
			dst, at = escape(dst, at, s)
			s = s[1:]
		}
	}
	for ; s != ""; s = s[1:] {
		if c := s[0]; c >= ' ' && c != '"' && c != '\\' {
			dst[at] = c
			at++
		} else {
			dst, at = escape(dst, at, s)
		}
	}
	dst[at] = '"'
	return dst[:at+1]
}

const word = 8 // bytes that plain reads at once; TinyGo inlines a function if it is told so

// plain returns the number of bytes before the first to escape, of eight. A byte is less than n if
// taking n away borrows from its top bit; c is zero in b^c. A borrow shows only after a true one.
//
//go:inline
func plain(s string) int {
	b := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	const ones = 0x0101010101010101
	found := (b - ' '*ones) | (b ^ '"'*ones - ones) | (b ^ '\\'*ones - ones)
	return bits.TrailingZeros64(found&^b&(0x80*ones)) / 8
}

// escape appends the escape of the first byte of s at an index, and makes room for the others.
//
//go:inline
func escape(dst []byte, at int, s string) (longer []byte, end int) {
	if c := s[0]; c == '"' || c == '\\' {
		dst[at], dst[at+1] = '\\', c
		return dst, at + 2
	}
	return room(appendEscape(dst[:at], s[0]), 2*len(s)+word)
}

// room returns b up to a capacity for n more bytes, and its former length. Under TinyGo slices.Grow
// allocates them twice.
//
//go:inline
func room(b []byte, n int) (longer []byte, end int) {
	end = len(b)
	if n > cap(b)-end {
		b = append(make([]byte, 0, 2*cap(b)+n), b...)
	}
	return b[:cap(b)], end
}

func appendEscape(dst []byte, c byte) []byte {
	if i := strings.IndexByte(escapedCharacters, c); i >= 0 {
		return append(dst, '\\', escapeLetters[i])
	}
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}

func unescaped(s string) int {
	i := 0
	for len(s)-i >= word {
		n := plain(s[i : i+word])
		if i += n; n < word {
			return i
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}
