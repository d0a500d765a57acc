package site

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxNesting is how deep flow collections, or sequences opened in one line, may nest in a YAML file.
// The parser is recursive; content needs four levels.
const maxNesting = 16

// maxLine is the longest line of a YAML file, in bytes: the lexer takes time that grows with its square.
const maxLine = 16 << 10

// document is one content file while it is checked, and what is needed to report faults in it later.
type document struct {
	file   string
	shift  int              // lines of the file before its first line: of Markdown, the front matter
	at     map[string]place // of every value, by its path: "orgs.rules", "steps[2].call"
	texts  []text           // every text of it
	faults *Faults

	decoded bool
	faulty  []place // where decoding found faults
}

// text is one text of a content file.
type text struct {
	at    place
	value string
	lines bool // value is the file's own lines from at on, so places inside it are known
}

func (d *document) report(at place, what, hint string) {
	*d.faults = append(*d.faults, Fault{File: d.file, Line: at.line, Column: at.column, What: what, Hint: hint})
}

// fault reports what is wrong with the value at a path, or with the nearest value around it.
func (d *document) fault(path, what, hint string) {
	at := d.placeOf(path)
	if _, there := d.at[path]; d.decoded && d.faulty != nil && (!there || slices.Contains(d.faulty, at)) {
		return
	}
	d.report(at, what, hint)
}

func (d *document) placeOf(path string) place {
	for {
		if at, ok := d.at[path]; ok || path == "" {
			return at
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}

// decode reads a YAML document into the struct that target points to, by its yaml tags. Every
// key is required, and every string not blank, unless its tag says omitempty; a key that the struct
// does not have is a fault; so is a negative number. The tag "is" names the format of a string.
//
// The document stays undecoded where there is nothing to decode. After it, fault leaves out what follows from a fault already found.
func (d *document) decode(src []byte, target any) {
	body := d.parse(src)
	if body == nil {
		return
	}
	first := len(*d.faults)
	d.value(body, reflect.ValueOf(target).Elem(), "", "", false)
	d.decoded = true
	for _, f := range (*d.faults)[first:] {
		d.faulty = append(d.faulty, place{f.Line, f.Column})
	}
}

// parse gives the one value of a YAML file, nil where there is none to check.
func (d *document) parse(src []byte) ast.Node {
	if !d.readable(src) {
		return nil
	}
	file, err := parseYAML(src)
	if err != nil {
		at := place{}
		what := err.Error()
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) {
			what = syntax.Message
			if p := syntax.Token.Position; p != nil {
				at = place{p.Line + d.shift, p.Column}
			}
		}
		d.report(at, "not valid YAML: "+what, "indent with spaces; quote a text that holds \": \" or begins with a special character")
		return nil
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.DirectiveType {
			bodies = append(bodies, doc.Body)
		}
	}
	switch {
	case len(bodies) == 0:
		d.report(place{}, "empty", "write it")
	case len(bodies) > 1:
		d.report(d.nodePlace(bodies[1]), "a second YAML document", "one file holds one document: remove the line ---")
	default:
		return bodies[0]
	}
	return nil
}

// readable reports what keeps a file from being read as text at all.
func (d *document) readable(src []byte) bool {
	if strings.HasPrefix(string(src[:min(3, len(src))]), "\ufeff") {
		d.report(place{1, 1}, "begins with a byte order mark", "save it as UTF-8 without one")
		return false
	}
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n == 1 {
			d.report(placeOf(src, i), "not valid UTF-8", "save the file as UTF-8")
			return false
		}
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f {
			d.report(placeOf(src, i), fmt.Sprintf("holds the control character U+%04X", r), "remove it")
			return false
		}
		i += n
	}
	return true
}

// parseYAML parses src. A panic of the parser, which content must not cause, is an error too.
func parseYAML(src []byte) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the parser gave up on it")
		}
	}()
	for line := range bytes.Lines(src) {
		if len(line) > maxLine {
			return nil, fmt.Errorf("a line of %d bytes, and at most %d are read", len(line), maxLine)
		}
	}
	tokens := lexer.Tokenize(string(src))
	depth, line, opened := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, opened = t.Position.Line, 0
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			opened++
		}
		if max(depth, opened) > maxNesting {
			return nil, &yaml.SyntaxError{Message: "nested too deep", Token: t}
		}
	}
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

func (d *document) nodePlace(n ast.Node) place {
	t := n.GetToken()
	switch n := n.(type) {
	case *ast.MappingNode:
		// The token of a block mapping is its first colon.
		if len(n.Values) > 0 && !n.IsFlowStyle {
			t = n.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		t = n.Key.GetToken()
	}
	if t == nil || t.Position == nil {
		return place{}
	}
	return place{t.Position.Line + d.shift, t.Position.Column}
}

// entry is one key of a mapping and its value.
type entry struct {
	key   string
	at    place
	value ast.Node
}

// mapping gives the entries of a mapping; false, and a fault, where node is none. Keys that are no
// plain text, or that stand twice, are faults and left out.
func (d *document) mapping(node ast.Node) (entries []entry, ok bool) {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		d.report(d.nodePlace(node), "want a mapping, not "+kindOf(node), "write key: value lines here")
		return nil, false
	}
	seen := map[string]bool{}
	for _, v := range values {
		e := entry{at: d.nodePlace(v), value: v.Value}
		switch k := v.Key.(type) {
		case *ast.StringNode:
			e.key = k.Value
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
			e.key = k.GetToken().Value
		default:
			d.report(e.at, "a key that is not plain text", "merge keys, anchors and complex keys are not used here")
			continue
		}
		if seen[e.key] {
			d.report(e.at, "the key "+e.key+" stands twice", "keep one of them")
			continue
		}
		seen[e.key] = true
		entries = append(entries, e)
	}
	return entries, true
}

