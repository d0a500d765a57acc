// Package site is the typed form of the content folder: every fact about a
// service that its operator writes, loaded strictly and checked as a whole.
//
// Load reports every fault it finds, not the first, each as
// "file:line:column: what is wrong (hint)".
package site

// Site is a whole, checked content folder.
type Site struct {
	Service     Service
	Scoreboards []Scoreboard // one for each hand verification, oldest first
	Presence    Presence
	Quest       Quest
	AUP         AUP
	Org         Org
	Jobs        List // of work for agents
	Auditors    List // of audits claimed under registered names
	Endpoints   map[string]Endpoint
	Problems    Problems
	Pages       []Page
	LLMs        LLMs
	Source      []byte // SHA-256 over the content files, names and bytes: the version of the content
}

// Current is the newest hand verification.
func (s *Site) Current() *Scoreboard { return &s.Scoreboards[len(s.Scoreboards)-1] }

// Service is content/service.yaml: who runs the service, and where.
type Service struct {
	Name          string   `yaml:"name"`
	Summary       string   `yaml:"summary"` // one line
	CanonicalHost string   `yaml:"canonical_host"`
	ApexHost      string   `yaml:"apex_host"`
	PreviewHosts  []string `yaml:"preview_hosts"`
	Operator      string   `yaml:"operator"` // name of the person or body that verifies and answers
	Contact       string   `yaml:"contact"`  // an e-mail address
	License       string   `yaml:"license"`  // SPDX identifier of the published documents
	Epoch         string   `yaml:"epoch"`
	ToolPrefix    string   `yaml:"tool_prefix"`
	Notice        string   `yaml:"notice"`
	HostNotes     struct {
		Canonical string `yaml:"canonical"`
		Other     string `yaml:"other"`
	} `yaml:"host_notes"`
	Limits struct {
		WritesPerMinute int `yaml:"writes_per_minute"` // for one client address
		BatchMessages   int `yaml:"batch_messages"`    // messages in one MCP batch
		BatchWrites     int `yaml:"batch_writes"`      // write calls in one MCP batch
	} `yaml:"limits"`
	IndexNow struct {
		Key       string   `yaml:"key"`
		Upstreams []string `yaml:"upstreams"` // absolute URLs
	} `yaml:"indexnow"`
	ReceiptKeys struct {
		Current string       `yaml:"current"` // base64 of the raw 32-byte Ed25519 public key; "" while there is none
		Retired []RetiredKey `yaml:"retired"`
	} `yaml:"receipt_keys"`
	Relay struct {
		From string `yaml:"from"` // envelope and header sender of messages to the operator
		To   string `yaml:"to"`
	} `yaml:"relay"`
	Security struct {
		Contacts  []string `yaml:"contacts"` // URIs, in order of preference
		Expires   string   `yaml:"expires"`  // RFC 3339
		Languages string   `yaml:"languages"`
	} `yaml:"security"`
	ContentSignals struct { // what crawlers may do, for robots.txt
		Search  bool `yaml:"search"`
		AIInput bool `yaml:"ai_input"`
		AITrain bool `yaml:"ai_train"`
	} `yaml:"content_signals"`
}

// BaseURL is https:// and the canonical host, without a trailing slash.
func (s *Service) BaseURL() string { return "https://" + s.CanonicalHost }

// RetiredKey is a receipt key that signs no more and still verifies.
type RetiredKey struct {
	PublicKey string `yaml:"public_key"`
	RetiredOn string `yaml:"retired_on"`
}

