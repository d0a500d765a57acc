// Package site loads the content folder: every fact about a service that its operator writes.
//
// Load is strict, and reports every fault as "file:line:column: what (hint)". CheckEndpoints
// compares the content with the route table, CheckLinks with the published paths.
//
// # Layout
//
//	service.yaml  presence.yaml  quest.yaml  aup.yaml  org.yaml
//	endpoints.yaml  problems.yaml  llms.yaml  mcp.yaml
//	scoreboard/<date>[-<n>].yaml   the board of each hand verification
//	verifications/<date>[-<n>].yaml  what it counted, written by anteroom publish
//	log/<date>[-<n>].jsonl and .checkpoint  what it added to the public log; see package tlog
//	jobs.yaml or jobs.json         {as_of, jobs: […]}
//	auditors.yaml or auditors.json {as_of, ledger: […]}
//	receipt.json                   a receipt for the front page, or missing
//	pages/<name>.md                the pages of Markers at least, with a YAML front matter
//	static/…                       the operator's own files, published unchanged, or missing
//
// A hand verification is named after its as_of. A further one on the same date has a number from 2
// on; the last of a date is the current one.
//
// Files are UTF-8. A YAML file holds one document without anchors, aliases, tags and merge keys.
// Names that are Ignored, and content.go, are not read.
//
// # Formats
//
// Published and signed texts never change, so a program reads every earlier format of it, and
// refuses a later one by its number: verifications and boards (the key format), entries of the log
// (the version of a verification), receipts and promises (package canon), stores and backups
// (package migrations). Other content is edited to fit the program.
//
// # Placeholders
//
// All texts except in lists may hold placeholders such as [[base_url]]. They have no spaces, so
// JSON, braces and URI templates stay unchanged. [[if_log]]…[[else]]…[[end]] is its first text in a
// service with a public log, and otherwise its second, if any.
package site

import (
	"regexp"
	"slices"

	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
	"anteroom/generator/model"
	"anteroom/generator/tlog"
)

type Site struct {
	Service     Service
	Scoreboards []Scoreboard // oldest first, by number within a day
	// One for each board, in the same order.
	Verifications []Verification
	Log           *tlog.Log // may have no stage
	Presence      model.Presence
	Quest         Quest
	AUP           AUP
	Org           Org
	Jobs          List
	Auditors      List
	Endpoints     map[string]Endpoint
	Problems      Problems
	Pages         []Page
	LLMs          LLMs
	MCP           MCP
	Receipt       *jsondoc.Value // of ReceiptFile, valid; nil without one
	Icon          string         // SVG in place of the program's mark; "" for that
	Static        []StaticFile
	Source        []byte // content version: SHA-256 over sorted file names and the SHA-256 of each file

	documents map[string]*document // by file, for later faults
}

func (s *Site) Current() *Scoreboard { return &s.Scoreboards[len(s.Scoreboards)-1] }

type Service struct {
	Name          string   `yaml:"name" is:"line"`
	Summary       string   `yaml:"summary" is:"line"`
	CanonicalHost string   `yaml:"canonical_host" is:"host"` // www. and the apex host
	ApexHost      string   `yaml:"apex_host" is:"host"`
	PreviewHosts  []string `yaml:"preview_hosts" is:"host" unique:"true"`
	// OwnNames are names under which the operator registers for development and tests, exact or with *
	// for any characters. publish proposes to set their records apart.
	OwnNames   []string `yaml:"own_names,omitempty" is:"line"`
	Operator   string   `yaml:"operator" is:"line"` // the person or body that verifies
	Contact    string   `yaml:"contact" is:"email"`
	License    string   `yaml:"license" is:"spdx"`
	Epoch      string   `yaml:"epoch" is:"line"`
	ToolPrefix string   `yaml:"tool_prefix" is:"prefix"`
	Notice     string   `yaml:"notice"`
	HostNotes  struct {
		Canonical string `yaml:"canonical"`
		Other     string `yaml:"other"`
		Document  string `yaml:"document,omitempty"` // in static documents, instead of Canonical
	} `yaml:"host_notes"`
	Limits struct {
		WritesPerMinute int `yaml:"writes_per_minute"`
		BatchMessages   int `yaml:"batch_messages" min:"1"`
		BatchWrites     int `yaml:"batch_writes" min:"1"`

		PromiseDays int `yaml:"promise_days,omitempty" min:"1" max:"366"`
		// A host that mails suggestions may keep copies for CopyDays.
		CopyDays int `yaml:"suggestion_copy_days,omitempty" min:"1" max:"366"`
	} `yaml:"limits"`
	IndexNow struct {
		Key       string   `yaml:"key,omitempty" is:"indexnow-key"`     // "" while no search engine gets changes
		Retired   []string `yaml:"retired,omitempty" is:"indexnow-key"` // keys whose files stay, for late checks
		Upstreams []string `yaml:"upstreams" is:"upstream" unique:"true"`
	} `yaml:"indexnow"`
	ReceiptKeys ReceiptKeys `yaml:"receipt_keys"`
	// Without a key there is no log.
	Log struct {
		Key       string         `yaml:"vkey,omitempty" is:"line"`
		Witnesses []tlog.Witness `yaml:"witnesses"`
	} `yaml:"log,omitempty"`
	Relay struct {
		From string `yaml:"from" is:"email"` // sender of messages to the operator
		To   string `yaml:"to" is:"email"`
		// Bounces is the envelope sender; "" means To.
		Bounces string `yaml:"bounces,omitempty" is:"email"`
	} `yaml:"relay"`
	Security struct {
		Contacts  []string `yaml:"contacts" is:"contact" unique:"true" minItems:"1"` // URIs, in order of preference
		Expires   string   `yaml:"expires" is:"time"`
		Languages string   `yaml:"languages" is:"languages"`
	} `yaml:"security"`
	ContentSignals struct { // what crawlers may do, for robots.txt
		Search  bool `yaml:"search"`
		AIInput bool `yaml:"ai_input"`
		AITrain bool `yaml:"ai_train"`
	} `yaml:"content_signals"`
}

