// Package input reads the input of a request, a query or a JSON object, by the declared fields of
// an operation, and collects all its faults.
package input

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"anteroom/edge/civil"
	"anteroom/edge/jsondoc"
	"anteroom/edge/quote"
	"anteroom/edge/sha256"
)

// How much of a caller's words an answer repeats.
const (
	MaxEcho    = 64 // code points of a name or value
	MaxEntries = 50 // entries of a list
	MaxBrief   = 64 // bytes, as JSON, of a value in the detail of a fault
)

type Fault struct {
	Field  string `json:"field" doc:"The invalid field in dotted form, or a query parameter; empty for the body as a whole."`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Faults keeps the first MaxEntries faults of an input.
type Faults struct {
	List  []Fault
	Total int
	About string // begins each detail, together with the field; "" for neither
}

func (f *Faults) Add(field, code, detail string) {
	if f.About != "" {
		detail = f.About + ": " + field + " " + detail
	}
	f.add(field, code, detail)
}

func (f *Faults) add(field, code, detail string) {
	f.Total++
	if len(f.List) < MaxEntries {
		f.List = append(f.List, Fault{TruncateRunes(field), code, detail})
	}
}

func (f *Faults) Mistyped(field, want string, sent jsondoc.Kind) {
	f.Add(field, WrongType, "must be "+want+", not "+sent.String())
}

func (f *Faults) Write(w *jsondoc.Writer) {
	w.Begin("errors", '[')
	for _, fault := range f.List {
		w.Open('{')
		w.Str("field", fault.Field)
		w.Str("code", fault.Code)
		w.Str("detail", fault.Detail)
		w.Close('}')
	}
	w.Close(']')
	if f.Total > len(f.List) {
		w.Int("errors_total", int64(f.Total))
	}
}

// TruncateRunes shortens a caller's text to its first MaxEcho code points.
func TruncateRunes(s string) string {
	n := 0
	for i := range s {
		if n == MaxEcho {
			return s[:i]
		}
		n++
	}
	return s
}

// TruncateBytes is TruncateRunes with at most MaxBrief bytes of JSON, without quotation marks, so
// that a single fault is short, whatever was sent.
func TruncateBytes(s string) string {
	s = TruncateRunes(s)
	size, room := 0, [16]byte{}
	for i, r := range s {
		size += len(jsondoc.AppendString(room[:0], string(r))) - len(`""`)
		if size > MaxBrief {
			return s[:i]
		}
	}
	return s
}

// Input holds the sent members and their faults. Members that the operation does not read are
// ignored, and listed as such.
type Input struct {
	Faults
	FromQuery bool    // the members are query parameters: all are strings
	DryRun    bool    // the caller asks for a dry run
	Writes    bool    // the operation can write
	Key       string  // the caller's idempotency key, or ""
	KeyName   string  // the name that Key was sent under
	Fields    []Field // of the operation
	Hint      string  // what the caller probably meant, or ""

	path    string // place of a child object, with a final dot: "roster[2]."
	members []jsondoc.Member
	used    []bool   // by index in members
	ignored []string // ignored names of child objects and of a POST's query
	field   string   // the field that is sent under another name, or ""
	sentAs  string   // the other name
}

func New(members []jsondoc.Member) *Input {
	return &Input{members: members, used: make([]bool, len(members))}
}

// Objects yields the elements of an array with their places, like "roster[2]".
func (in *Input) Objects(f *Field, fields []Field) func(yield func(string, *Input) bool) {
	return func(yield func(string, *Input) bool) {
		for i, item := range in.Member(f.Name).Items {
			place := f.Name + "[" + strconv.Itoa(i) + "]"
			if item.Kind != jsondoc.Object {
				in.Mistyped(place, "an object", item.Kind)
				continue
			}
			inner := New(item.Members)
			inner.path, inner.Fields = place+".", fields
			more := yield(place, inner)
			in.Merge(inner)
			if !more {
				return
			}
		}
	}
}

// Merge adds the faults and the ignored names of a child, or of the query of a POST.
func (in *Input) Merge(inner *Input) {
	for _, f := range inner.List {
		in.add(inner.path+f.Field, f.Code, f.Detail)
	}
	in.Total += inner.Total - len(inner.List)
	for _, name := range inner.Ignored() {
		in.ignored = append(in.ignored, inner.path+name)
	}
}

func (in *Input) find(name string) int {
	for i := range in.members {
		if in.members[i].Name == name {
			return i
		}
	}
	return -1
}

// Sent reports whether a field has a value, valid or not. Null is no value. A blank text is one
// only as a JSON string for an integer.
func (in *Input) Sent(f *Field) (sent bool) {
	for _, name := range f.names() {
		if in.Has(name) {
			v := &in.members[in.find(name)].Value
			sent = sent || v.Kind != jsondoc.String || f.Type == Integer && !in.FromQuery || !quote.Blank(v.Text)
		}
	}
	return sent
}

// Has reports whether any of the names was sent, even with a blank value. Null does not count.
func (in *Input) Has(names ...string) bool {
	for _, name := range names {
		if i := in.find(name); i >= 0 && in.members[i].Value.Kind != jsondoc.Null {
			return true
		}
	}
	return false
}

func (in *Input) Names() int { return len(in.members) }

// Rename lets one field be read only under another name.
func (in *Input) Rename(field, sentAs string) { in.field, in.sentAs = field, sentAs }

func (in *Input) SentAs(field string) string {
	if field == in.field {
		return in.sentAs
	}
	return field
}

// Hide makes a field ignored, and listed if it was sent.
func (in *Input) Hide(f *Field) {
	for _, name := range f.names() {
		if in.Has(name) {
			in.ignored = append(in.ignored, name)
		}
		if i := in.find(name); i >= 0 {
			in.members, in.used = slices.Delete(in.members, i, i+1), slices.Delete(in.used, i, i+1)
		}
	}
}

// Member returns the value sent under a name, null included, or an Absent one. It marks the name as
// read.
func (in *Input) Member(name string) *jsondoc.Value {
	if i := in.find(in.SentAs(name)); i >= 0 {
		in.used[i] = true
		return &in.members[i].Value
	}
	return &jsondoc.Value{}
}

func (in *Input) unread(i int) bool { return !in.used[i] && in.members[i].Value.Kind != jsondoc.Null }

func (in *Input) RejectUnknown() {
	for i := range in.members {
		if in.unread(i) {
			in.used[i] = true
			in.Add(in.members[i].Name, UnknownField, notAField+in.meant(in.members[i].Name))
		}
	}
}

// Ignored returns the unread names, each truncated. The list is complete once all fields have been
// read.
func (in *Input) Ignored() []string {
	ignored := make([]string, 0, len(in.ignored))
	for i := range in.members {
		if in.unread(i) {
			ignored = append(ignored, TruncateRunes(in.members[i].Name))
		}
	}
	return append(ignored, in.ignored...)
}

// Text reads a field of type Text, Name, Email or Date, and adds its faults. It returns the value
// verbatim, or "" if the field is absent, blank or invalid.
func (in *Input) Text(f *Field) string {
	value, from, before := "", "", in.Total
	for _, name := range f.names() {
		switch v := in.Member(name); {
		case v.Kind == jsondoc.Absent, v.Kind == jsondoc.Null, v.Kind == jsondoc.String && quote.Blank(v.Text):
		case v.Kind != jsondoc.String:
			in.Mistyped(name, "a string", v.Kind)
		case from == "":
			value, from = v.Text, name
		case v.Text != value:
			in.Add(name, ConflictingAlias, name+" and "+from+" are the same field and disagree: send one of them")
		}
	}
	if from == "" {
		if f.Required && in.Total == before {
			in.Missing(f.Name+" is missing or blank", f)
		}
		return ""
	}
	if !in.CheckText(f, from, value) {
		return ""
	}
	return value
}

// CheckText adds the faults of a value under the given name.
func (in *Input) CheckText(f *Field, name, value string) bool {
	before := in.Total
	if f.Type == Email {
		if !ValidEmail(value) {
			in.Add(name, NotAnEmail,
				"is not an e-mail address: send a bare one, like name@host.example, or leave it out")
		}
		return in.Total == before
	}
	if f.Placeholder != "" && (value == f.Placeholder || value == "{"+f.Name+"}") {
		in.Add(name, Placeholder, "is an unchanged placeholder: replace it with your own text")
		return false
	}
	for i, c := range []byte(value) {
		if (c < 0x20 || c == 0x7f) && (f.Type == Name || c != '\t' && c != '\n' && c != '\r') {
			in.Add(name, ControlCharacter,
				"contains the control character U+00"+sha256.Hex([]byte{c})+" at byte "+strconv.Itoa(i))
			break
		}
	}
	n := utf8.RuneCountInString(value)
	if n < f.Min {
		in.Add(name, TooShort, "must have at least "+strconv.Itoa(f.Min)+" characters, but has "+strconv.Itoa(n))
	}
	if f.Max > 0 && n > f.Max {
		in.Add(name, TooLong, "must have at most "+strconv.Itoa(f.Max)+" characters, but has "+strconv.Itoa(n))
	}
	return in.Total == before
}

// Switch reads a field of type Switch. A wrong value, or a name that differs in case, "_" or "-",
// is a fault and counts as on: its sender meant to switch it on.
func (in *Input) Switch(f *Field) (on, sent bool) {
	for i := range in.members {
		m := &in.members[i]
		if !f.Resembles(m) {
			continue
		}
		in.used[i], sent = true, true
		value := slices.Index(Switches, m.Value.Text)
		switch {
		case m.Name != f.Name:
			in.Add(m.Name, UnknownField, notAField+didYouMean(f.Name))
		case in.FromQuery && value < 0:
			in.Add(m.Name, UnknownValue, "must be one of "+strings.Join(Switches, ", "))
		case !in.FromQuery && m.Value.Kind != jsondoc.Bool:
			in.Mistyped(m.Name, "a boolean", m.Value.Kind)
		case in.FromQuery && value >= 2 || !in.FromQuery && !m.Value.True:
			continue
		}
		on = true
	}
	return on, sent
}

func (in *Input) Refuse(refused func(m *jsondoc.Member) bool, why string) (sent bool) {
	for i := range in.members {
		if m := &in.members[i]; refused(m) {
			in.used[i], sent = true, true
			in.Add(m.Name, UnknownField, notAField+": "+why)
		}
	}
	return sent
}

// Resembles ignores case, "_" and "-".
func (f *Field) Resembles(m *jsondoc.Member) bool { return sameName(m.Name, f.Name) }

func sameName(a, b string) bool {
	i, j := 0, 0
	for {
		for i < len(a) && (a[i] == '_' || a[i] == '-') {
			i++
		}
		for j < len(b) && (b[j] == '_' || b[j] == '-') {
			j++
		}
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		if a[i]|0x20 != b[j]|0x20 {
			return false
		}
		i, j = i+1, j+1
	}
}

// Choice reads a field that has Values. It returns "" if the field is absent or invalid.
func (in *Input) Choice(f *Field) string {
	value := in.Text(f)
	if value != "" && !slices.Contains(f.Values, value) {
		in.Add(f.Name, UnknownValue, OneOf(f.Values, value))
		return ""
	}
	return value
}

func OneOf(allowed []string, value string) string {
	want := "one of " + strings.Join(allowed, ", ")
	if len(allowed) == 1 {
		want = allowed[0]
	}
	return "must be " + want + ", but is " + TruncateBytes(value)
}

// Date reads a field of type Date, in days since 1970-01-01.
func (in *Input) Date(f *Field) (days int, ok bool) {
	value := in.Text(f)
	if value == "" {
		return 0, false
	}
	if days, ok = civil.ParseDate(value); !ok {
		in.Add(f.Name, NotADate, "must be an existing date, as YYYY-MM-DD, but is "+TruncateBytes(value))
	}
	return days, ok
}

// Integer reads a field of type Integer. It returns 0 if that is absent, invalid or too small.
func (in *Input) Integer(f *Field) int {
	if n, ok := in.Number(f); ok && in.CheckMinimum(f, f.Name, n) {
		return n
	}
	return 0
}

// Number is Integer without a minimum. In a body the digits may have a fraction of zeros.
func (in *Input) Number(f *Field) (n int, ok bool) {
	v := in.Member(f.Name)
	digits := v.Text
	switch {
	case v.Kind == jsondoc.Absent || v.Kind == jsondoc.Null || in.FromQuery && quote.Blank(digits):
		if f.Required {
			in.Missing(f.Name+" is missing", f)
		}
		return 0, false
	case in.FromQuery:
	case v.Kind != jsondoc.Number:
		in.Mistyped(f.Name, "an integer", v.Kind)
		return 0, false
	default:
		whole, fraction, found := strings.Cut(digits, ".")
		if found && strings.Trim(fraction, "0") == "" {
			digits = whole
		}
	}
	if n, ok = ParseInteger(digits); !ok {
		in.Add(f.Name, NotAnInteger,
			"must be a 32-bit integer in digits, but is "+TruncateBytes(v.Text))
	}
	return n, ok
}

func (in *Input) CheckMinimum(f *Field, name string, n int) bool {
	if n < f.Min {
		in.Add(name, BelowMinimum, "must be at least "+strconv.Itoa(f.Min)+", but is "+strconv.Itoa(n))
		return false
	}
	return true
}

// ParseInteger parses ASCII digits with an optional "-" and no leading zero, within 32 bits.
func ParseInteger(s string) (n int, ok bool) {
	wide, ok := jsondoc.Integer(s)
	if !ok || wide != int64(int32(wide)) {
		return 0, false
	}
	return int(wide), true
}

// ParseBody takes a blank body as an empty object.
func ParseBody(body []byte) *Input {
	if len(bytes.Trim(body, " \t\r\n")) == 0 {
		return New(nil)
	}
	v, err := jsondoc.Parse(body)
	in := New(v.Members)
	if fault, ok := err.(*jsondoc.Error); ok {
		in.Add("", codeOf(fault.Kind), detailOf(fault, body))
	} else if v.Kind != jsondoc.Object {
		in.Add("", WrongType, "the body must be a JSON object, not "+v.Kind.String())
	}
	return in
}

func codeOf(fault jsondoc.Fault) string {
	switch fault {
	case jsondoc.ErrUnicode:
		return InvalidUnicode
	case jsondoc.ErrTooDeep:
		return TooDeep
	case jsondoc.ErrTooMany:
		return TooMany
	}
	return InvalidJSON
}

func detailOf(fault *jsondoc.Error, body []byte) string {
	detail := fault.Error()
	if fault.Name != "" {
		detail += ": " + TruncateBytes(fault.Name)
	}
	if i := bytes.IndexAny(body, "={[\" \t\r\n"); i > 0 && body[i] == '=' {
		detail += ": send a JSON object, not a form"
	}
	return detail
}

// ParseQuery parses application/x-www-form-urlencoded.
func ParseQuery(query string) *Input {
	in := &Input{FromQuery: true}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, nameOK := Unescape(rawName)
		value, valueOK := Unescape(rawValue)
		valid := utf8.ValidString(name) && utf8.ValidString(value)
		name, value = strings.ToValidUTF8(name, ""), strings.ToValidUTF8(value, "")
		repeated := in.find(name) >= 0
		switch {
		case !nameOK || !valueOK:
			in.Add(name, BadEscape, "has a % without two hexadecimal digits after it")
		case !valid:
			in.Add(name, InvalidUnicode, "is not valid UTF-8 once its escapes are decoded")
		case repeated:
			in.Add(name, RepeatedParameter, "is in the query more than once")
		}
		switch {
		case repeated:
		case len(in.members) == jsondoc.MaxMembers:
			in.Add("", TooMany, "the query has more than "+strconv.Itoa(jsondoc.MaxMembers)+" parameters")
			return in
		default: // an invalid one too: its name tells which operation is meant
			v := jsondoc.Value{Kind: jsondoc.String, Text: value}
			in.members, in.used = append(in.members, jsondoc.Member{Name: name, Value: v}), append(in.used, false)
		}
	}
	return in
}

// Unescape returns ok false if an escape is incomplete.
func Unescape(s string) (text string, ok bool) {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s, true
	}
	b, ok := make([]byte, 0, len(s)), true
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '+':
			c = ' '
		case c != '%':
		case i+2 < len(s) && jsondoc.Hex(s[i+1]) >= 0 && jsondoc.Hex(s[i+2]) >= 0:
			c = byte(jsondoc.Hex(s[i+1])<<4 | jsondoc.Hex(s[i+2]))
			i += 2
		default:
			ok = false
		}
		b = append(b, c)
	}
	return string(b), ok
}
