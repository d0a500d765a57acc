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

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// List is a list that grows: jobs or audits, checked and in the order in which it is published.
type List struct {
	AsOf   string // date of the newest change the operator vouches for
	Groups []Group
	Size   int            // of its file, in bytes
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
	totals() []string                            // which Counts it is in
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
	totals []string  // names of all that ListEntry.totals gives
	dates  [2]string // names of what ListEntry.dates gives
	unique string    // name of what ListEntry.unique gives
}

func (k *listKind) member() string { return membersOf(k.file)[1].name }

// Job is work for agents.
type Job struct {
	ID          string   `json:"id" is:"id" max:"80" doc:"Identifier of the job."`
	Title       string   `json:"title" is:"line" max:"140" doc:"What is to be done, in one line."`
	Description string   `json:"description" is:"text" max:"4000" doc:"What is to be done."`
	Status      string   `json:"status" is:"text" enum:"open,completed" doc:"Whether it is still to be done."`
	Posted      string   `json:"posted" is:"date" doc:"When it was posted."`
	Expires     string   `json:"expires,omitempty" is:"date" doc:"Until when it is open."`
	CompletedOn string   `json:"completed_on,omitempty" is:"date" doc:"When it was completed."`
	Reward      *int     `json:"reward_credit_units,omitempty" is:"count" max:"1000000" doc:"What it pays, in credit units."`
	Tags        []string `json:"tags" is:"id" max:"40" maxItems:"16" unique:"true" doc:"Words to find it by."`
	URL         string   `json:"url,omitempty" is:"url" max:"2000" doc:"Where there is more about it."`
	Poster      string   `json:"poster" is:"line" max:"80" doc:"Who posted it, as given."`
}

var jobs = &listKind{
	file: reflect.TypeFor[struct {
		AsOf string     `yaml:"as_of" is:"date"`
		Jobs []struct{} `yaml:"jobs"`
	}](),
	entry:  reflect.TypeFor[Job](),
	groups: []string{"open", "completed"},
	totals: []string{"open", "completed"},
	dates:  [2]string{"posted", "completed_on"},
	unique: "id",
}

func (j *Job) group() int        { return slices.Index(jobs.groups, j.Status) }
func (j *Job) totals() []string  { return []string{j.Status} }
func (j *Job) date() string      { return cmp.Or(j.CompletedOn, j.Posted) }
func (j *Job) dates() [2]string  { return [2]string{j.Posted, j.CompletedOn} }
func (j *Job) unique() [2]string { return [2]string{j.ID} }

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
	Agent        string  `json:"agent_name" is:"line" max:"80" doc:"Name of the agent that claims the audit, as registered."`
	Registration string  `json:"registration_sha256" is:"sha256" doc:"payload_sha256 of its registration."`
	Scope        string  `json:"scope" is:"text" max:"1000" doc:"What was audited."`
	ClaimedAt    string  `json:"claimed_at" is:"time" doc:"When it was claimed."`
	ReportURL    string  `json:"report_url" is:"url" max:"2000" doc:"Where the report is."`
	Report       string  `json:"report_sha256" is:"sha256" doc:"SHA-256 of the report."`
	VerifiedOn   *string `json:"verified_by_hand_on" is:"date" doc:"When the operator verified the claim by hand; null while nobody has."`
}

var auditors = &listKind{
	file: reflect.TypeFor[struct {
		AsOf   string     `yaml:"as_of" is:"date"`
		Ledger []struct{} `yaml:"ledger"`
	}](),
	entry:  reflect.TypeFor[Audit](),
	groups: []string{"ledger"},
	totals: []string{"claimed", "verified"},
	dates:  [2]string{"claimed_at", "verified_by_hand_on"},
	unique: "registration_sha256 and report_sha256",
}

func (*Audit) group() int          { return 0 }
func (a *Audit) date() string      { return a.ClaimedAt }
func (a *Audit) unique() [2]string { return [2]string{a.Registration, a.Report} }

func (a *Audit) totals() []string {
	if a.VerifiedOn == nil {
		return auditors.totals[:1]
	}
	return auditors.totals
}

func (a *Audit) dates() [2]string {
	dates := [2]string{a.ClaimedAt[:min(len(dateForm), len(a.ClaimedAt))]}
	if a.VerifiedOn != nil {
		dates[1] = *a.VerifiedOn
	}
	return dates
}

func (a *Audit) compare(other ListEntry) int {
	o := other.(*Audit)
	if a.Agent != o.Agent { // of most two
		return strings.Compare(a.Agent, o.Agent)
	}
	return cmp.Or(strings.Compare(a.ClaimedAt, o.ClaimedAt),
		strings.Compare(a.Registration, o.Registration), strings.Compare(a.Report, o.Report))
}

