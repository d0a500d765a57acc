package api

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/sha256"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// MostStatements is the number of statements that a call asks the store for at most, in two
// transactions if the first had no answer.
const MostStatements = 10

const (
	Window     = 60       // seconds in which the write limit counts
	policyName = "writes" // the name of the limit in header fields
)

// DryRun is the field that asks for everything but the writing, in a body or in any query.
var DryRun = input.Field{Name: "dry_run", Type: input.Switch, Values: input.Switches}

// ReadDryRun sets in.DryRun. query is the query of a POST, or nil if in is the query itself. An
// operation that is strict and has no dry run refuses to be asked for one.
func ReadDryRun(op *Operation, in, query *input.Input) {
	if !op.DryRun {
		for _, sent := range []*input.Input{in, query} {
			if op.Strict && sent != nil && sent.Refuse(&DryRun, "this stores nothing, and has no dry run") {
				in.DryRun = true
			}
		}
		return
	}
	on, sent := in.Switch(&DryRun)
	if query != nil {
		onThere, sentThere := query.Switch(&DryRun)
		if sent && sentThere && on != onThere {
			in.Add(DryRun.Name, input.Conflict, "the body and the query disagree: send one of them")
		}
		on = on || onThere
	}
	in.DryRun = on
}

// Key is the header field with which the same call, sent again, makes no second record. A tool has
// it as the argument KeyArgument.
var Key = input.Field{Name: "Idempotency-Key", Type: input.Name, Min: 16, Max: 64, Placeholder: "<a UUID of your own>"}

// KeyArgument is the name of the argument of a tool that is the Key.
const KeyArgument = "idempotency_key"

// ReadKey sets in.Key to a key that was sent under a name, quoted (RFC 9651, section 3.3.3) or
// bare.
func ReadKey(op *Operation, in *input.Input, name, sent string) {
	if !op.DryRun || sent == "" {
		return
	}
	key, ok := sent, true
	if sent[0] == '"' {
		key, ok = unquoted(sent[1:])
	}
	for i := range len(key) {
		ok = ok && ' ' <= key[i] && key[i] <= '~'
	}
	if !ok {
		in.Add(name, input.BadForm, "must be printable ASCII, bare or in quotation marks")
	} else if in.CheckText(&Key, name, key) {
		in.Key = key
	}
}

// readKeyHeader is ReadKey for the header field of a request. An empty field asks for a key too.
func readKeyHeader(t *turn.Turn, op *Operation, in *input.Input) {
	sent, one := t.Request.Single(KeyHeaders[0])
	switch {
	case !op.DryRun || sent == "" && !t.Request.Has(KeyHeaders[0]):
	case !one:
		in.Add(Key.Name, input.Conflict, differ+", in quotation marks if it has a comma")
	case sent == "":
		in.CheckText(&Key, Key.Name, sent)
	default:
		ReadKey(op, in, Key.Name, sent)
	}
}

// differ is the fault of a header field with several values that may have one.
const differ = "has several values, which differ: send one"

// unquoted reads a text up to the quotation mark that ends it, where a backslash is before each
// other one and before each backslash.
func unquoted(s string) (text string, ok bool) {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			return string(b), i == len(s)-1
		}
		if s[i] == '\\' {
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", false
			}
		}
		b = append(b, s[i])
	}
	return "", false
}

// API answers requests from one snapshot. It is made once, and no request changes it.
type API struct {
	snapshot    *snapshot.Snapshot
	prerendered map[*Document]text   // the documents without a Tail, as the canonical host answers them; nil before Prerender
	weakTags    map[*Document]string // of the documents that are OfNow
	links       string
	policy      string
	protocol    func(*turn.Turn) *turn.Response // answers the requests for an operation that is a Protocol
}

// text is a document with its trailer, and its entity tag.
type text struct {
	body []byte
	etag string
}

// Load makes the state that all requests share. It returns an error where the snapshot lacks a
// document.
func Load(s *snapshot.Snapshot) (*API, error) {
	base := s.BaseURL()
	a := &API{
		snapshot: s, weakTags: map[*Document]string{},
		links: "<" + base + `/openapi.json>; rel="service-desc"; type="application/json", <` +
			base + `/field-guide.html>; rel="service-doc"; type="text/html", <` +
			base + `/.well-known/api-catalog>; rel="api-catalog"`,
		policy: `"` + policyName + `";q=` + strconv.FormatInt(s.WritesPerMinute, 10) + ";w=" + strconv.Itoa(Window),
	}
	needed := []string{endpoints.ID}
	for _, route := range Routes {
		for _, d := range route.Documents() {
			needed = append(needed, d.ID)
		}
		for _, d := range []*Document{route.Refusal, route.NoStream} {
			if d != nil {
				needed = append(needed, d.ID)
			}
		}
		for _, op := range route.Operations {
			needed = append(needed, op.Contract().ID)
		}
	}
	if err := s.Require(needed...); err != nil {
		return nil, err
	}
	for _, route := range Routes {
		for _, d := range route.Documents() {
			if d.OfNow {
				a.weakTags[d] = "W/" + tagOf(s.Documents[d.ID])
			}
		}
	}
	return a, nil
}

