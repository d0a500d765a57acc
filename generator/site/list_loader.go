package site

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"anteroom/edge/jsondoc"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// listLoader reads one list file.
type listLoader struct {
	list       *List
	file       string
	faults     []listFault
	unreported int // number of faults beyond maxListFaults

	entryAt listPosition
	values  [][]byte       // of the open entry, by field: JSON text, nil where absent
	places  []listPosition // of the values
	scratch []byte
	names   [][]byte // of each field, quoted, with its colon

	// textOf and faultAt as functions, made once instead of for the checks of every entry.
	get     func(name string) string
	faultOf func(name, what, hint string)
}

type listFault struct {
	at         listPosition
	what, hint string
}

// listPosition is where something stands in a list file. In a JSON file it is a byte offset. In a
// YAML file it is a line, shifted by 32 bits, and a column.
type listPosition int64

func newListLoader(file string, s *listSchema) *listLoader {
	l := &listLoader{
		list: &List{schema: s}, file: file,
		values: make([][]byte, len(s.fields)), places: make([]listPosition, len(s.fields)),
	}
	for _, f := range s.fields {
		l.names = append(l.names, append(jsondoc.AppendString(nil, f.name), ':'))
	}
	l.get, l.faultOf = l.textOf, l.faultAt
	return l
}

func (l *listLoader) fault(at listPosition, what, hint string) {
	if len(l.faults) == maxListFaults {
		l.unreported++
		return
	}
	l.faults = append(l.faults, listFault{at, what, hint})
}

// readJSON reads a JSON file. It renders the entries into src itself, over text that was read
// already, so that a large list needs no second buffer. A rendered entry is never longer than its
// source: it has the same members without white space, and no escape that the source could write
// shorter. Afterwards src no longer holds the file.
func (l *listLoader) readJSON(src []byte) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(src))
	if err := l.readTopLevel(dec, src); err != nil {
		what, at := "ends too early", listPosition(len(src))
		var syntax *jsontext.SyntacticError
		if errors.As(err, &syntax) {
			at = listPosition(syntax.ByteOffset)
			if cause := errors.Unwrap(syntax); cause != nil {
				what = cause.Error()
			}
		}
		l.fault(at, "not valid JSON: "+what, "")
	}
}

