package verification

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"anteroom/generator/site"

	"go.yaml.in/yaml/v4"
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
//	confirm: [suggestions.shipped]                   # of numbers that look like a slip
//	texts: unchanged                     # or those that change, by their places in the board
//	correction: two records were counted twice       # for readers, if a number falls
//
// An answer with agent is about the agent of that record. An answer by agent, name or key is about
// new records, with earlier about verified ones. An answer by record_id is about that record in
// either case. A new decision about a verified record needs a reason.
type answers struct {
	Through       string         `yaml:"through"`
	Registrations []answer       `yaml:"registrations"`
	Charters      []answer       `yaml:"charters"`
	Suggestions   []answer       `yaml:"suggestions"`
	Numbers       map[string]any `yaml:"numbers"`
	Confirm       []string       `yaml:"confirm"`
	Texts         any            `yaml:"texts"` // unchanged, or a map of texts by their places in the board
	Correction    string         `yaml:"correction"`
	Lost          string         `yaml:"lost"` // why verified records are gone for good, for readers

	lines map[string]int // by the places of faults
}

// unchanged stands for a text, or all texts, that were read and are still true.
const unchanged = "unchanged"

// answer is a decision about one record, or about all records of an agent, a name or a key.
type answer struct {
	About    map[string]string `yaml:",inline"` // one of aboutMembers, and its value
	Earlier  bool              `yaml:"earlier"`
	Decision string            `yaml:"decision"`
	Reason   string            `yaml:"reason"`
}

// aboutMembers are the members that name the records of an answer, by kinds of records.
var aboutMembers = map[string][]string{
	site.Registration: {"agent", "agent_name", "pubkey", "record_id"},
	site.Charter:      {"org_name", "record_id"},
	site.Suggestion:   {"record_id"},
}

func (a *answer) about() (text string) {
	for member, value := range a.About {
		if value != "" {
			text = member + " " + value
		}
	}
	return text
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

// fault is one thing that is wrong with answers.
type fault struct {
	place string // such as registrations[2] or numbers.suggestions.shipped; "" for the whole
	line  int    // from 1; 0 if unknown
	what  string
}

type faults []fault

func (f faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		if lines[i] = f[i].what; f[i].place != "" {
			lines[i] = f[i].place + ": " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// maxFaults limits the faults that are named. Two answers may conflict over a million records.
const maxFaults = 100

func (f *faults) add(place, format string, args ...any) {
	if n := len(*f); n < maxFaults {
		*f = append(*f, fault{place: place, what: fmt.Sprintf(format, args...)})
	} else if n == maxFaults {
		*f = append(*f, fault{what: "and more"})
	}
}

func (f faults) in(a *answers) error {
	if len(f) == 0 {
		return nil
	}
	for i := range f {
		f[i].line = a.lines[f[i].place]
	}
	return f
}

const maxAnswers = 8 << 20 // bytes of a file

func parseAnswers(text []byte) (*answers, error) {
	a := &answers{lines: map[string]int{}}
	if len(text) > maxAnswers {
		return nil, faults{{what: fmt.Sprintf("the answers are longer than %d MiB (decide for many at once with * "+
			"in a name)", maxAnswers>>20)}}
	}
	var doc yaml.Node
	err := yaml.Load(text, &doc)
	if err == nil && emptied(text) {
		err = errors.New("the file is empty (anteroom verify --template writes one)")
	}
	if err == nil {
		a.locate(doc.Content[0], "")
		err = yaml.Load(text, a, yaml.WithKnownFields())
	}
	if err != nil {
		return nil, faultsOfYAML(err)
	}
	var wrong faults
	for _, kind := range site.Kinds {
		for i := range a.of(kind) {
			a.of(kind)[i].check(kind, place(kind, i), &wrong)
		}
	}
	wrong.checkLine("lost", a.Lost)
	wrong.checkLine("correction", a.Correction)
	if m, ok := a.Texts.(map[string]any); ok {
		for _, at := range slices.Sorted(maps.Keys(m)) {
			if _, is := m[at].(string); !is {
				wrong.add("texts."+at, "want a text")
			}
		}
	} else if a.Texts != nil && a.Texts != unchanged {
		wrong.add("texts", "want %q or a mapping of texts", unchanged)
	}
	return a, wrong.in(a)
}

var lineNumber = regexp.MustCompile(`\bline (\d+)`)

func faultsOfYAML(err error) (list faults) {
	message := strings.NewReplacer(" in type verification.answers", "", " in type verification.answer", "", "yaml: ", "",
		"<unknown position>", "").Replace(err.Error())
	for line := range strings.Lines(strings.TrimSpace(message)) {
		list.add("", "%s", strings.TrimSpace(line))
		if at := lineNumber.FindStringSubmatch(line); at != nil {
			list[len(list)-1].line, _ = strconv.Atoi(at[1])
		}
	}
	return list
}

func emptied(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

func (a *answers) locate(node *yaml.Node, at string) {
	for i := range node.Content {
		switch {
		case node.Kind == yaml.SequenceNode:
			a.lines[at+"["+strconv.Itoa(i)+"]"] = node.Content[i].Line
		case node.Kind == yaml.MappingNode && i%2 == 0:
			member := strings.TrimPrefix(at+"."+node.Content[i].Value, ".")
			if a.lines[member] = node.Content[i].Line; at == "" {
				a.locate(node.Content[i+1], member)
			}
		}
	}
}

func (a *answer) check(kind, at string, wrong *faults) {
	given := 0
	for _, member := range slices.Sorted(maps.Keys(a.About)) {
		if !slices.Contains(aboutMembers[kind], member) {
			wrong.add(at, "%s does not name a %s", member, kind)
		} else if a.About[member] != "" {
			given++
		}
	}
	if given != 1 {
		wrong.add(at, "got %d of %s, want 1", given, strings.Join(aboutMembers[kind], ", "))
	}
	if choices := site.Choices[kind]; !slices.Contains(choices, a.Decision) {
		wrong.add(at, "decision %q is none of %s", a.Decision, strings.Join(choices, ", "))
	}
	if strings.TrimSpace(a.Reason) == "" {
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
	if strings.ContainsAny(strings.TrimSpace(text), "\r\n\t") {
		f.add(at, "the text must be one line")
	}
}
