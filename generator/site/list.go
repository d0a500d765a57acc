package site

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strings"

	"anteroom/edge/jsondoc"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// List is a list that grows: jobs or audits, checked and in the order in which it is published.
type List struct {
	AsOf   string // date of the newest change the operator vouches for
	Groups []Group
	Counts map[string]int // the published totals: "open" and "completed", or "claimed" and "verified"

	kind *listKind
}

// Group are the entries of a list that are published under one name.
type Group struct {
	Name    string
	Entries []ListEntry
}

// Newest gives the n newest entries of a group, the newest first. Entries of one date stay in
// publishing order.
func (g *Group) Newest(n int) []ListEntry {
	newest := slices.Clone(g.Entries)
	slices.SortStableFunc(newest, func(a, b ListEntry) int { return cmp.Compare(b.date(), a.date()) })
	return newest[:min(n, len(newest))]
}

// ListEntry is an entry of a list, a *Job or an *Audit.
type ListEntry interface {
	group() int                                  // index of its group
	date() string                                // by which an entry is newer than another of its group
	dates() [2]string                            // what may not be later than as_of
	unique() [2]string                           // what no two entries share
	compare(other ListEntry) int                 // in publishing order, within a group
	check(fault func(member, what, hint string)) // what its members mean together
}

// listKind is what lists have besides their entries.
type listKind struct {
	file   reflect.Type // the object around the entries, without these
	entry  reflect.Type
	groups []string  // in publishing order
	dates  [2]string // names of what ListEntry.dates gives
	unique string    // name of what ListEntry.unique gives
	count  func(groups []Group) map[string]int
}

// member is the member of the object that holds the entries.
func (k *listKind) member() string { return fieldsOf(k.file)[1].key }

// Job is work for agents.
type Job struct {
	ID          string   `yaml:"id" is:"id" max:"80" doc:"Identifier of the job."`
	Title       string   `yaml:"title" is:"line" max:"140" doc:"What is to be done, in one line."`
	Description string   `yaml:"description" max:"4000" doc:"What is to be done."`
	Status      string   `yaml:"status" enum:"open,completed" doc:"Whether it is still to be done."`
	Posted      string   `yaml:"posted" is:"date" doc:"When it was posted."`
	Expires     string   `yaml:"expires,omitempty" is:"date" doc:"Until when it is open."`
	CompletedOn string   `yaml:"completed_on,omitempty" is:"date" doc:"When it was completed."`
	Reward      *int     `yaml:"reward_credit_units,omitempty" max:"1000000" doc:"What it pays, in credit units."`
	Tags        []string `yaml:"tags" is:"id" max:"40" maxItems:"16" unique:"true" doc:"Words to find it by."`
	URL         string   `yaml:"url,omitempty" is:"url" max:"2000" doc:"Where there is more about it."`
	Poster      string   `yaml:"poster" is:"line" max:"80" doc:"Who posted it, as given."`
}

var jobs = &listKind{
	file: reflect.TypeFor[struct {
		AsOf string     `yaml:"as_of" is:"date"`
		Jobs []struct{} `yaml:"jobs"`
	}](),
	entry:  reflect.TypeFor[Job](),
	groups: []string{"open", "completed"},
	dates:  [2]string{"posted", "completed_on"},
	unique: "id",
	count: func(groups []Group) map[string]int {
		return map[string]int{"open": len(groups[0].Entries), "completed": len(groups[1].Entries)}
	},
}

func (j *Job) group() int {
	if j.CompletedOn != "" {
		return 1
	}
	return 0
}

func (j *Job) date() string      { return cmp.Or(j.CompletedOn, j.Posted) }
func (j *Job) dates() [2]string  { return [2]string{j.Posted, j.CompletedOn} }
func (j *Job) unique() [2]string { return [2]string{j.ID} }

// compare puts the newest job first.
func (j *Job) compare(other ListEntry) int {
	o := other.(*Job)
	return cmp.Or(strings.Compare(o.date(), j.date()), strings.Compare(j.ID, o.ID))
}

