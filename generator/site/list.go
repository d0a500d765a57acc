package site

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// List is a list that grows: jobs or audits. Its entries are checked, rendered as compact JSON with
// their members in the order of the schema, and sorted as published.
//
// All entries lie in one byte slice, so that a list of 100 000 entries costs little more memory
// than its file. Jobs have the groups "open" and "completed", auditors the group "ledger".
type List struct {
	AsOf   string         // date of the newest change the operator vouches for
	Counts map[string]int // the published totals: "open" and "completed", or "claimed" and "verified"

	schema   *listSchema
	rendered []byte
	entries  []listEntry // in publishing order, group after group
}

// listEntry is where one entry lies in the rendered text.
type listEntry struct {
	at         listPosition
	start, end uint32
	group      int8
	keys       [5]span // the text of the key fields of its schema
}

// span is a part of the rendered text, as offsets.
type span struct{ start, end uint32 }

// Groups are the groups of the list, in publishing order.
func (l *List) Groups() []string { return l.schema.groups }

// Len is the number of entries of a group.
func (l *List) Len(group string) (n int) {
	for i := range l.entries {
		if l.schema.groups[l.entries[i].group] == group {
			n++
		}
	}
	return n
}

// Size is the length of all groups together as compact JSON arrays, in bytes.
func (l *List) Size() int {
	size := 0
	for i := range l.entries {
		size += int(l.entries[i].end-l.entries[i].start) + len(",")
	}
	return size + len(l.schema.groups)*len("[]")
}

// AppendJSON appends a group to dst, as a compact JSON array.
func (l *List) AppendJSON(dst []byte, group string) []byte {
	dst = append(dst, '[')
	first := true
	for i := range l.entries {
		e := &l.entries[i]
		if l.schema.groups[e.group] != group {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, l.rendered[e.start:e.end]...)
	}
	return append(dst, ']')
}

// Newest gives the n newest entries of a group as JSON texts, the newest first. Entries of one date
// stand in publishing order.
func (l *List) Newest(group string, n int) (texts [][]byte) {
	var newest []*listEntry
	for i := range l.entries {
		e := &l.entries[i]
		if l.schema.groups[e.group] != group || n < 1 {
			continue
		}
		date := l.keyText(l.schema.date(*e))
		if len(newest) == n && bytes.Compare(date, l.keyText(l.schema.date(*newest[n-1]))) <= 0 {
			continue
		}
		at := len(newest)
		for at > 0 && bytes.Compare(date, l.keyText(l.schema.date(*newest[at-1]))) > 0 {
			at--
		}
		newest = slices.Insert(newest, at, e)
		newest = newest[:min(len(newest), n)]
	}
	for _, e := range newest {
		texts = append(texts, l.rendered[e.start:e.end])
	}
	return texts
}

// keyText is the text of a key without its quotes. Its escapes are not decoded.
func (l *List) keyText(s span) []byte { return l.rendered[s.start:s.end] }

// quotedKey is the text of a key with its quotes.
func (l *List) quotedKey(s span) []byte { return l.rendered[s.start-1 : s.end+1] }

// Limits of the lists.
const (
	// maxListBytes is the largest size of a list file: a span has 32 bits.
	maxListBytes = 1 << 30
	// maxListFaults is how many faults of one list are reported one by one.
	maxListFaults = 50
	// entryBytes is the usual size of an entry, from which the number of entries is estimated.
	entryBytes = 400
	// maxTags is how many tags a job may have.
	maxTags = 16
)

// compare compares two keys by the texts that they stand for, escapes decoded.
func (l *List) compare(a, b span) int {
	if escaped(l.keyText(a)) || escaped(l.keyText(b)) {
		return bytes.Compare(unquote(nil, l.quotedKey(a)), unquote(nil, l.quotedKey(b)))
	}
	return bytes.Compare(l.keyText(a), l.keyText(b))
}

// escaped reports whether the text of a JSON string holds an escape.
func escaped(text []byte) bool { return bytes.ContainsRune(text, '\\') }

// unquote appends the text that a valid JSON string stands for.
func unquote(dst, quoted []byte) []byte {
	dst, _ = jsontext.AppendUnquote(dst, quoted)
	return dst
}
