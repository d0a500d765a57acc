// Package turn takes a request to its answer through code without I/O.
//
// A turn holds everything an answer may depend on: the request, the snapshot, the time, entropy,
// the host's description of itself, and the journal with the results of the effects so far. The
// same turn has the same outcome on every machine. "The core" is all code between a turn and its
// outcome: package edge and its imports. A host is a program around the core.
//
// # The duties of a host
//
// The core never waits: without a result the outcome names the effect, and the core handles the
// turn again from its beginning. So only its host has the state of a turn. For each request a host
// does:
//
//	read the request (at most MaxBody+1 bytes of its body), the time and 16 random bytes, once
//	repeat at most MaxRounds times:
//	    outcome = handle(turn)
//	    if outcome has a response: send it, and stop
//	    results = perform outcome.Effects side by side, at most MaxEffects of them
//	    append the results to turn.Journal, in the order of the effects
//	answer that the turn was not finished
//
// Run is this loop for a host in Go: it performs the effects where the handler asks, so that the
// handler runs once. A host adds respond.CommonHeaders to every answer, and Request-Id with
// Turn.RequestID, which it logs too. After a response with Deliver, and every few minutes, it calls
// edge.Deliver in the same loop.
//
// The result of an Exec means that the write survives a loss of power. No response precedes it.
package turn

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/sha256"
	"anteroom/edge/snapshot"
)

// Limits of every turn.
const (
	MaxBody    = 64 << 10  // bytes of a body; a host reads one more, so that the core can refuse it
	MaxQuery   = 8 << 10   // bytes of a query string, without "?"
	MaxHead    = 32 << 10  // bytes of header fields, where a host can tell
	MaxAnswer  = 256 << 10 // bytes of the answer of one call
	MaxAnswers = 1 << 20   // bytes of all answers of a batch of MCP calls
	MaxEffects = 16        // effects of one round
	// MaxRounds bounds the calls for one turn. The largest turn is a batch of MCP calls: each write
	// needs at most five rounds (limit, store, relay, store, the store again), each dry run under a
	// key two, each verification one.
	MaxRounds = 128
)

// How long effects may take, in milliseconds, before they fail with Timeout.
const (
	ExecMillis  = 2_000 // a timed-out write is repeated once, so its caller waits twice as long
	RelayMillis = 10_000
)

// Header is one header field.
type Header struct{ Name, Value string }

// AppendFields appends each header field as a line "name: value".
func AppendFields(b []byte, fields []Header) []byte {
	for _, f := range fields {
		b = append(append(append(append(b, f.Name...), ": "...), f.Value...), '\n')
	}
	return b
}

func setField(fields []Header, name, value string) []Header {
	for i := range fields {
		if fields[i].Name == name {
			fields[i].Value = value
			return fields
		}
	}
	return append(fields, Header{name, value})
}

// Request is an HTTP request.
type Request struct {
	Method string
	Target string // origin form, raw: "/api/waitlist?agent_name=x"
	Host   string // host name without port, lower-case; IPv6 without brackets
	Header []Header
	Body   []byte // at most MaxBody+1 bytes: with one more than MaxBody it is too large

	Incomplete bool // the body was cut off, or took too long to arrive
}

// Get returns the value of the header field with this lower-case name, or "".
func (r *Request) Get(name string) string { return fieldOf(r.Header, name) }

// Has reports whether the request has a header field with this lower-case name, even an empty one.
func (r *Request) Has(name string) bool {
	return slices.ContainsFunc(r.Header, func(f Header) bool { return f.Name == name })
}

// Single returns the value of a header field that must not be a list, and reports whether it has at
// most one: equal lines count once, and empty elements not (RFC 9110, section 5.6.1). Otherwise
// value has all of them, as the host joined them.
func (r *Request) Single(name string) (value string, one bool) {
	all := r.Get(name)
	for rest := all; rest != ""; {
		end := elementEnd(rest)
		element := strings.TrimSpace(rest[:end])
		rest = rest[min(end+1, len(rest)):]
		if element != "" && value != "" && element != value {
			return all, false
		}
		value = cmp.Or(element, value)
	}
	return value, true
}

func elementEnd(list string) int {
	quoted := false // a comma in quotation marks ends nothing
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ',' && !quoted:
			return i
		}
	}
	return len(list)
}

