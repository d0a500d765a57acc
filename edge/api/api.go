// Package api is the HTTP API: its route table, and how a request is handled. Contracts, OpenAPI,
// llms.txt, the manifest and MCP tools derive from the table.
package api

import (
	"cmp"
	"slices"

	"anteroom/edge/canon"
	"anteroom/edge/endpoint/bizday"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/endpoint/roster"
	"anteroom/edge/endpoint/selftest"
	"anteroom/edge/endpoint/signal"
	"anteroom/edge/endpoint/suggest"
	"anteroom/edge/endpoint/waitlist"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/record"
	"anteroom/edge/respond"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// The Cache-Control header fields of answers.
const (
	NoStore  = "no-store"
	Constant = "public, max-age=300, stale-while-revalidate=86400" // changes with the content
	Spec     = "public, max-age=60"                                // changes with the receipt key too
)

// RequestHeaders, and names that are LikeKey, are the request header fields that an answer may
// depend on. A host passes each at most once, with a lower-case name, and several lines joined with
// ", ": see Request.Single.
var RequestHeaders = slices.Concat(ReadHeaders, singles, purposes, []string{
	keyHeader, "content-encoding", "accept", "sec-fetch-mode", "early-data", "user-agent",
})

var (
	// ReadHeaders suffice for a GET or HEAD without a query, except to the MCP server.
	ReadHeaders = []string{"if-none-match", selftest.Header}

	singles  = []string{"content-type", "mcp-protocol-version", "mcp-method", "mcp-name"} // must have one value
	purposes = []string{"purpose", "sec-purpose", "x-purpose", "x-moz"}
)

const (
	TooLarge    = "too_large"
	NotJSON     = "unsupported_media_type"
	RateLimited = "rate_limited"
	TooEarly    = "too_early"
)

// Codes lists the fault codes, in the order of the documentation.
var Codes = []string{
	input.Required, input.TooShort, input.TooLong, input.BelowMinimum, org.OverCap, input.NotAnEmail,
	input.NotAnInteger, input.NotADate, input.OutOfRange, input.WrongCount, org.UnknownPosition,
	org.DuplicatePosition, bizday.UnknownCalendar, input.UnknownValue, input.UnknownField, input.WrongType,
	input.RepeatedParameter, input.ConflictingAlias, input.Conflict, input.ControlCharacter,
	input.InvalidUnicode, input.InvalidJSON, input.BadEscape, input.BadForm, input.Placeholder,
	input.TooDeep, input.TooMany, TooLarge, NotJSON, RateLimited, TooEarly, record.ReusedKey, record.Running,
	selftest.NestedSelftest,
}

type Route struct {
	ID         string // "waitlist": key of its texts in the content
	Path       string // "/api/waitlist"
	Tag        string // group in the OpenAPI document
	Contract   *Document
	Refusal    *Document    // further members of its 405, or nil
	NoStream   *Document    // the members of its 405 if only a stream of events is accepted, or nil
	Operations []*Operation // of one method, those with Chosen come first
}

type Operation struct {
	ID      string                 // "registerAgent": key of its texts in the content
	Methods []string               // "GET", "POST"
	Fields  []input.Field          // of the query of a GET or the body of a POST
	Example string                 // JSON text of a body; "" if the examples of Fields make one
	AnyOf   []string               // at least one of these fields is required
	Strict  bool                   // it refuses unknown fields
	Writes  bool                   // it stores, sends or signs: counted by the rate limiter
	DryRun  bool                   // it makes a record: it also reads DryRun and an idempotency key
	Errors  []*respond.ProblemType // further problems than every operation of its kind has
	Rule    string                 // the rule of the canonical string in its answer, or ""

	// Chosen reports whether an input asks for this operation. If it is nil, every input does.
	Chosen func(in *input.Input) bool

	// An operation has one of these three: a document, messages of a protocol (Fields are the members
	// of one) for API.Protocol, or a handler.
	Document *Document
	Protocol bool
	Handle   func(*turn.Turn, *input.Input) *turn.Response
}

// Document is a document of the snapshot.
type Document struct {
	ID    string                                // key in the snapshot
	Cache string                                // Cache-Control
	Check func(t *turn.Turn) *turn.Response     // refuses the document, or returns nil; may be nil
	Tail  func(t *turn.Turn, w *jsondoc.Writer) // writes the members that depend on the turn; may be nil
	OfNow bool                                  // Tail depends only on the time: the entity tag is weak
}

var (
	orgRules         = &Document{ID: "org", Cache: Constant}
	waitlistContract = &Document{ID: "waitlist", Cache: Constant}
	receiptSpec      = &Document{ID: "receipt", Cache: Spec, Tail: receipt.WriteKey}
	calendars        = &Document{ID: "business-days", Cache: Constant}
	endpoints        = &Document{ID: "endpoints"} // the array of live endpoints
	scoreboard       = &Document{ID: "roster", Cache: NoStore, Check: roster.Check, Tail: roster.WriteAge, OfNow: true}
)

var (
	get     = []string{"GET"}
	post    = []string{"POST"}
	getPost = []string{"GET", "POST"}
)

var Routes = []*Route{
	route("presence", "read", nil, Operation{
		ID: "getPresence", Methods: get, Document: &Document{ID: "presence", Cache: NoStore},
	}),
	route("quest", "read", nil, Operation{
		ID: "getQuest", Methods: get, Document: &Document{ID: "quest", Cache: Constant},
	}),
	route("roster", "read", nil, Operation{ID: "getScoreboard", Methods: get, Document: scoreboard}),
	route("aup", "read", nil, Operation{
		ID: "getAcceptableUse", Methods: get, Document: &Document{ID: "aup", Cache: Constant},
	}),
	route("org", "write", orgRules,
		Operation{
			ID: "fileCharter", Methods: getPost, Fields: org.Fields, Writes: true, DryRun: true,
			Rule: canon.CharterRule, Chosen: anything, Handle: org.File,
		},
		Operation{ID: "readDraftRules", Methods: get, Document: orgRules}),
	route("waitlist", "write", waitlistContract,
		Operation{
			ID: "registerAgent", Methods: getPost, Fields: waitlist.Fields, AnyOf: waitlist.AnyOf, Writes: true, DryRun: true,
			Rule: canon.RegistrationRule, Chosen: anything, Handle: waitlist.Register,
		},
		Operation{ID: "readWaitlistContract", Methods: get, Document: waitlistContract}),
	route("receipt", "receipt", receiptSpec,
		Operation{ID: "readReceiptSpec", Methods: get, Document: receiptSpec},
		Operation{
			ID: "verifyReceipt", Methods: post, Fields: receipt.VerifyFields,
			Chosen: receipt.Chosen, Handle: receipt.Verify,
		},
		Operation{
			ID: "mintReceipt", Methods: post, Fields: receipt.MintFields, Strict: true, Writes: true,
			Rule: canon.ReceiptRule, Handle: receipt.Mint,
		}),
	route("suggest", "write", nil, Operation{
		ID: "sendSuggestion", Methods: post, Fields: suggest.Fields, Writes: true, DryRun: true,
		Errors: []*respond.ProblemType{respond.CallInProgress, respond.RelayUnreachable},
		Handle: suggest.Send,
	}),
	route("signal", "read", nil,
		Operation{
			ID: "fireSignal", Methods: get, Fields: signal.Fields, Writes: true,
			Errors: []*respond.ProblemType{respond.SignalFailed, respond.StoreUnavailable, respond.SignalUnderWay},
			Chosen: signal.Chosen, Handle: signal.Fire,
		},
		Operation{ID: "readSignal", Methods: get, Handle: signal.Read}),
	route("selftest", "read", nil, Operation{
		ID: "runSelftest", Methods: get, Fields: selftest.Fields, Handle: selftest.Run,
	}),
	route("business-days", "read", calendars,
		Operation{
			ID: "computeManyBusinessDays", Methods: post, Fields: bizday.BatchFields,
			Chosen: bizday.ChosenBatch, Handle: bizday.ComputeBatch,
		},
		Operation{
			ID: "computeBusinessDays", Methods: getPost, Fields: bizday.Fields, Example: bizday.Example,
			Chosen: bizday.Chosen, Handle: bizday.Compute,
		},
		Operation{ID: "readCalendars", Methods: get, Document: calendars}),
	{
		ID: "mcp", Path: protocol.Path, Tag: "mcp", Contract: contract("mcp"),
		Refusal: &Document{ID: MCPInstall}, NoStream: &Document{ID: MCPNoStream},
		Operations: []*Operation{
			{ID: "callMCP", Methods: post, Fields: protocol.Fields, Writes: true, Protocol: true},
			{ID: "endMCPSession", Methods: []string{"DELETE"}, Handle: none},
		},
	},
}

func route(id, tag string, about *Document, operations ...Operation) *Route {
	r := &Route{ID: id, Path: "/api/" + id, Tag: tag, Contract: cmp.Or(about, contract(id))}
	for i := range operations {
		r.Operations = append(r.Operations, &operations[i])
	}
	return r
}

// anything chooses an operation for any parameter, so that a mistyped one is refused.
func anything(in *input.Input) bool { return in.Names() > 0 }

func none(*turn.Turn, *input.Input) *turn.Response { return respond.Empty(204, NoStore) }

func contract(id string) *Document { return &Document{ID: snapshot.ContractPrefix + id} }

// Contract returns the document about an operation that its 400 contains.
func (op *Operation) Contract() *Document { return contract(op.ID) }

func (op *Operation) Cache() string {
	if op.Document == nil {
		return NoStore
	}
	return op.Document.Cache
}

// Answers is false for HEAD and OPTIONS, which have no operation.
func (r *Route) Answers(method string) bool {
	return choose(r, method, &input.Input{}) != nil
}

func (r *Route) Methods() (methods []string) {
	for _, method := range []string{"GET", "POST", "DELETE"} {
		if r.Answers(method) {
			methods = append(methods, method)
		}
	}
	return methods
}

func (r *Route) Documents() []*Document {
	documents := []*Document{r.Contract}
	for _, op := range r.Operations {
		if op.Document != nil && op.Document != r.Contract {
			documents = append(documents, op.Document)
		}
	}
	return documents
}
