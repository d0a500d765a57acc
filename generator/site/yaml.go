package site

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"anteroom/edge/quote"

	"go.yaml.in/yaml/v4"
)

type document struct {
	file   string
	sum    [sha256.Size]byte
	places map[string]place // of every value, by its path: "orgs.rules", "steps[2].call"
	texts  []text
	faults Errors

	decoded      bool
	faultyPlaces []place
}

func newDocument(file string) *document {
	return &document{file: file, places: map[string]place{}}
}

type text struct {
	at      place
	value   string
	visible string // of Markdown, whose lines are the file's: value with spaces for code
}

func (t *text) place(offset int) place {
	if t.visible == "" {
		return t.at
	}
	at := placeOf([]byte(t.value[:offset]), offset)
	at.Line += t.at.Line - 1
	return at
}

func (d *document) report(at place, what, hint string) {
	d.faults = append(d.faults, Error{d.file, at, what, hint})
}

// fault reports a fault of the value at a path, or of the nearest value around it. It skips what
// follows from a fault that decoding found.
func (d *document) fault(path, what, hint string) {
	at := d.placeOf(path)
	if _, there := d.places[path]; d.decoded && d.faultyPlaces != nil && (!there || slices.Contains(d.faultyPlaces, at)) {
		return
	}
	d.report(at, what, hint)
}

// want reports a fault unless good. If what begins with a space, the path comes before it.
func (d *document) want(good bool, path, what, hint string) {
	if strings.HasPrefix(what, " ") {
		what = path + what
	}
	if !good {
		d.fault(path, what, hint)
	}
}

func (d *document) placeOf(path string) place {
	for {
		if at, ok := d.places[path]; ok || path == "" {
			return at
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}

// decode reads a YAML document into the struct that target points to. Every key is required and no
// string may be blank, unless the tag has omitempty. Unknown keys and negative numbers are faults.
// The tag "is" names the format of a string. Without a value, the document stays undecoded.
func (d *document) decode(src []byte, target any) {
	if body := d.parse(src); body != nil {
		d.decodeNode(body, target)
	}
}

func (d *document) decodeNode(body *yaml.Node, target any) {
	first := len(d.faults)
	d.decodeValue(body, reflect.ValueOf(target).Elem(), "", &member{})
	d.decoded = true
	for _, f := range d.faults[first:] {
		d.faultyPlaces = append(d.faultyPlaces, f.place)
	}
}

const Empty = "empty"

// Decode reads a YAML text that is not content, by the rules of content, into the struct that
// target points to. The error is Errors. placeOf returns the line and the column of the value at a
// path, or of the nearest value around it, or 0 if that is the whole text.
func Decode(file string, src []byte, target any) (placeOf func(path string) (line, column int), err error) {
	d := newDocument(file)
	d.decode(src, target)
	delete(d.places, "")
	return func(path string) (line, column int) {
		at := d.placeOf(path)
		return at.Line, at.Column
	}, d.faults.err()
}

func (d *document) parse(src []byte) *yaml.Node {
	if !d.readable(src) {
		return nil
	}
	var docs []yaml.Node
	if err := yaml.Load(src, &docs, yaml.WithAllDocuments()); err != nil {
		at, what := place{}, err.Error()
		var syntax *yaml.LoadError
		if errors.As(err, &syntax) {
			mark, context := syntax.Mark, syntax.ContextMark
			// An error in a construct left open, or without its colon, is corrected where it begins.
			if context.Line > 0 && (mark.Index == utf8.RuneCount(src) || syntax.ContextMsg == "while scanning a simple key" ||
				strings.HasPrefix(syntax.ContextMsg, "while parsing a flow") && mark.Line > context.Line) {
				mark = context
			}
			at, what = place{mark.Line, mark.Column}, syntax.Message
		}
		d.report(at, "not valid YAML: "+what,
			"indent with spaces; quote a string that holds \": \" or begins with a special character")
		return nil
	}
	docs = slices.DeleteFunc(docs, func(doc yaml.Node) bool {
		return doc.Content[0].Value == "" && kindOf(doc.Content[0]) == kindNothing
	})
	switch {
	case len(docs) == 0:
		d.report(place{}, Empty, "write it")
	case len(docs) > 1:
		d.report(nodePlace(docs[1].Content[0]), "a second YAML document", "one file holds one document: remove the line ---")
	default:
		return docs[0].Content[0]
	}
	return nil
}

func (d *document) readable(src []byte) bool {
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			d.report(placeOf(src, i), "not valid UTF-8", "save the file as UTF-8")
			return false
		case isControl(r) || strings.ContainsRune("\u0085\u2028\u2029\ufeff\ufffe\uffff", r):
			// YAML 1.1 ends lines at three of these.
			d.report(placeOf(src, i), fmt.Sprintf("contains the control character U+%04X", r), "remove it")
			return false
		}
		i += n
	}
	return true
}

func isControl(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f }

func nodePlace(n *yaml.Node) place { return place{n.Line, n.Column} }

type entry struct {
	key   string
	at    place
	value *yaml.Node
}

