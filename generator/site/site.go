// Package site is the typed form of the content folder: every fact about a service that its
// operator writes, loaded strictly and checked as a whole.
//
// Load reports all faults that it finds, each as "file:line:column: what is wrong (hint)". Two
// checks need more than the content: CheckEndpoints needs the route table, and CheckLinks the paths
// of what is published.
//
// # Layout
//
//	service.yaml  presence.yaml  quest.yaml  aup.yaml  org.yaml
//	endpoints.yaml  problems.yaml  llms.yaml  mcp.yaml
//	scoreboard/<date>[-<n>].yaml   one for each hand verification
//	verifications/<date>[-<n>].yaml  what that counted, written by anteroom verify
//	log/<date>[-<n>].jsonl and .checkpoint  what it added to the public log; see package tlog
//	jobs.yaml or jobs.json         {as_of, jobs: […]}
//	auditors.yaml or auditors.json {as_of, ledger: […]}
//	pages/<name>.md                the pages of Markers at least
//
// A hand verification is named after its as_of. A further one on the same date has a number from 2
// on behind the date; the last of a date is the current one. A page begins with a YAML front
// matter.
//
// Files are UTF-8. A YAML file holds one document, without anchors, aliases, tags and merge keys. A
// key that the types below do not have is a fault. Files and folders that are Ignored are not read:
// those whose names begin with a dot, and the copies that editors leave. Neither is content.go at
// the top, by which the program carries its own content.
//
// # Placeholders
//
// Every text, pages included, may hold placeholders in double square brackets, such as
// [[base_url]]. The variable Placeholders lists them. A placeholder has no spaces, so that JSON,
// braces and URI templates such as {agent_name} stay as they are. Site.Expand replaces all
// placeholders. Of [[if_log]]…[[else]]…[[end]] it keeps the first text where there is a public log,
// else the second, which may be missing.
package site

import (
	"regexp"
	"slices"

	"anteroom/generator/model"
	"anteroom/generator/tlog"
)

// Site is a whole, checked content folder.
type Site struct {
	Service     Service
	Scoreboards []Scoreboard // one for each hand verification, oldest first; those of one day by their number
	// Verifications are what the boards were counted from, one for each, in the same order.
	Verifications []Verification
	Log           *tlog.Log      // of what they counted; without a stage before the first
	Presence      model.Presence // what presence.yaml says
	Quest         Quest
	AUP           AUP
	Org           Org
	Jobs          List // of work for agents
	Auditors      List // of audits claimed under registered names
	Endpoints     map[string]Endpoint
	Problems      Problems
	Pages         []Page
	LLMs          LLMs
	MCP           MCP
	Source        []byte // the version of the content: SHA-256 over its sorted file names and the SHA-256 of each file

	documents map[string]*document // by their files, for the faults that Load cannot see; none in a Site made by hand
}

// Current is the newest hand verification.
func (s *Site) Current() *Scoreboard { return &s.Scoreboards[len(s.Scoreboards)-1] }

