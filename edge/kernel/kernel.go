// Package kernel is the turn: a request on its way to its answer, through code that does no I/O by
// itself. It knows no endpoint, no SQL and no e-mail.
//
// A turn is everything that an answer may depend on: the request, the published snapshot, the time,
// entropy, what the host says of itself, and the journal: the results of the effects performed so
// far. The same turn has the same outcome on every machine.
//
// # What a host does
//
// The core never waits. Where it needs something done, its outcome names the effects instead of a
// response. The host performs them, appends their results to the journal, and calls again with the
// same turn. The core then starts from the beginning, finds the results, and gets further. So all
// that a turn is made of lives in its host, and an instance of the core can be thrown away between
// two calls. For each request a host does:
//
//	read the request (at most MaxBody+1 bytes of its body), the time and 16 random bytes, once
//	repeat at most MaxRounds times:
//	    outcome = handle(turn)
//	    if outcome has no effects: send outcome.Response, and stop
//	    results = perform outcome.Effects side by side, at most MaxEffects of them
//	    append the results to turn.Journal, in the order of the effects
//	answer that the turn was not finished
//
// A host adds the header fields that every answer has (package respond). A response says whether it
// left something to be delivered: the host then calls the outbox's entry in the same way, once the
// response is on its way, and again every few minutes for what is due later.
//
// An Exec is durable when its result says no failure, and no response is given before that: what a
// caller was told is stored survives a loss of power.
//
// Run is this loop.
//
// # Prepared responses
//
// Most writes succeed, so the core need not be called a second time to say so. An outcome may hold
// a response together with effects. The response is prepared: it is right where these effects go as
// presumed. The host performs them one after the other, in order, and appends each result to the
// journal. As soon as one has not gone as presumed, the host calls again, as in the loop above; the
// effects after it are not performed. Where all have, it sends the response: a further call would
// give the same one. An effect goes as presumed where it does not fail, and
//
//   - a Verify or a Limit is OK;
//   - a Sign gives a signature, which the host writes in base64 into the body, at SignatureAt;
//   - a Limit that says what remains gives the response the header field of Limit.RateLimit.
//
// A host may do without prepared responses. It then takes such an outcome for one without a
// response whose only effect is the first.
package kernel

import (
	"strconv"
	"strings"

	"anteroom/edge/jsondoc"
	"anteroom/edge/sha256"
	"anteroom/edge/snapshot"
)

// Limits of every turn.
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

// Header is one header field.
type Header struct{ Name, Value string }

// AppendFields appends header fields as one text: each a line of its name, ": ", its value and LF.
func AppendFields(b []byte, fields []Header) []byte {
	for _, f := range fields {
		b = append(append(append(append(b, f.Name...), ": "...), f.Value...), '\n')
	}
	return b
}

// setField sets a header field, in place of one of the same name.
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

// HostInfo is what a host says of itself.
type HostInfo struct {
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
	Host     HostInfo
	Journal  []Result // of all effects performed so far, in the order asked

	// ContractURL is the path of the endpoint that the request reached, "" for none; Contract
	// writes the members of its contract.
	ContractURL string
	Contract    func(w *jsondoc.Writer)
	// Failed is the answer where the host cannot take the turn to its end; nil for a problem.
	Failed *Response

	next     int       // the journal entry that the next effect gets
	pending  []Effect  // asked for and not performed yet
	presumes bool      // pending are effects of Presume, in order
	prepared *Response // the response where pending goes as presumed
	deliver  bool      // the answer leaves something to be delivered
	ids      int       // identifiers given so far
	headers  []Header  // that the answer gets besides its own
}

// Outcome is what a call gives: a response; or effects to perform before another call; or both, and
// then the response is prepared.
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

	// Deliver says that the turn has put something into the outbox, which the host may deliver now.
	Deliver bool
	// SignatureAt is where in the Body of a prepared response a signature goes, in base64, in the
	// place of as many bytes.
	SignatureAt int
}

// Set sets a header field, in place of one of the same name.
func (r *Response) Set(name, value string) { r.Header = setField(r.Header, name, value) }

// Begin makes the turn ready to be handled from its start, in every round.
func (t *Turn) Begin(s *snapshot.Snapshot) {
	t.Snapshot, t.ContractURL, t.Contract, t.Failed = s, "", nil, nil
	t.next, t.pending, t.presumes, t.prepared = 0, nil, false, nil
	t.deliver, t.ids, t.headers = false, 0, nil
}

// Do asks for effects that do not depend on each other. When the journal holds their results,
// it returns them and true. Otherwise the handler must return at once: the host performs
// the effects and calls again.
func (t *Turn) Do(effects ...Effect) ([]Result, bool) {
	if t.presumes {
		return nil, false // what comes before is only presumed
	}
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

// SetHeader gives the answer a header field, whatever the answer will be, in place of one of the
// same name.
func (t *Turn) SetHeader(name, value string) { t.headers = setField(t.headers, name, value) }

// SetDeliver says that the answer leaves something in the outbox.
func (t *Turn) SetDeliver() { t.deliver = true }

// Outcome is the outcome of a call whose handler returned r: nil while effects are pending.
func (t *Turn) Outcome(r *Response) Outcome {
	var o Outcome
	if r == nil {
		r, o.Effects = t.prepared, t.pending
		if t.presumes && r == nil {
			o.Effects = o.Effects[:1] // the others depend on it
		}
	}
	if r != nil {
		r.Header = append(r.Header, t.headers...)
		r.Deliver = t.deliver
	}
	o.Response = r
	return o
}

// Run takes a turn to its response: it calls handle until there is one, and performs the effects
// asked for in between. perform returns one result for each effect, in order. The response is nil
// where the turn asks for more rounds or effects than it may: the host then answers 500.
func Run(t *Turn, handle func(*Turn) Outcome, perform func([]Effect) []Result) *Response {
	for range MaxRounds {
		outcome := handle(t)
		switch {
		case len(outcome.Effects) == 0:
			return outcome.Response
		case len(outcome.Effects) > MaxEffects:
			return nil
		case outcome.Response == nil:
			t.Journal = append(t.Journal, perform(outcome.Effects)...)
		case t.confirm(outcome, perform):
			return outcome.Response
		}
	}
	return nil
}

// idSize is how many bytes an identifier has.
const idSize = 16

// NewID gives the next identifier of the turn: 32 lower-case hexadecimal digits.
func (t *Turn) NewID() string {
	seed := append(t.Entropy[:len(t.Entropy):len(t.Entropy)], strconv.Itoa(t.ids)...)
	t.ids++
	sum := sha256.Sum(seed)
	return sha256.Hex(sum[:idSize])
}

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
	if t.Snapshot.Serves(h) || IsLoopback(h) {
		return true
	}
	for _, extra := range t.Host.Extra {
		if h == extra {
			return true
		}
	}
	return false
}

// Origin is the address of the host that ServedFrom names, as others reach it: https, but for
// loopback http and the port that the host listens on.
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

// IsLoopback reports whether a host name, IPv6 without brackets, is one by which a machine reaches
// itself.
func IsLoopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
