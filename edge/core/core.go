// Package core is the kernel of the dynamic half: the turn, its journal and its
// effects, and what every endpoint shares. It knows no endpoint.
//
// A turn is everything that an answer may depend on: the request, the published
// snapshot, the time, entropy, what the host says of itself, and the journal of
// effects already performed. Same turn, same outcome, on every machine.
//
// A host does, for each request:
//
//  1. read the request (at most MaxBody+1 bytes of its body), the time and 16 random bytes, once;
//  2. call Handle with the turn and an empty journal;
//  3. if the outcome holds effects: perform them side by side, append their results to the
//     journal in the order asked, and call again with the same turn, or with one of the same
//     contents; at most MaxRounds times. Where there is a response as well, and the effect went as presumed,
//     it may send that instead: calling again would give the same;
//  4. otherwise send the response, with CommonHeaders.
//
// An Exec is durable when its result says no failure; a response is only given after that.
package core

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
)

// Limits of every request.
const (
	// MaxBody is the largest request body, in bytes. Hosts read one byte more, so that
	// the core sees that a body is too large.
	MaxBody = 64 << 10
	// MaxQuery is the longest query string, in bytes, "?" left out.
	MaxQuery = 8 << 10
	// MaxRounds is how often a host calls for one turn. The largest turn is a batch of MCP calls: a
	// write needs at most three rounds (limit, relay, store), a verification one, and one answers.
	MaxRounds = 96
	// MaxEffects is how many effects one round may ask for.
	MaxEffects = 16
)

// The header fields that an answer may depend on, by the requests where they do. A host passes these, lower-case and
// each once (several lines joined with ", "). It may leave out those that do not matter for a request.
var (
	ReadHeaders    = []string{"if-none-match", SelftestHeader}                     // of a GET or HEAD
	QueryHeaders   = []string{"purpose", "sec-purpose", "x-moz", "sec-fetch-mode"} // of one with a query, besides
	BodyHeaders    = []string{"content-type"}                                      // of other methods
	MessageHeaders = []string{"mcp-protocol-version", "mcp-method", "mcp-name"}    // of messages to the MCP server, besides

	RequestHeaders = slices.Concat(ReadHeaders, QueryHeaders, BodyHeaders, MessageHeaders)
)

// SelftestHeader marks the requests that the self-test sends, so that one cannot set off another.
const SelftestHeader = "x-anteroom-selftest"

// Header is one header field.
type Header struct{ Name, Value string }

// AppendFields appends header fields as one text: each a line of its name, ": ", its value and LF.
func AppendFields(b []byte, fields []Header) []byte {
	for _, f := range fields {
		b = append(append(append(append(b, f.Name...), ": "...), f.Value...), '\n')
	}
	return b
}

// Request is an HTTP request as it came.
type Request struct {
	Method string
	Target string // origin form, raw: "/api/waitlist?agent_name=x"
	Host   string // host name without port, lower-case; IPv6 without brackets
	Header []Header
	Body   []byte // up to MaxBody+1 bytes

	Incomplete bool // the body broke off, or took too long to arrive
}