// Service is content/service.yaml: who runs the service, and where.
type Service struct {
	Name          string   `yaml:"name" is:"line"`
	Summary       string   `yaml:"summary" is:"line"`        // one line
	CanonicalHost string   `yaml:"canonical_host" is:"host"` // www. and the apex host
	ApexHost      string   `yaml:"apex_host" is:"host"`
	PreviewHosts  []string `yaml:"preview_hosts" is:"host"`
	// OwnNames are the names under which the operator registers for development and tests, exact or
	// with * for any characters. verify proposes to set records of theirs apart.
	OwnNames   []string `yaml:"own_names,omitempty" is:"line"`
	Operator   string   `yaml:"operator" is:"line"` // name of the person or body that verifies and answers
	Contact    string   `yaml:"contact" is:"email"` // an e-mail address
	License    string   `yaml:"license" is:"spdx"`  // SPDX identifier of the published documents
	Epoch      string   `yaml:"epoch" is:"line"`
	ToolPrefix string   `yaml:"tool_prefix" is:"prefix"`
	Notice     string   `yaml:"notice"`
	HostNotes  struct {
		Canonical string `yaml:"canonical"`
		Other     string `yaml:"other"`
		Document  string `yaml:"document,omitempty"` // in static documents, instead of Canonical
	} `yaml:"host_notes"`
	Limits struct {
		WritesPerMinute int `yaml:"writes_per_minute"`      // for one client address
		BatchMessages   int `yaml:"batch_messages" min:"1"` // messages in one MCP batch
		BatchWrites     int `yaml:"batch_writes" min:"1"`   // write calls in one MCP batch

		// PromiseDays is in how many days a record is counted, as answers promise.
		PromiseDays int `yaml:"promise_days,omitempty" min:"1" max:"366"`
		// CopyDays is for how many days a host that mails suggestions may keep copies of them.
		CopyDays int `yaml:"suggestion_copy_days,omitempty" min:"1" max:"366"`
	} `yaml:"limits"`
	IndexNow struct {
		Key       string   `yaml:"key,omitempty" is:"indexnow-key"`       // "" while no search engine gets changes
		Upstreams []string `yaml:"upstreams" is:"upstream" unique:"true"` // absolute URLs
	} `yaml:"indexnow"`
	ReceiptKeys ReceiptKeys `yaml:"receipt_keys"`
	// Log is the public log of what was counted. There is none where it has no key.
	Log struct {
		Keys      []string       `yaml:"keys" is:"line"` // verifier keys in the order of their use; the last one signs
		Witnesses []tlog.Witness `yaml:"witnesses"`
	} `yaml:"log,omitempty"`
	Relay struct {
		From string `yaml:"from" is:"email"` // who messages to the operator are from
		To   string `yaml:"to" is:"email"`
		// Bounces is their envelope sender. It is To where the content does not say.
		Bounces string `yaml:"bounces,omitempty" is:"email"`
		// Webhook was once the URL that the edge posts messages to. It is a secret, and content is
		// published: only the empty text is left.
		Webhook string `yaml:"webhook,omitempty" is:"webhook"`
		// RemindAfterDays is how long records may wait for a hand verification before the operator is
		// reminded. It is 0 where the content does not say.
		RemindAfterDays int `yaml:"remind_after_days,omitempty" min:"1" max:"365"`
	} `yaml:"relay"`
	Security struct {
		Contacts  []string `yaml:"contacts" is:"contact" unique:"true" minItems:"1"` // URIs, in order of preference
		Expires   string   `yaml:"expires" is:"time"`                                // RFC 3339
		Languages string   `yaml:"languages" is:"languages"`
	} `yaml:"security"`
	ContentSignals struct { // what crawlers may do, for robots.txt
		Search  bool `yaml:"search"`
		AIInput bool `yaml:"ai_input"`
		AITrain bool `yaml:"ai_train"`
	} `yaml:"content_signals"`
}

// RemindAfterDays is how long records may wait where the content does not say.
const RemindAfterDays = 7

// BaseURL is https:// and the canonical host, without a trailing slash.
func (s *Service) BaseURL() string { return "https://" + s.CanonicalHost }

// ReceiptKeys are the public halves of the keys that receipts verify with. RotateKey writes them.
type ReceiptKeys struct {
	Current     string             `yaml:"current,omitempty" is:"key"`       // base64 of the raw 32-byte Ed25519 public key; "" while there is none
	CurrentFrom string             `yaml:"current_from,omitempty" is:"date"` // the day from which it signs; "" where that is not known
	Retired     []model.RetiredKey `yaml:"retired"`
}

// Scoreboard is one hand verification: content/scoreboard/<as_of>[-2].yaml.
type Scoreboard struct {
	File string `yaml:"-"` // base name without extension: "2026-11-20", "2026-11-20-2"
	model.Roster
}