// Scoreboard is one hand verification: content/scoreboard/<as_of>[-2].yaml.
type Scoreboard struct {
	File             string `yaml:"-"` // base name without extension: "2026-11-20", "2026-11-20-2"
	Board            string `yaml:"board"`
	AsOf             string `yaml:"as_of"`
	VerifiedThrough  string `yaml:"counts_verified_by_hand_through"`
	CountsAgeNote    string `yaml:"counts_age_note"`
	MonitoredThrough string `yaml:"operations_monitored_through"`
	MonitoringNote   string `yaml:"monitoring_note"`
	CountingPolicy   string `yaml:"counting_policy"`
	PilotWaitlist    struct {
		VerifiedConversions   int    `yaml:"verified_organic_agent_conversions"`
		RegistrationsRecorded int    `yaml:"registrations_recorded"`
		IdentityNote          string `yaml:"identity_note"`
	} `yaml:"pilot_waitlist"`
	Orgs struct {
		ChartersFiled int    `yaml:"charters_filed"`
		Rules         string `yaml:"rules"`
		OfferHistory  string `yaml:"offer_history"`
	} `yaml:"orgs"`
	Suggestions struct {
		ReceivedExternal     int    `yaml:"received_external"`
		OriginatedInternally int    `yaml:"originated_internally"`
		Shipped              int    `yaml:"shipped"`
		Reconciliation       string `yaml:"reconciliation"`
		Deal                 string `yaml:"deal"`
	} `yaml:"suggestions"`
	Excluded struct {
		Records int    `yaml:"development_seed_and_test_records"`
		Note    string `yaml:"note"`
	} `yaml:"excluded_from_counts"`
	ObservedAttention struct {
		AsOf               string   `yaml:"as_of"`
		WhatThisIs         string   `yaml:"what_this_is"`
		WhatTheyAre        string   `yaml:"what_they_are"`
		HonestRead         string   `yaml:"honest_read"`
		NamedClients       []string `yaml:"named_clients"`
		CompletedHandshake int      `yaml:"named_clients_that_completed_a_handshake"`
		ToolCalls          int      `yaml:"tool_calls_by_anything_not_auditing_us"`
		ToolCallsNote      string   `yaml:"tool_calls_note"`
		SecurityReports    int      `yaml:"security_reports_received"`
		Updates            []Update `yaml:"updates"` // update_YYYY_MM_DD members
	} `yaml:"observed_attention"`
	WhatThisNumberMeans []string `yaml:"what_this_number_means"`
}

// Update is one dated remark on what was observed.
type Update struct {
	Date             string `yaml:"date"`
	WhatChanged      string `yaml:"what_changed"`
	OneAmbiguousRead string `yaml:"one_ambiguous_read"`
}

// Presence is content/presence.yaml.
type Presence struct {
	Status      string `yaml:"status"` // online, away or offline
	AwayMessage string `yaml:"away_message"`
	Since       string `yaml:"since"` // RFC 3339
	NotBuilt    []struct {
		What string `yaml:"what"`
		Note string `yaml:"note"`
	} `yaml:"not_built"`
}

// Quest is content/quest.yaml: seven steps, cheapest first.
type Quest struct {
	Quest          string `yaml:"quest"`
	EstTimeSeconds int    `yaml:"est_time_seconds"`
	Steps          []struct {
		Title  string `yaml:"title"`
		Call   string `yaml:"call"` // the exact call; {base_url} is replaced
		Proves string `yaml:"proves"`
		Reward string `yaml:"reward"`
	} `yaml:"steps"`
	Completion struct {
		YouNowHave []string `yaml:"you_now_have"`
		Persist    string   `yaml:"persist"`
	} `yaml:"completion"`
}

// AUP is content/aup.yaml.
type AUP struct {
	Policy     string `yaml:"policy"`
	Prohibited []struct {
		Code string `yaml:"code"`
		Rule string `yaml:"rule"`
	} `yaml:"prohibited"`
	Enforcement   string `yaml:"enforcement"`
	CheckEndpoint string `yaml:"check_endpoint"`
	Rationale     string `yaml:"rationale"`
}

// Org is content/org.yaml: what the draft board says of itself.
type Org struct {
	Intro     string            `yaml:"intro"`
	Positions map[string]string `yaml:"positions"` // what each of the five positions does
	Founding  string            `yaml:"founding"`  // how the founding seats are given
}

// List is a list that grows (jobs, audits): its entries checked, rendered as
// compact JSON and sorted as published.
type List struct {
	AsOf string // date of the newest change the operator vouches for
	// Groups holds the entries in publishing order: jobs have "open" and
	// "completed", auditors "ledger". Each element is one JSON object.
	Groups map[string][][]byte
	// Counts are the published totals, by name.
	Counts map[string]int
}

// Endpoint is the wording of one operation or route: content/endpoints.yaml,
// keyed by the route's or operation's identifier.
type Endpoint struct {
	Summary     string            `yaml:"summary"`
	Description string            `yaml:"description"`
	Fields      map[string]string `yaml:"fields"` // what each input field means, by name
	Notes       []string          `yaml:"notes"`
}

// Problems is content/problems.yaml: what each problem type and each fault code means to a caller.
type Problems struct {
	Types map[string]string `yaml:"types"`
	Codes map[string]string `yaml:"codes"`
}

// Page is one Markdown page: content/pages/<name>.md with a YAML front matter.
type Page struct {
	Name        string `yaml:"-"` // "index", "field-guide", "privacy"
	Title       string `yaml:"title"`
	Description string `yaml:"description"`
	Updated     string `yaml:"updated"` // date
	Markdown    []byte `yaml:"-"`
}

// LLMs is content/llms.yaml: the words of llms.txt around the derived lists.
type LLMs struct {
	Intro []string `yaml:"intro"` // paragraphs after the summary
}