func (d *document) mapping(node *yaml.Node) []entry {
	entries := make([]entry, 0, len(node.Content)/2)
	for pair := range slices.Chunk(node.Content, 2) {
		e := entry{key: pair[0].Value, at: nodePlace(pair[0]), value: pair[1]}
		switch kindOf(pair[0]) {
		case kindText, kindInteger, kindNumber, kindBoolean:
			if slices.ContainsFunc(entries, func(earlier entry) bool { return earlier.key == e.key }) {
				d.report(e.at, "duplicate key "+e.key, "keep one of them")
			} else {
				entries = append(entries, e)
			}
		default:
			d.report(e.at, "a key that is not plain text", "merge keys, anchors and complex keys are not used here")
		}
	}
	return entries
}

const (
	kindMapping = "a mapping"
	kindList    = "a list"
	kindText    = "a string"
	kindInteger = "an integer"
	kindNumber  = "a number"
	kindBoolean = "a boolean"
	kindNothing = "nothing"
)

// kindOf returns a plain date as a string, and a number with an exponent but no point: 12e3 may be
// an identifier.
func kindOf(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		return "an anchor or alias"
	case node.Style&yaml.TaggedStyle != 0:
		return "a tag"
	}
	switch node.Tag {
	case "!!map":
		return kindMapping
	case "!!seq":
		return kindList
	case "!!str", "!!timestamp":
		return kindText
	case "!!int":
		return kindInteger
	case "!!float":
		if strings.Contains(node.Value, ".") {
			return kindNumber
		}
		return kindText
	case "!!bool":
		return kindBoolean
	case "!!null":
		return kindNothing
	case "!!merge":
		return "a merge key"
	}
	return "a tag"
}

type member struct {
	name               string
	optional, nullable bool // may be absent or blank; may be null
	blank              bool
	is                 string // format of a string, or of each string of a list: a key of formats; "" for none
	format             format
	values             []string
	min, max           int // of a number, or characters of a string; max 0: no limit
	minItems, maxItems int // of a list; maxItems 0: no limit
	unique             bool
	index              []int
}

var membersByType sync.Map

// membersOf returns the fields of a struct, embedded ones included. The key is in the tag yaml, or,
// with the tag is, in the tag json.
func membersOf(t reflect.Type) []member {
	if known, ok := membersByType.Load(t); ok {
		return known.([]member)
	}
	var members []member
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag
		named := tag.Get("yaml")
		if named == "" && tag.Get("is") != "" {
			named = tag.Get("json")
		}
		key, options, _ := strings.Cut(named, ",")
		if key == "" || key == "-" {
			continue
		}
		optional := options == "omitempty" || tag.Get("optional") == "true"
		m := member{
			name: key, optional: optional, nullable: f.Type.Kind() == reflect.Pointer && !optional,
			is: tag.Get("is"), format: formats[tag.Get("is")],
			unique: tag.Get("unique") == "true", blank: tag.Get("blank") == "true", index: f.Index,
		}
		for name, limit := range map[string]*int{
			"min": &m.min, "max": &m.max, "minItems": &m.minItems, "maxItems": &m.maxItems,
		} {
			*limit, _ = strconv.Atoi(tag.Get(name))
		}
		if enum := tag.Get("enum"); enum != "" {
			m.values = strings.Split(enum, ",")
		}
		members = append(members, m)
	}
	membersByType.Store(t, members)
	return members
}

var wanted = map[reflect.Kind]struct{ kind, hint string }{
	reflect.Struct:    {kindMapping, "write key: value lines here"},
	reflect.Map:       {kindMapping, "write key: value lines here"},
	reflect.Slice:     {kindList, "begin each element with \"- \", or write [] for none"},
	reflect.String:    {kindText, "write it as a string"},
	reflect.Int:       {kindInteger, "write digits, without quotes"},
	reflect.Bool:      {kindBoolean, "write true or false"},
	reflect.Interface: {"a string, an integer, a list or a mapping", "write one of them"},
}

var loose = map[string]reflect.Type{
	kindMapping: reflect.TypeFor[map[string]any](), kindList: reflect.TypeFor[[]any](),
	kindText: reflect.TypeFor[string](), kindInteger: reflect.TypeFor[int](), kindBoolean: reflect.TypeFor[bool](),
}

