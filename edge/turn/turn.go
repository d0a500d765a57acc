// Package turn takes a request to its answer through code that does no I/O of its own. It defines
// the turn, the effects that a turn asks its host for, and the loop of the two. It knows no
// endpoint.
//
// A turn is everything that an answer may depend on: the request, the published snapshot, the time,
// entropy, the host's description of itself, and the journal, which holds the results of the
// effects performed so far. The same turn has the same outcome on every machine.
//
// "The core" is all code between a turn and its outcome: package edge and the packages it imports.
// A host is a program around the core.
//
// # What a host does
//
// The core never waits. A handler asks for the result of an effect: see Turn.Do. If the journal has
// the result, the handler continues. Otherwise it returns nil, and the outcome names the effect
// instead of a response. The host performs it, appends its result to the journal, and calls again
// with the same turn, which the core handles from its beginning. So the whole state of a turn is in
// its host, and an instance of the core can be thrown away between two calls. For each request a
// host does:
//
//	read the request (at most MaxBody+1 bytes of its body), the time and 16 random bytes, once
//	repeat at most MaxRounds times:
//	    outcome = handle(turn)
//	    if outcome has a response: send it, and stop
//	    results = perform outcome.Effects side by side, at most MaxEffects of them
//	    append the results to turn.Journal, in the order of the effects
//	answer that the turn was not finished
//
// Run is this loop. A host adds the header fields that every answer has (respond.CommonHeaders),
// and Request-Id with Turn.RequestID, which its log has too.
// After a response with Deliver it calls edge.Deliver in the same loop, and also every few minutes,
// for messages that are due later.
//
// The result of an Exec says that the write is durable, and no response is given before it. So an
// answered write survives a loss of power.
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
	MaxBody    = 64 << 10 // bytes of a body; hosts read one more, so that the core sees that it is too large
	MaxQuery   = 8 << 10  // bytes of a query string, without "?"
	MaxHead    = 32 << 10 // bytes of header fields, where a host can tell
	MaxEffects = 16       // effects of one round
	// MaxRounds is how often a host calls for one turn. The largest turn is a batch of MCP calls:
	// each write needs at most five rounds (limit, store, relay, store, and the store again), each
	// verification one, and the last round gives the answer.
	MaxRounds = 128
)

// How long effects may take, in milliseconds. A host that has no result by then says so.
const (
	ExecMillis  = 2_000 // a write without an answer is asked after, and its caller waits twice as long
	RelayMillis = 10_000
)

// Header is one header field.
type Header struct{ Name, Value string }

// AppendFields appends header fields as one text, each as a line "name: value".
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

// Request is an HTTP request as it came.
type Request struct {
	Method string
	Target string // origin form, raw: "/api/waitlist?agent_name=x"
	Host   string // host name without port, lower-case; IPv6 without brackets
	Header []Header
	Body   []byte // at most MaxBody+1 bytes: with one more than MaxBody it is too large

	Incomplete bool // the body broke off, or took too long to arrive
}

// Get returns the value of a header field, by its lower-case name; "" if it is absent.
func (r *Request) Get(name string) string { return fieldOf(r.Header, name) }

// Has reports whether a header field is present, be it empty, by its lower-case name.
func (r *Request) Has(name string) bool {
	return slices.ContainsFunc(r.Header, func(f Header) bool { return f.Name == name })
}

// Single returns the value of a header field that may come once, by its lower-case name, and
// reports whether it has one value. Lines that agree are one; if they differ, value is all of them,
// as the host joined them. Empty elements do not count (RFC 9110, section 5.6.1).
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

// elementEnd is where the first element of a list ends: at a comma outside quotation marks.
func elementEnd(list string) int {
	quoted := false
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
	Extra     []string // host names to answer for besides those of the snapshot and loopback
	Client    string   // address of the caller, "" when unknown
	PublicKey string   // base64 of the raw public half of the signing key, "" without one
	KeyFault  bool     // a signing key is configured and cannot be used: no receipt is minted
	Limiter   bool     // whether there is a rate limiter
	Queries   int      // statements that the store runs for one request at most; 0 for no bound
	Port      int      // where the host listens, for its address on loopback; 0 when unknown
}