func fieldOf(fields []Header, name string) string {
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// HostInfo is a host's description of itself.
type HostInfo struct {
	Extra     []string // extra host names to serve, beyond the published ones and loopback
	Client    string   // address of the caller, or ""
	PublicKey string   // base64 of the raw public half of the signing key, or ""
	KeyFault  bool     // a signing key is configured and cannot be used
	Limiter   bool     // the host has a rate limiter
	Queries   int      // most statements the store runs for one request; 0 for no bound
	Port      int      // where the host listens, for its address on loopback; 0 if unknown
}

// Turn is one request on its way to its answer. It must not be copied: the copy would perform the
// effects of its handler a second time.
type Turn struct {
	_ noCopy

	Request  Request
	Snapshot *snapshot.Snapshot
	Now      int64    // seconds since 1970-01-01T00:00:00Z
	Entropy  [16]byte // never used twice
	Host     HostInfo
	Journal  []Result // the results of all effects performed so far, in the order asked

	ContractURL string    // path of the endpoint the request reached, or ""
	Operation   string    // ID of the operation whose contract a 400 shows, or ""
	Failed      *Response // the answer if the host cannot finish the turn; nil for the usual problem
	Refusal     *Response // the response to a call that the limiter refuses, unless it repeats an earlier one
	StoreDown   bool      // the store has not answered: a turn makes its caller wait for that once
	Embedded    bool      // the answer is an MCP tool's result: it has no trailer and no fixed links
	Statements  int       // statements the turn has asked the store for

	deliver bool                    // the turn has put a message into the outbox
	ids     int                     // identifiers used so far
	headers []Header                // header fields to add to the answer
	read    int                     // results of the journal that the handler has received
	asked   []Effect                // effects the handler waits for
	rounds  int                     // calls of perform
	perform func([]Effect) []Result // set by Run
}

// noCopy has go vet report copies (golang.org/issues/8005).
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Outcome is the result of a call of the core: a response, or effects to perform before another
// call.
type Outcome struct {
	Response *Response
	Effects  []Effect
}

// Response is an HTTP response.
type Response struct {
	Status int
	Header []Header // without respond.CommonHeaders
	Body   []byte   // empty for HEAD, 204 and 304
	Log    string   // a line for the host's log, without a caller's words; usually empty

	Deliver  bool          // the turn has put a message into the outbox
	Observed []Observation // to be counted by day; a host may drop them, and delays no response for them
}

// Observation is one action of an MCP client.
type Observation struct {
	Client string // the client's name for itself, a stranger's text, or ""
	Kind   string // see package protocol
}

// Get returns the value of the response's header field with this lower-case name, or "".
func (r *Response) Get(name string) string { return fieldOf(r.Header, name) }

// Set sets a header field, or replaces the one with its name.
func (r *Response) Set(name, value string) { r.Header = setField(r.Header, name, value) }

// Begin resets the turn to be handled from its start. It is called in every round.
func (t *Turn) Begin(s *snapshot.Snapshot) {
	*t = Turn{
		Request: t.Request, Snapshot: s, Now: t.Now, Entropy: t.Entropy, Host: t.Host, Journal: t.Journal, perform: t.perform,
	}
}

// Do returns the result of an effect. If ok is false, the host has yet to perform it: the handler
// returns nil, and the host calls again with the result in the journal. A handler that ignores ok
// gets no further result, and its response is dropped.
func (t *Turn) Do(effect Effect) (result Result, ok bool) {
	results, ok := t.DoAll(effect)
	if !ok {
		return Result{}, false
	}
	return results[0], true
}

// Exec is Do for an Exec.
func (t *Turn) Exec(statements ...Statement) (result Result, ok bool) {
	return t.Do(Exec{Statements: statements})
}

// DoAll is Do for effects that do not depend on each other: the host performs them concurrently.
func (t *Turn) DoAll(effects ...Effect) (results []Result, ok bool) {
	if t.asked != nil {
		return nil, false
	}
	for _, effect := range effects {
		exec, _ := effect.(Exec)
		t.Statements += len(exec.Statements)
	}
	end := t.read + len(effects)
	if end > len(t.Journal) && t.perform != nil && t.rounds < MaxRounds && len(effects) <= MaxEffects {
		t.rounds++
		t.Journal = append(t.Journal, t.perform(effects)...)
	}
	if end > len(t.Journal) {
		t.asked = effects
		return nil, false
	}
	results, t.read = t.Journal[t.read:end], end
	return results, true
}

// SetHeader sets a header field of the final answer.
func (t *Turn) SetHeader(name, value string) { t.headers = setField(t.headers, name, value) }

// SetDeliver marks the turn as one that has put a message into the outbox.
func (t *Turn) SetDeliver() { t.deliver = true }

// Outcome returns the outcome of a call whose handler returned r. While the handler waits for
// effects, they are the outcome, even if r is a response.
func (t *Turn) Outcome(r *Response) Outcome {
	if t.asked != nil {
		return Outcome{Effects: t.asked}
	}
	r.Header = append(r.Header, t.headers...)
	r.Deliver = t.deliver
	return Outcome{Response: r}
}

// Run calls handle, and perform for effects whose results the journal lacks. perform returns one
// result for each effect, in order. Run returns nil if the turn exceeds MaxRounds or MaxEffects:
// the host then responds with respond.Unfinished.
func Run(t *Turn, handle func(*Turn) Outcome, perform func([]Effect) []Result) *Response {
	t.perform = perform
	return handle(t).Response
}

// Refrain has the turn perform no more effects: the outcome names the next one, as without Run.
func (t *Turn) Refrain() { t.perform = nil }

// RequestID returns the request's name in its answer and in the host's log. It leaves half of the
// entropy secret, so that no identifier of a record follows from it.
func (t *Turn) RequestID() string { return sha256.Hex(t.Entropy[:8]) }

// NewID returns the turn's next identifier: 32 lower-case hexadecimal digits.
func (t *Turn) NewID() string {
	seed := append(t.Entropy[:len(t.Entropy):len(t.Entropy)], strconv.Itoa(t.ids)...)
	t.ids++
	sum := sha256.Sum(seed)
	return sha256.Hex(sum[:16])
}

// ServedFrom returns the request's host name if this service serves it, and the canonical host
// otherwise.
func (t *Turn) ServedFrom() string {
	if t.Serves() {
		return t.Request.Host
	}
	return t.Snapshot.CanonicalHost
}

// Serves reports whether this service serves the request's host name: a published one, one of
// HostInfo.Extra, or loopback.
func (t *Turn) Serves() bool {
	name := t.Request.Host
	return t.Snapshot.Serves(name) || IsLoopback(name) || slices.Contains(t.Host.Extra, name)
}

// Origin returns the address of ServedFrom: https, or on loopback http with the host's port.
func (t *Turn) Origin() string {
	host := t.ServedFrom()
	if !IsLoopback(host) {
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

// IsLoopback reports whether a host name is a loopback one. An IPv6 address has no brackets.
func IsLoopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