// Get returns the value of a header field, by its lower-case name; "" when it is absent.
func (r *Request) Get(name string) string {
	for _, h := range r.Header {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

// Host is what a host says of itself.
type Host struct {
	Extra     []string // host names to answer for besides those of the snapshot and loopback
	Client    string   // address of the caller, "" when unknown
	PublicKey string   // base64 of the raw public half of the signing key, "" when there is none
	KeyFault  bool     // a signing key is configured and cannot be used: no receipt is minted
	Limiter   bool     // whether there is a rate limiter
	Port      int      // that the host itself listens on, for its address on loopback; 0 when unknown
}

// Turn is one request on its way to its answer.
type Turn struct {
	Request  Request
	Snapshot *snapshot.Snapshot
	Now      int64    // seconds since 1970-01-01T00:00:00Z
	Entropy  [16]byte // never used twice
	Host     Host
	Journal  []Result // of all effects performed so far, in the order asked

	// ContractURL is the path of the endpoint that the request reached, "" for none; Contract
	// writes the members of its contract.
	ContractURL string
	Contract    func(w *jsondoc.Writer)
	// Failed is the answer where the host cannot take the turn to its end; nil for a problem.
	Failed *Response

	next    int              // the journal entry that the next effect gets
	pending []Effect         // asked for and not performed yet
	resume  func() *Response // goes on where Then waits
	ready   *Response        // the answer where the effect goes as Presume does
	ids     int              // identifiers given so far
	headers []Header         // that the answer gets besides its own
}

// Outcome is what a call gives: a response, or effects to perform first, or both: then there is one effect, and the
// response is for where it goes as presumed (see Presume).
type Outcome struct {
	Response *Response
	Effects  []Effect
	Waits    bool // see Then: the same turn with a longer journal goes on, and does not start again
}

// Response is an HTTP response.
type Response struct {
	Status int
	Header []Header // besides CommonHeaders
	Body   []byte   // empty for HEAD, 204 and 304
	Log    string   // a line for the host's log, without a caller's words; usually empty

	// SignatureAt is for a response that was made ahead of a Sign (see Presume): where in Body the signature goes, in
	// base64, in the place of as many bytes.
	SignatureAt int
}

// Set adds a header field, in place of one of the same name.
func (r *Response) Set(name, value string) {
	for i := range r.Header {
		if r.Header[i].Name == name {
			r.Header[i].Value = value
			return
		}
	}
	r.Header = append(r.Header, Header{name, value})
}

// Effect is one thing that a host does for the core: an Exec, Relay, Fetch, Sign, Verify or Limit.
type Effect interface{ effect() }

// Exec runs SQL statements as one atomic unit, in order. Results: Rows and Changes, one
// element for a statement. The write is durable (survives a loss of power) before the result is given.
type Exec struct{ Statements []Statement }

// Statement is one SQL statement; "?" marks are bound to Args, each a string, an int64 or nil.
type Statement struct {
	SQL  string
	Args []any
}

// Relay sends a message to the operator. No failure means that the next hop has accepted it. With Refused
// Status is the code with which the next hop refuses this very message, 0 where the reason lies elsewhere: it cannot be
// reached, knows no such sender, is busy. With any failure Data is the reason, in at most 64 printable ASCII
// characters, without anybody's words.
type Relay struct{ Message Message }

// Message is plain text for the operator. From and To come from the snapshot; a host adds
// the date, "Auto-Submitted: auto-generated" and the Message-ID "<ID@canonical host>".
type Message struct {
	ID      string   // the same for every try of the same message
	Subject string   // never holds a caller's words
	Text    string   // UTF-8, lines end in LF
	Records []string // record ids; the X-Anteroom-Record header, joined with ", ". See AddRecord
}

// MaxHeaderValue is the longest value of a header field of a message, in bytes. Email Sending of Cloudflare takes no more.
const MaxHeaderValue = 2048

const (
	idSize    = 32 // bytes of a record id
	separator = ", "
)

// MaxRecords is how many record ids the header field of a message has room for.
const MaxRecords = (MaxHeaderValue + len(separator)) / (idSize + len(separator))

// AddRecord adds a record id to Records, where the header field has room for it.
func (m *Message) AddRecord(id string) {
	size := len(id)
	for _, record := range m.Records {
		size += len(record) + len(separator)
	}
	if size <= MaxHeaderValue {
		m.Records = append(m.Records, id)
	}
}

// Fetch sends an HTTP request to an address of the snapshot, or with Self to this service
// itself. Results: Status and Data, the body cut to MaxBytes, and Millis. Redirects are not followed.
//
// With ShareSeconds a host may give the result for so long, whatever it is, to every turn that asks for
// exactly the same.
type Fetch struct {
	Self          bool
	Method, URL   string
	Header        []Header
	Body          []byte
	MaxBytes      int
	TimeoutMillis int
	ShareSeconds  int
}

// Sign signs exactly these bytes with the receipt key. Result: Data, 64 bytes (RFC 8032 Ed25519).
type Sign struct{ Message []byte }

// Verify checks an Ed25519 signature (RFC 8032, S below the group order). Result: OK.
type Verify struct{ Message, PublicKey, Signature []byte }

// Limit takes one from the allowance of a key. Results: OK; Remaining and Reset where the
// host knows them, Remaining -1 where not.
type Limit struct{ Key string }

func (Exec) effect()   {}
func (Relay) effect()  {}
func (Fetch) effect()  {}
func (Sign) effect()   {}
func (Verify) effect() {}
func (Limit) effect()  {}

// Failure says how an effect failed.
type Failure string

// The failures.
const (
	None        Failure = ""            // it did not
	Refused     Failure = "refused"     // certainly not done
	Timeout     Failure = "timeout"     // not known whether done
	Unavailable Failure = "unavailable" // there is nothing to do it with
)

// Result is what performing an effect gave. Which members mean something stands with each effect.
type Result struct {
	Failure   Failure
	OK        bool
	Status    int
	Data      []byte
	Rows      [][][]any // of each statement, of each row, of each column: a string, an int64 or nil
	Changes   []int64   // rows changed, of each statement
	Remaining int64
	Reset     int64 // seconds until the allowance is whole again
	Millis    int64 // that it took
}

// Do asks for effects that do not depend on each other. When the journal holds their results,
// it returns them and true. Otherwise the handler must return at once: the host performs
// the effects and calls again.
func (t *Turn) Do(effects ...Effect) ([]Result, bool) {
	end := t.next + len(effects)
	if end > len(t.Journal) {
		t.pending = effects
		return nil, false
	}
	results := t.Journal[t.next:end]
	t.next = end
	return results, true
}

// One is Do for a single effect.
func (t *Turn) One(effect Effect) (Result, bool) {
	results, ok := t.Do(effect)
	if !ok {
		return Result{}, false
	}
	return results[0], true
}

// Then asks for an effect, and ends the handler with what next makes of its result. A host that keeps the turn until
// it has the result spares the work before it: Resume goes on with next. To next it makes no difference, as
// what it refers to is what a new start would make again.
func (t *Turn) Then(effect Effect, next func(Result) *Response) *Response {
	result, ok := t.One(effect)
	if !ok {
		t.resume = func() *Response { return t.Then(effect, next) }
		return nil
	}
	return next(result)
}

// Presume is Then with a next that asks for nothing: its answer is made ahead, as most often all goes well, so that
// a host that finds it so need not call again. An Exec goes as presumed where it does not fail, a Verify where it is
// OK as well, a Sign where it gives a signature, which the host puts at SignatureAt.
func (t *Turn) Presume(effect Effect, next func(Result) *Response) *Response {
	result, ok := t.One(effect)
	if !ok {
		t.ready = next(Result{OK: true, Data: unsigned[:]})
		return nil
	}
	return next(result)
}

// SignatureSize is how many bytes a signature has (RFC 8032, section 5.1.6).
const SignatureSize = 64

// unsigned stands for a signature that is not there yet.
var unsigned [SignatureSize]byte

// made is a response that was made ahead, with the result that it lacks; nil where that is not as presumed.
func made(ahead *Response, effect Effect, result *Result) *Response {
	if result.Failure != None {
		return nil
	}
	switch effect.(type) {
	case Verify:
		if !result.OK {
			return nil
		}
	case Sign:
		if len(result.Data) != SignatureSize {
			return nil
		}
		base64.StdEncoding.Encode(ahead.Body[ahead.SignatureAt:], result.Data)
	}
	return ahead
}

// Ready is the answer that Presume made ahead; nil where there is none.
func (t *Turn) Ready() *Response { return t.ready }

// Resume goes on where Then waits for a result, if the journal has it by now; else the turn is to be handled from its
// start.
func (t *Turn) Resume() (r *Response, resumed bool) {
	if t.resume == nil || len(t.Journal) <= t.next {
		return nil, false
	}
	next := t.resume
	t.pending, t.resume = nil, nil
	return next(), true
}

// Replay has a turn that waits start again with its next round: where more follows than Then or Presume knows of.
func (t *Turn) Replay() { t.resume, t.ready = nil, nil }

// Outcome is the outcome of a call whose handler returned r: nil while effects are pending.
func (t *Turn) Outcome(r *Response) Outcome {
	var o Outcome
	if r == nil {
		r = t.ready
		o.Effects, o.Waits = t.pending, t.resume != nil
	}
	if r != nil {
		r.Header = append(r.Header, t.headers...)
	}
	o.Response = r
	return o
}

// SetHeader gives the answer a header field, whatever the answer will be, in place of one of the same name.
func (t *Turn) SetHeader(name, value string) {
	for i := range t.headers {
		if t.headers[i].Name == name {
			t.headers[i].Value = value
			return
		}
	}
	t.headers = append(t.headers, Header{name, value})
}

// Begin makes the turn ready to be handled from its start, for every round.
func (t *Turn) Begin(s *snapshot.Snapshot) {
	t.Snapshot, t.ContractURL, t.Contract, t.Failed = s, "", nil, nil
	t.next, t.pending, t.resume, t.ready, t.ids, t.headers = 0, nil, nil, nil, 0, nil
}

// Run is the loop of a host: it calls handle until there is a response, performing the effects
// asked for in between. perform returns one result for each effect, in order. A turn that asks for
// more rounds or effects than the limits answers nil: the host answers 500.
func Run(t *Turn, handle func(*Turn) Outcome, perform func([]Effect) []Result) *Response {
	for range MaxRounds {
		outcome := handle(t)
		if len(outcome.Effects) == 0 {
			return outcome.Response
		}
		if len(outcome.Effects) > MaxEffects {
			return nil
		}
		results := perform(outcome.Effects)
		if outcome.Response != nil {
			if r := made(outcome.Response, outcome.Effects[0], &results[0]); r != nil {
				return r
			}
		}
		t.Journal = append(t.Journal, results...)
	}
	return nil
}

// Trailer writes the members that every JSON answer under /api/ ends with.
func (t *Turn) Trailer(w *jsondoc.Writer) { t.Snapshot.Trailer(w, t.ServedFrom()) }

// ServedFrom is the name of the host this request was answered on, and only one that may be
// named: a published host, one that the host was told of, or loopback; else the canonical host.
func (t *Turn) ServedFrom() string {
	if t.Serves() {
		return t.Request.Host
	}
	return t.Snapshot.CanonicalHost
}

// Serves reports whether the request's host is one that this service answers for.
func (t *Turn) Serves() bool {
	h := t.Request.Host
	if t.Snapshot.Serves(h) || Loopback(h) {
		return true
	}
	for _, extra := range t.Host.Extra {
		if h == extra {
			return true
		}
	}
	return false
}

// Origin is the address of the host that ServedFrom names, as others reach it: https, but for loopback
// http and the port that the host listens on.
func (t *Turn) Origin() string {
	host := t.ServedFrom()
	if !Loopback(host) {
		return "https://" + host
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if t.Host.Port != 0 {
		host += ":" + strconv.Itoa(t.Host.Port)
	}
	return "http://" + host
}

// Loopback reports whether a host name, IPv6 without brackets, is one by which a machine reaches itself.
func Loopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