// Prerender makes the documents that are the same for everybody ahead of the requests for them.
func (a *API) Prerender() {
	a.prerendered = map[*Document]text{}
	canonical := &turn.Turn{Snapshot: a.snapshot, Request: turn.Request{Host: a.snapshot.CanonicalHost}}
	for _, route := range Routes {
		for _, op := range route.Operations {
			if op.Document != nil && op.Document.Tail == nil {
				a.prerendered[op.Document] = a.text(canonical, op)
			}
		}
	}
}

// ServeProtocol has handle answer the requests for an operation that is a Protocol.
func (a *API) ServeProtocol(handle func(*turn.Turn) *turn.Response) { a.protocol = handle }

// Finish gives the answer to a GET or a HEAD the Link header field, and that to a HEAD the length
// instead of the body. A HEAD performs no effect: if its answer needs one, it gets the header
// alone.
func (a *API) Finish(t *turn.Turn, o turn.Outcome) turn.Outcome {
	method := t.Request.Method
	if method == "HEAD" && len(o.Effects) > 0 {
		o = turn.Outcome{Response: respond.JSON(200, respond.MediaJSON, string(NoStore), nil)}
		o.Response.Set("link", a.links)
		return o
	}
	if r := o.Response; r != nil && (method == "GET" || method == "HEAD") {
		r.Set("link", a.links)
		if method == "HEAD" && r.Status != 304 {
			r.Set("content-length", strconv.Itoa(len(r.Body)))
			r.Body = nil
		}
	}
	return o
}

// Handle answers a request, without what Finish adds.
func (a *API) Handle(t *turn.Turn) *turn.Response {
	if !t.Serves() {
		return respond.Problem(t, respond.Misdirected, "This service does not answer for the host that the request names. Use the canonical host.", nil, nil)
	}
	path, query, hasQuery := strings.Cut(t.Request.Target, "?")
	route := find(path)
	if t.Request.Method == "OPTIONS" {
		return preflight(route)
	}
	if route == nil {
		return a.unknown(t, path)
	}
	t.ContractURL = route.Path
	method := t.Request.Method
	switch {
	case route.Protocol(method) != nil:
		return a.protocol(t)
	case method == "HEAD":
		method = "GET"
	}
	if !route.Answers(method) {
		return a.notAllowed(t, route)
	}
	asks, refusal := parse(t, route, method, query)
	switch {
	case refusal != nil:
		return refusal.Answer(t)
	case asks.op.Document != nil && !asks.unread:
		return a.document(t, asks.op, hasQuery && (asks.dropped || route.writesByGET()))
	case asks.unread:
		asks.in.Writes = asks.op.Writes
		asks.in.Skip(asks.op.Fields)
		if asks.op.Strict {
			asks.in.RejectUnknown()
		}
		return respond.Invalid(t, asks.in)
	}
	return a.Perform(t, asks.op, asks.in)
}

// asked is what a request asks of a route.
type asked struct {
	op      *Operation
	in      *input.Input // of the query of a GET, or of the body of a POST
	unread  bool         // the query or the body cannot be read as a whole: in has the faults
	dropped bool         // the query was not looked at
}

// parse reads the query and the body of a request, and chooses the operation. The query of a HEAD
// is dropped if it could ask for a write, and that of a speculative GET also if it is invalid. No
// cache may keep such an answer: the request proper would get it, and never arrive.
func parse(t *turn.Turn, route *Route, method, query string) (asks asked, refusal *Refusal) {
	if refusal = longQuery(query); refusal != nil {
		return asks, refusal
	}
	sent := input.ParseQuery(query)
	switch {
	case t.Request.Method == "HEAD":
		asks.dropped = route.writesByGET()
	case method == "GET" && speculative(&t.Request):
		asks.dropped = sent.Total > 0 || route.writesByGET()
	}
	if asks.dropped {
		sent = &input.Input{}
	}
	asks.in = sent
	if method == "POST" {
		if refusal = unreadable(t, singles[:1]); refusal != nil {
			t.Operation = choose(route, method, &input.Input{}).ID
			return asks, refusal
		}
		asks.in = input.ParseBody(t.Request.Body)
	} else {
		sent = nil
	}
	asks.op = choose(route, method, asks.in)
	t.Operation = asks.op.ID
	asks.unread = asks.in.Total > 0 || sent != nil && sent.Total > 0
	ReadDryRun(asks.op, asks.in, sent)
	readKeyHeader(t, asks.op, asks.in)
	if sent != nil {
		asks.in.Merge(sent)
	}
	return asks, nil
}

