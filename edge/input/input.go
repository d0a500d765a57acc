// Package input reads the input of a request, a query or a JSON object, by the fields that an
// operation declares. It collects everything that is wrong with the input.
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
)

const (
	MaxEcho    = 64 // most code points of a caller's name or value that an answer repeats
	MaxEntries = 50 // most entries of a list that repeats what a caller sent
	MaxBrief   = 64 // most bytes, as JSON, of a caller's text in the words of a fault
)

// Fault is one thing wrong with an input.
type Fault struct {
	Field  string `json:"field" doc:"The field at fault in dotted form, a query parameter by its name; empty for the body as a whole."`
	Code   string `json:"code" doc:"Stable identifier of what is wrong."`
	Detail string `json:"detail" doc:"What is wrong, in words."`
}

// Faults collects what is wrong with an input: it counts all and keeps the first MaxEntries.
type Faults struct {
	List  []Fault
	Total int
}

// Add adds a fault.
func (f *Faults) Add(field, code, detail string) {
	f.Total++
	if len(f.List) < MaxEntries {
		f.List = append(f.List, Fault{TruncateRunes(field), code, detail})
	}
}

// Write writes the faults as the members errors and, where some were left out, errors_total.
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

// TruncateRunes shortens a caller's text to its first MaxEcho code points: an answer repeats no
// more of it.
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

// TruncateBytes shortens a caller's text further than TruncateRunes, to MaxBrief bytes of JSON
// without its quotation marks, so that the answer to a single fault is short whatever was sent.
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

// Input holds what a caller sent, by field name, and what is wrong with it. Names that the
// operation does not read are ignored, and listed as such.
type Input struct {
	Faults
	FromQuery bool    // the fields are query parameters: all are strings
	DryRun    bool    // the caller asks for everything but the writing
	Writes    bool    // the operation can write
	Key       string  // the caller's idempotency key, "" for none
	Fields    []Field // those of the operation: others are not known
	Hint      string  // what the caller has probably meant, "" for no guess

	path    string // the place of the object, with a dot at its end: "roster[2]."; "" for the outermost
	members []jsondoc.Member
	used    []bool
	ignored []string // ignored names that are not in members: those of child objects and of a POST's query
	field   string   // the field that is sent under another name, "" for none
	sentAs  string   // the name that field is sent under
}

// New makes an input of the members of an object.
func New(members []jsondoc.Member) *Input {
	return &Input{members: members, used: make([]bool, len(members))}
}

// Child is the input of an object inside this one, at a dotted place: "roster[2]". Merge takes it
// over once its fields are read.
func (in *Input) Child(at string, fields []Field, members []jsondoc.Member) *Input {
	inner := New(members)
	inner.path, inner.Fields = at+".", fields
	return inner
}

// Merge takes over the faults and the ignored names of a child, or of the query of a POST.
func (in *Input) Merge(inner *Input) {
	for _, f := range inner.List {
		in.Add(inner.path+f.Field, f.Code, f.Detail)
	}
	in.Total += inner.Total - len(inner.List)
	for _, name := range inner.Ignored() {
		in.ignored = append(in.ignored, inner.path+name)
	}
}

// find is the index of the member with a name; -1 if it was not sent.
func (in *Input) find(name string) int {
	for i := range in.members {
		if in.members[i].Name == name {
			return i
		}
	}
	return -1
}

// Sent reports whether a field has a value, valid or not. Null is not a value. Neither is a blank
// text (quote.Blank), except as a JSON string for an integer.
func (in *Input) Sent(f *Field) bool {
	if !in.Has(f.Name) {
		return false
	}
	v := &in.members[in.find(f.Name)].Value
	return v.Kind != jsondoc.String || f.Type == Integer && !in.FromQuery || !quote.Blank(v.Text)
}

// Has reports whether any of the names was sent, be it with a blank value. Null does not count.
func (in *Input) Has(names ...string) bool {
	for _, name := range names {
		if i := in.find(name); i >= 0 && in.members[i].Value.Kind != jsondoc.Null {
			return true
		}
	}
	return false
}

// Names reports how many names were sent.
func (in *Input) Names() int { return len(in.members) }