func (s *Scoreboard) day() string { return s.File[:len(dateForm)] }

// Quest is content/quest.yaml: seven steps, cheapest first.
type Quest struct {
	Quest          string                `yaml:"quest"`
	EstTimeSeconds int                   `yaml:"est_time_seconds" min:"1"`
	HowToCall      string                `yaml:"how_to_call"` // what holds for the call of every step
	Steps          []QuestStep           `yaml:"steps"`
	Completion     model.QuestCompletion `yaml:"completion"`
}

// QuestStep is one step of the quest: a call of an operation, with a body or with none.
type QuestStep struct {
	Title     string `yaml:"title"`
	Operation string `yaml:"operation"`           // the ID of the operation
	Body      string `yaml:"body,omitempty"`      // JSON text of an object
	AnswerOf  string `yaml:"answer_of,omitempty"` // the operation of the earlier step whose whole answer is the body's only member
	Proves    string `yaml:"proves"`
	Reward    string `yaml:"reward,omitempty"`
}

// Method is the method of the step's call.
func (s *QuestStep) Method() string {
	if s.Body == "" && s.AnswerOf == "" {
		return "GET"
	}
	return "POST"
}

// AUP is content/aup.yaml.
type AUP struct {
	model.AUP
	Why string `yaml:"why"` // why collusion and covert channels have a code of their own: for that page alone
}

// Org is content/org.yaml: what the draft board says of itself.
type Org struct {
	Intro     string            `yaml:"intro"`
	Positions map[string]string `yaml:"positions"` // what each of the five positions does
	Founding  string            `yaml:"founding"`  // how the founding seats are given
}

// Endpoint is the wording of one operation or route. Its key in content/endpoints.yaml is the
// identifier of the route or operation.
type Endpoint struct {
	Summary     string            `yaml:"summary"`
	Description string            `yaml:"description,omitempty"` // "" where the summary says all
	Fields      map[string]string `yaml:"fields,omitempty"`      // what each input field means, by name
	Notes       []string          `yaml:"notes,omitempty"`
	About       string            `yaml:"about,omitempty"`     // Markdown for the page about a route alone
	Canonical   string            `yaml:"canonical,omitempty"` // and about an operation: the canonical string in its answer
}

// Problems is content/problems.yaml: what each problem type and each fault code means to a caller.
type Problems struct {
	Types map[string]string      `yaml:"types"` // in short
	Pages map[string]ProblemPage `yaml:"pages"` // what else the page about a type says
	Codes map[string]string      `yaml:"codes"`
}

// ProblemPage are the words of the page about a problem type, in Markdown, and the answer that it
// shows as an example.
type ProblemPage struct {
	Why      string       `yaml:"why"`
	Next     string       `yaml:"next"`            // what to do
	Recorded string       `yaml:"recorded"`        // whether something was
	Detail   string       `yaml:"detail"`          // of the example
	Fault    ExampleFault `yaml:"fault,omitempty"` // of the example, where the type lists faults
}

// ExampleFault is a fault in an example.
type ExampleFault struct {
	Field  string `yaml:"field,omitempty"`
	Code   string `yaml:"code"`
	Detail string `yaml:"detail"`
}

// Markers name what the generator puts into a page, by the name of the page: the marker
// <!-- endpoints --> marks where the list of endpoints belongs. Each is in its page exactly
// once, alone in its line. Every content folder has the pages that are listed here.
var Markers = map[string][]string{
	"business-days": {
		"business-days-form", "business-days-call", "business-days-operations", "business-days-conventions", "business-days-counting",
		"business-days-calendars",
	},
	"field-guide": {"endpoints", "kit", "problems", "not-built"},
	"index":       {"start", "status", "counts"},
	"jobs":        {"jobs", "audits"},
	"log":         {"log-state", "log-check", "log-verifications", "log-keep", "log-files", "log-entries"},
	"mcp":         {"tools", "prompts", "install"},
	"org":         {"org-intro", "org-rules", "org-draft", "org-calls", "org-seats"},
	"privacy":     {},
	"quest":       {"quest-overview", "quest-steps", "quest-end"},
	"receipts":    {"verifier", "kit"},
	"reference":   {"operations"},
	"scoreboard":  {"counts", "board-policy", "board-charts", "board-history", "board-corrections", "board-meanings"},
	"terms":       {"terms-policy", "terms-codes", "terms-why", "terms-enforcement", "terms-check", "terms-rationale"},
}

