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

// MostStatements is the most statements a call asks the store for. It has two transactions if the
// first one times out.
const MostStatements = 11

const (
	Window     = 60       // seconds in which the write limit counts
	policyName = "writes" // the name of the limit in header fields
)

type API struct {
	Protocol func(*turn.Turn) *turn.Response // answers requests for an operation that is a Protocol

	snapshot    *snapshot.Snapshot
	prerendered map[*Document]text // documents without a Tail, on the canonical host; nil before Prerender
	links       string
	policy      string
}

type text struct {
	body []byte
	etag string
}

func Load(s *snapshot.Snapshot) (*API, error) {
	base := s.BaseURL()
	a := &API{
		snapshot: s,
		links: "<" + base + `/openapi.json>; rel="service-desc"; type="application/json", <` +
			base + `/field-guide.html>; rel="service-doc"; type="text/html", <` +
			base + `/.well-known/api-catalog>; rel="api-catalog"`,
		policy: `"` + policyName + `";q=` + strconv.FormatInt(s.WritesPerMinute, 10) + ";w=" + strconv.Itoa(Window),
	}
	needed := []string{endpoints.ID}
	for _, route := range Routes {
		documents := append(route.Documents(), route.Refusal, route.NoStream)
		for _, op := range route.Operations {
			documents = append(documents, op.Contract())
		}
		for _, d := range documents {
			if d != nil {
				needed = append(needed, d.ID)
			}
		}
	}
	return a, s.Require(needed...)
}

func (a *API) Prerender() {
	a.prerendered = map[*Document]text{}
	canonical := &turn.Turn{Snapshot: a.snapshot, Request: turn.Request{Host: a.snapshot.CanonicalHost}}
	for _, route := range Routes {
		for _, op := range route.Operations {
			if op.Document != nil && op.Document.Tail == nil {
				a.prerendered[op.Document] = a.text(canonical, op.Document)
			}
		}
	}
}

// Finish adds the Link header field to the answer of a GET or a HEAD, and gives the latter the
// length instead of the body. A HEAD performs no effect: if its answer needs one, it has no length
// either.
func (a *API) Finish(t *turn.Turn, o turn.Outcome) turn.Outcome {
	head := t.Request.Method == "HEAD"
	if t.Request.Method != "GET" && !head {
		return o
	}
	needsEffects := len(o.Effects) > 0
	if head && needsEffects {
		o = turn.Outcome{Response: respond.JSON(200, respond.MediaJSON, NoStore, nil)}
	}
	r := o.Response
	if r == nil {
		return o
	}
	r.Set("link", a.links)
	if head && !needsEffects && r.Status != 304 {
		r.Set("content-length", strconv.Itoa(len(r.Body)))
		r.Body = nil
	}
	return o
}

