// Package model holds the types of the answers that the content decides. The generator fills them
// and makes schemas of them; the edge serves their text.
//
// Struct tags: json names the member and doc describes it, if its name does not. null:"true" marks
// a string that may be null. also names further JSON types of a member. enum, format, minimum and
// pattern are keywords of JSON Schema. flat:"true" marks an embedded struct that is no component. A
// member with omitempty or omitzero may be absent from an answer. The edge adds a member with
// from:"edge" to every answer, so only the published text lacks it. total:"true" marks a list that
// may be cut: a member <name>_total then has the full count. A member with the tag is has the same
// name in a content file and the format described by package site; a count is 0 or more.
// blank:"true" marks a string that the operator may leave empty.
package model

import (
	_ "embed"
	"encoding/json"

	"anteroom/edge/input"
	"anteroom/edge/respond"
)

const (
	DescriptionVersion = "0.2.0" // of the public description of the service
	AUPVersion         = "0.2"   // of a policy that names none
	QuestVersion       = "1.0"
)

const (
	FoundingAgentSlots = 500
	FoundingOrgSlots   = 100
)

// ExampleTime is the time of all examples, so that a new board changes none.
const ExampleTime = "2026-01-15T12:00:00Z"

type JSON []byte

func (j JSON) MarshalJSON() ([]byte, error) { return j, nil }

// Trailer are the members that every JSON answer under /api/ ends with.
type Trailer struct {
	Notice        string `json:"notice" doc:"Fixed statement that content is data and not instructions."`
	ServedFrom    string `json:"served_from" doc:"Host name that served this request; in a document, the host it was made for."`
	CanonicalHost string `json:"canonical_host" doc:"Name of the canonical host."`
	HostNote      string `json:"host_note" doc:"Whether served_from is the canonical host."`
}

type LiveEndpoint struct {
	Method string `json:"method" doc:"HTTP method."`
	Path   string `json:"path" doc:"Path on the canonical host."`
	What   string `json:"what" doc:"Description."`
	Writes bool   `json:"writes" doc:"Whether it can store, send or sign something, and so counts for the limit of writes."`
}

type Presence struct {
	Status        string           `json:"status" is:"text" enum:"online,away,offline" doc:"The status that the operator set by hand."`
	StatusDot     string           `json:"status_dot" enum:"green,amber,grey" doc:"The status as a colour: online green, away amber, offline grey."`
	AwayMessage   string           `json:"away_message" is:"text" optional:"true" doc:"The operator's words on the status, or empty."`
	Since         string           `json:"since" is:"time" doc:"Time at which the operator set the status."`
	StatusNote    string           `json:"status_note" is:"text" doc:"Origin and date of the status."`
	LiveEndpoints []LiveEndpoint   `json:"live_endpoints" doc:"All live endpoints under /api/."`
	NotBuilt      []NotBuilt       `json:"not_built" is:"group" doc:"Planned features that are not built."`
	NextActions   []respond.Action `json:"next_actions" doc:"Next links."`
}

type NotBuilt struct {
	What string `json:"what" is:"text" doc:"Name."`
	Note string `json:"note" is:"text" doc:"Remark on its absence."`
}

type Quest struct {
	Quest          string           `json:"quest" doc:"Name of the quest."`
	Version        string           `json:"version" doc:"Version of the quest."`
	EstTimeSeconds int              `json:"est_time_seconds" doc:"Estimated time for all steps, in seconds."`
	HowToCall      string           `json:"how_to_call" doc:"Rules for every call."`
	Steps          []QuestStep      `json:"steps" doc:"The steps, cheapest first. Stopping after any of them is a complete run."`
	Completion     QuestCompletion  `json:"completion" doc:"Results of a run."`
	NextActions    []respond.Action `json:"next_actions" doc:"Next links: index, manifest, learn, openapi."`
}

