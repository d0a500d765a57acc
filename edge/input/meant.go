package input

import (
	"slices"
	"strings"
)

// Missing adds the fault that a field, or each of several alternatives, is missing. It suggests the
// closest of their names for an unknown name that was sent.
func (in *Input) Missing(detail string, fields ...*Field) {
	best, meant := Far, ""
	for i := range in.members {
		sent := in.members[i].Name
		if !in.unread(i) || in.knows(sent) {
			continue
		}
		for _, f := range fields {
			for _, name := range f.names() {
				name = in.SentAs(name)
				if d := distance(name, sent); d < best {
					best, meant = d, `; "`+TruncateBytes(sent)+`" `+notAField+didYouMean(name)
				}
			}
		}
	}
	in.add(in.SentAs(fields[0].Name), Required, detail+meant)
}

// Skip marks the fields of an operation as read, for an input that is invalid as a whole.
func (in *Input) Skip(fields []Field) {
	in.Fields = fields
	for i := range in.members {
		in.used[i] = in.used[i] || in.knows(in.members[i].Name)
	}
	for i := range fields {
		for j := range in.List {
			if f := &in.List[j]; fields[i].Type == List && f.Code == RepeatedParameter && f.Field == fields[i].Name {
				f.Detail += ": join its values with a comma"
			}
		}
	}
}

func (in *Input) knows(sent string) (known bool) {
	for i := range in.Fields {
		f := &in.Fields[i]
		known = known || slices.Contains(f.QueryNames, sent)
		for _, name := range f.names() {
			known = known || in.SentAs(name) == sent
		}
	}
	return known
}

const notAField = "is not a field"

func didYouMean(name string) string { return ": did you mean " + name + "?" }

func (in *Input) meant(sent string) (question string) {
	best := Far
	for i := range in.Fields {
		for _, name := range in.Fields[i].names() {
			if d := distance(name, sent); d < best {
				best, question = d, didYouMean(name)
			}
		}
	}
	return question
}

func (f *Field) names() []string { return append([]string{f.Name}, f.Aliases...) }

// Far is the number of edits at which a name is not another one misspelt.
const Far = 3

// distance is 0 for another spelling, the number of edits, 2 for a word of the field, or Far.
func distance(field, sent string) int {
	if sameName(field, sent) {
		return 0
	}
	for edits := 1; edits < min(Far, len(field)); edits++ {
		if Within(field, sent, edits) {
			return edits
		}
	}
	for word := range strings.SplitSeq(field, "_") {
		if word == sent {
			return Far - 1
		}
	}
	return Far
}

// Within reports whether that many edits turn one string into the other. An edit adds, drops or
// changes a byte, or swaps it with the next.
func Within(a, b string, edits int) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case a == "" || b == "":
		return len(a)+len(b) <= edits
	case edits == 0:
		return false
	}
	edits--
	return Within(a[1:], b[1:], edits) || Within(a[1:], b, edits) || Within(a, b[1:], edits) ||
		len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && Within(a[2:], b[2:], edits)
}