func (a *API) notAllowed(t *turn.Turn, route *Route) *turn.Response {
	r := respond.Problem(t, respond.MethodNotAllowed, route.Path+" answers "+Allow(route)+".", nil, func(w *jsondoc.Writer) {
		if route.NoStream != nil && wantsStream(&t.Request) {
			a.members(t, route.NoStream, w)
			return
		}
		w.Begin("contract", '{')
		a.members(t, route.Contract, w)
		w.Close('}')
		if route.Refusal != nil {
			a.members(t, route.Refusal, w)
		}
	})
	r.Set("allow", Allow(route))
	return r
}

func wantsStream(r *turn.Request) bool {
	only, one := r.Single("accept")
	accepted, _, _ := strings.Cut(only, ";") // its parameters
	return (r.Method == "GET" || r.Method == "HEAD") && one && lower(strings.TrimSpace(accepted)) == "text/event-stream"
}

// Call performs an operation of a route for an MCP tool, on the input of a body. No cache may keep
// its answer. A 400 shows no contract. Clients add extra arguments to every call: the result
// lists those that the tool does not know.
func (a *API) Call(t *turn.Turn, route *Route, op *Operation, in *input.Input) *turn.Response {
	t.ContractURL, t.Embedded = route.Path, true
	d := op.Document
	if d == nil {
		return a.Perform(t, op, in)
	}
	if refusal := d.refusal(t); refusal != nil {
		return refusal
	}
	result := &Document{ID: MCPResult + d.ID, Tail: d.Tail}
	if a.snapshot.Documents[result.ID] == nil {
		result = d
	}
	return respond.OK(t, func(w *jsondoc.Writer) {
		a.members(t, result, w)
		if ignored := in.Ignored(); len(ignored) > 0 {
			respond.WriteCapped(w, "ignored_fields", ignored)
		}
	})
}

// Perform performs an operation that is not a document. If it writes, the caller's allowance is
// checked first.
func (a *API) Perform(t *turn.Turn, op *Operation, in *input.Input) *turn.Response {
	in.Fields, in.Writes = op.Fields, op.Writes
	if most := t.Host.Queries; op.Writes && !in.DryRun && most > 0 && t.Statements+MostStatements > most {
		return refused(t, respond.TooManyWrites, RateLimited,
			"the store takes no more in one request, and this call was not begun: send it in a request by itself")
	}
	if op.Writes && !in.DryRun && t.Host.Limiter && (!in.FromQuery || names(op, in)) {
		limit := turn.Limit{Key: callerKey(t.Host.Client), Policy: policyName}
		left, ok := t.Do(limit)
		if !ok {
			return nil
		}
		if refusal := a.limited(t, limit, &left); refusal != nil {
			return refusal
		}
	}
	return op.Handle(t, in)
}

// limited refuses a write beyond the caller's allowance. It returns nil if the write is allowed,
// and also if the limiter has failed.
func (a *API) limited(t *turn.Turn, limit turn.Limit, left *turn.Result) *turn.Response {
	if left.Failure != turn.None {
		return nil
	}
	t.SetHeader("ratelimit-policy", a.policy)
	if left.Remaining >= 0 {
		field := limit.RateLimit(left)
		t.SetHeader(field.Name, field.Value)
	}
	if left.OK {
		return nil
	}
	wait := left.Reset
	if left.Remaining < 0 || wait < 1 {
		wait = Window
	}
	seconds := strconv.FormatInt(wait, 10)
	r := refused(t, respond.TooManyWrites, RateLimited, "at most "+strconv.FormatInt(a.snapshot.WritesPerMinute, 10)+
		" writes in "+strconv.Itoa(Window)+" seconds for one client; try again in "+seconds+" seconds")
	r.Set("retry-after", seconds)
	return r
}