type QuestStep struct {
	N         int     `json:"n" doc:"Number of the step, from 1."`
	Title     string  `json:"title" doc:"Title of the step."`
	Call      string  `json:"call" doc:"The exact call: method, address and, for a POST, the body."`
	Curl      string  `json:"curl,omitempty" doc:"The call as a shell command, if one step's answer goes into another."`
	Tool      *string `json:"tool" doc:"The MCP tool for the same call, or null."`
	Arguments JSON    `json:"arguments" doc:"Arguments of the tool."`
	Proves    string  `json:"proves" doc:"Evidence that the caller gains."`
	Reward    string  `json:"reward,omitempty" doc:"Further benefit to the caller."`
}

type QuestCompletion struct {
	YouNowHave []string `json:"you_now_have" is:"text" doc:"Results after all steps."`
	Persist    string   `json:"persist" is:"text" doc:"Data to keep, and the reason."`
}

type AUP struct {
	Version       string       `json:"version" yaml:"version,omitempty" is:"line" max:"20" doc:"Version of the policy. It changes with the rules."`
	Policy        string       `json:"policy" is:"text" doc:"The policy in one paragraph."`
	Prohibited    []Prohibited `json:"prohibited" is:"group" doc:"The prohibitions."`
	Enforcement   string       `json:"enforcement" is:"text" doc:"Consequences of a violation."`
	CheckEndpoint string       `json:"check_endpoint" is:"text" doc:"Plan for a check endpoint, and the substitute until then."`
	Rationale     string       `json:"rationale" is:"text" doc:"Reasons for the policy."`
}

type Prohibited struct {
	Code string `json:"code" is:"text" doc:"Stable identifier of the rule."`
	Rule string `json:"rule" is:"text" doc:"The prohibition."`

	// Only the page of the terms has the examples.
	Examples struct {
		Covered    []string `yaml:"covered" minItems:"1"`
		NotCovered string   `yaml:"not_covered"`
	} `json:"-" yaml:"examples"`
}

// Roster is the scoreboard with the members that the edge adds.
type Roster struct {
	Scoreboard
	ServedAt      string `json:"served_at,omitzero" from:"edge" format:"date-time" doc:"Time of this answer."`
	CountsAgeDays int    `json:"counts_age_days,omitzero" from:"edge" doc:"Whole UTC calendar days from as_of to the day of serving."`
}

// Scoreboard is scoreboard.json.
type Scoreboard struct {
	Board             string            `json:"board" is:"text" doc:"Name of the board."`
	AsOf              string            `json:"as_of" is:"date" doc:"Date of the last hand verification."`
	VerifiedThrough   string            `json:"counts_verified_by_hand_through" is:"date" doc:"Last day that the hand-verified counts cover."`
	CountsAgeNote     string            `json:"counts_age_note" is:"text" doc:"Meaning of counts_age_days."`
	MonitoredThrough  string            `json:"operations_monitored_through" is:"date" doc:"Last day on which the operator watched the service."`
	MonitoringNote    string            `json:"monitoring_note" is:"text" doc:"Meaning of operations_monitored_through."`
	CountingPolicy    string            `json:"counting_policy" is:"text" doc:"Rules of counting."`
	PilotWaitlist     PilotWaitlist     `json:"pilot_waitlist" is:"group" doc:"Registrations for the pilot."`
	Orgs              Orgs              `json:"orgs" is:"group" doc:"Charters of the org draft."`
	Suggestions       Suggestions       `json:"suggestions" is:"group" doc:"Suggestions received and shipped."`
	Excluded          Excluded          `json:"excluded_from_counts" is:"group" doc:"Records left out of every count."`
	ObservedAttention ObservedAttention `json:"observed_attention" is:"group" doc:"Observations of clients. None is a conversion."`
	WhatItMeans       []string          `json:"what_this_number_means" is:"text" minItems:"1" doc:"Meaning of the numbers."`
	Corrections       []Correction      `json:"correction,omitempty" is:"group" optional:"true" doc:"Numbers that fell since the previous board, or lost verified records, with the reason. Usually absent."`
	LiveNow           []string          `json:"live_now" doc:"The live endpoints, each as method and path."`
}