func (j *Job) check(fault func(member, what, hint string)) {
	switch {
	case j.Status == "completed" && j.CompletedOn == "":
		fault("status", "status is completed, and completed_on is missing", "say when")
	case j.Status == "open" && j.CompletedOn != "":
		fault("completed_on", "completed_on in an open job", "remove it, or set status: completed")
	}
	if j.CompletedOn != "" && j.CompletedOn < j.Posted {
		fault("completed_on", "completed_on is earlier than posted", "")
	}
	if j.Expires != "" && j.Expires < j.Posted {
		fault("expires", "expires is earlier than posted", "")
	}
}

// Audit is an audit claimed under a registered name.
type Audit struct {
	Agent        string  `yaml:"agent_name" is:"line" max:"80" doc:"Name of the agent that claims the audit, as registered."`
	Registration string  `yaml:"registration_sha256" is:"sha256" doc:"payload_sha256 of its registration."`
	Scope        string  `yaml:"scope" max:"1000" doc:"What was audited."`
	ClaimedAt    string  `yaml:"claimed_at" is:"time" doc:"When it was claimed."`
	ReportURL    string  `yaml:"report_url" is:"url" max:"2000" doc:"Where the report is."`
	Report       string  `yaml:"report_sha256" is:"sha256" doc:"SHA-256 of the report."`
	VerifiedOn   *string `yaml:"verified_by_hand_on" is:"date" doc:"When the operator verified the claim by hand; null while nobody has."`
}

var auditors = &listKind{
	file: reflect.TypeFor[struct {
		AsOf   string     `yaml:"as_of" is:"date"`
		Ledger []struct{} `yaml:"ledger"`
	}](),
	entry:  reflect.TypeFor[Audit](),
	groups: []string{"ledger"},
	dates:  [2]string{"claimed_at", "verified_by_hand_on"},
	unique: "registration_sha256 and report_sha256",
	count: func(groups []Group) map[string]int {
		verified := 0
		for _, e := range groups[0].Entries {
			if e.(*Audit).VerifiedOn != nil {
				verified++
			}
		}
		return map[string]int{"claimed": len(groups[0].Entries), "verified": verified}
	},
}

func (*Audit) group() int          { return 0 }
func (a *Audit) date() string      { return a.ClaimedAt }
func (a *Audit) unique() [2]string { return [2]string{a.Registration, a.Report} }

func (a *Audit) dates() [2]string {
	dates := [2]string{a.ClaimedAt[:min(len(dateForm), len(a.ClaimedAt))]}
	if a.VerifiedOn != nil {
		dates[1] = *a.VerifiedOn
	}
	return dates
}

func (a *Audit) compare(other ListEntry) int {
	o := other.(*Audit)
	return cmp.Or(strings.Compare(a.Agent, o.Agent), strings.Compare(a.ClaimedAt, o.ClaimedAt),
		strings.Compare(a.Registration, o.Registration), strings.Compare(a.Report, o.Report))
}

func (a *Audit) check(fault func(member, what, hint string)) {
	if dates := a.dates(); dates[1] != "" && dates[1] < dates[0] {
		fault("verified_by_hand_on", "verified_by_hand_on is earlier than claimed_at", "")
	}
}

// Member describes one member of a list's entries in the terms of JSON Schema.
type Member struct {
	Name, Doc          string
	Type               string // the JSON type
	Optional, Nullable bool
	Format, Pattern    string // of a text, or of each text of an array; "" for none
	Values             []string
	Max                int // characters of a text, or the greatest number; 0 is without limit
	MaxItems           int // of an array
}

// inJSONSchema are the formats for which JSON Schema has a name or a pattern.
var inJSONSchema = map[string]struct{ format, pattern string }{
	"date": {format: "date"}, "time": {format: "date-time"}, "url": {format: "uri"},
	"id": {pattern: "^[a-z0-9]+(-[a-z0-9]+)*$"}, "sha256": {pattern: "^[0-9a-f]{64}$"},
}