// document answers with a document. Where fresh is set, no cache may keep the answer.
func (a *API) document(t *turn.Turn, op *Operation, fresh bool) *turn.Response {
	if refusal := op.Document.refusal(t); refusal != nil {
		return refusal
	}
	made, ready := a.prerendered[op.Document]
	if !ready || t.Request.Host != t.Snapshot.CanonicalHost {
		made = a.text(t, op)
	}
	if fresh {
		return respond.JSON(200, respond.MediaJSON, string(NoStore), made.body)
	}
	if NoneMatch(t.Request.Get("if-none-match"), made.etag) {
		r := respond.Empty(304, string(op.Cache))
		r.Set("etag", made.etag)
		return r
	}
	r := respond.JSON(200, respond.MediaJSON, string(op.Cache), made.body)
	r.Set("etag", made.etag)
	return r
}

// refusal is the answer of Check where there is one.
func (d *Document) refusal(t *turn.Turn) *turn.Response {
	if d.Check == nil {
		return nil
	}
	return d.Check(t)
}

func (a *API) text(t *turn.Turn, op *Operation) text {
	body := respond.Object(t, func(w *jsondoc.Writer) { a.members(t, op.Document, w) })
	if op.Document.OfNow {
		return text{body, a.weakTags[op.Document]}
	}
	return text{body, tagOf(body)}
}