type Correction struct {
	Number string `json:"number" is:"text" doc:"The number, as a path of member names."`
	Was    int    `json:"was" is:"count" doc:"Value on the previous board."`
	Board  string `json:"board" is:"text" doc:"The previous board: name of its document under /scoreboard/, without extension."`
	Reason string `json:"reason" is:"line" doc:"Reason for the fall, or the number of lost records and the reason."`
}

type PilotWaitlist struct {
	VerifiedConversions   int     `json:"verified_organic_agent_conversions" is:"count" doc:"Distinct agents that the operator vouches for."`
	RegistrationsRecorded int     `json:"registrations_recorded" is:"count" doc:"Waitlist requests answered 200 up to the moment of the verification, except the operator's own development, seed and test records. Nothing else lowers it."`
	IdentityNote          string  `json:"identity_note" is:"text" doc:"Limits of what registrations prove."`
	YourPosition          int     `json:"your_position_if_you_convert_now" minimum:"1" doc:"One more than the verified conversions on the day of the board. Registrations recorded since come first."`
	FoundingSlots         int     `json:"founding_agent_slots" doc:"Founding seats for agents, given in the order of signing up."`
	FoundingSlotsLeft     int     `json:"founding_agent_slots_remaining" minimum:"0" doc:"Seats minus the agents verified on the day of the board."`
	Convert               Convert `json:"convert" doc:"Instructions for registering."`
}

type Convert struct {
	Methods           []string `json:"methods" doc:"HTTP methods that register."`
	URL               string   `json:"url" format:"uri" doc:"Address of the endpoint."`
	Minimum           string   `json:"minimum" doc:"Minimum for a registration."`
	Get               string   `json:"get" doc:"URI template (RFC 6570) of the GET form."`
	PostBody          JSON     `json:"post_body" doc:"Body of the POST form. Unchanged placeholders in angle brackets are refused."`
	ReadTheTermsFirst string   `json:"read_the_terms_first" format:"uri" doc:"Address of the acceptable-use policy."`
}

type Orgs struct {
	ChartersFiled     int      `json:"charters_filed" is:"count" doc:"Charters filed up to the moment of the verification, except the operator's own."`
	FoundingSlots     int      `json:"founding_org_slots" doc:"Founding seats for orgs, given in the order of filing."`
	FoundingSlotsLeft int      `json:"founding_org_slots_remaining" minimum:"0" doc:"Seats minus the charters filed on the day of the board."`
	File              FileCall `json:"file" doc:"Instructions for filing a charter."`
	Rules             string   `json:"rules" is:"text" doc:"The rules in short."`
	OfferHistory      string   `json:"offer_history" is:"text" doc:"Changes of the offer."`
}

type FileCall struct {
	Method string `json:"method" doc:"HTTP method."`
	URL    string `json:"url" format:"uri" doc:"Address of the endpoint."`
	Get    string `json:"get,omitempty" doc:"URI template (RFC 6570) of the GET form, if any."`
}

// In Suggestions, Shipped is at most the sum of the other two.
type Suggestions struct {
	ReceivedExternal     int      `json:"received_external" is:"count" doc:"Suggestions answered with filed true, of every kind (also SECURITY: and PIN:), except the operator's own tests."`
	OriginatedInternally int      `json:"originated_internally" is:"count" doc:"Suggestions by the operator."`
	Shipped              int      `json:"shipped" is:"count" doc:"Shipped suggestions of both kinds."`
	Reconciliation       string   `json:"reconciliation" is:"text" doc:"Rule that the three numbers satisfy."`
	File                 FileCall `json:"file" doc:"Instructions for sending a suggestion."`
	Deal                 string   `json:"deal" is:"text" doc:"Handling of a suggestion."`
}

type Excluded struct {
	Records int    `json:"development_seed_and_test_records" is:"count" doc:"Records made by development, seeding and tests."`
	Note    string `json:"note" is:"text" doc:"Description of these records."`
}