// Rename makes one field readable under another name, and no longer under its own.
func (in *Input) Rename(field, sentAs string) { in.field, in.sentAs = field, sentAs }

// SentAs is the name under which a field is sent.
func (in *Input) SentAs(field string) string {
	if field == in.field {
		return in.sentAs
	}
	return field
}

// Hide keeps a name from being read: it is ignored, and listed if it was sent.
func (in *Input) Hide(name string) {
	if in.Has(name) {
		in.ignored = append(in.ignored, name)
	}
	if i := in.find(name); i >= 0 {
		in.members = slices.Delete(slices.Clone(in.members), i, i+1)
	}
}

// Member returns the value that was sent under a name, null included, and marks the name as read.
// If it was not sent, the Value is of kind Absent.
func (in *Input) Member(name string) *jsondoc.Value {
	if i := in.find(in.SentAs(name)); i >= 0 {
		in.used[i] = true
		return &in.members[i].Value
	}
	return &jsondoc.Value{}
}

// RejectUnknown makes a fault of every name that was sent and not read.
func (in *Input) RejectUnknown() {
	for i := range in.members {
		if !in.used[i] && in.members[i].Value.Kind != jsondoc.Null {
			in.used[i] = true
			in.Add(in.members[i].Name, UnknownField, "is not a field"+in.meant(in.members[i].Name))
		}
	}
}

// Ignored lists the names that were sent and not read, each cut, without null members. The list is
// complete once all fields have been read.
func (in *Input) Ignored() []string {
	ignored := make([]string, 0, len(in.ignored))
	for i := range in.members {
		if !in.used[i] && in.members[i].Value.Kind != jsondoc.Null {
			ignored = append(ignored, TruncateRunes(in.members[i].Name))
		}
	}
	return append(ignored, in.ignored...)
}

