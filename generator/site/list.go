package site

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// List is a list that grows, jobs or audits, in publishing order.
type List struct {
	AsOf   string // date of the newest change the operator vouches for
	Groups []Group
	Size   int            // of its file, in bytes
	Counts map[string]int // the published totals: "open" and "completed", or "claimed" and "verified"

	kind *listKind
}

type Group struct {
	Name    string
	Entries []ListEntry
}

// Newest returns the n newest entries of a group, in publishing order within a date.
func (g *Group) Newest(n int) (newest []ListEntry) {
	for _, e := range g.Entries {
		at := len(newest)
		for at > 0 && newest[at-1].date() < e.date() {
			at--
		}
		if at < n {
			newest = slices.Insert(newest[:min(n-1, len(newest))], at, e)
		}
	}
	return newest
}

type ListEntry interface {
	group() int
	totals() []string
	date() string                // decides which entry is newer
	dates() [2]string            // at most as_of
	unique() [2]string           // no two entries share it
	compare(other ListEntry) int // in publishing order, within a group
	check(fault func(member, what, hint string))
}

type listKind struct {
	file   reflect.Type // the object around the entries
	entry  reflect.Type
	groups []string
	totals []string
	dates  [2]string
	unique string
}

func (k *listKind) member() string { return membersOf(k.file)[1].name }

func (k *listKind) path(entry int) string { return fmt.Sprintf("%s[%d]", k.member(), entry) }

type Job struct {
	ID          string   `json:"id" is:"id" max:"80" doc:"Identifier of the job."`
	Title       string   `json:"title" is:"line" max:"140" doc:"The task in one line."`
	Description string   `json:"description" is:"text" max:"4000" doc:"The task."`
	Status      string   `json:"status" is:"text" enum:"open,completed" doc:"Status of the job."`
	Posted      string   `json:"posted" is:"date" doc:"Date of posting."`
	Expires     string   `json:"expires,omitempty" is:"date" doc:"Date until which it is open."`
	CompletedOn string   `json:"completed_on,omitempty" is:"date" doc:"Date of completion."`
	Reward      *int     `json:"reward_credit_units,omitempty" is:"count" max:"1000000" doc:"Reward in credit units."`
	Tags        []string `json:"tags" is:"id" max:"40" maxItems:"16" unique:"true" doc:"Keywords."`
	URL         string   `json:"url,omitempty" is:"url" max:"2000" doc:"Address of further information."`
	Poster      string   `json:"poster" is:"line" max:"80" doc:"Poster, as given."`
}

