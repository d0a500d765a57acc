package verification

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"anteroom/edge/native/disk"
	"anteroom/generator/site"
)

// answers are the operator's decisions, as the template lists them:
//
//	through: 2026-11-22T12:00:00Z
//	registrations:
//	  - {agent: 5b2f7d1f3e1a4c0b9a8d7c6b5a493827, decision: vouch, reason: answered my mail}
//	  - {agent_name: "probe *", decision: own}       # * is any characters
//	  - {pubkey: MCowBQYDK2VwAyEA, decision: own}    # of an agent without a name
//	  - {record_id: 5b2f7d1f3e1a4c0b9a8d7c6b5a493827, decision: own}
//	  - {agent_name: odd-owl, earlier: true, decision: leave, reason: a test client of mine}
//	charters: [{org_name: Tern & Co, decision: own}]
//	suggestions: [{record_id: 90aa7d1f3e1a4c0b9a8d7c6b5a493827, decision: own}]
//	numbers: {suggestions.shipped: 0, observed_attention.named_clients: [claude, cursor]}
//	what_changed: Two clients named themselves.      # a dated update for readers
//	one_ambiguous_read: None.
//	texts: {observed_attention.honest_read: …}       # by their places in the board
//	correction: two records were counted twice       # for readers, if a number falls
//
// With agent, an answer is about the agent of that record. By agent, name or key it is about new
// records, with earlier about verified ones. By record_id it is about that record in either case.
// A new decision about a verified record needs a reason.
type answers struct {
	Through       string         `yaml:"through,omitempty"`
	Registrations []answer       `yaml:"registrations,omitempty"`
	Charters      []answer       `yaml:"charters,omitempty"`
	Suggestions   []answer       `yaml:"suggestions,omitempty"`
	Numbers       map[string]any `yaml:"numbers,omitempty"`
	// Of a dated update; empty without one.
	WhatChanged      string            `yaml:"what_changed,omitempty"`
	OneAmbiguousRead string            `yaml:"one_ambiguous_read,omitempty"`
	Texts            map[string]string `yaml:"texts,omitempty" blank:"true"` // by their places in the board
	Correction       string            `yaml:"correction,omitempty"`
	Lost             string            `yaml:"lost,omitempty"` // why verified records are gone for good, for readers

	file    string // for faults
	end     int    // its last line
	placeOf func(path string) (line, column int)
}

// answer is a decision about one record, or about all records of an agent, a name or a key.
type answer struct {
	Agent     string `yaml:"agent,omitempty"`
	AgentName string `yaml:"agent_name,omitempty"`
	PublicKey string `yaml:"pubkey,omitempty"`
	OrgName   string `yaml:"org_name,omitempty"`
	RecordID  string `yaml:"record_id,omitempty"`
	Earlier   bool   `yaml:"earlier,omitempty"`
	Decision  string `yaml:"decision"`
	Reason    string `yaml:"reason,omitempty"`
}

// aboutMembers are the members that name the records of an answer, by kinds of records.
var aboutMembers = map[string][]string{
	site.Registration: {"agent", "agent_name", "pubkey", "record_id"},
	site.Charter:      {"org_name", "record_id"},
	site.Suggestion:   {"record_id"},
}

type about struct{ member, value string }

func (a *answer) about() []about {
	return slices.DeleteFunc([]about{
		{"agent", a.Agent},
		{"agent_name", a.AgentName},
		{"org_name", a.OrgName},
		{"pubkey", a.PublicKey},
		{"record_id", a.RecordID},
	}, func(given about) bool { return given.value == "" })
}

func (a *answer) String() string { return a.about()[0].member + " " + a.about()[0].value }

func (a *answer) pattern() string {
	if name := a.AgentName + a.OrgName; strings.Contains(name, "*") {
		return name
	}
	return ""
}

func (a *answers) of(kind string) []answer {
	switch kind {
	case site.Registration:
		return a.Registrations
	case site.Charter:
		return a.Charters
	}
	return a.Suggestions
}

