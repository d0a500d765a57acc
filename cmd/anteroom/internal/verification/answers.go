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

// Answers are the operator's decisions, as Template writes them:
//
//	through: 2026-11-22T12:00:00Z        # up to when
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
// the records that no verification has covered, with earlier about all others. An answer by
// record_id is about that record, whenever it was made. To decide otherwise than before needs a
// reason.
type Answers struct {
	Through       string         `yaml:"through"`
	Registrations []Answer       `yaml:"registrations"`
	Charters      []Answer       `yaml:"charters"`
	Suggestions   []Answer       `yaml:"suggestions"`
	Numbers       map[string]any `yaml:"numbers"`
	Confirm       []string       `yaml:"confirm"`
	// Texts is Unchanged, or a map of texts by their places in the board. A text that is Unchanged
	// was read and is still true.
	Texts      any    `yaml:"texts"`
	Correction string `yaml:"correction"`
	// Lost says why records that were verified are gone for good, for readers.
	Lost string `yaml:"lost"`

	lines map[string]int // by the places of Faults
}

// Unchanged says of a text, or of all, that it is still true.
const Unchanged = "unchanged"

// Answer is a decision about one record, or about those of an agent, a name or a key.
type Answer struct {
	About    map[string]string `yaml:",inline"` // one of subjects, and its value
	Earlier  bool              `yaml:"earlier"`
	Decision string            `yaml:"decision"`
	Reason   string            `yaml:"reason"`
}

// subjects are the members that say what an answer is about, by the kinds of records.
var subjects = map[string][]string{
	site.Registration: {"agent", "agent_name", "pubkey", "record_id"},
	site.Charter:      {"org_name", "record_id"},
	site.Suggestion:   {"record_id"},
}

func (a *Answer) about() (text string) {
	for member, value := range a.About {
		if value != "" {
			text = member + " " + value
		}
	}
	return text
}

func (a *Answers) of(kind string) []Answer {
	switch kind {
	case site.Registration:
		return a.Registrations
	case site.Charter:
		return a.Charters
	}
	return a.Suggestions
}

func place(kind string, i int) string { return fmt.Sprintf("%ss[%d]", kind, i) }

// Fault is one thing that is wrong with answers.
type Fault struct {
	Place string // of the answer, such as registrations[2] or numbers.suggestions.shipped; "" for the whole
	Line  int    // from 1; 0 if it is not known
	What  string
}

// Faults are all faults of answers, as an error.
type Faults []Fault

// Error gives one line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		if lines[i] = f[i].What; f[i].Place != "" {
			lines[i] = f[i].Place + ": " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// maxFaults is how many faults are named. Two answers may conflict over a million records.
const maxFaults = 100

func (f *Faults) add(place, format string, args ...any) {
	if n := len(*f); n < maxFaults {
		*f = append(*f, Fault{Place: place, What: fmt.Sprintf(format, args...)})
	} else if n == maxFaults {
		*f = append(*f, Fault{What: "and more"})
	}
}

// in finds the lines of faults in the file of the answers. It is nil if there are no faults.
func (f Faults) in(a *Answers) error {
	for i := range f {
		f[i].Line = a.lines[f[i].Place]
	}
	if len(f) == 0 {
		return nil
	}
	return f
}

// MaxAnswers is the largest size of a file of answers, in bytes.
const MaxAnswers = 8 << 20

// ParseAnswers reads a file of answers. It refuses members that it does not know. Its error is
// Faults and names every fault.
func ParseAnswers(text []byte) (*Answers, error) {
	a := &Answers{lines: map[string]int{}}
	if len(text) > MaxAnswers {
		return nil, Faults{{What: fmt.Sprintf("the answers are longer than %d MiB (decide for many at once with * in a name)", MaxAnswers>>20)}}
	}
	var doc yaml.Node
	err := yaml.Load(text, &doc)
	if err == nil && Emptied(text) {
		err = errors.New("the file is empty (anteroom verify --template writes one)")
	}
	if err == nil {
		a.locate(doc.Content[0], "")
		err = yaml.Load(text, a, yaml.WithKnownFields())
	}
	if err != nil {
		return nil, faultsOfYAML(err)
	}
	var faults Faults
	for _, kind := range site.Kinds {
		for i := range a.of(kind) {
			a.of(kind)[i].check(kind, place(kind, i), &faults)
		}
	}
	faults.publish("lost", "it", a.Lost)
	faults.publish("correction", "it", a.Correction)
	if m, ok := a.Texts.(map[string]any); ok {
		for _, at := range slices.Sorted(maps.Keys(m)) {
			if _, is := m[at].(string); !is {
				faults.add("texts."+at, "it is not a text")
			}
		}
	} else if a.Texts != nil && a.Texts != Unchanged {
		faults.add("texts", "it is neither %q nor a mapping of texts", Unchanged)
	}
	return a, faults.in(a)
}

// atLine is where a message of package yaml names a line.
var atLine = regexp.MustCompile(`\bline (\d+)`)

// faultsOfYAML gives the lines of an error of package yaml, without its names of types.
func faultsOfYAML(err error) (faults Faults) {
	message := strings.NewReplacer(" in type verification.Answers", "", " in type verification.Answer", "", "yaml: ", "",
		"<unknown position>", "").Replace(err.Error())
	for line := range strings.Lines(strings.TrimSpace(message)) {
		faults.add("", "%s", strings.TrimSpace(line))
		if at := atLine.FindStringSubmatch(line); at != nil {
			faults[len(faults)-1].Line, _ = strconv.Atoi(at[1])
		}
	}
	return faults
}

// Emptied reports whether a file of answers has only comments and white space.
func Emptied(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

func (a *Answers) locate(node *yaml.Node, at string) {
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

func (a *Answer) check(kind, at string, faults *Faults) {
	given := 0
	for _, member := range slices.Sorted(maps.Keys(a.About)) {
		if !slices.Contains(subjects[kind], member) {
			faults.add(at, "%s does not name a %s", member, kind)
		} else if a.About[member] != "" {
			given++
		}
	}
	choices, unexplained := site.Choices[kind], strings.TrimSpace(a.Reason) == ""
	for _, fault := range []struct {
		is   bool
		what string
	}{
		{given != 1, fmt.Sprintf("it has %d of %s, and needs one", given, strings.Join(subjects[kind], ", "))},
		{!slices.Contains(choices, a.Decision), fmt.Sprintf("decision %q is none of %s", a.Decision, strings.Join(choices, ", "))},
		{a.Decision == site.Vouch && unexplained, "a vouch needs a reason"},
		{a.Earlier && unexplained, "what was verified before needs a reason to be decided otherwise"},
	} {
		if fault.is {
			faults.add(at, "%s", fault.what)
		}
	}
	faults.publish(at, "the reason", a.Reason)
}

func (f *Faults) publish(at, name, text string) {
	if strings.Contains(text, "@") {
		f.add(at, "%s holds an address, and what is published never does", name)
	}
	if strings.ContainsAny(strings.TrimSpace(text), "\r\n\t") {
		f.add(at, "%s is not one line", name)
	}
}