func (d *document) decodeValue(node *yaml.Node, v reflect.Value, path string, m *member) {
	kind := kindOf(node)
	if t := loose[kind]; t != nil && v.Kind() == reflect.Interface {
		value := reflect.New(t).Elem()
		d.decodeValue(node, value, path, &member{optional: true})
		v.Set(value)
		return
	}
	if v.Kind() == reflect.Pointer && kind != kindNothing { // otherwise it stays nil
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	at, want := nodePlace(node), wanted[v.Kind()]
	inside := want.kind == kindMapping || want.kind == kindList
	if _, ok := d.places[path]; !ok || !inside {
		d.places[path] = at
	}
	switch {
	case kind == want.kind || v.Kind() == reflect.Pointer:
	case kind == kindNothing && !inside:
		d.report(at, path+" has no value", "write one")
		return
	default:
		if want.kind == kindText && slices.Contains([]string{kindInteger, kindNumber, kindBoolean}, kind) {
			want.hint = "put it in quotes"
		}
		d.report(at, strings.TrimPrefix(path+": ", ": ")+"want "+want.kind+", got "+kind, want.hint)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.decodeStruct(d.mapping(node), v, path)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, e := range d.mapping(node) {
			item := reflect.New(v.Type().Elem()).Elem()
			d.decodeValue(e.value, item, join(path, e.key), &member{is: m.is, format: m.format, blank: m.blank})
			d.places[join(path, e.key)] = e.at
			v.SetMapIndex(reflect.ValueOf(e.key), item)
		}
	case reflect.Slice:
		n := len(node.Content)
		if m.maxItems > 0 && n > m.maxItems {
			d.report(at, fmt.Sprintf("%s: has %d elements", path, n), fmt.Sprintf("at most %d", m.maxItems))
			return
		}
		if n < m.minItems {
			d.report(at, path+" is empty", "write one")
		}
		element := *m
		element.optional = false
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i, item := range node.Content {
			d.decodeValue(item, v.Index(i), path+"["+strconv.Itoa(i)+"]", &element)
			if m.unique && slices.ContainsFunc(node.Content[:i],
				func(earlier *yaml.Node) bool { return earlier.Value == item.Value }) {
				d.report(nodePlace(item), shorten(item.Value)+" is listed twice", "keep one of them")
			}
		}
	case reflect.String:
		s := strings.TrimSpace(node.Value)
		v.SetString(s)
		if what, hint := m.checkText(s); what != "" {
			d.report(at, path+what, hint)
			return
		}
		d.texts = append(d.texts, text{at: at, value: s})
	case reflect.Int:
		i, err := strconv.ParseInt(node.Value, 10, 32)
		switch {
		case err != nil || strconv.FormatInt(i, 10) != node.Value:
			what := strconv.Quote(shorten(node.Value)) + " is not a plain decimal integer up to 2147483647"
			d.report(at, path+": "+what, "write digits only")
		case i < int64(m.min):
			d.report(at, fmt.Sprintf("%s is %d", path, i), fmt.Sprintf("want %d or more", m.min))
		case m.max > 0 && i > int64(m.max):
			d.report(at, fmt.Sprintf("%s is %d", path, i), fmt.Sprintf("at most %d", m.max))
		default:
			v.SetInt(i)
		}
	case reflect.Bool:
		v.SetBool(strings.EqualFold(node.Value, "true"))
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

var gone = map[string]string{
	"service.yaml relay.remind_after_days": "remove the line; anteroom inbox shows how long records have waited",
}

func (d *document) decodeStruct(entries []entry, v reflect.Value, path string) {
	members := membersOf(v.Type())
	found := make([]*entry, len(members))
	var known, misspelled []string
	for i := range members {
		known = append(known, members[i].name)
	}
	for i := range entries {
		e := &entries[i]
		if at := slices.Index(known, e.key); at >= 0 {
			found[at] = e
			continue
		}
		if hint := gone[d.file+" "+join(path, e.key)]; hint != "" {
			d.report(e.at, join(path, e.key)+" is no longer used", hint)
			continue
		}
		misspelled = append(misspelled, closest(e.key, known))
		d.report(e.at, "unknown key "+shorten(e.key), didYouMean(e.key, known))
	}
	for i := range members {
		m, e := &members[i], found[i]
		switch {
		case e != nil:
			d.places[join(path, m.name)] = e.at
			if !m.optional || kindOf(e.value) != kindNothing {
				d.decodeValue(e.value, v.FieldByIndex(m.index), join(path, m.name), m)
			}
		case !m.optional && !slices.Contains(misspelled, m.name):
			d.fault(path, join(path, m.name)+" is missing", "add it")
		}
	}
}

func (m *member) checkText(s string) (what, hint string) {
	switch {
	case s == "" && (m.optional || m.blank):
		return "", ""
	case quote.Blank(s):
		return " is blank", "write it"
	}
	if i := strings.IndexFunc(s, isControl); i >= 0 {
		return fmt.Sprintf(" contains the control character U+%04X", s[i]), "remove it"
	}
	if n := utf8.RuneCountInString(s); m.max > 0 && n > m.max {
		return fmt.Sprintf(" has %d characters", n), fmt.Sprintf("at most %d", m.max)
	}
	if m.values != nil && !slices.Contains(m.values, s) {
		return ": " + strconv.Quote(shorten(s)) + " is not valid", didYouMean(s, m.values)
	}
	if m.format.ok != nil && !m.format.ok(s) {
		value := strconv.Quote(shorten(s))
		if m.is == publicKey {
			value = "this " + m.is
		}
		return ": " + value + " is not valid", m.format.want
	}
	return "", ""
}

func shorten(s string) string {
	if r := []rune(s); len(r) > 64 {
		return string(r[:64]) + "…"
	}
	return s
}