// Members describes the members of the list's entries.
func (l *List) Members() (members []Member) {
	for _, f := range fieldsOf(l.kind.entry) {
		in := inJSONSchema[f.is]
		m := Member{
			Name: f.key, Doc: f.doc, Type: "string", Optional: f.optional, Nullable: f.kind.Kind() == reflect.Pointer && !f.optional,
			Format: in.format, Pattern: in.pattern, Values: f.values, Max: f.max, MaxItems: f.maxItems,
		}
		switch {
		case f.kind.Kind() == reflect.Slice:
			m.Type = "array"
		case f.kind == reflect.TypeFor[*int]():
			m.Type = "integer"
		}
		members = append(members, m)
	}
	return members
}

// AppendJSON appends the entries of a group as a JSON array, with their members in the order of
// their types.
func (g *Group) AppendJSON(dst []byte) []byte {
	w := jsondoc.Writer{Buf: dst}
	w.Open('[')
	for i, e := range g.Entries {
		if few := 100; i == few { // the rest will be about as long
			w.Buf = slices.Grow(w.Buf, (len(w.Buf)-len(dst))/few*(len(g.Entries)-few)*9/8)
		}
		w.Open('{')
		v := reflect.ValueOf(e).Elem()
		for _, f := range fieldsOf(v.Type()) {
			value := v.FieldByIndex(f.index)
			if f.optional && value.IsZero() {
				continue
			}
			switch of := value.Addr().Interface().(type) {
			case *string:
				w.Str(f.key, *of)
			case **string:
				if *of == nil {
					w.Raw(f.key, "null")
				} else {
					w.Str(f.key, **of)
				}
			case **int:
				w.Int(f.key, int64(**of))
			case *[]string:
				w.Begin(f.key, '[')
				for i, text := range *of {
					if i > 0 {
						w.Buf = append(w.Buf, ',')
					}
					w.Buf = jsondoc.AppendString(w.Buf, text)
				}
				w.Close(']')
			}
		}
		w.Close('}')
	}
	w.Close(']')
	return w.Buf
}

// Value is a member of an entry with its value as a text.
type Value struct{ Name, Text string }

// Values are the members that an entry has, in their order.
func Values(e ListEntry) (values []Value) {
	v := reflect.ValueOf(e).Elem()
	for _, f := range fieldsOf(v.Type()) {
		value := v.FieldByIndex(f.index)
		switch {
		case f.optional && value.IsZero():
		case value.Kind() == reflect.Slice:
			values = append(values, Value{f.key, strings.Join(value.Interface().([]string), ", ")})
		case value.Kind() == reflect.Pointer && value.IsNil():
			values = append(values, Value{f.key, "null"})
		default:
			values = append(values, Value{f.key, fmt.Sprint(reflect.Indirect(value))})
		}
	}
	return values
}

const (
	// maxListBytes is the largest size of a list file.
	maxListBytes = 1 << 30
	// maxListFaults is how many faults of one list are reported one by one.
	maxListFaults = 50
)

// listReader reads one list file. It takes the entries one by one: all at once, as nodes, they
// would need ten times the memory of the file.
type listReader struct {
	kind    *listKind
	entry   document // the entry that is being read
	entries []ListEntry
	places  []place // of the entries
	faults  Errors
}