func (a *Audit) check(fault func(member, what, hint string)) {
	if dates := a.dates(); dates[1] != "" && dates[1] < dates[0] {
		fault("verified_by_hand_on", "verified_by_hand_on is earlier than claimed_at", "")
	}
}

// EntryType is the type of the list's entries.
func (l *List) EntryType() reflect.Type { return l.kind.entry }

// AppendJSON appends the entries of a group as a JSON array, with their members in the order of
// their types.
func (g *Group) AppendJSON(dst []byte) []byte {
	b := bytes.NewBuffer(dst)
	if err := json.MarshalWrite(b, g.Entries); err != nil {
		panic(err) // entries are texts and numbers, which do not fail
	}
	return b.Bytes()
}

// Value is a member of an entry with its value as a text.
type Value struct{ Name, Text string }

// Values are the members that an entry has, in their order.
func Values(e ListEntry) (values []Value) {
	v := reflect.ValueOf(e).Elem()
	for _, m := range membersOf(v.Type()) {
		switch value := v.FieldByIndex(m.index); {
		case m.optional && value.IsZero():
		case value.Kind() == reflect.Slice:
			values = append(values, Value{m.name, strings.Join(value.Interface().([]string), ", ")})
		case m.nullable && value.IsNil():
			values = append(values, Value{m.name, "null"})
		default:
			values = append(values, Value{m.name, fmt.Sprint(reflect.Indirect(value))})
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
	file    string
	kind    *listKind
	entries []ListEntry
	places  []place // of the entries
	faults  Errors  // of the entries
}

// readList reads the list in src, the bytes of a YAML or JSON file.
func readList(file string, src []byte, kind *listKind) (*List, Errors) {
	r := &listReader{file: file, kind: kind}
	d := newDocument(file)
	var top *yaml.Node
	if path.Ext(file) == ".json" {
		top = r.readJSON(d, src)
	} else if top = d.parse(src); top != nil {
		r.takeEntries(top)
	}
	list := &List{Size: len(src), Counts: map[string]int{}, kind: kind}
	if top != nil {
		head := reflect.New(kind.file).Elem()
		d.decodeValue(top, head, "", &member{})
		list.AsOf = head.Field(0).String()
		r.checkTogether(list.AsOf)
	}
	if r.faults = append(r.faults, d.faults...); len(r.faults) > 0 {
		return nil, r.located(src)
	}
	for _, name := range kind.groups {
		list.Groups = append(list.Groups, Group{Name: name})
	}
	for _, name := range kind.totals {
		list.Counts[name] = 0
	}
	for _, e := range r.entries {
		g := &list.Groups[e.group()]
		g.Entries = append(g.Entries, e)
		for _, name := range e.totals() {
			list.Counts[name]++
		}
	}
	for _, g := range list.Groups {
		slices.SortFunc(g.Entries, ListEntry.compare)
	}
	return list, nil
}

// located gives the faults that are reported. In a JSON file the reader knows of each place its
// offset alone, as the column of the line 0.
func (r *listReader) located(src []byte) Errors {
	if more := len(r.faults) - maxListFaults; more > 0 {
		r.faults.sort()
		r.faults = r.faults[:maxListFaults]
		r.faults[maxListFaults-1].What += fmt.Sprintf("; and %d more faults follow", more)
	}
	for i := range r.faults {
		if f := &r.faults[i]; path.Ext(r.file) == ".json" {
			f.place = placeOf(src, f.Column)
		}
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
	j := jsonReader{dec: jsontext.NewDecoder(bytes.NewBuffer(src)), list: jsontext.Pointer("/" + r.kind.member()), take: r.addJSON}
	top, err := j.node()
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
// line is 0. The elements of one array are not among them: take gets each with its offset.
type jsonReader struct {
	dec   *jsontext.Decoder
	start int // the offset of what is read
	list  jsontext.Pointer
	take  func(element jsontext.Value, at int) // nil where there is no such array
}

func (j *jsonReader) node() (*yaml.Node, error) {
	var closing jsontext.Kind
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch j.dec.PeekKind() {
	case '{':
		n.Kind, n.Tag, closing = yaml.MappingNode, "!!map", '}'
	case '[':
		n.Kind, n.Tag, closing = yaml.SequenceNode, "!!seq", ']'
	default:
		return n, j.scalar(n)
	}
	if _, err := j.dec.ReadToken(); err != nil {
		return nil, err
	}
	n.Column = j.start + int(j.dec.InputOffset()) - 1
	elements := j.take != nil && closing == ']' && j.dec.StackPointer() == j.list
	for j.dec.PeekKind() != closing {
		if elements {
			value, err := j.dec.ReadValue()
			if err != nil {
				return nil, err
			}
			j.take(value, int(j.dec.InputOffset())-len(value))
			continue
		}
		child, err := j.node()
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, child)
	}
	_, err := j.dec.ReadToken()
	return n, err
}

func (j *jsonReader) scalar(n *yaml.Node) error {
	value, err := j.dec.ReadValue()
	if err != nil {
		return err
	}
	n.Column, n.Value = j.start+int(j.dec.InputOffset())-len(value), string(value)
	switch value.Kind() {
	case '"':
		n.Tag = "!!str"
		value, err = jsontext.AppendUnquote(nil, value)
		n.Value = string(value)
	case 'n':
		n.Tag = "!!null"
	case '0':
		n.Tag = "!!int"
		if strings.Contains(n.Value, ".") {
			n.Tag = "!!float"
		}
	default:
		n.Tag = "!!bool"
	}
	return err
}

// addJSON decodes and checks one entry. One that package json cannot decode, or that has a fault,
// is decoded again from nodes, which have places.
func (r *listReader) addJSON(value jsontext.Value, at int) {
	v, members := reflect.New(r.kind.entry), membersOf(r.kind.entry)
	for _, m := range members {
		if m.nullable { // a blank text is not valid: it shows that the member is missing
			v.Elem().FieldByIndex(m.index).Set(reflect.ValueOf(new(string)))
		}
	}
	sound := json.Unmarshal(value, v.Interface(), json.RejectUnknownMembers(true)) == nil
	for i := range members {
		sound = sound && members[i].holds(v.Elem().FieldByIndex(members[i].index))
	}
	entry := v.Interface().(ListEntry)
	if sound {
		checkEntry(entry, func(_, _, _ string) { sound = false })
	}
	if sound {
		r.entries, r.places = append(r.entries, entry), append(r.places, place{0, at})
		return
	}
	j := jsonReader{dec: jsontext.NewDecoder(bytes.NewBuffer(value)), start: at}
	node, _ := j.node() // it has been read before
	r.add(node)
}

func (m *member) holds(v reflect.Value) bool {
	text := func(s *string, optional bool) bool {
		*s = strings.TrimSpace(*s)
		what, _ := m.checkText(*s)
		return what == "" && (optional || *s != "")
	}
	switch at := v.Addr().Interface().(type) {
	case *string:
		return text(at, m.optional)
	case **string:
		return *at == nil || text(*at, m.optional)
	case **int:
		return *at == nil || 0 < **at && **at <= m.max // 0 may be written as -0
	case *[]string:
		for i := range *at {
			if !text(&(*at)[i], false) || m.unique && slices.Contains((*at)[:i], (*at)[i]) {
				return false
			}
		}
		return *at != nil && len(*at) <= m.maxItems
	}
	return false
}

func (r *listReader) add(node *yaml.Node) {
	d, v := newDocument(r.file), reflect.New(r.kind.entry)
	d.decodeValue(node, v.Elem(), "", &member{})
	entry := v.Interface().(ListEntry)
	if len(d.faults) == 0 {
		checkEntry(entry, d.fault)
	}
	r.faults = append(r.faults, d.faults...)
	r.entries, r.places = append(r.entries, entry), append(r.places, nodePlace(node))
}

// checkEntry checks the members of an entry together. Lists are published as they are, so none has
// a placeholder.
func checkEntry(entry ListEntry, fault func(member, what, hint string)) {
	entry.check(fault)
	v := reflect.ValueOf(entry).Elem()
	for _, m := range membersOf(v.Type()) {
		texts := []string{}
		switch value := v.FieldByIndex(m.index); value.Kind() {
		case reflect.String:
			texts = append(texts, value.String())
		case reflect.Slice:
			texts = value.Interface().([]string)
		}
		for _, text := range texts {
			if strings.Contains(text, "[[") && placeholder.MatchString(text) {
				fault(m.name, "the placeholder "+placeholder.FindString(text)+" in a list, where none is replaced", "write its value")
			}
		}
	}
}

// checkTogether compares the dates of the entries with as_of, and finds entries that are there
// twice.
func (r *listReader) checkTogether(asOf string) {
	seen := make(map[[2]string]bool, len(r.entries))
	for i, e := range r.entries {
		report := func(what, hint string) {
			r.faults = append(r.faults, Error{r.file, r.places[i], what, hint})
		}
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