var jobs = &listKind{
	file: reflect.TypeFor[struct {
		AsOf string `json:"as_of" is:"date"`
		Jobs []Job  `json:"jobs" yaml:"jobs"`
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
	if j.date() != o.date() {
		return strings.Compare(o.date(), j.date())
	}
	return strings.Compare(j.ID, o.ID)
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

type Audit struct {
	Agent        string  `json:"agent_name" is:"line" max:"80" doc:"Name of the agent that claims the audit, as registered."`
	Registration string  `json:"registration_sha256" is:"sha256" doc:"payload_sha256 of the agent's registration."`
	Scope        string  `json:"scope" is:"text" max:"1000" doc:"The scope of the audit."`
	ClaimedAt    string  `json:"claimed_at" is:"time" doc:"Time of the claim."`
	ReportURL    string  `json:"report_url" is:"url" max:"2000" doc:"Address of the report."`
	Report       string  `json:"report_sha256" is:"sha256" doc:"SHA-256 of the report."`
	VerifiedOn   *string `json:"verified_by_hand_on" is:"date" doc:"Date on which the operator verified the claim by hand, or null."`
}

var auditors = &listKind{
	file: reflect.TypeFor[struct {
		AsOf   string  `json:"as_of" is:"date"`
		Ledger []Audit `json:"ledger" yaml:"ledger"`
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
	if a.Agent != o.Agent { // almost always
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

func (l *List) EntryType() reflect.Type { return l.kind.entry }

func (g *Group) AppendJSON(dst []byte) []byte {
	b := bytes.NewBuffer(dst)
	if err := json.MarshalWrite(b, g.Entries); err != nil {
		panic(err) // texts and numbers do not fail
	}
	return b.Bytes()
}

type Value struct{ Name, Text string }

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

const maxListFaults = 50

// readList reads a file by package json, which needs a tenth of the memory of YAML, or as YAML. Its
// entries are decoded one after the other.
func readList(file string, src []byte, kind *listKind) (*List, Errors) {
	d, read := newDocument(file), reflect.New(kind.file)
	var entries []ListEntry
	var places []place // of the entries
	var root *yaml.Node
	take := func(node *yaml.Node) {
		entries = append(entries, d.decodeEntry(node, kind.path(len(entries)), kind))
		places = append(places, nodePlace(node))
	}
	if path.Ext(file) == ".json" {
		list := jsonNode{list: "/" + kind.member(), take: func(value jsontext.Value, at int) {
			if entry := kind.sound(value); entry != nil {
				entries = append(entries, entry)
				places = append(places, place{inBytes, at})
				return
			}
			node := jsonNode{from: at}
			_ = json.Unmarshal(value, &node) // it is valid
			take(&node.Node)
		}}
		err := json.Unmarshal(src, &list)
		if syntax := (*jsontext.SyntacticError)(nil); errors.As(err, &syntax) {
			what := cmp.Or(syntax.Err, error(syntax)).Error()
			return nil, Errors{{file, placeOf(src, int(syntax.ByteOffset)), "not valid JSON: " + what, ""}}
		}
		root = &list.Node
	} else if root = d.parse(src); root != nil && kindOf(root) == kindMapping {
		for pair := range slices.Chunk(root.Content, 2) {
			if list := pair[1]; pair[0].Value == kind.member() && kindOf(list) == kindList {
				for _, node := range list.Content {
					take(node)
				}
				list.Content = nil
				break
			}
		}
	}
	if root != nil {
		d.decodeNode(root, read.Interface())
	}
	asOf := read.Elem().Field(0).String()
	kind.checkTogether(asOf, entries, func(i int, what, hint string) {
		d.report(places[i], what, hint)
	})
	if more := len(d.faults) - maxListFaults; more > 0 {
		d.faults.sort()
		d.faults = d.faults[:maxListFaults]
		d.faults[maxListFaults-1].What += fmt.Sprintf("; and %d more faults follow", more)
	}
	if len(d.faults) > 0 {
		for i := range d.faults {
			if at := &d.faults[i].place; at.Line == inBytes {
				*at = placeOf(src, at.Column)
			}
		}
		return nil, d.faults
	}
	return kind.list(asOf, entries, len(src)), nil
}

// sound returns the entry of a JSON value that has no fault, and whose texts are published
// unchanged. It returns nil for any other value: decodeEntry reads it.
func (k *listKind) sound(value jsontext.Value) ListEntry {
	read, faulty := reflect.New(k.entry), false
	if json.Unmarshal(value, read.Interface(), json.RejectUnknownMembers(true)) != nil {
		return nil
	}
	for _, m := range membersOf(k.entry) {
		missing := m.nullable && !bytes.Contains(value, []byte(`"`+m.name+`":`))
		faulty = faulty || missing || !m.isSound(read.Elem().FieldByIndex(m.index).Addr().Interface())
	}
	entry := read.Interface().(ListEntry)
	if entry.check(func(_, _, _ string) { faulty = true }); faulty {
		return nil
	}
	return entry
}

// isSound reports whether decodeValue would read a value of json.Unmarshal unchanged, without a
// fault.
func (m *member) isSound(value any) bool {
	switch v := value.(type) {
	case *string:
		what, _ := m.checkText(*v)
		return what == "" && *v == strings.TrimSpace(*v) && !strings.Contains(*v, "[[")
	case **string:
		return *v == nil || m.isSound(*v)
	case **int: // without 0, which may be written -0
		return *v == nil || **v >= max(1, m.min) && **v <= m.max
	case *[]string:
		for i, s := range *v {
			if m.unique && slices.Contains((*v)[:i], s) || !m.isSound(&(*v)[i]) {
				return false
			}
		}
		return *v != nil && m.minItems <= len(*v) && len(*v) <= m.maxItems
	}
	return false
}

func (d *document) decodeEntry(node *yaml.Node, path string, kind *listKind) ListEntry {
	value, places, faults := reflect.New(kind.entry), d.places, len(d.faults)
	entry := value.Interface().(ListEntry)
	d.places = map[string]place{}
	if d.decodeValue(node, value.Elem(), path, &member{}); len(d.faults) == faults {
		entry.check(func(member, what, hint string) { d.fault(path+"."+member, what, hint) })
		for _, t := range d.texts {
			if strings.Contains(t.value, "[[") && placeholder.MatchString(t.value) {
				d.report(t.at, "the placeholder "+placeholder.FindString(t.value)+" in a list is not replaced",
					"write its value")
			}
		}
	}
	d.places, d.texts = places, nil // for all entries they would take more memory than the entries
	return entry
}

// inBytes is the line of a place whose column is an offset in the file.
const inBytes = -1

// jsonNode is a value in JSON as YAML, its places inBytes.
type jsonNode struct {
	yaml.Node
	from int    // offset of the text that is read
	list string // pointer to the array whose elements are taken out
	take func(value jsontext.Value, at int)
}

var jsonTags = map[jsontext.Kind]string{
	'{': "!!map", '[': "!!seq", '"': "!!str", '0': "!!int", 't': "!!bool", 'f': "!!bool", 'n': "!!null",
}

func (n *jsonNode) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	kind := d.PeekKind()
	if kind != '{' && kind != '[' {
		text, err := d.ReadValue()
		if err != nil {
			return err
		}
		n.Tag, n.Value = jsonTags[kind], string(text)
		if kind == '"' {
			value, _ := jsontext.AppendUnquote(nil, text)
			n.Value = string(value)
		} else if kind == '0' && strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
		n.Line, n.Column = inBytes, n.from+int(d.InputOffset())-len(text)
		return nil
	}
	_, err := d.ReadToken()
	n.Tag, n.Line, n.Column = jsonTags[kind], inBytes, n.from+int(d.InputOffset())-1
	taken := kind == '[' && d.StackDepth() == 2 && string(d.StackPointer()) == n.list
	for err == nil && d.PeekKind() != kind+2 { // the bracket that closes it
		if taken {
			var value jsontext.Value
			if value, err = d.ReadValue(); err == nil {
				n.take(value, int(d.InputOffset())-len(value))
			}
			continue
		}
		element := jsonNode{from: n.from, list: n.list, take: n.take}
		err = element.UnmarshalJSONFrom(d)
		n.Content = append(n.Content, &element.Node)
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return err
}

func (k *listKind) list(asOf string, entries []ListEntry, size int) *List {
	list := &List{AsOf: asOf, Size: size, Counts: map[string]int{}, kind: k}
	for _, name := range k.groups {
		list.Groups = append(list.Groups, Group{Name: name})
	}
	for _, name := range k.totals {
		list.Counts[name] = 0
	}
	for _, e := range entries {
		g := &list.Groups[e.group()]
		g.Entries = append(g.Entries, e)
		for _, name := range e.totals() {
			list.Counts[name]++
		}
	}
	for _, g := range list.Groups {
		slices.SortFunc(g.Entries, ListEntry.compare)
	}
	return list
}

func (k *listKind) checkTogether(asOf string, entries []ListEntry, report func(i int, what, hint string)) {
	seen := make(map[[2]string]bool, len(entries))
	for i, e := range entries {
		for n, date := range e.dates() {
			if asOf != "" && date > asOf && validDate(date) {
				report(i, k.dates[n]+" "+date+" is later than as_of",
					"as_of is the date of the newest change: raise it, or correct the date")
			}
		}
		key := e.unique()
		if key[0] != "" && seen[key] {
			report(i, "the "+k.unique+" of an earlier entry: "+shorten(key[0]), "use another")
		}
		seen[key] = true
	}
}