// readList reads the list in src, the bytes of a YAML or JSON file.
func readList(file string, src []byte, kind *listKind) (*List, Errors) {
	r := &listReader{kind: kind}
	d := document{file: file, places: map[string]place{}, faults: &r.faults}
	r.entry = document{file: file, faults: &r.faults}
	var top *yaml.Node
	if path.Ext(file) == ".json" {
		top = r.readJSON(&d, src)
	} else if top = d.parse(src); top != nil {
		r.takeEntries(top)
	}
	if top == nil {
		return nil, r.located(file, src)
	}
	head := reflect.New(kind.file).Elem()
	d.decodeValue(top, head, "", rule{})
	list := &List{AsOf: head.Field(0).String(), kind: kind}
	r.checkTogether(list.AsOf)
	if len(r.faults) > 0 {
		return nil, r.located(file, src)
	}
	for _, name := range kind.groups {
		list.Groups = append(list.Groups, Group{Name: name})
	}
	for _, e := range r.entries {
		g := &list.Groups[e.group()]
		g.Entries = append(g.Entries, e)
	}
	for _, g := range list.Groups {
		slices.SortFunc(g.Entries, ListEntry.compare)
	}
	list.Counts = kind.count(list.Groups)
	return list, nil
}

// located gives the faults that are reported. In a JSON file the reader knows of each place its
// offset alone, as the column of the line 0.
func (r *listReader) located(file string, src []byte) Errors {
	more := len(r.faults) - maxListFaults
	if more > 0 {
		slices.SortStableFunc(r.faults, func(a, b Error) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
		r.faults = r.faults[:maxListFaults]
	}
	for i := range r.faults {
		if f := &r.faults[i]; path.Ext(file) == ".json" {
			at := placeOf(src, f.Column)
			f.Line, f.Column = at.line, at.column
		}
	}
	if more > 0 {
		r.faults = append(r.faults, Error{File: file, last: true, What: fmt.Sprintf("and %d more faults", more)})
	}
	return r.faults
}

// takeEntries reads the entries of a list in YAML, and leaves its object without them.
func (r *listReader) takeEntries(top *yaml.Node) {
	for pair := range slices.Chunk(top.Content, 2) {
		if len(pair) == 2 && pair[0].Value == r.kind.member() && kindOf(pair[1]) == kindList {
			for _, entry := range pair[1].Content {
				r.add(entry)
			}
			pair[1].Content = nil
		}
	}
}

// readJSON reads the entries of a list in JSON, and gives its object without them. It is nil where
// the file is not JSON.
func (r *listReader) readJSON(d *document, src []byte) *yaml.Node {
	j := jsonReader{dec: jsontext.NewDecoder(bytes.NewBuffer(src)), keys: map[string]string{}} // a buffer is read in place
	for _, f := range fieldsOf(r.kind.entry) {
		j.keys[`"`+f.key+`"`] = f.key
	}
	top, err := j.node(func(key string) func(*yaml.Node) {
		if key == r.kind.member() {
			return r.add
		}
		return nil
	})
	if err == nil {
		at := int(j.dec.InputOffset())
		if _, err = j.dec.ReadToken(); err == io.EOF {
			return top
		}
		d.report(place{0, at}, "data after the JSON value", "remove it")
		return nil
	}
	what, at := "ends too early", len(src)
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		at = int(syntax.ByteOffset)
		if cause := errors.Unwrap(syntax); cause != nil {
			what = cause.Error()
		}
	}
	d.report(place{0, at}, "not valid JSON: "+what, "")
	return nil
}

// jsonReader reads JSON as the nodes of a YAML file. The column of a node is its offset, and its
// line is 0.
type jsonReader struct {
	dec   *jsontext.Decoder
	nodes []*yaml.Node // made so far; those from used on are free
	used  int
	keys  map[string]string // usual texts by their JSON text, so that they are not copied again
}

// new gives a node for what ends at the decoder's offset and is n bytes long.
func (j *jsonReader) new(kind yaml.Kind, tag string, n int) *yaml.Node {
	if j.used == len(j.nodes) {
		j.nodes = append(j.nodes, &yaml.Node{})
	}
	node := j.nodes[j.used]
	j.used++
	*node = yaml.Node{Kind: kind, Tag: tag, Column: int(j.dec.InputOffset()) - n, Content: node.Content[:0]}
	return node
}