// readTopLevel reads the object around the entries. It returns errors of the decoder and reports
// all other faults.
func (l *listLoader) readTopLevel(dec *jsontext.Decoder, src []byte) error {
	next := func() ([]byte, listPosition, error) {
		v, err := dec.ReadValue()
		end := dec.InputOffset()
		return src[end-int64(len(v)) : end], listPosition(end - int64(len(v))), err
	}
	begin, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if begin.Kind() != '{' {
		l.fault(0, "want an object at the top", `write {"as_of": …, "`+l.list.schema.member+`": […]}`)
		return nil
	}
	var asOf, entries bool
	for dec.PeekKind() == '"' {
		quoted, at, err := next()
		if err != nil {
			return err
		}
		switch name := string(unquote(nil, quoted)); name {
		case "as_of":
			asOf = true
			value, at, err := next()
			if err != nil {
				return err
			}
			l.setAsOf(value, at)
		case l.list.schema.member:
			entries = true
			if dec.PeekKind() != '[' {
				value, at, err := next()
				if err != nil {
					return err
				}
				l.fault(at, name+": want an array, not "+kindOfJSON(value), "")
				continue
			}
			if err := l.readEntries(dec, src, next); err != nil {
				return err
			}
		default:
			l.fault(at, "unknown key "+shorten(name), didYouMean(name, []string{"as_of", l.list.schema.member}))
			if err := dec.SkipValue(); err != nil {
				return err
			}
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	l.requireTopLevelKeys(0, asOf, entries)
	if _, err := dec.ReadToken(); err != io.EOF {
		l.fault(listPosition(dec.InputOffset()), "data after the JSON value", "remove it")
	}
	return nil
}

// readEntries reads the array of entries.
func (l *listLoader) readEntries(dec *jsontext.Decoder, src []byte, next func() ([]byte, listPosition, error)) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	l.list.rendered = src[:dec.InputOffset()]
	l.list.entries = make([]listEntry, 0, len(src)/entryBytes)
	for dec.PeekKind() != ']' {
		if dec.PeekKind() != '{' {
			value, at, err := next()
			if err != nil {
				return err
			}
			l.fault(at, "want an object, not "+kindOfJSON(value), "")
			continue
		}
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
		l.beginEntry(listPosition(dec.InputOffset() - 1))
		for dec.PeekKind() == '"' {
			name, at, err := next()
			if err != nil {
				return err
			}
			name = name[1 : len(name)-1]
			value, valueAt, err := next()
			if err != nil {
				return err
			}
			l.addMember(name, at, value, valueAt)
		}
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
		l.endEntry()
	}
	_, err := dec.ReadToken()
	return err
}

// readYAML reads a YAML file. Its entries go through the same checks as those of a JSON file.
func (l *listLoader) readYAML(d *document, src []byte) {
	body := d.parse(src)
	if body == nil {
		return
	}
	at := func(p place) listPosition { return listPosition(p.line)<<32 | listPosition(p.column) }
	top, ok := d.mapping(body)
	if !ok {
		return
	}
	var asOf, entries bool
	for _, e := range top {
		switch e.key {
		case "as_of":
			asOf = true
			l.setAsOf(jsonOf(e.value), at(d.nodePlace(e.value)))
		case l.list.schema.member:
			entries = true
			if kind := kindOf(e.value); kind != kindList {
				l.fault(at(e.at), e.key+": want a list, not "+kind, "begin each element with \"- \", or write [] for none")
				continue
			}
			for _, item := range e.value.Content {
				members, ok := d.mapping(item)
				if !ok {
					continue
				}
				l.beginEntry(at(d.nodePlace(item)))
				for _, m := range members {
					l.addMember([]byte(m.key), at(m.at), jsonOf(m.value), at(d.nodePlace(m.value)))
				}
				l.endEntry()
			}
		default:
			l.fault(at(e.at), "unknown key "+shorten(e.key), didYouMean(e.key, []string{"as_of", l.list.schema.member}))
		}
	}
	l.requireTopLevelKeys(at(d.nodePlace(body)), asOf, entries)
}

// jsonOf gives a YAML scalar, or a list of scalars, as JSON text. Any other value becomes {}, which
// no field takes.
func jsonOf(node *yaml.Node) []byte {
	switch kindOf(node) {
	case kindText:
		return jsondoc.AppendString(nil, strings.TrimSpace(node.Value))
	case kindNothing:
		return []byte("null")
	case kindBoolean:
		return []byte(strings.ToLower(node.Value))
	case kindInteger, kindNumber:
		return []byte(node.Value)
	case kindList:
		list := []byte{'['}
		for i, item := range node.Content {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, jsonOf(item)...)
		}
		return append(list, ']')
	}
	return []byte("{}")
}