func tagOf(body []byte) string {
	sum := sha256.Sum(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

func (a *API) members(t *turn.Turn, d *Document, w *jsondoc.Writer) {
	w.Members(a.snapshot.Documents[d.ID])
	if d.Tail != nil {
		d.Tail(t, w)
	}
}

// redirect answers a path that needs none of its escapes with the path of the route that it names,
// as a CDN does (RFC 3986, section 6.2.2.2). It returns nil if no route has that path.
func redirect(t *turn.Turn, path string) *turn.Response {
	plain, ok := input.Unescape(path)
	if !ok || plain == path || find(plain) == nil {
		return nil
	}
	r := respond.Empty(307, string(NoStore))
	r.Set("location", plain+t.Request.Target[len(path):])
	return r
}

func (a *API) unknown(t *turn.Turn, path string) *turn.Response {
	if r := redirect(t, path); r != nil {
		return r
	}
	p, detail := respond.NotFound, "There is no such endpoint. \"live_endpoints\" lists all there are; a path is matched exactly, without a trailing slash."
	if path == "/v1" || strings.HasPrefix(path, "/v1/") {
		p, detail = respond.NotLiveYet, "The pilot API under /v1/ is not live yet. \"live_endpoints\" lists what is."
	}
	return respond.Problem(t, p, detail, nil, func(w *jsondoc.Writer) {
		w.Raw("live_endpoints", string(a.snapshot.Documents[endpoints.ID]))
	})
}

func find(path string) *Route {
	for _, route := range Routes {
		if route.Path == path {
			return route
		}
	}
	return nil
}

// choose is the operation of a method that an input asks for: the first that is Chosen, else the
// last.
func choose(route *Route, method string, in *input.Input) (chosen *Operation) {
	for _, op := range route.Operations {
		if slices.Contains(op.Methods, method) {
			chosen = op
			if op.Chosen == nil || op.Chosen(in) {
				return op
			}
		}
	}
	return chosen
}

func names(op *Operation, in *input.Input) bool {
	return slices.ContainsFunc(op.Fields, func(f input.Field) bool {
		return len(f.QueryNames) == 0 && in.Has(f.Name) || in.Has(f.QueryNames...) || in.Has(f.Aliases...)
	})
}

func (r *Route) writesByGET() bool {
	return slices.ContainsFunc(r.Operations, func(op *Operation) bool { return op.Writes && slices.Contains(op.Methods, "GET") })
}

// speculative reports whether a GET was sent before anybody decided to send it (Sec-Purpose and its
// forerunners), or for a resource embedded in a page (Sec-Fetch-Mode).
func speculative(r *turn.Request) bool {
	for _, name := range purposes {
		value := lower(r.Get(name))
		for _, purpose := range []string{"prefetch", "prerender", "preview"} {
			if strings.HasPrefix(value, purpose) {
				return true
			}
		}
	}
	mode, _ := r.Single("sec-fetch-mode")
	return lower(mode) == "no-cors"
}

// lower is a text with its ASCII letters in lower case, for comparing header fields. The tables of
// strings.ToLower would be a twentieth of all that runs on the edge.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// Refusal is the one reason why a request as a whole is not read.
type Refusal struct {
	Problem      *respond.ProblemType
	Code, Detail string
}

// Answer returns the refusal as a problem.
func (r *Refusal) Answer(t *turn.Turn) *turn.Response {
	return refused(t, r.Problem, r.Code, r.Detail)
}

// Unreadable returns why messages to the MCP server are not read, for their header, query or body,
// or nil.
func Unreadable(t *turn.Turn) *Refusal {
	_, query, _ := strings.Cut(t.Request.Target, "?")
	if r := longQuery(query); r != nil {
		return r
	}
	if asked := input.ParseQuery(query); asked.Total > 0 {
		return &Refusal{respond.InvalidInput, asked.List[0].Code, "in the query, " + asked.List[0].Field + " " + asked.List[0].Detail}
	}
	return unreadable(t, singles)
}

func longQuery(query string) *Refusal {
	if n := len(query); n > turn.MaxQuery {
		return &Refusal{respond.QueryTooLong, TooLarge, "the query has " + strconv.Itoa(n) + " bytes, and at most " + strconv.Itoa(turn.MaxQuery) + " are read"}
	}
	return nil
}

// unreadable says why a body is not read: one of the header fields has several values, or the body
// is incomplete, too large, encoded, or not declared as JSON.
func unreadable(t *turn.Turn, once []string) *Refusal {
	for _, name := range once {
		if _, one := t.Request.Single(name); !one {
			return &Refusal{respond.InvalidInput, input.Conflict, "the header " + name + " " + differ}
		}
	}
	if t.Request.Incomplete {
		return &Refusal{respond.InvalidInput, input.InvalidJSON, "the body broke off, or took too long to arrive"}
	}
	if len(t.Request.Body) > turn.MaxBody {
		return &Refusal{respond.BodyTooLarge, TooLarge, "the body has more than " + strconv.Itoa(turn.MaxBody) + " bytes"}
	}
	if len(t.Request.Body) == 0 {
		return nil
	}
	if encoding, _ := t.Request.Single("content-encoding"); encoding != "" && lower(encoding) != "identity" {
		t.SetHeader("accept-encoding", "identity") // RFC 9110, section 15.5.16
		return &Refusal{respond.UnsupportedType, NotJSON, "the body has a content-encoding: send it as it is"}
	}
	declared, _ := t.Request.Single("content-type")
	declared, _, _ = strings.Cut(declared, ";")
	declared = lower(strings.TrimSpace(declared))
	if declared == "" || declared == respond.MediaJSON || strings.HasPrefix(declared, "application/") && strings.HasSuffix(declared, "+json") {
		return nil
	}
	t.SetHeader("accept", respond.MediaJSON)
	return &Refusal{respond.UnsupportedType, NotJSON, "the body is not declared as JSON: send it with the header content-type: application/json" +
		", as curl does with --json, or with -d and -H 'content-type: application/json'"}
}

func refused(t *turn.Turn, p *respond.ProblemType, code, detail string) *turn.Response {
	faults := &input.Faults{}
	faults.Add("", code, detail)
	return respond.Problem(t, p, "Nothing was recorded by this call: "+detail+".", faults, nil)
}

// Allow lists the methods that a route answers, as the Allow header field has them.
func Allow(route *Route) string {
	allowed := make([]string, 0, 4)
	for _, method := range route.Methods() {
		if allowed = append(allowed, method); method == "GET" {
			allowed = append(allowed, "HEAD")
		}
	}
	return strings.Join(append(allowed, "OPTIONS"), ", ")
}

// anyHeader admits every request header field of a page: the star all but Authorization (Fetch
// standard, section 3.2.5). The other names are for browsers that do not know the star.
const anyHeader = "*, Authorization, Content-Type, Accept, If-None-Match, Idempotency-Key, " +
	"MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID"

// preflight answers OPTIONS at any path, so that a page of another origin can read every answer,
// refusals too. route is nil for a path that has none.
func preflight(route *Route) *turn.Response {
	allow := documentMethods
	if route != nil {
		allow = Allow(route)
	}
	return &turn.Response{Status: 204, Header: []turn.Header{
		{Name: "allow", Value: allow},
		{Name: "access-control-allow-methods", Value: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"},
		{Name: "access-control-allow-headers", Value: anyHeader},
		{Name: "access-control-max-age", Value: "86400"},
	}}
}

// HeadTooLarge refuses a request whose header fields have more than turn.MaxHead bytes.
var HeadTooLarge = &Refusal{respond.HeadTooLarge, TooLarge, "the header fields have more than " + strconv.Itoa(turn.MaxHead) + " bytes"}

// NoneMatch reports whether an If-None-Match field holds the tag by weak comparison (RFC 9110,
// section 13.1.2).
func NoneMatch(field, etag string) bool {
	for field != "" {
		var tag string
		tag, field, _ = strings.Cut(field, ",")
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}