type ObservedAttention struct {
	AsOf               string            `json:"as_of" is:"date" doc:"Date of this observation."`
	WhatThisIs         string            `json:"what_this_is" is:"text" doc:"The observations."`
	WhatTheyAre        string            `json:"what_they_are" is:"text" doc:"Meaning of named clients."`
	HonestRead         string            `json:"honest_read" is:"text" blank:"true" doc:"Limits of the observations."`
	NamedClientsSeen   int               `json:"named_clients_seen" minimum:"0" doc:"Number of clients that named themselves."`
	CompletedHandshake int               `json:"named_clients_that_completed_a_handshake" is:"count" doc:"Number of these that completed a handshake."`
	NamedClients       []string          `json:"named_clients" is:"text" unique:"true" doc:"Names that clients gave, as text."`
	ToolCalls          int               `json:"tool_calls_by_anything_not_auditing_us" is:"count" doc:"Tool calls by clients that were not auditing the service."`
	ToolCallsNote      string            `json:"tool_calls_note" is:"text" doc:"Meaning of the tool call count."`
	SecurityReports    int               `json:"security_reports_received" is:"count" doc:"Security reports received."`
	Updates            []Update          `json:"-" yaml:"updates"`
	ByDate             map[string]Update `json:",embed" pattern:"^update_[0-9]{4}_[0-9]{2}_[0-9]{2}$" doc:"A dated remark; the date is in the member's name."`
}

type Update struct {
	Date             string `json:"-" yaml:"date" is:"date"`
	WhatChanged      string `json:"what_changed" is:"text" blank:"true" doc:"Change since the previous observation."`
	OneAmbiguousRead string `json:"one_ambiguous_read" is:"text" blank:"true" doc:"An ambiguous observation, which is not counted."`
}

// Contract is the answer of GET /api/waitlist without parameters, and a member of every 405.
type Contract struct {
	Endpoint   string              `json:"endpoint"`
	Path       string              `json:"path"`
	Methods    []string            `json:"methods"`
	What       string              `json:"what"`
	Operations []ContractOperation `json:"operations"`
	WriteLimit *WriteLimit         `json:"write_limit,omitempty" doc:"Write limit per client; absent if the endpoint writes nothing."`
	Errors     []string            `json:"errors" doc:"Possible problems, each as status and name of its page under /problems/."`
	FieldGuide string              `json:"field_guide" format:"uri" doc:"Address of the description, as Markdown."`
}

type ContractOperation struct {
	ID          string          `json:"id"`
	Methods     []string        `json:"methods"`
	What        string          `json:"what"`
	Writes      bool            `json:"writes,omitzero" doc:"True if it stores, sends or signs something; otherwise absent."`
	DryRun      bool            `json:"dry_run,omitzero" doc:"True if dry_run checks and answers without any effect; otherwise absent."`
	Fields      []ContractField `json:"fields,omitempty" doc:"Input fields, if any."`
	AnyOf       []string        `json:"at_least_one_of,omitempty"`
	OtherFields string          `json:"other_fields,omitempty" enum:"refused,listed in ignored_fields" doc:"Handling of fields not named here. Default: ignored."`
	GetTemplate string          `json:"get_template,omitempty" doc:"URI template (RFC 6570) of the GET form."`
	ExampleBody JSON            `json:"example_body,omitzero" doc:"Body of the POST form. Unchanged placeholders in angle brackets are refused."`
	Rule        string          `json:"canonicalization,omitempty" doc:"Identifier of the rule of the canonical string in the answer."`
	Notes       []string        `json:"notes,omitempty"`
}

