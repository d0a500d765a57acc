package verification

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"anteroom/generator/site"

	"go.yaml.in/yaml/v4"
)

// Answers are the operator's decisions. Their file is YAML:
//
//	through: 2026-11-22T12:00:00Z        # until when; the time of asking where it is missing
//	registrations:
//	  - {agent_name: ledger-lark, decision: vouch, reason: answered my mail}
//	  - {agent_name: "probe *", decision: own}       # * stands for any characters
//	  - {pubkey: MCowBQYDK2VwAyEA, decision: own}    # of an agent without a name
//	  - {record_id: 5b2f7d1f3e1a4c0b9a8d7c6b5a493827, decision: own}
//	  - {agent_name: odd-owl, earlier: true, decision: leave, reason: a test client of mine}
//	charters: [{org_name: Tern & Co, decision: own}]
//	suggestions: [{record_id: 90aa7d1f3e1a4c0b9a8d7c6b5a493827, decision: own}]
//	numbers: {suggestions.shipped: 0, observed_attention.named_clients: [claude, cursor]}
//	texts: unchanged                     # or those that change, by their places in the board
//	correction: two records were counted twice       # for readers, where a number falls
//
// A decision by name or key is about the records that no verification has covered, with earlier
// about all others. A decision by record_id is about that record, whenever it was made. What was
// verified before and is decided otherwise needs a reason.
type Answers struct {
	Through       string         `yaml:"through,omitempty"`
	Registrations []Answer       `yaml:"registrations,omitempty"`
	Charters      []Answer       `yaml:"charters,omitempty"`
	Suggestions   []Answer       `yaml:"suggestions,omitempty"`
	Numbers       map[string]any `yaml:"numbers,omitempty"`
	// Texts is Unchanged, or a map of texts by their places in the board. A text that is Unchanged
	// was looked at and is still true.
	Texts      any    `yaml:"texts,omitempty"`
	Correction string `yaml:"correction,omitempty"`
	// Lost says why records that were verified are gone for good. It stands without decisions.
	Lost string `yaml:"lost,omitempty"`
}

// Unchanged says of a text, or of all, that it is still true.
const Unchanged = "unchanged"

// Answer is a decision about one record, or about those of a name or key.
type Answer struct {
	AgentName string `yaml:"agent_name,omitempty"`
	Pubkey    string `yaml:"pubkey,omitempty"`
	OrgName   string `yaml:"org_name,omitempty"`
	RecordID  string `yaml:"record_id,omitempty"`
	Earlier   bool   `yaml:"earlier,omitempty"`
	Decision  string `yaml:"decision"`
	Reason    string `yaml:"reason,omitempty"`
}

// of gives the answers about a kind of record.
func (a *Answers) of(kind string) []Answer {
	switch kind {
	case site.Registration:
		return a.Registrations
	case site.Charter:
		return a.Charters
	}
	return a.Suggestions
}

// MaxAnswers is the largest size of a file of answers, in bytes.
const MaxAnswers = 8 << 20

// ParseAnswers reads a file of answers. It refuses what it does not know, and names every fault.
func ParseAnswers(text []byte) (*Answers, error) {
	if len(text) > MaxAnswers {
		return nil, fmt.Errorf("read answers: they are longer than %d MiB (decide for many at once with * in a name)", MaxAnswers>>20)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("read answers: the file is empty (anteroom verify --help shows their form)")
	}
	a := &Answers{}
	if err := yaml.Load(text, a, yaml.WithKnownFields()); err != nil {
		return nil, fmt.Errorf("read answers: %s (anteroom verify --help shows their form)", strings.NewReplacer(
			" in type verify.Answers", "", " in type verify.Answer", "", "yaml: ", "", "<unknown position>", "").Replace(err.Error()))
	}
	var faults []error
	for _, kind := range site.Kinds {
		for i := range a.of(kind) {
			faults = append(faults, a.of(kind)[i].check(kind, fmt.Sprintf("%ss[%d]", kind, i)))
		}
	}
	if m, ok := a.Texts.(map[string]any); ok {
		for _, at := range slices.Sorted(maps.Keys(m)) {
			if _, is := m[at].(string); !is {
				faults = append(faults, fmt.Errorf("texts.%s is no text", at))
			}
		}
	} else if a.Texts != nil && a.Texts != Unchanged {
		faults = append(faults, fmt.Errorf("texts is neither %q nor a mapping of texts", Unchanged))
	}
	return a, errors.Join(faults...)
}

// check finds what is wrong with an answer by itself.
func (a *Answer) check(kind, at string) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(at+": "+format, args...)) }
	given, allowed := 0, []string{"record_id"}
	switch kind {
	case site.Registration:
		allowed = []string{"agent_name", "pubkey", "record_id"}
	case site.Charter:
		allowed = []string{"org_name", "record_id"}
	}
	for _, member := range []struct{ name, value string }{
		{"agent_name", a.AgentName}, {"pubkey", a.Pubkey}, {"org_name", a.OrgName}, {"record_id", a.RecordID},
	} {
		if member.value != "" && !slices.Contains(allowed, member.name) {
			fault("%s does not tell a %s", member.name, kind)
		} else if member.value != "" {
			given++
		}
	}
	if given != 1 {
		fault("it has %d of %s, and one tells what it is about", given, strings.Join(allowed, ", "))
	}
	if !slices.Contains(site.Choices[kind], a.Decision) {
		fault("decision %q is none of %s", a.Decision, strings.Join(site.Choices[kind], ", "))
	}
	if a.Decision == site.Vouch && strings.TrimSpace(a.Reason) == "" {
		fault("a vouch needs a reason")
	}
	if a.Earlier && strings.TrimSpace(a.Reason) == "" {
		fault("what was verified before needs a reason to be decided otherwise")
	}
	if strings.Contains(a.Reason, "@") {
		fault("the reason holds an address, and a verification never does")
	}
	if strings.ContainsAny(a.Reason, "\r\n\t") {
		fault("the reason is one line")
	}
	return errors.Join(faults...)
}

// indexed is one text for the identity of an agent: its name, or its key. No name holds a line
// feed.
func indexed(identity string, nameless bool) string {
	if nameless {
		return "\n" + identity
	}
	return identity
}

// exactly gives the agent that an answer about new registrations is about, as indexed has it. ok is
// false where it may be about several, or about none.
func (a *Answer) exactly() (agent string, ok bool) {
	switch plain := strings.ReplaceAll(a.AgentName, `\*`, ""); {
	case a.Earlier || a.AgentName == "" && a.Pubkey == "":
		return "", false
	case a.Pubkey != "":
		return indexed(a.Pubkey, true), true
	default:
		return strings.ReplaceAll(a.AgentName, `\*`, "*"), !strings.Contains(plain, "*")
	}
}

// about says in words what an answer is about.
func (a *Answer) about() string {
	switch {
	case a.AgentName != "":
		return "agent_name " + a.AgentName
	case a.Pubkey != "":
		return "pubkey " + a.Pubkey
	case a.OrgName != "":
		return "org_name " + a.OrgName
	}
	return "record_id " + a.RecordID
}