// Handle leaves it to Finish to complete the answer.
func (a *API) Handle(t *turn.Turn) *turn.Response {
	if !t.Serves() {
		const detail = "This service does not serve the host name of the request. Use the canonical host."
		return respond.Problem(t, respond.Misdirected, detail, nil, nil)
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
	switch op := choose(route, method, &input.Input{}); {
	case op != nil && op.Protocol:
		return a.Protocol(t)
	case method == "HEAD":
		method = "GET"
	}
	if !route.Answers(method) {
		return a.notAllowed(t, route)
	}
	if refusal := longQuery(query); refusal != nil {
		return refusal.Answer(t)
	}
	sent := input.ParseQuery(query)
	if method == "POST" {
		return a.post(t, route, sent)
	}
	return a.read(t, route, method, sent, hasQuery)
}

// read responds to a request without a body. It drops the query of a HEAD or a speculative GET that
// could ask for a write, and the invalid query of a speculative GET. No cache may keep such an
// answer and serve it for the real request.
func (a *API) read(t *turn.Turn, route *Route, method string, in *input.Input, hasQuery bool) *turn.Response {
	writes := route.writesByGET()
	dropped := writes && t.Request.Method == "HEAD" ||
		t.Request.Method == "GET" && (writes || in.Total > 0) && speculative(&t.Request)
	if dropped {
		in = &input.Input{}
	}
	op := choose(route, method, in)
	t.Operation = op.ID
	valid := in.Total == 0
	readOptions(t, op, in, &input.Input{})
	if op.Document != nil && valid {
		return a.document(t, op.Document, hasQuery && (dropped || writes))
	}
	if early, _ := t.Request.Single("early-data"); early == "1" && op.DryRun && !in.DryRun && in.Key == "" {
		return refused(t, respond.TooEarly, TooEarly,
			"the request was sent before the handshake, and anyone can repeat it: send it again later, or with an "+Key.Name)
	}
	return a.performIfValid(t, op, in, valid)
}

func (a *API) post(t *turn.Turn, route *Route, query *input.Input) *turn.Response {
	if refusal := unreadable(t, singles[:1]); refusal != nil {
		t.Operation = choose(route, "POST", &input.Input{}).ID
		return refusal.Answer(t)
	}
	in := input.ParseBody(t.Request.Body)
	op := choose(route, "POST", in)
	t.Operation = op.ID
	valid := in.Total == 0 && query.Total == 0
	readOptions(t, op, in, query)
	in.Merge(query)
	return a.performIfValid(t, op, in, valid)
}

func (a *API) performIfValid(t *turn.Turn, op *Operation, in *input.Input, valid bool) *turn.Response {
	if valid {
		return a.perform(t, op, in)
	}
	in.Writes = op.Writes
	in.Skip(op.Fields)
	if op.Strict {
		in.RejectUnknown()
	}
	return respond.Invalid(t, in)
}

func (a *API) notAllowed(t *turn.Turn, route *Route) *turn.Response {
	detail := route.Path + " allows " + allow(route) + "."
	r := respond.Problem(t, respond.MethodNotAllowed, detail, nil, func(w *jsondoc.Writer) {
		if route.NoStream != nil && wantsOnlyStream(&t.Request) {
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
	r.Set("allow", allow(route))
	return r
}

func wantsOnlyStream(r *turn.Request) bool {
	accept, one := r.Single("accept")
	return (r.Method == "GET" || r.Method == "HEAD") && one && mediaType(accept) == "text/event-stream"
}

func mediaType(field string) string {
	name, _, _ := strings.Cut(field, ";")
	return lower(strings.TrimSpace(name))
}

// Call performs an operation of a route for an MCP tool. No cache may keep its answer, and a 400
// has no contract. Clients add unknown arguments to every call: the result lists them.
func (a *API) Call(t *turn.Turn, route *Route, op *Operation, in *input.Input) *turn.Response {
	t.ContractURL, t.Embedded = route.Path, true
	d := op.Document
	if d == nil {
		return a.perform(t, op, in)
	}
	if refusal := d.check(t); refusal != nil {
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

// perform makes a call that writes only within the bounds of the store and of the caller's
// allowance. A dry run is free, unless it reveals that a key stands for another call.
func (a *API) perform(t *turn.Turn, op *Operation, in *input.Input) *turn.Response {
	in.Fields, in.Writes = op.Fields, op.Writes
	writes := op.Writes && !in.DryRun
	if most := t.Host.Queries; (writes || in.Key != "") && most > 0 && t.Statements+MostStatements > most {
		return refused(t, respond.TooManyWrites, RateLimited,
			"this call was not made, because the store takes no more in one request: send it alone")
	}
	if writes && (!in.FromQuery || namesField(op, in)) {
		refusal, ok := a.limit(t)
		if !ok || refusal != nil && in.Key == "" {
			return refusal
		}
		t.Refusal = refusal
	}
	r := op.Handle(t, in)
	if in.DryRun && r != nil && r.Status == respond.KeyReused.Status {
		if refusal, ok := a.limit(t); !ok || refusal != nil {
			return refusal
		}
	}
	return r
}

func (a *API) limit(t *turn.Turn) (refusal *turn.Response, ok bool) {
	if !t.Host.Limiter {
		return nil, true
	}
	left, ok := t.Do(turn.Limit{Key: callerKey(t.Host.Client)})
	if !ok || left.Failure != turn.None { // if the limiter fails, the write is allowed
		return nil, ok
	}
	t.SetHeader("ratelimit-policy", a.policy) // draft-ietf-httpapi-ratelimit-headers
	if left.Remaining >= 0 {
		remaining, reset := strconv.FormatInt(left.Remaining, 10), strconv.FormatInt(left.Reset, 10)
		t.SetHeader("ratelimit", `"`+policyName+`";r=`+remaining+";t="+reset)
	}
	if left.OK {
		return nil, true
	}
	wait := left.Reset
	if left.Remaining < 0 || wait < 1 {
		wait = Window
	}
	seconds := strconv.FormatInt(wait, 10)
	refusal = refused(t, respond.TooManyWrites, RateLimited, "at most "+strconv.FormatInt(a.snapshot.WritesPerMinute, 10)+
		" writes in "+strconv.Itoa(Window)+" seconds for one client; try again in "+seconds+" seconds")
	refusal.Set("retry-after", seconds)
	return refusal, true
}

func (a *API) document(t *turn.Turn, d *Document, fresh bool) *turn.Response {
	if refusal := d.check(t); refusal != nil {
		return refusal
	}
	made, ready := a.prerendered[d]
	if !ready || t.Request.Host != t.Snapshot.CanonicalHost {
		made = a.text(t, d)
	}
	if fresh {
		return respond.JSON(200, respond.MediaJSON, NoStore, made.body)
	}
	r := respond.JSON(200, respond.MediaJSON, d.Cache, made.body)
	if NoneMatch(t.Request.Get("if-none-match"), made.etag) {
		r = respond.Empty(304, d.Cache)
	}
	r.Set("etag", made.etag)
	return r
}

func (d *Document) check(t *turn.Turn) *turn.Response {
	if d.Check == nil {
		return nil
	}
	return d.Check(t)
}

func (a *API) text(t *turn.Turn, d *Document) text {
	body := respond.Object(t, func(w *jsondoc.Writer) { a.members(t, d, w) })
	if d.OfNow {
		return text{body, "W/" + tagOf(a.snapshot.Documents[d.ID])}
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

// redirect redirects a path with needless escapes to its route, as a CDN does (RFC 3986, section
// 6.2.2.2). It returns nil if no route has that path.
func redirect(t *turn.Turn, path string) *turn.Response {
	plain, ok := input.Unescape(path)
	if !ok || plain == path || find(plain) == nil {
		return nil
	}
	r := respond.Empty(307, NoStore)
	r.Set("location", plain+t.Request.Target[len(path):])
	return r
}

func (a *API) unknown(t *turn.Turn, path string) *turn.Response {
	if r := redirect(t, path); r != nil {
		return r
	}
	p, detail := respond.NotFound,
		`There is no such endpoint. "live_endpoints" lists them all; paths match exactly, without a trailing slash.`
	if path == "/v1" || strings.HasPrefix(path, "/v1/") {
		p, detail = respond.NotLiveYet, `The pilot API under /v1/ is not live yet. "live_endpoints" lists the live endpoints.`
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

func namesField(op *Operation, in *input.Input) bool {
	return slices.ContainsFunc(op.Fields, func(f input.Field) bool {
		return len(f.QueryNames) == 0 && in.Has(f.Name) || in.Has(f.QueryNames...) || in.Has(f.Aliases...)
	})
}

func (r *Route) writesByGET() bool {
	return slices.ContainsFunc(r.Operations, func(op *Operation) bool {
		return op.Writes && slices.Contains(op.Methods, "GET")
	})
}

// PreviewAgents lists the products that fetch an address to preview a link to it.
var PreviewAgents = []string{
	"Slackbot-LinkExpanding", "facebookexternalhit", "Twitterbot", "Discordbot", "WhatsApp", "TelegramBot",
	"LinkedInBot", "SkypeUriPreview", "Iframely", "redditbot", "Applebot", "BingPreview",
}

// speculative reports whether a GET is a browser's guess (Sec-Purpose and its forerunners), was
// sent for a resource embedded in a page (Sec-Fetch-Mode), or previews a link (PreviewAgents).
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
	between := func(r rune) bool { return strings.ContainsRune(" /;,()+", r) }
	products := strings.FieldsFunc(lower(r.Get("user-agent")), between)
	named := func(agent string) bool { return slices.Contains(products, lower(agent)) }
	return lower(mode) == "no-cors" || slices.ContainsFunc(PreviewAgents, named)
}

// lower returns a string with its ASCII letters in lower case. The tables of strings.ToLower would
// take a twentieth of the edge's module.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// Refusal is the reason not to read a request.
type Refusal struct {
	Problem      *respond.ProblemType
	Code, Detail string
}

func (r *Refusal) Answer(t *turn.Turn) *turn.Response {
	return refused(t, r.Problem, r.Code, r.Detail)
}

// Unreadable returns the reason not to read a request to the MCP server, or nil.
func Unreadable(t *turn.Turn) *Refusal {
	_, query, _ := strings.Cut(t.Request.Target, "?")
	if r := longQuery(query); r != nil {
		return r
	}
	if sent := input.ParseQuery(query); sent.Total > 0 {
		fault := sent.List[0]
		return &Refusal{respond.InvalidInput, fault.Code, "in the query, " + fault.Field + " " + fault.Detail}
	}
	return unreadable(t, singles)
}

func longQuery(query string) *Refusal {
	if len(query) <= turn.MaxQuery {
		return nil
	}
	return &Refusal{
		respond.QueryTooLong, TooLarge,
		"the query has " + strconv.Itoa(len(query)) + " bytes, more than the limit of " + strconv.Itoa(turn.MaxQuery),
	}
}

func unreadable(t *turn.Turn, once []string) *Refusal {
	for _, name := range once {
		if _, one := t.Request.Single(name); !one {
			return &Refusal{respond.InvalidInput, input.Conflict, "the header " + name + " " + severalValues}
		}
	}
	if t.Request.Incomplete {
		return &Refusal{respond.InvalidInput, input.InvalidJSON, "the body was cut off, or took too long to arrive"}
	}
	if len(t.Request.Body) > turn.MaxBody {
		return &Refusal{respond.BodyTooLarge, TooLarge, "the body has more than " + strconv.Itoa(turn.MaxBody) + " bytes"}
	}
	if len(t.Request.Body) == 0 {
		return nil
	}
	if encoding, _ := t.Request.Single("content-encoding"); encoding != "" && lower(encoding) != "identity" {
		t.SetHeader("accept-encoding", "identity") // RFC 9110, section 15.5.16
		return &Refusal{respond.UnsupportedType, NotJSON, "the body has a content-encoding: send it without one"}
	}
	declared, _ := t.Request.Single("content-type")
	declared = mediaType(declared)
	suffixed := strings.HasPrefix(declared, "application/") && strings.HasSuffix(declared, "+json")
	if declared == "" || declared == respond.MediaJSON || suffixed {
		return nil
	}
	t.SetHeader("accept", respond.MediaJSON)
	return &Refusal{
		respond.UnsupportedType, NotJSON,
		"the body is not declared as JSON: send it with the header content-type: application/json, " +
			"as curl does with --json, or with -d and -H 'content-type: application/json'",
	}
}

func refused(t *turn.Turn, p *respond.ProblemType, code, detail string) *turn.Response {
	faults := &input.Faults{}
	faults.Add("", code, detail)
	return respond.Problem(t, p, "Nothing was recorded by this call: "+detail+".", faults, nil)
}

func allow(route *Route) string {
	allowed := make([]string, 0, 4)
	for _, method := range route.Methods() {
		if allowed = append(allowed, method); method == "GET" {
			allowed = append(allowed, "HEAD")
		}
	}
	return strings.Join(append(allowed, "OPTIONS"), ", ")
}

// anyHeader admits every request header field: the star means all but Authorization (Fetch
// standard, section 3.2.5). The other names are for browsers that do not know the star.
const anyHeader = "*, Authorization, Content-Type, Accept, If-None-Match, Idempotency-Key, " +
	"MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID"

// preflight responds to OPTIONS at any path, so that a page of another origin can read every answer
// and every refusal. route may be nil.
func preflight(route *Route) *turn.Response {
	allowed := documentMethods
	if route != nil {
		allowed = allow(route)
	}
	return &turn.Response{Status: 204, Header: []turn.Header{
		{Name: "allow", Value: allowed},
		{Name: "access-control-allow-methods", Value: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"},
		{Name: "access-control-allow-headers", Value: anyHeader},
		{Name: "access-control-max-age", Value: "86400"},
	}}
}

var HeadTooLarge = &Refusal{
	respond.HeadTooLarge, TooLarge,
	"the header fields have more than " + strconv.Itoa(turn.MaxHead) + " bytes",
}

// NoneMatch reports whether an If-None-Match field has the tag by weak comparison (RFC 9110,
// section 13.1.2).
func NoneMatch(field, etag string) bool {
	opaque := strings.TrimPrefix(etag, "W/")
	for tag := range strings.SplitSeq(field, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == opaque {
			return true
		}
	}
	return false
}