// Turn is one request on its way to its answer.
type Turn struct {
	Request  Request
	Snapshot *snapshot.Snapshot
	Now      int64    // seconds since 1970-01-01T00:00:00Z
	Entropy  [16]byte // never used twice
	Host     HostInfo
	Journal  []Result // the results of all effects performed so far, in the order asked

	// ContractURL is the path of the endpoint that the request reached, and Operation the ID of the
	// operation whose contract a 400 shows. They are "" for none.
	ContractURL string
	Operation   string
	// Failed is the answer where the host cannot take the turn to its end. Where Failed is nil,
	// that answer is the usual problem (respond.Unfinished).
	Failed *Response
	// StoreDown says that the store has not answered. A turn makes its caller wait for that once.
	StoreDown bool
	// Embedded says that what is answered is the result of an MCP tool. It has neither the trailer nor
	// links that are the same in every answer: the description of the tool says all that.
	Embedded bool
	// Statements is the number of statements that the turn has asked the store for so far.
	Statements int

	deliver bool     // whether the turn has put something into the outbox
	ids     int      // identifiers given so far
	headers []Header // header fields that the answer gets besides its own

	read  int      // results of the journal that the handler has received
	asked []Effect // effects that the handler waits for
}

// Outcome is what a call of the core gives: a response, or effects to perform before another call.
type Outcome struct {
	Response *Response
	Effects  []Effect
}

// Response is an HTTP response.
type Response struct {
	Status int
	Header []Header // besides those that every answer has
	Body   []byte   // empty for HEAD, 204 and 304
	Log    string   // a line for the host's log, without a caller's words; usually empty

	Deliver  bool          // the turn has put something into the outbox
	Observed []Observation // a host counts each by day, or drops it; no response waits for that
}

// Observation is one thing that a client did. It holds nothing else of its message or sender.
type Observation struct {
	Client string // as the client names itself, a stranger's text; "" where it does not
	Kind   string // what it did, see package protocol
}

// Get is Request.Get for a header field of the response's own.
func (r *Response) Get(name string) string { return fieldOf(r.Header, name) }

// Set sets a header field. It replaces one of the same name.
func (r *Response) Set(name, value string) { r.Header = setField(r.Header, name, value) }

// Begin makes the turn ready to be handled from its start. It is called in every round.
func (t *Turn) Begin(s *snapshot.Snapshot) {
	t.Snapshot, t.ContractURL, t.Operation, t.Failed, t.StoreDown = s, "", "", nil, false
	t.Embedded, t.Statements, t.deliver, t.ids, t.headers = false, 0, false, 0, nil
	t.read, t.asked = 0, nil
}

// SetHeader gives a header field to whichever answer the turn ends in.
func (t *Turn) SetHeader(name, value string) { t.headers = setField(t.headers, name, value) }

// SetDeliver says that the turn has put something into the outbox.
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

// Run calls handle until there is a response, and performs the effects asked for in between.
// perform returns one result for each effect, in order. Run returns nil if the turn asks for more
// rounds or effects than a turn may: the host then answers 500.
func Run(t *Turn, handle func(*Turn) Outcome, perform func([]Effect) []Result) *Response {
	for range MaxRounds {
		outcome := handle(t)
		switch {
		case len(outcome.Effects) == 0:
			return outcome.Response
		case len(outcome.Effects) > MaxEffects:
			return nil
		}
		t.Journal = append(t.Journal, perform(outcome.Effects)...)
	}
	return nil
}

// RequestID names the request in its answer and in the host's log. The rest of the entropy stays
// secret, so that no identifier of a record follows from it.
func (t *Turn) RequestID() string { return sha256.Hex(t.Entropy[:8]) }

// NewID gives the next identifier of the turn: 32 lower-case hexadecimal digits.
func (t *Turn) NewID() string {
	seed := append(t.Entropy[:len(t.Entropy):len(t.Entropy)], strconv.Itoa(t.ids)...)
	t.ids++
	sum := sha256.Sum(seed)
	return sha256.Hex(sum[:16])
}

// ServedFrom is the host name that answers say they were served from: that of the request if the
// service answers for it, else the canonical host.
func (t *Turn) ServedFrom() string {
	if t.Serves() {
		return t.Request.Host
	}
	return t.Snapshot.CanonicalHost
}

// Serves reports whether this service answers for the host of the request: one that the content
// publishes, one of Turn.Host.Extra, or loopback.
func (t *Turn) Serves() bool {
	h := t.Request.Host
	return t.Snapshot.Serves(h) || IsLoopback(h) || slices.Contains(t.Host.Extra, h)
}

// Origin is the address of ServedFrom. On loopback it begins with http:// and has the host's port.
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

// IsLoopback reports whether a machine reaches itself by this host name. IPv6 has no brackets here.
func IsLoopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