// kindOfJSON names the type of a JSON value in the words of a fault.
func kindOfJSON(value []byte) string {
	switch value[0] {
	case '"':
		return "a text"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

// requireTopLevelKeys reports the top-level keys that are missing.
func (l *listLoader) requireTopLevelKeys(at listPosition, asOf, entries bool) {
	if !asOf {
		l.fault(at, "lacks as_of", "add the date of the newest change: \"as_of\": \"2026-11-20\"")
	}
	if !entries {
		l.fault(at, "lacks "+l.list.schema.member, "add it; [] where there is none")
	}
}

func (l *listLoader) setAsOf(value []byte, at listPosition) {
	if value[0] != '"' || !validDate(value[1:len(value)-1]) {
		l.fault(at, "as_of: "+shorten(string(value))+" is not valid", formats["date"].want)
		return
	}
	l.list.AsOf = string(value[1 : len(value)-1])
}

func (l *listLoader) beginEntry(at listPosition) {
	l.entryAt = at
	clear(l.values)
}

// addMember takes one member of the open entry: its name without quotes and its value as JSON text.
func (l *listLoader) addMember(name []byte, at listPosition, value []byte, valueAt listPosition) {
	for i := range l.list.schema.fields {
		if l.list.schema.fields[i].name == string(name) {
			l.values[i], l.places[i] = value, valueAt
			return
		}
	}
	var known []string
	for _, f := range l.list.schema.fields {
		known = append(known, f.name)
	}
	l.fault(at, "unknown key "+shorten(string(name)), didYouMean(string(name), known))
}

// endEntry checks the open entry and renders it.
func (l *listLoader) endEntry() {
	schema, valid := l.list.schema, true
	for i := range schema.fields {
		f := &schema.fields[i]
		if l.values[i] == nil {
			if !f.optional {
				l.fault(l.entryAt, "lacks "+f.name, "add it")
				valid = false
			}
			continue
		}
		if what, hint := f.check(l.values[i], &l.scratch); what != "" {
			l.fault(l.places[i], f.name+": "+what, hint)
			valid = false
		}
	}
	if valid {
		schema.check(l.get, l.faultOf)
	}
	l.renderEntry()
}

// textOf gives the text of a field of the open entry, and "" where the field is absent or null. It
// decodes no escapes, because the fields that checks read cannot hold any.
func (l *listLoader) textOf(name string) string {
	if v := l.values[l.index(name)]; v != nil && v[0] == '"' {
		return string(v[1 : len(v)-1])
	}
	return ""
}

func (l *listLoader) faultAt(name, what, hint string) {
	l.fault(l.places[l.index(name)], name+" "+what, hint)
}

func (l *listLoader) index(name string) int {
	return slices.IndexFunc(l.list.schema.fields, func(f listField) bool { return f.name == name })
}

// renderEntry appends the open entry to the rendered text. It also renders an entry with faults,
// because the search for duplicates looks at every entry.
func (l *listLoader) renderEntry() {
	schema, entry := l.list.schema, listEntry{at: l.entryAt}
	out := append(l.scratch[:0], '{')
	for i := range schema.fields {
		value := l.values[i]
		if value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, l.names[i]...)
		start := len(out)
		switch {
		case value[0] == '"' && escaped(value):
			out = jsondoc.AppendString(out, string(unquote(nil, value)))
		case value[0] == '[':
			out = append(out, '[')
			for tag := range tagsOf(value) {
				out = append(append(out, tag...), ',')
			}
			out = append(bytes.TrimSuffix(out, []byte{','}), ']')
		default:
			out = append(out, value...)
		}
		if k := slices.Index(schema.keys, schema.fields[i].name); k >= 0 && value[0] == '"' {
			entry.keys[k] = span{uint32(start + 1), uint32(len(out) - 1)}
		}
	}
	out = append(out, '}')
	base := uint32(len(l.list.rendered))
	for k := range entry.keys {
		if entry.keys[k] != (span{}) {
			entry.keys[k].start += base
			entry.keys[k].end += base
		}
	}
	entry.start, entry.end = base, base+uint32(len(out))
	l.list.rendered = append(l.list.rendered, out...)
	l.scratch = out
	entry.group = schema.group(entry)
	l.list.entries = append(l.list.entries, entry)
}

// check says what is wrong with a value of the field, "" where nothing is. check decodes escapes
// into scratch, so that calls share one buffer.
func (f *listField) check(value []byte, scratch *[]byte) (what, hint string) {
	switch {
	case value[0] == 'n' && f.nullable:
		return "", ""
	case f.kind == number:
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || !integerPattern.Match(value) || n < 0 || n > int64(f.max) {
			return shorten(string(value)) + " is not valid", fmt.Sprintf("want an integer from 0 to %d, without quotes", f.max)
		}
		return "", ""
	case f.kind == tags:
		if value[0] != '[' {
			return "want a list, not " + kindOfJSON(value), "write [] for none"
		}
		return f.checkTags(value)
	case value[0] == 'n' && f.optional:
		return "is null", "leave it out instead"
	case value[0] == 'n':
		return "has no value", "write one"
	case value[0] != '"':
		return "want a text, not " + kindOfJSON(value), "put it in quotes"
	}
	text := value[1 : len(value)-1]
	control := bytes.IndexByte(text, 0x7f) // DEL: JSON takes no other control character without an escape
	if escaped(text) {
		*scratch = unquote((*scratch)[:0], value)
		text = *scratch
		control = slices.IndexFunc(text, func(c byte) bool {
			return c == 0x7f || c < ' ' && (f.kind != prose || c != '\t' && c != '\n' && c != '\r')
		})
	}
	if control >= 0 {
		return fmt.Sprintf("holds the control character U+%04X", text[control]), "remove it"
	}
	return f.checkText(text)
}

func (f *listField) checkText(text []byte) (what, hint string) {
	if len(bytes.TrimSpace(text)) == 0 {
		return "is blank", "write it"
	}
	if n := utf8.RuneCount(text); f.max > 0 && n > f.max {
		return fmt.Sprintf("has %d characters", n), fmt.Sprintf("at most %d", f.max)
	}
	if f.values != nil && !slices.Contains(f.values, string(text)) {
		return strconv.Quote(shorten(string(text))) + " is not valid", didYouMean(string(text), f.values)
	}
	if is, ok := formats[f.format]; ok && !is.ok(text) {
		return strconv.Quote(shorten(string(text))) + " is not valid", is.want
	}
	return "", ""
}

// checkTags takes a valid JSON array. A valid tag holds no comma and no escape, so splitting the
// array at its commas is enough to find the tags.
func (f *listField) checkTags(value []byte) (what, hint string) {
	var seen [maxTags][]byte
	n := 0
	for tag := range tagsOf(value) {
		if n == maxTags {
			return "more than " + strconv.Itoa(maxTags) + " tags", "keep those that help to find it"
		}
		name, opened := bytes.CutPrefix(tag, []byte{'"'})
		name, closed := bytes.CutSuffix(name, []byte{'"'})
		if !opened || !closed || len(name) > f.max || !validID(name) {
			return "tag " + strconv.Itoa(n+1) + " is not valid", fmt.Sprintf("at most %d characters; %s", f.max, formats["id"].want)
		}
		if slices.ContainsFunc(seen[:n], func(other []byte) bool { return bytes.Equal(other, tag) }) {
			return "the tag " + string(tag) + " stands twice", "keep one of them"
		}
		seen[n] = tag
		n++
	}
	return "", ""
}

// tagsOf gives the elements of a JSON array of tags, with their quotes.
func tagsOf(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		inside := bytes.TrimSpace(array[1 : len(array)-1])
		if len(inside) == 0 {
			return
		}
		for tag := range bytes.SplitSeq(inside, []byte{','}) {
			if !yield(bytes.TrimSpace(tag)) {
				return
			}
		}
	}
}