func (s *Service) BaseURL() string { return "https://" + s.CanonicalHost }

type ReceiptKeys struct {
	Current     string             `yaml:"current,omitempty" is:"key"`
	CurrentFrom string             `yaml:"current_from,omitempty" is:"date"`
	Retired     []model.RetiredKey `yaml:"retired"`
}

// All returns the keys as a host has them, the current one first: it is "" if there are only
// retired ones.
func (k *ReceiptKeys) All() (keys []snapshot.Key) {
	if k.Current == "" && len(k.Retired) == 0 {
		return nil
	}
	keys = append(keys, snapshot.Key{PublicKey: k.Current})
	for _, retired := range k.Retired {
		keys = append(keys, snapshot.Key(retired))
	}
	return keys
}

// Scoreboard is a hand verification's board: content/scoreboard/<as_of>[-2].yaml.
type Scoreboard struct {
	File   string `yaml:"-"`                        // base name without extension: "2026-11-20", "2026-11-20-2"
	Format int    `yaml:"format,omitempty" min:"1"` // 0 is format 1; see newestFormat
	sum    string // SumOfBoard of the file
	model.Scoreboard
}

func (s *Scoreboard) day() string { return s.File[:len(dateForm)] }

type Quest struct {
	Quest          string                `yaml:"quest"`
	EstTimeSeconds int                   `yaml:"est_time_seconds" min:"1"`
	HowToCall      string                `yaml:"how_to_call"` // about the calls of all steps
	Steps          []QuestStep           `yaml:"steps"`
	Completion     model.QuestCompletion `yaml:"completion"`
}

type QuestStep struct {
	Title     string `yaml:"title"`
	Operation string `yaml:"operation"`
	Body      string `yaml:"body,omitempty"`
	AnswerOf  string `yaml:"answer_of,omitempty"` // the operation whose whole answer is the body's only member
	Proves    string `yaml:"proves"`
	Reward    string `yaml:"reward,omitempty"`
	Leaves    string `yaml:"leaves,omitempty"` // what the service stores or sends on, if anything
}

func (s *QuestStep) Method() string {
	if s.Body == "" && s.AnswerOf == "" {
		return "GET"
	}
	return "POST"
}

type AUP struct {
	model.AUP
	Why string `yaml:"why"` // for the page of the terms
}

type Org struct {
	Intro     string            `yaml:"intro"`
	Positions map[string]string `yaml:"positions"`
	Founding  string            `yaml:"founding"`
}

// Endpoint describes a route or an operation, by its identifier in content/endpoints.yaml.
type Endpoint struct {
	Summary     string            `yaml:"summary"`
	Description string            `yaml:"description,omitempty"`
	Fields      map[string]string `yaml:"fields,omitempty"`
	Notes       []string          `yaml:"notes,omitempty"`
	About       string            `yaml:"about,omitempty"`     // of a route: Markdown for its page
	Canonical   string            `yaml:"canonical,omitempty"` // of an operation: the canonical string in its answer
}

