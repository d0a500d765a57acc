package site

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"anteroom/generator/tlog"

	"go.yaml.in/yaml/v4"
)

// RotateKey gives the text of service.yaml with another current receipt key, from a date on. The
// key that was current before is retired on that date and stands last among the retired ones. Every
// other line of the text stays as it is.
//
// RotateKey edits receipt_keys in the layout in which anteroom ships it: a key and its value in one
// line each, the retired keys as a list with a dash before each. Of any other layout, of a text
// with faults, and of a key that is listed already it returns an error.
func RotateKey(service []byte, publicKey, date string) ([]byte, error) {
	old, faults := decodeService(service)
	if faults != nil {
		return nil, faults
	}
	want := old
	keys := &want.ReceiptKeys
	if former := keys.Current; former != "" {
		keys.Retired = append(slices.Clone(keys.Retired), RetiredKey{PublicKey: former, CurrentFrom: keys.CurrentFrom, RetiredOn: date})
	}
	keys.Current, keys.CurrentFrom = publicKey, date

	e := &lineEditor{lines: slices.Collect(strings.Lines(string(service)))}
	if e.rotate(service, &old.ReceiptKeys, keys) {
		text := []byte(strings.Join(e.lines, ""))
		if got, faults := decodeService(text); faults == nil && reflect.DeepEqual(got, want) {
			return text, nil
		}
	}
	return nil, errors.New("receipt_keys of service.yaml is not laid out as anteroom ships it, or lists this key " +
		"(write current, current_from and retired in a line of their own each, and the retired keys as a list with dashes)")
}

// RotateLogKey gives the text of service.yaml with one more key of the log, which stands last.
// Every other line of the text stays as it is. Where there is no log yet it begins one.
//
// RotateLogKey edits log.keys in the layout in which anteroom ships it: a list with a dash before
// each key, or an empty one in one line. Of any other layout, of a text with faults, and of a key
// whose name is listed already it returns an error.
func RotateLogKey(service []byte, key string) ([]byte, error) {
	old, faults := decodeService(service)
	if faults != nil {
		return nil, faults
	}
	want := old
	want.Log.Keys = append(slices.Clone(old.Log.Keys), key)
	if want.Log.Witnesses == nil {
		want.Log.Witnesses = []tlog.Witness{} // as an empty list is read
	}

	e := &lineEditor{lines: slices.Collect(strings.Lines(string(service)))}
	if e.addLogKey(service, key) {
		text := []byte(strings.Join(e.lines, ""))
		if got, faults := decodeService(text); faults == nil && reflect.DeepEqual(got, want) {
			return text, nil
		}
	}
	return nil, errors.New("log of service.yaml is not laid out as anteroom ships it, or lists a key of this name " +
		"(write keys in a line of its own, and the keys as a list with dashes)")
}

// addLogKey writes a key behind those of the log.
func (e *lineEditor) addLogKey(text []byte, key string) bool {
	docs, err := parseYAML(text)
	if err != nil || len(docs) != 1 {
		return false
	}
	item := "- " + inQuotes(key)
	name, log := find(docs[0].Content[0], "log")
	if name == nil {
		return e.insertLines(len(e.lines), "", "log:", "  keys:", "    "+item, "  witnesses: []")
	}
	keys, list := find(log, "keys")
	if keys == nil {
		return keyLine.MatchString(e.lines[name.Line-1]) && e.insertLines(name.Line, "  keys:", "    "+item, "  witnesses: []")
	}
	if n := len(list.Content); n > 0 {
		last := list.Content[n-1].Line
		dash := dashLine.FindStringSubmatch(e.lines[last-1])
		return dash != nil && e.insertLines(last, dash[1]+item)
	}
	parts := emptyList.FindStringSubmatch(e.lines[keys.Line-1])
	if parts == nil {
		return false
	}
	e.lines[keys.Line-1] = parts[1] + parts[2]
	return e.insertLines(keys.Line, strings.Repeat(" ", keys.Column+1)+item)
}

// insertLines inserts lines behind a line, which end as that does.
func (e *lineEditor) insertLines(line int, lines ...string) bool {
	end := lineBreak(e.lines[line-1])
	e.insert(line, strings.Join(lines, end)+end)
	return true
}

// decodeService decodes and checks service.yaml alone.
func decodeService(text []byte) (s Service, err error) {
	d := &document{file: "service.yaml", places: map[string]place{}, faults: &Faults{}}
	d.decode(text, &s)
	checkService(d, &s)
	return s, d.faults.err()
}

// lineEditor edits a YAML text line by line.
type lineEditor struct{ lines []string }