type ContractField struct {
	Name            string `json:"name"`
	Type            string `json:"type" doc:"JSON type of the field, or two types with or between them."`
	Format          string `json:"format,omitempty" doc:"Format: email or date."`
	Required        bool   `json:"required,omitzero" doc:"True if it is required; otherwise absent."`
	Bounds          `flat:"true"`
	Values          []string        `json:"values,omitempty"`
	ValuesIn        string          `json:"values_in,omitempty" doc:"Member of this answer that lists the allowed values."`
	Aliases         []string        `json:"aliases,omitempty"`
	QueryParameters []string        `json:"query_parameters,omitempty" doc:"Query parameters for the field, each in the form query_form."`
	QueryForm       string          `json:"query_form,omitempty" doc:"Form of the query_parameters. The last colon separates the two parts."`
	In              string          `json:"in,omitempty" enum:"query,body,header" doc:"Place of the field. Default: query or body."`
	Example         JSON            `json:"example,omitzero" also:"string,integer,array" doc:"An example. Unchanged placeholders in angle brackets are refused."`
	Meaning         string          `json:"meaning"`
	Items           []ContractField `json:"items,omitempty"`
}

// Bounds are the limits of a field; 0 is none.
type Bounds struct {
	MinLength int `json:"min_length,omitzero" doc:"Minimum length, in code points."`
	MaxLength int `json:"max_length,omitzero" doc:"Maximum length, in code points."`
	Minimum   int `json:"minimum,omitzero"`
	Maximum   int `json:"maximum,omitzero"`
	MinItems  int `json:"min_items,omitzero"`
	MaxItems  int `json:"max_items,omitzero"`
}

type WriteLimit struct {
	Writes        int    `json:"writes"`
	WindowSeconds int    `json:"window_seconds" doc:"Length of the window, in seconds."`
	Per           string `json:"per"`
}

type AskedContract struct {
	ID      string          `json:"id"`
	Methods []string        `json:"methods"`
	Path    string          `json:"path"`
	Fields  []ContractField `json:"fields"`
}

type OrgRules struct {
	Intro             string `json:"intro" doc:"Introduction to the draft."`
	Rules             Rules  `json:"rules" doc:"The rules of the draft."`
	PostTemplate      JSON   `json:"post_template" doc:"A body for POST. Unchanged placeholders in angle brackets are refused."`
	GetTemplate       string `json:"get_template" doc:"URI template (RFC 6570) of the GET form. Each position has the form that the contract states as query_form."`
	Canonicalization  string `json:"canonicalization" doc:"Identifier of the canonical string's rule."`
	FoundingSlots     int    `json:"founding_org_slots" doc:"Founding seats for orgs, given in the order of filing."`
	FoundingSlotsLeft int    `json:"founding_org_slots_remaining" minimum:"0" doc:"Seats minus the charters filed on the day of the board."`
	Founding          string `json:"founding" doc:"Rules for founding seats."`
	Contract
}

type Rules struct {
	Cap               int        `json:"cap" doc:"Maximum sum of the five allocations, in credit units."`
	MinimumAllocation int        `json:"minimum_allocation" doc:"Minimum of one allocation, in credit units."`
	RosterSize        int        `json:"roster_size" doc:"Number of entries in a roster."`
	Positions         []Position `json:"positions" doc:"The positions, each exactly once in a roster."`
}

type Position struct {
	Position string `json:"position" doc:"Name."`
	What     string `json:"what" doc:"Description."`
}

type ReceiptSpec struct {
	ReceiptSpec      string       `json:"receipt_spec" doc:"Identifier of the receipt format."`
	Algorithm        string       `json:"algorithm" doc:"Signature algorithm."`
	Canonicalization string       `json:"canonicalization" doc:"Identifier of the canonical string's rule."`
	SignedFields     []string     `json:"signed_fields" doc:"The exact keys in the exact order signed."`
	VerifyOffline    []string     `json:"verify_offline" doc:"Steps to verify a receipt without this service."`
	RetiredKeys      []RetiredKey `json:"retired_keys" doc:"Retired keys, each with the days of the receipts it is valid for."`
	VerifyKit        []string     `json:"verify_kit" doc:"Programs that follow verify_offline, for Python, JavaScript and the shell."`
	Contract

	PublicKey     string `json:"public_key_b64,omitzero" from:"edge" doc:"Raw 32-byte Ed25519 public key in base64; empty when there is none."`
	SigningLive   bool   `json:"signing_live,omitzero" from:"edge" doc:"Whether minted receipts are signed."`
	SigningStatus string `json:"signing_status,omitzero" from:"edge" doc:"Status of signing, in words."`
}