type Problems struct {
	Types map[string]string      `yaml:"types"`
	Pages map[string]ProblemPage `yaml:"pages"`
	Codes map[string]string      `yaml:"codes"`
}

// ProblemPage has the texts of the page about a problem type, in Markdown, and its example.
type ProblemPage struct {
	Why      string       `yaml:"why"`
	Next     string       `yaml:"next"`
	Recorded string       `yaml:"recorded"` // about side effects
	Detail   string       `yaml:"detail"`
	Fault    ExampleFault `yaml:"fault,omitempty"` // of the example, if the type lists faults
}

type ExampleFault struct {
	Field  string `yaml:"field,omitempty"`
	Code   string `yaml:"code"`
	Detail string `yaml:"detail"`
}

// Markers names what the generator puts into a page, by page: <!-- endpoints --> marks the place of
// the list of endpoints. Each is in its page exactly once, alone in its line. Every content folder
// has these pages.
var Markers = map[string][]string{
	"business-days": {
		"business-days-form", "business-days-counting", "business-days-conventions", "business-days-calendars",
		"business-days-operations",
	},
	"field-guide": {"guide-facts", "endpoints", "kit", "problems", "not-built"},
	"index":       {"status", "start", "counts", "not-built"},
	"jobs":        {"jobs", "job-offer", "audits"},
	"log":         {"log-check", "log-state", "log-verifications", "log-files"},
	"mcp":         {"install", "tools", "no-tools", "prompts"},
	"org":         {"org-draft", "org-seats", "org-calls", "org-canonical"},
	"privacy":     {},
	"quest":       {"quest-overview", "quest-read", "quest-receipt", "quest-leave", "quest-end"},
	"receipts":    {"verifier", "verdicts", "kit"},
	"reference":   {"api-facts", "calls-read", "calls-compute", "calls-write", "calls-mcp", "error-example"},
	"scoreboard":  {"board", "board-policy", "board-history", "board-corrections", "board-meanings"},
	"terms":       {"terms-policy", "terms-codes", "terms-why", "terms-enforcement", "terms-check", "terms-rationale"},
	"waitlist":    {"waitlist-form"},
}

func Marker(name string) string { return "<!-- " + name + " -->" }

type Page struct {
	Name        string `yaml:"-"` // "index", "field-guide", "privacy"
	Title       string `yaml:"title" is:"line"`
	Nav         string `yaml:"nav,omitempty" is:"line"` // its name in menus, if not Title
	Description string `yaml:"description" is:"line"`
	Updated     string `yaml:"updated" is:"date"`
	Markdown    []byte `yaml:"-"`
}

func (p *Page) Path() string {
	if p.Name == "index" {
		return "/"
	}
	return "/" + p.Name + ".html"
}

// LLMs is content/llms.yaml: the texts of llms.txt around the derived lists.
type LLMs struct {
	Intro     []string `yaml:"intro"`
	Calls     string   `yaml:"calls"`
	Elsewhere string   `yaml:"elsewhere"`
	Absent    string   `yaml:"absent"`
	Sizes     string   `yaml:"sizes"`
}

type MCP struct {
	Name         string             `yaml:"name" is:"id"` // of the server in a handshake and in a client's configuration
	Instructions string             `yaml:"instructions"`
	Tools        map[string]MCPTool `yaml:"tools"`   // by their names without the prefix
	Prompts      map[string]Prompt  `yaml:"prompts"` // by their names without the prefix
	Install      []Install          `yaml:"install"`
}

type MCPTool struct {
	Title       string `yaml:"title" is:"line"`
	Nav         string `yaml:"nav,omitempty" is:"line"` // its name in menus, if not Title
	Description string `yaml:"description"`
}

type Prompt struct {
	Title       string                    `yaml:"title" is:"line"`
	Description string                    `yaml:"description"`
	Arguments   map[string]PromptArgument `yaml:"arguments,omitempty"`
	Text        string                    `yaml:"text"` // {org_name} is the value of an argument
}

type PromptArgument struct {
	Description string `yaml:"description"`
	Absent      string `yaml:"absent,omitempty"` // replaces it if it is absent
}

type Install struct {
	ID      string `yaml:"id"`
	Client  string `yaml:"client" is:"line"`
	How     string `yaml:"how"`
	Command string `yaml:"command,omitempty" is:"line"`
	Config  string `yaml:"config,omitempty"`
	TOML    string `yaml:"toml,omitempty"`
}

// Parts splits the text of a prompt at the arguments: names are at odd indexes.
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