func place(kind string, i int) string { return fmt.Sprintf("%ss[%d]", kind, i) }

type fault struct {
	file         string
	line, column int    // from 1; 0 if unknown
	place        string // such as registrations[2] or numbers.suggestions.shipped; "" for the whole
	what         string
}

type faults []fault

func (f faults) Error() string {
	lines := make([]string, len(f))
	for i, at := range f {
		if lines[i] = at.what; at.place != "" {
			lines[i] = at.place + ": " + lines[i]
		}
		if at.file != "" && at.line > 0 {
			lines[i] = fmt.Sprintf("%s:%d:%d: %s", at.file, at.line, at.column, lines[i])
		}
	}
	return strings.Join(lines, "\n")
}

func (f *faults) add(place, format string, args ...any) {
	*f = append(*f, fault{place: place, what: fmt.Sprintf(format, args...)})
}

// in returns the faults in the order of the file, or nil without faults. A missing key at the top
// level belongs to the end of the file.
func (f faults) in(a *answers) error {
	if len(f) == 0 {
		return nil
	}
	for i := range f {
		at := &f[i]
		at.file = a.file
		if at.line, at.column = a.placeOf(at.place); at.line == 0 && at.place != "" {
			at.line, at.column = a.end, 1
		}
	}
	slices.SortStableFunc(f, func(a, b fault) int { return cmp.Compare(a.line, b.line) })
	return f
}

const maxAnswers = 8 << 20 // bytes of a file

var errEmpty = errors.New("the file is empty (anteroom publish --template writes one)")

func parseAnswers(file string, text []byte) (*answers, error) {
	if len(text) > maxAnswers {
		return nil, faults{{what: fmt.Sprintf("the answers are longer than %d MiB (decide for many at once with * "+
			"in a name)", maxAnswers>>20)}}
	}
	text, err := disk.PlainText(text)
	if err != nil {
		return nil, faults{{what: file + ": " + err.Error()}}
	}
	a := &answers{file: file, end: bytes.Count(bytes.TrimSpace(text), []byte{'\n'}) + 1}
	a.placeOf, err = site.Decode(file, text, a)
	var wrong faults
	if list := site.Errors(nil); errors.As(err, &list) {
		if list[0].What == site.Empty {
			return nil, errEmpty
		}
		for _, f := range list {
			what := f.What
			if f.Hint != "" {
				what += " (" + f.Hint + ")"
			}
			wrong = append(wrong, fault{file, f.Line, f.Column, "", what})
		}
		return nil, wrong
	}
	for _, kind := range site.Kinds {
		for i := range a.of(kind) {
			a.of(kind)[i].check(kind, place(kind, i), &wrong)
		}
	}
	wrong.checkLine("lost", a.Lost)
	wrong.checkLine("correction", a.Correction)
	return a, wrong.in(a)
}

func (a *answer) check(kind, at string, wrong *faults) {
	given := 0
	for _, by := range a.about() {
		if slices.Contains(aboutMembers[kind], by.member) {
			given++
		} else {
			wrong.add(at, "%s does not name a %s", by.member, kind)
		}
	}
	if given != 1 {
		wrong.add(at, "got %d of %s, want 1", given, strings.Join(aboutMembers[kind], ", "))
	}
	if choices := site.Choices[kind]; !slices.Contains(choices, a.Decision) {
		wrong.add(at, "decision: got %q, want one of %s", a.Decision, strings.Join(choices, ", "))
	}
	if a.Reason == "" {
		if a.Decision == site.Vouch {
			wrong.add(at, "a vouch needs a reason")
		}
		if a.Earlier {
			wrong.add(at, "a new decision about verified records needs a reason")
		}
	}
	wrong.checkLine(at, a.Reason)
}

func (f *faults) checkLine(at, text string) {
	if strings.Contains(text, "@") {
		f.add(at, "the text is published and contains an address (remove it)")
	}
	if strings.ContainsAny(text, "\r\n\t") {
		f.add(at, "the text must be one line")
	}
}