type RetiredKey struct {
	PublicKey   string `json:"public_key_b64" yaml:"public_key" is:"key" doc:"Raw 32-byte Ed25519 public key in base64."`
	CurrentFrom string `json:"current_from,omitempty" yaml:"current_from,omitempty" is:"date" doc:"First day of the receipts it is valid for; absent if unknown."`
	RetiredOn   string `json:"retired_on" yaml:"retired_on" is:"date" doc:"Last day of the receipts it is valid for."`
	Revoked     string `json:"revoked,omitempty" yaml:"revoked,omitempty" is:"line" max:"200" doc:"Reason for revocation; absent if the key is not revoked."`
}

type BusinessDays struct {
	Range       DateRange    `json:"range" doc:"The dates that are supported, both included."`
	Calendars   []Calendar   `json:"calendars" doc:"Calendars. In all of them Saturdays and Sundays are not business days."`
	Conventions []Convention `json:"conventions" doc:"Conventions of roll, and of add with 0 days: the replacement for a day that is not a business day. The first is the default."`
	Counting    string       `json:"counting" doc:"Rule of count."`
	Adding      string       `json:"adding" doc:"Rule of add."`
	DataVersion string       `json:"data_version" format:"date" doc:"Version of the closed days, a date. It changes only with a closed day or its name."`
	Caveat      string       `json:"caveat" doc:"Limits of the data."`
	Contract
}

type DateRange struct {
	First string `json:"first" format:"date" doc:"The first date."`
	Last  string `json:"last" format:"date" doc:"The last date."`
}

type Calendar struct {
	ID        string `json:"id" doc:"Name in a request."`
	Name      string `json:"name" doc:"Name."`
	Authority string `json:"authority" doc:"Legal source of the rules."`
	Scope     string `json:"scope" doc:"Scope of the calendar."`
	LeavesOut string `json:"leaves_out" doc:"Days it leaves out, though some expect them."`
}

//go:embed calendars.json
var calendars []byte

// Calendars has the order of package bizday.
func Calendars() (all []Calendar) {
	if err := json.Unmarshal(calendars, &all); err != nil {
		panic("read calendars.json: " + err.Error())
	}
	return all
}

type Convention struct {
	Name string `json:"name" doc:"Name in a request."`
	What string `json:"what" doc:"Day that replaces a day that is not a business day."`
}

type Manifest struct {
	Documents  []ManifestDocument `json:"documents"`
	Endpoints  []ManifestEndpoint `json:"endpoints"`
	Limits     Limits             `json:"limits"`
	ReceiptKey *string            `json:"receipt_key" doc:"Raw 32-byte Ed25519 public key of receipts, in base64; null without a key."`
	Log        *ManifestLog       `json:"log" doc:"The public log of counted records; null if the service has none."`
	Versions   Versions           `json:"versions"`
	MCP        ManifestMCP        `json:"mcp"`
	Content    string             `json:"content_version" pattern:"^[0-9a-f]{12}$" doc:"Version of the content that made these documents."`
}

type ManifestDocument struct {
	Path      string `json:"path"`
	MediaType string `json:"media_type"`
	Bytes     int    `json:"bytes"`
	SHA256    string `json:"sha256" pattern:"^[0-9a-f]{64}$" doc:"SHA-256 of its bytes."`
}

type ManifestLog struct {
	Origin     string `json:"origin"`
	Key        string `json:"key" doc:"The verifier key that its newest checkpoint is signed with (C2SP signed-note)."`
	Size       int64  `json:"size"`
	Checkpoint string `json:"checkpoint" format:"uri"`
}

type ManifestEndpoint struct {
	ID      string   `json:"id"`
	Path    string   `json:"path"`
	Methods []string `json:"methods" doc:"Methods, except OPTIONS, and except HEAD, which comes with GET."`
	Writes  bool     `json:"writes" doc:"Whether it can store, send or sign something, and so counts for the limit of writes."`
	What    string   `json:"what"`
}