// finish does what needs the whole list: it compares dates with as_of, finds duplicates, sorts and
// counts. It returns the list and its faults; resolve finds the place of a position.
func (l *listLoader) finish(resolve func(listPosition) place) (*List, Faults) {
	list, schema := l.list, l.list.schema
	for i := range list.entries {
		entry := &list.entries[i]
		for _, k := range schema.dates {
			date := list.keyText(entry.keys[k])
			if date = date[:min(10, len(date))]; list.AsOf != "" && validDate(date) && string(date) > list.AsOf {
				l.fault(entry.at, schema.keys[k]+" "+string(date)+" is later than as_of",
					"as_of is the date of the newest change: raise it, or correct the date")
			}
		}
	}
	l.duplicates()
	faults := Faults{}
	for _, f := range l.faults {
		at := resolve(f.at)
		faults = append(faults, Fault{File: l.file, Line: at.line, Column: at.column, What: f.what, Hint: f.hint})
	}
	if l.unreported > 0 {
		faults = append(faults, Fault{File: l.file, last: true, What: fmt.Sprintf("and %d more faults", l.unreported)})
	}
	if len(faults) > 0 {
		return list, faults
	}
	slices.SortFunc(list.entries, func(a, b listEntry) int {
		return cmp.Or(cmp.Compare(a.group, b.group), schema.order(list, a, b))
	})
	list.Counts = schema.count(list)
	return list, nil
}

// duplicates reports every entry whose unique keys an earlier entry has. The entries are sorted by
// a hash of these keys: equal keys come together, and most comparisons need not look at the
// rendered text.
func (l *listLoader) duplicates() {
	list, schema := l.list, l.list.schema
	type hashed struct {
		hash  uint64
		index uint32
	}
	order := make([]hashed, 0, len(list.entries))
	for i := range list.entries {
		entry := &list.entries[i]
		if entry.keys[schema.unique[0]] == (span{}) {
			continue
		}
		hash := uint64(0)
		for _, k := range schema.unique {
			hash = crc64.Update(hash, crcTable, list.keyText(entry.keys[k]))
		}
		order = append(order, hashed{hash, uint32(i)})
	}
	differ := func(a, b hashed) bool {
		return slices.ContainsFunc(schema.unique, func(k int) bool {
			return !bytes.Equal(list.keyText(list.entries[a.index].keys[k]), list.keyText(list.entries[b.index].keys[k]))
		})
	}
	slices.SortFunc(order, func(a, b hashed) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.index, b.index)) })
	var names []string
	for _, k := range schema.unique {
		names = append(names, schema.keys[k])
	}
	for i := range order {
		earlier := i - 1
		for earlier >= 0 && order[earlier].hash == order[i].hash && differ(order[earlier], order[i]) {
			earlier-- // this one has other keys with the same hash
		}
		if earlier >= 0 && order[earlier].hash == order[i].hash {
			entry := &list.entries[order[i].index]
			first := shorten(string(list.keyText(entry.keys[schema.unique[0]])))
			l.fault(entry.at, "the "+strings.Join(names, " and ")+" of an earlier entry: "+first, "every entry has its own")
		}
	}
}

var crcTable = crc64.MakeTable(crc64.ECMA)