// Text reads a field of type Text, Name, Email or Date and reports its faults. The result is "" if
// the field is absent or invalid. A blank text counts as absent; any other value is taken
// verbatim.
func (in *Input) Text(f *Field) string {
	value, from, before := "", "", in.Total
	for i := -1; i < len(f.Aliases); i++ {
		name := f.Name
		if i >= 0 {
			name = f.Aliases[i]
		}
		text, present := in.text(name, in.Member(name))
		switch {
		case !present:
		case from == "":
			value, from = text, name
		case text != value:
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

// text is the text of a member. present is false if the member is absent, null, blank, or not a
// string, which is a fault.
func (in *Input) text(field string, v *jsondoc.Value) (text string, present bool) {
	switch v.Kind {
	case jsondoc.Absent, jsondoc.Null:
		return "", false
	case jsondoc.String:
		return v.Text, !quote.Blank(v.Text)
	}
	in.Add(field, WrongType, "must be a string, not "+v.Kind.String())
	return "", false
}

// CheckText checks a text against a field's limits, and reports its faults under the given name.
func (in *Input) CheckText(f *Field, name, value string) bool {
	before := in.Total
	if f.Type == Email {
		if !ValidEmail(value) {
			in.Add(name, NotAnEmail, "is not an e-mail address: send a bare one, like name@host.example, or leave it out")
		}
		return in.Total == before
	}
	if f.Placeholder != "" && (value == f.Placeholder || value == "{"+f.Name+"}") {
		in.Add(name, Placeholder, "is the placeholder of a template: put your own in its place")
		return false
	}
	for i := range len(value) {
		c := value[i]
		if (c < 0x20 || c == 0x7f) && (f.Type == Name || c != '\t' && c != '\n' && c != '\r') {
			in.Add(name, ControlCharacter, "holds the control character U+00"+hexDigits[c>>4:c>>4+1]+hexDigits[c&15:c&15+1]+" at byte "+strconv.Itoa(i))
			break
		}
	}
	n := utf8.RuneCountInString(value)
	if n < f.Min {
		in.Add(name, TooShort, "must have at least "+strconv.Itoa(f.Min)+" characters, and has "+strconv.Itoa(n))
	}
	if f.Max > 0 && n > f.Max {
		in.Add(name, TooLong, "must have at most "+strconv.Itoa(f.Max)+" characters, and has "+strconv.Itoa(n))
	}
	return in.Total == before
}

// Switch reads a field of type Switch: whether it is on, and whether it was sent. One with a wrong
// value, or a name that differs in case, "_" or "-", is a fault and counts as on: its sender meant
// to switch it on.
func (in *Input) Switch(f *Field) (on, sent bool) {
	in.eachNamed(f, func(m *jsondoc.Member) {
		sent = true
		value := slices.Index(Switches, m.Value.Text)
		switch {
		case m.Name != f.Name:
			in.Add(m.Name, UnknownField, misspelled+f.Name)
		case in.FromQuery && value < 0:
			in.Add(m.Name, UnknownValue, "must be one of "+strings.Join(Switches, ", "))
		case !in.FromQuery && m.Value.Kind != jsondoc.Bool:
			in.Add(m.Name, WrongType, "must be a boolean, not "+m.Value.Kind.String())
		case in.FromQuery && value >= 2 || !in.FromQuery && !m.Value.True:
			return
		}
		on = true
	})
	return on, sent
}

// Refuse makes a fault of the name of a field, however it is written and whatever its value is. It
// reports whether the name was sent.
func (in *Input) Refuse(f *Field, why string) (sent bool) {
	in.eachNamed(f, func(m *jsondoc.Member) {
		sent = true
		in.Add(m.Name, UnknownField, "is not a field: "+why)
	})
	return sent
}

// RefuseMisspelled makes a fault of every name that differs from that of a field in case, "_" or
// "-" alone.
func (in *Input) RefuseMisspelled(f *Field) {
	in.eachNamed(f, func(m *jsondoc.Member) {
		if m.Name != f.Name {
			in.Add(m.Name, UnknownField, misspelled+f.Name)
		}
	})
}

// misspelled is before the name that a fault asks a caller to write.
const misspelled = "is not a field; write it "

// eachNamed calls do with the members whose name is the same as a field's but for case, "_" and
// "-", and marks them as read.
func (in *Input) eachNamed(f *Field, do func(m *jsondoc.Member)) {
	for i := range in.members {
		if sameName(in.members[i].Name, f.Name) {
			in.used[i] = true
			do(&in.members[i])
		}
	}
}

// hexDigits are the digits in which a fault writes a code point.
const hexDigits = "0123456789abcdef"

// sameName reports whether two names are the same but for case, "_" and "-".
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

// Choice reads a field that has Values and reports its faults. The result is one of Values, or ""
// if the field is absent or invalid.
func (in *Input) Choice(f *Field) string {
	value := in.Text(f)
	if value != "" && !slices.Contains(f.Values, value) {
		in.Add(f.Name, UnknownValue, "must be one of "+strings.Join(f.Values, ", ")+", and is "+TruncateBytes(value))
		return ""
	}
	return value
}

// Date reads a field of type Date and reports its faults. The result is in days since 1970-01-01;
// ok is false if the field is absent or invalid.
func (in *Input) Date(f *Field) (days int, ok bool) {
	value := in.Text(f)
	if value == "" {
		return 0, false
	}
	if days, ok = civil.ParseDate(value); !ok {
		in.Add(f.Name, NotADate, "must be a date that there is, as YYYY-MM-DD, and is "+TruncateBytes(value))
	}
	return days, ok
}

// Integer reads a field of type Integer and reports its faults, a value below the minimum included.
// The result is 0 if the field is absent or invalid.
func (in *Input) Integer(f *Field) int {
	if n, ok := in.Number(f); ok && in.CheckMinimum(f, f.Name, n) {
		return n
	}
	return 0
}

// Number reads a field of type Integer without checking its minimum: an int32 in decimal digits, in
// a body with a fraction of zeros perhaps. ok is false if the field is absent or invalid.
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
		in.Add(f.Name, WrongType, "must be an integer, not "+v.Kind.String())
		return 0, false
	default:
		if whole, fraction, found := strings.Cut(digits, "."); found && strings.Trim(fraction, "0") == "" {
			digits = whole
		}
	}
	if n, ok = ParseInteger(digits); !ok {
		in.Add(f.Name, NotAnInteger, "must be an integer of 32 bits, in digits, and is "+TruncateBytes(v.Text))
	}
	return n, ok
}

// CheckMinimum checks an integer against a field's minimum.
func (in *Input) CheckMinimum(f *Field, name string, n int) bool {
	if n < f.Min {
		in.Add(name, BelowMinimum, "must be at least "+strconv.Itoa(f.Min)+", and is "+strconv.Itoa(n))
		return false
	}
	return true
}

// ParseInteger reads ASCII digits with an optional "-" and no leading zero, within 32 bits.
func ParseInteger(s string) (n int, ok bool) {
	wide, ok := jsondoc.Integer(s)
	if !ok || wide != int64(int32(wide)) {
		return 0, false
	}
	return int(wide), true
}

// ParseBody reads the body of a POST: one JSON object. A blank body counts as an empty object.
func ParseBody(body []byte) *Input {
	if len(bytes.Trim(body, " \t\r\n")) == 0 {
		return New(nil)
	}
	v, err := jsondoc.Parse(body)
	in := New(v.Members)
	fault, faulty := err.(*jsondoc.Error)
	switch {
	case faulty:
		code := InvalidJSON
		switch fault.Kind {
		case jsondoc.ErrUnicode:
			code = InvalidUnicode
		case jsondoc.ErrTooDeep:
			code = TooDeep
		case jsondoc.ErrTooMany:
			code = TooMany
		}
		detail := fault.Error()
		if fault.Name != "" {
			detail += ": " + TruncateBytes(fault.Name)
		}
		if looksLikeForm(body) {
			detail += "; it looks like a form: send a JSON object"
		}
		in.Add("", code, detail)
	case v.Kind != jsondoc.Object:
		in.Add("", WrongType, "the body must be a JSON object, not "+v.Kind.String())
	}
	return in
}

// looksLikeForm reports whether a body begins as a form does: with a name and "=".
func looksLikeForm(body []byte) bool {
	for i, c := range body {
		switch c {
		case '=':
			return i > 0
		case '{', '[', '"', ' ', '\t', '\r', '\n':
			return false
		}
	}
	return false
}

// ParseQuery reads a query string as HTML forms write it (application/x-www-form-urlencoded): "+"
// is a space.
func ParseQuery(query string) *Input {
	in := &Input{FromQuery: true}
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, nameOK := Unescape(rawName)
		value, valueOK := Unescape(rawValue)
		repeated := in.find(printable(name)) >= 0
		switch {
		case !nameOK || !valueOK:
			in.Add(printable(name), BadEscape, "holds a % that two hexadecimal digits do not follow")
		case !utf8.ValidString(name) || !utf8.ValidString(value):
			in.Add(printable(name), InvalidUnicode, "is not valid UTF-8 once its escapes are decoded")
		case repeated:
			in.Add(name, RepeatedParameter, "is in the query more than once")
		case len(in.members) == jsondoc.MaxMembers:
			in.Add("", TooMany, "the query has more than "+strconv.Itoa(jsondoc.MaxMembers)+" parameters")
			query = ""
		}
		if !repeated && len(in.members) < jsondoc.MaxMembers { // a faulty one too: it says what is asked for
			in.members = append(in.members, jsondoc.Member{Name: printable(name), Value: jsondoc.Value{Kind: jsondoc.String, Text: printable(value)}})
		}
	}
	in.used = make([]bool, len(in.members))
	return in
}

// printable is a name that an answer can repeat: without bytes that are not valid UTF-8.
func printable(name string) string { return strings.ToValidUTF8(name, "") }

// Unescape decodes a name or a value of a query, and reports whether its escapes are whole.
func Unescape(s string) (string, bool) {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s, true
	}
	b, ok := make([]byte, 0, len(s)), true
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b = append(b, ' ')
		case s[i] != '%':
			b = append(b, s[i])
		default:
			if i+2 >= len(s) || jsondoc.Hex(s[i+1]) < 0 || jsondoc.Hex(s[i+2]) < 0 {
				b, ok = append(b, '%'), false
				continue
			}
			b = append(b, byte(jsondoc.Hex(s[i+1])<<4|jsondoc.Hex(s[i+2])))
			i += 2
		}
	}
	return string(b), ok
}
