package site

import (
	"bytes"
	"cmp"
)

// listSchema says what the entries of a list look like. Nothing else names their fields.
type listSchema struct {
	member string   // the member of the top-level object that holds the entries
	groups []string // in publishing order
	fields []listField
	keys   []string // fields that the functions below read by their index here, at most five
	unique []int    // indexes of keys whose values, taken together, no two entries share
	dates  []int    // indexes of keys that may not be later than as_of

	group func(e listEntry) int8
	date  func(e listEntry) span            // by which an entry is newer than another of its group
	order func(l *List, a, b listEntry) int // within a group
	count func(l *List) map[string]int
	check func(get func(name string) string, fault func(name, what, hint string))
}

// listField is one member of an entry.
type listField struct {
	name     string
	kind     listKind
	optional bool
	nullable bool     // may be null, but not absent
	max      int      // characters of a text or a tag, or the greatest number; 0 is without limit
	values   []string // the only ones allowed
	format   string   // name of its format
	doc      string   // what it means
}

const (
	oneLine listKind = iota // a text without control characters
	prose                   // a text in which TAB, LF and CR are the only control characters
	number                  // an integer from 0
	tags                    // an array of ids
)

type listKind byte

// Member describes one member of a list's entries in the terms of JSON Schema.
type Member struct {
	Name, Doc          string
	Type               string // the JSON type; of tags the type of the array
	Optional, Nullable bool
	Format, Pattern    string // of a text, or of each tag; "" for none
	Values             []string
	Max                int // characters of a text or a tag, or the greatest number; 0 is without limit
	MaxItems           int // of an array
}

// inJSONSchema are the formats for which JSON Schema has a name or a pattern.
var inJSONSchema = map[string]struct{ format, pattern string }{
	"date": {format: "date"}, "time": {format: "date-time"}, "url": {format: "uri"},
	"id": {pattern: "^[a-z0-9]+(-[a-z0-9]+)*$"}, "sha256": {pattern: "^[0-9a-f]{64}$"},
}

// Members describes the members of a list's entries.
func (l *List) Members() (members []Member) {
	for _, f := range l.schema.fields {
		m := Member{Name: f.name, Doc: f.doc, Type: "string", Optional: f.optional, Nullable: f.nullable, Values: f.values, Max: f.max}
		is := f.format
		switch f.kind {
		case number:
			m.Type = "integer"
		case tags:
			m.Type, m.MaxItems, is = "array", maxTags, "id"
		}
		m.Format, m.Pattern = inJSONSchema[is].format, inJSONSchema[is].pattern
		members = append(members, m)
	}
	return members
}

// Keys of a job.
const (
	jobID = iota
	jobPosted
	jobCompleted
)

// jobDate is the date of a job: when it was completed, of an open one when it was posted.
func jobDate(e listEntry) span {
	if e.group == 1 {
		return e.keys[jobCompleted]
	}
	return e.keys[jobPosted]
}

// jobsSchema says what jobs look like.
var jobsSchema = &listSchema{
	member: "jobs",
	groups: []string{"open", "completed"},
	fields: []listField{
		{name: "id", max: 80, format: "id", doc: "Identifier of the job."},
		{name: "title", max: 140, doc: "What is to be done, in one line."},
		{name: "description", kind: prose, max: 4000, doc: "What is to be done."},
		{name: "status", values: []string{"open", "completed"}, doc: "Whether it is still to be done."},
		{name: "posted", format: "date", doc: "When it was posted."},
		{name: "expires", format: "date", optional: true, doc: "Until when it is open."},
		{name: "completed_on", format: "date", optional: true, doc: "When it was completed."},
		{name: "reward_credit_units", kind: number, max: 1_000_000, optional: true, doc: "What it pays, in credit units."},
		{name: "tags", kind: tags, max: 40, doc: "Words to find it by."},
		{name: "url", max: 2000, format: "url", optional: true, doc: "Where there is more about it."},
		{name: "poster", max: 80, doc: "Who posted it, as given."},
	},
	keys:   []string{"id", "posted", "completed_on"},
	unique: []int{jobID},
	dates:  []int{jobPosted, jobCompleted},
	group: func(e listEntry) int8 {
		if e.keys[jobCompleted] != (span{}) {
			return 1
		}
		return 0
	},
	date: jobDate,
	order: func(l *List, a, b listEntry) int {
		// The newest job comes first.
		return cmp.Or(
			bytes.Compare(l.keyText(jobDate(b)), l.keyText(jobDate(a))),
			bytes.Compare(l.keyText(a.keys[jobID]), l.keyText(b.keys[jobID])))
	},
	count: func(l *List) map[string]int {
		return map[string]int{"open": l.Len("open"), "completed": l.Len("completed")}
	},
	check: func(get func(string) string, fault func(name, what, hint string)) {
		posted, expires, completed := get("posted"), get("expires"), get("completed_on")
		if status := get("status"); status == "completed" && completed == "" {
			fault("status", "completed, and completed_on is missing", "say when")
		} else if status == "open" && completed != "" {
			fault("completed_on", "stands in an open job", "remove it, or set status: completed")
		}
		if completed != "" && completed < posted {
			fault("completed_on", "is earlier than posted", "")
		}
		if expires != "" && expires < posted {
			fault("expires", "is earlier than posted", "")
		}
	},
}

// Keys of an audit.
const (
	auditAgent = iota
	auditClaimed
	auditVerified
	auditRegistration
	auditReport
)

// auditorsSchema says what audits look like.
var auditorsSchema = &listSchema{
	member: "ledger",
	groups: []string{"ledger"},
	fields: []listField{
		{name: "agent_name", max: 80, doc: "Name of the agent that claims the audit, as registered."},
		{name: "registration_sha256", format: "sha256", doc: "payload_sha256 of its registration."},
		{name: "scope", kind: prose, max: 1000, doc: "What was audited."},
		{name: "claimed_at", format: "time", doc: "When it was claimed."},
		{name: "report_url", max: 2000, format: "url", doc: "Where the report is."},
		{name: "report_sha256", format: "sha256", doc: "SHA-256 of the report."},
		{
			name: "verified_by_hand_on", format: "date", nullable: true,
			doc: "When the operator verified the claim by hand; null while nobody has.",
		},
	},
	keys:   []string{"agent_name", "claimed_at", "verified_by_hand_on", "registration_sha256", "report_sha256"},
	unique: []int{auditRegistration, auditReport},
	dates:  []int{auditClaimed, auditVerified},
	group:  func(listEntry) int8 { return 0 },
	date:   func(e listEntry) span { return e.keys[auditClaimed] },
	order: func(l *List, a, b listEntry) int {
		return cmp.Or(l.compare(a.keys[auditAgent], b.keys[auditAgent]),
			bytes.Compare(l.keyText(a.keys[auditClaimed]), l.keyText(b.keys[auditClaimed])),
			bytes.Compare(l.keyText(a.keys[auditRegistration]), l.keyText(b.keys[auditRegistration])),
			bytes.Compare(l.keyText(a.keys[auditReport]), l.keyText(b.keys[auditReport])))
	},
	count: func(l *List) map[string]int {
		verified := 0
		for i := range l.entries {
			if l.entries[i].keys[auditVerified] != (span{}) {
				verified++
			}
		}
		return map[string]int{"claimed": len(l.entries), "verified": verified}
	},
	check: func(get func(string) string, fault func(name, what, hint string)) {
		claimed, verified := get("claimed_at"), get("verified_by_hand_on")
		if verified != "" && claimed != "" && verified < claimed[:10] {
			fault("verified_by_hand_on", "is earlier than claimed_at", "")
		}
	},
}