// node reads a value. each, which may be nil, gives for a member of an object what takes the
// elements of its array one by one. These are not kept.
func (j *jsonReader) node(each func(key string) func(*yaml.Node)) (*yaml.Node, error) {
	kind := j.dec.PeekKind()
	if kind != '{' && kind != '[' {
		return j.scalar()
	}
	if _, err := j.dec.ReadToken(); err != nil {
		return nil, err
	}
	n := j.new(yaml.SequenceNode, "!!seq", 1)
	if kind == '{' {
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
	}
	for j.dec.PeekKind() != kind+2 { // } is two behind {, and ] behind [
		child, err := j.node(nil)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, child)
		if each == nil || len(n.Content)%2 == 0 || j.dec.PeekKind() != '[' {
			continue
		}
		if take := each(child.Value); take != nil {
			if err := j.elements(n, take); err != nil {
				return nil, err
			}
		}
	}
	_, err := j.dec.ReadToken()
	return n, err
}

// elements reads an array and hands on its elements. An empty one becomes a value of object.
func (j *jsonReader) elements(object *yaml.Node, take func(*yaml.Node)) error {
	if _, err := j.dec.ReadToken(); err != nil {
		return err
	}
	object.Content = append(object.Content, j.new(yaml.SequenceNode, "!!seq", 1))
	for free := j.used; j.dec.PeekKind() != ']'; j.used = free {
		element, err := j.node(nil)
		if err != nil {
			return err
		}
		take(element)
	}
	_, err := j.dec.ReadToken()
	return err
}

// scalar reads a text, a number, a boolean or null.
func (j *jsonReader) scalar() (*yaml.Node, error) {
	value, err := j.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	n := j.new(yaml.ScalarNode, "!!int", len(value))
	switch value[0] {
	case '"':
		n.Tag = "!!str"
		if n.Value = j.keys[string(value)]; n.Value != "" {
			return n, nil
		}
		if bytes.IndexByte(value, '\\') < 0 {
			n.Value = string(value[1 : len(value)-1])
			return n, nil
		}
		value, err = jsontext.AppendUnquote(nil, value)
	case 'n':
		n.Tag = "!!null"
	case 't', 'f':
		n.Tag = "!!bool"
	default:
		if bytes.IndexByte(value, '.') >= 0 {
			n.Tag = "!!float"
		}
	}
	n.Value = string(value)
	return n, err
}

// add decodes and checks one entry. Where it has a fault, add decodes it again to find the places.
func (r *listReader) add(node *yaml.Node) {
	before := len(r.faults)
	entry := r.decode(node, nil)
	if len(r.faults) > before {
		r.faults = r.faults[:before]
		r.decode(node, map[string]place{})
	}
	r.entries, r.places = append(r.entries, entry), append(r.places, r.entry.nodePlace(node))
}

func (r *listReader) decode(node *yaml.Node, places map[string]place) ListEntry {
	before := len(r.faults)
	r.entry.places, r.entry.texts = places, r.entry.texts[:0]
	v := reflect.New(r.kind.entry)
	r.entry.decodeValue(node, v.Elem(), "", rule{})
	entry := v.Interface().(ListEntry)
	if len(r.faults) == before {
		entry.check(r.entry.fault)
	}
	return entry
}

// checkTogether compares the dates of the entries with as_of, and finds entries that are there
// twice.
func (r *listReader) checkTogether(asOf string) {
	seen := make(map[[2]string]bool, len(r.entries))
	for i, e := range r.entries {
		report := func(what, hint string) { r.entry.report(r.places[i], what, hint) }
		for n, date := range e.dates() {
			if asOf != "" && date > asOf && validDate(date) {
				report(r.kind.dates[n]+" "+date+" is later than as_of", "as_of is the date of the newest change: raise it, or correct the date")
			}
		}
		key := e.unique()
		if key[0] != "" && seen[key] {
			report("the "+r.kind.unique+" of an earlier entry: "+shorten(key[0]), "every entry has its own")
		}
		seen[key] = true
	}
}