// Marker is the line that is in a page where something derived belongs.
func Marker(name string) string { return "<!-- " + name + " -->" }

// Page is one Markdown page: content/pages/<name>.md with a YAML front matter.
type Page struct {
	Name        string `yaml:"-"` // "index", "field-guide", "privacy"
	Title       string `yaml:"title" is:"line"`
	Description string `yaml:"description" is:"line"`
	Updated     string `yaml:"updated" is:"date"` // date
	Markdown    []byte `yaml:"-"`
}

// Path is where the page is published.
func (p *Page) Path() string {
	if p.Name == "index" {
		return "/"
	}
	return "/" + p.Name + ".html"
}

// LLMs is content/llms.yaml: the words of llms.txt around the derived lists.
type LLMs struct {
	Intro     []string `yaml:"intro"`     // paragraphs after the summary
	Calls     string   `yaml:"calls"`     // before the exact calls
	Elsewhere string   `yaml:"elsewhere"` // before the paths of documents that clients look for by themselves
	Absent    string   `yaml:"absent"`    // what clients may look for, and does not exist
	Sizes     string   `yaml:"sizes"`     // what the sizes beside links mean
}

// MCP is content/mcp.yaml: the words of the MCP server.
type MCP struct {
	Name         string             `yaml:"name" is:"id"` // of the server in a handshake and in a client's configuration
	Instructions string             `yaml:"instructions"`
	Tools        map[string]MCPTool `yaml:"tools"`   // by their names without the prefix
	Prompts      map[string]Prompt  `yaml:"prompts"` // by their names without the prefix
	Install      []Install          `yaml:"install"`
}

// MCPTool is the wording of one tool.
type MCPTool struct {
	Title       string `yaml:"title" is:"line"`
	Description string `yaml:"description"`
}

// Prompt is the wording of one prompt.
type Prompt struct {
	Title       string                    `yaml:"title" is:"line"`
	Description string                    `yaml:"description"`
	Arguments   map[string]PromptArgument `yaml:"arguments,omitempty"`
	Text        string                    `yaml:"text"` // {org_name} is the value of an argument
}

// PromptArgument is the wording of one argument of a prompt.
type PromptArgument struct {
	Description string `yaml:"description"`
	Absent      string `yaml:"absent,omitempty"` // what the text has in its place where it is absent
}

// Install says how to add the MCP server to one client.
type Install struct {
	ID      string `yaml:"id"`
	Client  string `yaml:"client" is:"line"`
	How     string `yaml:"how"`
	Command string `yaml:"command,omitempty" is:"line"`
	Config  string `yaml:"config,omitempty"` // JSON text
	TOML    string `yaml:"toml,omitempty"`
}

// Parts splits the text of a prompt at the arguments with the given names. The parts at even
// indexes are text, the parts at odd indexes are names of arguments.
func (p *Prompt) Parts(arguments []string) (parts []string) {
	end := 0
	for _, at := range inBraces.FindAllStringIndex(p.Text, -1) {
		if name := p.Text[at[0]+1 : at[1]-1]; slices.Contains(arguments, name) {
			parts = append(parts, p.Text[end:at[0]], name)
			end = at[1]
		}
	}
	return append(parts, p.Text[end:])
}

var inBraces = regexp.MustCompile(`\{[^{}]*\}`)