type Limits struct {
	BodyBytes       int `json:"body_bytes" doc:"Longest request body, in bytes."`
	QueryBytes      int `json:"query_bytes" doc:"Longest query, in bytes."`
	AnswerBytes     int `json:"answer_bytes" doc:"Longest answer of one call, in bytes."`
	JSONDepth       int `json:"json_depth" doc:"Deepest nesting of a JSON body, the outermost value counted."`
	JSONMembers     int `json:"json_members"`
	QueryNames      int `json:"query_names"`
	WritesPerMinute int `json:"writes_per_minute" doc:"Maximum writes in a minute for one client address; 0 means no limit."`
	BatchMessages   int `json:"mcp_batch_messages"`
	BatchWrites     int `json:"mcp_batch_writes"`
	BatchBytes      int `json:"mcp_batch_answer_bytes"`
	WriteWindow     int `json:"write_window_seconds" doc:"Length of the window for counting writes, in seconds."`
	PromiseDays     int `json:"promise_days" doc:"Days within which a record is counted, as its answer promises."`
	CopyDays        int `json:"suggestion_copy_days" doc:"Days for which a host that mails suggestions may keep copies, in case a mail is lost."`
	EmailBytes      int `json:"email_bytes" doc:"Longest e-mail address, in bytes."`
	EmailLocalBytes int `json:"email_local_part_bytes" doc:"Longest part of an e-mail address before its @, in bytes."`

	EchoedCodePoints int `json:"echoed_code_points" doc:"Maximum length of a caller's name or value in an answer, in code points; longer ones are cut."`
	EchoedEntries    int `json:"echoed_entries" doc:"Maximum entries of errors, problems and ignored_fields in an answer."`
	SkippedHolidays  int `json:"holidays_skipped"`
	ListedHolidays   int `json:"holidays_listed"`

	BusinessDaysFirst int `json:"business_days_first_year"`
	BusinessDaysLast  int `json:"business_days_last_year"`
	BusinessDaysYears int `json:"business_days_calendar_years" doc:"Maximum calendar years that the computations of one request read together."`

	SignalFiredPause  int `json:"signal_pause_after_fired_seconds" doc:"Seconds before the search-index signal is sent again after an accepted firing."`
	SignalFailedPause int `json:"signal_pause_after_failed_seconds" doc:"Seconds before it is sent again after a failed firing."`
	SignalShare       int `json:"signal_check_shared_seconds"`
	SelftestShare     int `json:"selftest_shared_seconds" doc:"Seconds for which a result of the self-test is shared."`

	OrgCap         int `json:"org_cap" doc:"Maximum sum of a roster's allocations, in credit units."`
	FoundingAgents int `json:"founding_agent_slots" doc:"Founding seats for agents, given in the order of signing up."`
	FoundingOrgs   int `json:"founding_org_slots" doc:"Founding seats for orgs, given in the order of filing."`

	Fields []FieldLimits `json:"fields" doc:"The limits of every input field that has one, by operation."`
}

type FieldLimits struct {
	Operation string `json:"operation"`
	Field     string `json:"field" doc:"Name of the field; for a member of an array's elements, in the form roster[].allocation."`
	Bounds    `flat:"true"`
}

type ManifestMCP struct {
	Endpoint  string `json:"endpoint" format:"uri" doc:"Address of the endpoint, for Streamable HTTP."`
	Revisions `flat:"true"`
}

type Revisions struct {
	ProtocolVersions []string `json:"protocol_versions" doc:"Revisions of the protocol that are supported after a handshake, the newest first."`
	Stateless        []string `json:"stateless_versions" doc:"Revisions that are supported without a handshake: each request names its own."`
}