// rotate writes the keys of after, and puts the last of its retired ones behind those of before.
func (e *lineEditor) rotate(text []byte, before, after *ReceiptKeys) bool {
	docs, err := parseYAML(text)
	if err != nil || len(docs) != 1 {
		return false
	}
	_, keys := find(docs[0].Content[0], "receipt_keys")
	if keys == nil {
		return false
	}
	// From the end to the beginning, so that the numbers of the lines before stay right.
	current, _ := find(keys, "current")
	from, _ := find(keys, "current_from")
	retired, list := find(keys, "retired")
	if current == nil || retired == nil {
		return false
	}
	edits := []lineEdit{
		{current.Line, func() bool { return e.setValue(current.Line, after.Current) }},
		{retired.Line, func() bool { return len(after.Retired) == len(before.Retired) || e.appendKey(retired, list, after) }},
	}
	if from != nil {
		edits = append(edits, lineEdit{from.Line, func() bool { return e.setValue(from.Line, after.CurrentFrom) }})
	} else {
		edits[0].make = func() bool {
			line := e.lines[current.Line-1]
			e.insert(current.Line, line[:current.Column-1]+"current_from: "+inQuotes(after.CurrentFrom)+lineBreak(line))
			return e.setValue(current.Line, after.Current)
		}
	}
	slices.SortFunc(edits, func(a, b lineEdit) int { return b.line - a.line })
	for _, edit := range edits {
		if !edit.make() {
			return false
		}
	}
	return true
}

// lineEdit is an edit that begins in a line, counted from 1.
type lineEdit struct {
	line int
	make func() bool
}

// find gives the node of a key in a mapping and that of its value; nil where there is none.
func find(mapping *yaml.Node, key string) (name, value *yaml.Node) {
	for pair := range slices.Chunk(mapping.Content, 2) {
		if mapping.Kind == yaml.MappingNode && pair[0].Value == key {
			return pair[0], pair[1]
		}
	}
	return nil, nil
}

var (
	// keyLine is a key, its value and what stands behind. No value of receipt_keys holds any of the
	// characters that are left out.
	keyLine   = regexp.MustCompile(`^([ \t]*[a-z_]+:)[ \t]*("[^"\\]*"|'[^']*'|[^ \t\r\n#"'{}\[\],&*!|>-][^ \t\r\n#]*)?([ \t]*(?:[ \t]#.*)?\r?\n?)$`)
	emptyList = regexp.MustCompile(`^([ \t]*[a-z_]+:)[ \t]*\[[ \t]*\]([ \t]*(?:[ \t]#.*)?\r?\n?)$`)
	dashLine  = regexp.MustCompile(`^( *)- `)
)

// setValue replaces the value of the key in a line.
func (e *lineEditor) setValue(line int, value string) bool {
	parts := keyLine.FindStringSubmatch(e.lines[line-1])
	if parts == nil {
		return false
	}
	e.lines[line-1] = parts[1] + " " + inQuotes(value) + parts[3]
	return true
}

// appendKey adds the last retired key of keys to the list of them in the text.
func (e *lineEditor) appendKey(name, list *yaml.Node, keys *ReceiptKeys) bool {
	at, indent := name.Line, strings.Repeat(" ", name.Column+1)
	if len(list.Content) == 0 {
		parts := emptyList.FindStringSubmatch(e.lines[at-1])
		if parts == nil {
			return false
		}
		e.lines[at-1] = parts[1] + parts[2]
	} else {
		dash := dashLine.FindStringSubmatch(e.lines[list.Content[0].Line-1])
		if dash == nil {
			return false
		}
		indent = dash[1]
		for _, member := range list.Content[len(list.Content)-1].Content {
			at = max(at, member.Line)
		}
	}
	key, end := keys.Retired[len(keys.Retired)-1], lineBreak(e.lines[at-1])
	added := indent + "- public_key: " + inQuotes(key.PublicKey) + end
	if key.CurrentFrom != "" {
		added += indent + "  current_from: " + inQuotes(key.CurrentFrom) + end
	}
	e.insert(at, added+indent+"  retired_on: "+inQuotes(key.RetiredOn)+end)
	return true
}

// insert inserts lines behind a line, which then ends with a line break.
func (e *lineEditor) insert(line int, text string) {
	if last := &e.lines[line-1]; !strings.HasSuffix(*last, "\n") {
		*last += "\n"
	}
	e.lines = slices.Insert(e.lines, line, text)
}

// lineBreak is what ends a line; LF for the last line of a text without one.
func lineBreak(line string) string {
	if strings.HasSuffix(line, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// inQuotes is a value as a YAML text. No key and no date needs an escape.
func inQuotes(s string) string { return `"` + s + `"` }