func kindOf(node ast.Node) string {
	switch node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.IntegerNode:
		return "an integer"
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "a boolean"
	case *ast.NullNode, nil:
		return "nothing"
	case *ast.AliasNode, *ast.AnchorNode:
		return "an anchor or alias"
	case *ast.TagNode:
		return "a tag"
	}
	return "this"
}

// value decodes node into v. is names the format of its text; optional says that it may be blank.
func (d *document) value(node ast.Node, v reflect.Value, path, is string, optional bool) {
	at := d.nodePlace(node)
	if _, ok := d.at[path]; !ok {
		d.at[path] = at
	}
	switch v.Kind() {
	case reflect.Struct:
		entries, ok := d.mapping(node)
		if ok {
			d.structure(entries, v, path)
		}
	case reflect.Map:
		entries, ok := d.mapping(node)
		if !ok {
			return
		}
		v.Set(reflect.MakeMapWithSize(v.Type(), len(entries)))
		for _, e := range entries {
			item := reflect.New(v.Type().Elem()).Elem()
			d.value(e.value, item, join(path, e.key), is, false)
			d.at[join(path, e.key)] = e.at
			v.SetMapIndex(reflect.ValueOf(e.key), item)
		}
	case reflect.Slice:
		list, ok := node.(*ast.SequenceNode)
		if !ok {
			d.report(at, path+": want a list, not "+kindOf(node), "begin each element with \"- \", or write [] for none")
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values)))
		for i, item := range list.Values {
			d.value(item, v.Index(i), path+"["+strconv.Itoa(i)+"]", is, false)
		}
	default:
		d.at[path] = at
		d.scalar(node, v, path, is, optional)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (d *document) structure(entries []entry, v reflect.Value, path string) {
	known := keysOf(v.Type())
	for _, e := range entries {
		if !slices.Contains(known, e.key) {
			d.report(e.at, "unknown key "+e.key, nearest(e.key, known))
		}
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		key, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if key == "" || key == "-" {
			continue
		}
		optional := options == "omitempty"
		at := slices.IndexFunc(entries, func(e entry) bool { return e.key == key })
		if at < 0 {
			if !optional {
				d.fault(path, "lacks "+join(path, key), "add it")
			}
			continue
		}
		d.at[join(path, key)] = entries[at].at
		if _, null := entries[at].value.(*ast.NullNode); null && optional {
			continue
		}
		d.value(entries[at].value, v.Field(i), join(path, key), field.Tag.Get("is"), optional)
	}
}

// keysOf gives the keys of a struct type.
func keysOf(t reflect.Type) (keys []string) {
	for i := range t.NumField() {
		if key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); key != "" && key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}

var integerPattern = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

func (d *document) scalar(node ast.Node, v reflect.Value, path, is string, optional bool) {
	at := d.nodePlace(node)
	if _, null := node.(*ast.NullNode); null {
		d.fault(path, path+" has no value", "write one")
		return
	}
	switch v.Kind() {
	case reflect.String:
		s, ok := textOf(node)
		if !ok {
			hint := "write it as a text"
			switch node.(type) {
			case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
				hint = "put it in quotes"
			}
			d.report(at, path+": want a text, not "+kindOf(node), hint)
			return
		}
		s = strings.TrimSpace(s)
		v.SetString(s)
		if s == "" {
			if !optional {
				d.report(at, path+" is blank", "write it")
			}
			return
		}
		if f, ok := formats[is]; ok && !f.ok([]byte(s)) {
			d.report(at, path+": "+strconv.Quote(cut(s))+" is not valid", f.want)
			return
		}
		d.texts = append(d.texts, text{at: at, value: s})
	case reflect.Int:
		n, ok := node.(*ast.IntegerNode)
		if !ok {
			d.report(at, path+": want an integer, not "+kindOf(node), "write digits, without quotes")
			return
		}
		i, err := strconv.ParseInt(n.GetToken().Value, 10, 32)
		switch {
		case !integerPattern.MatchString(n.GetToken().Value) || err != nil:
			d.report(at, path+": "+strconv.Quote(cut(n.GetToken().Value))+" is not a plain decimal integer up to 2147483647", "write digits only")
		case i < 0:
			d.report(at, path+" is negative", "a count or a limit is 0 or more")
		default:
			v.SetInt(i)
		}
	case reflect.Bool:
		b, ok := node.(*ast.BoolNode)
		if !ok {
			d.report(at, path+": want true or false, not "+kindOf(node), "")
			return
		}
		v.SetBool(b.Value)
	}
}

func textOf(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

// cut shortens what is quoted in a fault to 64 characters.
func cut(s string) string {
	if r := []rune(s); len(r) > 64 {
		return string(r[:64]) + "…"
	}
	return s
}