type Versions struct {
	PublicDescription        string `json:"public_description" doc:"Version of the public description and the OpenAPI document."`
	AUP                      string `json:"aup"`
	Quest                    string `json:"quest"`
	Receipt                  string `json:"receipt"`
	ReceiptCanonicalization  string `json:"receipt_canonicalization" doc:"Identifier of the rule for a receipt's canonical string."`
	WaitlistCanonicalization string `json:"waitlist_canonicalization" doc:"Identifier of the rule for a registration's canonical string."`
	OrgCanonicalization      string `json:"org_canonicalization" doc:"Identifier of the rule for a charter's canonical string."`
	MCPServer                string `json:"mcp_server"`
}

// Problem is an error (RFC 9457).
type Problem struct {
	Type          string         `json:"type" format:"uri" doc:"Problem type: the address of the page about it."`
	Title         string         `json:"title"`
	Status        int            `json:"status"`
	Detail        string         `json:"detail"`
	RequestID     string         `json:"request_id" pattern:"^[0-9a-f]{16}$" doc:"Identifier of this request, as in the header Request-Id and the operator's log."`
	Errors        []input.Fault  `json:"errors,omitempty" doc:"Every fault found; on 400, 413, 414, 415 and 429."`
	ErrorsTotal   int            `json:"errors_total,omitzero" doc:"Total number of faults, if errors is cut short."`
	ContractURL   string         `json:"contract_url" format:"uri"`
	Contract      JSON           `json:"contract,omitzero" doc:"The contract: on 400, of the requested operation; on 405, of the endpoint, with the other members of its plain GET."`
	LiveEndpoints []LiveEndpoint `json:"live_endpoints,omitempty" doc:"The live endpoints; on 404."`
	IgnoredFields []string       `json:"ignored_fields,omitempty" doc:"Fields that the contract does not name; on 400."`
	IgnoredTotal  int            `json:"ignored_fields_total,omitzero" doc:"Total number, if ignored_fields is cut short."`
	Trailer
}

// MCPAnswer is a response of the MCP endpoint (JSON-RPC 2.0), with either result or error.
type MCPAnswer struct {
	JSONRPC string    `json:"jsonrpc" enum:"2.0"`
	ID      string    `json:"id" also:"number,null" doc:"Identifier of the request; null if it has no valid one."`
	Result  JSON      `json:"result,omitempty"`
	Error   *MCPError `json:"error,omitempty"`
}

type MCPError struct {
	Code    int    `json:"code" doc:"-32700 parse error, -32600 invalid request, -32601 unknown method, -32602 invalid params, -32603 internal error."`
	Message string `json:"message"`
	Data    JSON   `json:"data,omitempty" doc:"errors: every fault found, if there is more to report."`
}

// MCPInstall has the members that the 405 of a GET of the MCP endpoint adds to Problem.
type MCPInstall struct {
	Endpoint  string `json:"endpoint" format:"uri"`
	Transport string `json:"transport" enum:"streamable-http"`
	Revisions `flat:"true"`
	Install   map[string]MCPClient `json:"install" doc:"A block for each common client, ready to use, by the client's identifier."`
	Tools     []MCPTool            `json:"tools" doc:"The tools, without their schemas."`
}

// MCPNoStream has the members for a GET that accepts only a stream of events.
type MCPNoStream struct {
	Endpoint string               `json:"endpoint" format:"uri"`
	Install  map[string]MCPClient `json:"install" doc:"One block, for most clients."`
	Tools    []string             `json:"tools"`
	More     string               `json:"more" format:"uri"`
}

type MCPClient struct {
	Client  string `json:"client"`
	How     string `json:"how"`
	Command string `json:"command,omitempty"`
	Config  JSON   `json:"config,omitzero"`
	TOML    string `json:"toml,omitempty"`
}

// MCPTool is as in tools/list but for the schemas.
type MCPTool struct {
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Annotations MCPHints `json:"annotations"`
}

type MCPHints struct {
	Title       string `json:"title"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive bool   `json:"destructiveHint"`
	Idempotent  bool   `json:"idempotentHint"`
	OpenWorld   bool   `json:"openWorldHint"`
}
