//go:build full && fuzz

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/assets"
	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/endpoint/selftest"
	"anteroom/edge/input"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
	"anteroom/generator/output"
)

// request is a request as it goes over the wire.
type request struct {
	method, target string
	header         [][2]string // without Host, which host is, and the fields that frame the body
	host           string
	body           []byte
	chunk          int // the size of the chunks that the body is sent in; 0 declares its length

	// broken is the head of a request that HTTP does not allow, or that its sender does not finish:
	// it is sent as it is, and then the sending side is closed.
	broken []byte
	alone  bool // the answer depends on what came before: it is not compared
}

// wire is the request in the form of HTTP/1.1.
func (r *request) wire() []byte {
	if r.broken != nil {
		return r.broken
	}
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, r.target, r.host)
	for _, field := range r.header {
		b = fmt.Appendf(b, "%s: %s\r\n", field[0], field[1])
	}
	switch {
	case r.chunk > 0:
		b = append(b, "Transfer-Encoding: chunked\r\n\r\n"...)
		for part := range slices.Chunk(r.body, r.chunk) {
			b = fmt.Appendf(b, "%x\r\n%s\r\n", len(part), part)
		}
		return append(b, "0\r\n\r\n"...)
	case len(r.body) > 0 || r.method != "GET" && r.method != "HEAD":
		b = fmt.Appendf(b, "Content-Length: %d\r\n", len(r.body))
	}
	return append(append(b, "\r\n"...), r.body...)
}

// maker makes requests: the same ones of the same seed.
type maker struct {
	*rand.Rand
	s          *snapshot.Snapshot
	transcript []request // the requests of all transcripts
	documents  []string  // the paths of documents
	receipts   []string  // receipts that are valid, as JSON texts
	careful    bool      // the request is not damaged, so that it is often granted
}

func newMaker(t *testing.T, s *snapshot.Snapshot, documents []string) *maker {
	t.Helper()
	m := &maker{s: s, documents: documents}
	fake := edgetest.NewFake(t)
	fake.Edge = edgetest.Load(t, s)
	for _, body := range []string{`{}`, `{"agent_name":"ada","note":"first\nvisit"}`, `{"agent_name":"é\u0001😀"}`} {
		answer := fake.Do("POST", "/api/receipt", body, "host", s.CanonicalHost)
		m.receipts = append(m.receipts, string(answer.Body))
	}
	files, err := filepath.Glob("../edgetest/transcripts/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		words := strings.NewReplacer("www.example.org", s.CanonicalHost, "service_", s.ToolPrefix, "$body", m.receipts[0])
		for part := range strings.SplitSeq(words.Replace(string(text)), "\n=== ") {
			_, part, _ = strings.Cut(part, "\n")
			asked, _, found := strings.Cut(part, "\n---\n")
			if !found || strings.Contains(asked, "=== ") {
				continue
			}
			head, body, _ := strings.Cut(asked, "\n\n")
			first, fields, _ := strings.Cut(head, "\n")
			r := request{host: s.CanonicalHost, body: []byte(strings.TrimSuffix(body, "\n"))}
			r.method, r.target, _ = strings.Cut(first, " ")
			for line := range strings.Lines(fields) {
				name, value, _ := strings.Cut(line, ":")
				if value = strings.TrimSpace(value); strings.EqualFold(name, "host") {
					r.host = value
				} else {
					r.header = append(r.header, [2]string{name, value})
				}
			}
			m.transcript = append(m.transcript, r)
		}
	}
	return m
}

// of makes request n of a seed.
func (m *maker) of(seed, n uint64) *request {
	one := *m
	one.Rand = rand.New(rand.NewPCG(seed, n))
	one.careful = one.odds(3)
	return one.request()
}

func (m *maker) odds(n int) bool { return m.IntN(n) == 0 }

// wrong reports whether to do something wrong, once in n times.
func (m *maker) wrong(n int) bool { return !m.careful && m.odds(n) }

func pick[T any](m *maker, of ...T) T { return of[m.IntN(len(of))] }

func (m *maker) request() *request {
	r := &request{method: "GET", host: m.s.CanonicalHost}
	switch m.IntN(20) {
	case 0, 1, 2, 3:
		*r = pick(m, m.transcript...)
		r.header = slices.Clone(r.header)
		r.body = bytes.Clone(r.body)
		if m.wrong(2) {
			r.body = m.scratched(r.body)
		}
	case 4, 5, 6, 7, 8, 9, 10, 11:
		route := pick(m, api.Routes...)
		m.call(r, route, pick(m, route.Operations...))
	case 12, 13, 14, 15:
		m.messages(r)
	case 16, 17:
		r.target = pick(m, m.documents...)
		if m.odds(4) {
			r.target += "?" + m.text()
		}
	case 18:
		r.target = pick(m, "/", "/api", "/api/", "/v1", "/v1/x", "/healthz", "/readyz", "/healthz?x", "/nope", "/api/Waitlist", "/api/waitlist/",
			"//api/waitlist", "/api//waitlist", "/api/%77aitlist", "/api/waitlist;x", "/apix", "/v1x", "/api/"+strings.Repeat("x", m.IntN(3000)), "/%", "/%00", "/api/é",
			"/api/./quest", "/api/x/../quest", "/api/%2e/quest", "/api/quest/.", "/./api/quest", "/api/quest?a=/../b")
	default:
		r.broken = m.broken()
		return r
	}
	m.decorate(r)
	return r
}

// decorate changes how a request is sent, or some of it.
func (m *maker) decorate(r *request) {
	if m.wrong(12) {
		r.method = pick(m, "GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE")
	}
	if m.wrong(20) {
		host := m.s.CanonicalHost
		r.host = pick(m, strings.ToUpper(host), host+".", host+":443", host+":8080", m.s.ApexHost, "localhost", "127.0.0.1", "[::1]:80", "other.example", "x."+host, host+"..")
	}
	if m.wrong(30) {
		r.target = string(m.scratched([]byte(r.target)))
	}
	for range pick(m, 0, 0, 1, 1, 2, 5) {
		for _, line := range m.field() {
			if line[1] = inHeader(line[1]); !slices.ContainsFunc(r.header, func(f [2]string) bool { return f[0] == line[0] && (f[1] == "" || line[1] == "") }) {
				r.header = append(r.header, line) // the runtimes join an empty line with another in different ways
			}
		}
	}
	if m.wrong(25) {
		r.body = m.scratched(r.body)
	}
	if m.wrong(60) {
		r.body = append(r.body, strings.Repeat(pick(m, " ", "x", `{"a":`, "[", "é"), turn.MaxBody/pick(m, 1, 2, 3, 5)-m.IntN(5))...)
	}
	if len(r.body) > 0 && m.odds(8) {
		r.chunk = pick(m, 1000, 7, len(r.body), len(r.body)/2+1, 1+m.IntN(len(r.body)))
	}
	r.target = strings.Map(func(c rune) rune {
		if strings.ContainsRune("\"<>\\^`{|}#", c) { // no client sends these
			return '!'
		}
		return c
	}, onTheLine(r.target))
	r.target = r.target[:min(len(r.target), 12<<10)]
	if !strings.HasPrefix(r.target, "/") {
		r.target = "/" + r.target
	}
	path, query, asks := strings.Cut(r.target, "?")
	if _, err := url.PathUnescape(path); err != nil { // net/http refuses it
		if r.target = strings.ReplaceAll(path, "%", "!"); asks {
			r.target += "?" + query
		}
	}
	for i := range r.header {
		r.header[i][1] = inHeader(r.header[i][1])
	}
	if (r.method == "GET" || r.method == "HEAD") && len(r.body) > 0 && m.odds(4) {
		r.body = nil // few clients send a body with these
	}
	r.alone = alone(r, m)
}

// served are paths that are served from documents on both hosts alike. A CDN has ways of its own
// for others.
var served = regexp.MustCompile(`^(/\.?[a-z0-9_-][a-z0-9._-]*)*/?$`)

// alone reports whether the answer to a request is not compared.
func alone(r *request, m *maker) bool {
	path, query, _ := strings.Cut(r.target, "?")
	switch {
	case path == selftest.Path || path == "/api/signal" && (query != "" || r.host != m.s.CanonicalHost):
		return true // it depends on what was called before, or on where the host is
	case dotted.MatchString(path):
		return true // the runtime of Workers resolves these before it calls a worker
	case dynamic.MatchString(r.target):
		return keyed(r) // it may be replayed
	case strings.HasPrefix(r.host, m.s.ApexHost):
		return true // a worker of its own redirects the apex
	}
	conditional := slices.ContainsFunc(r.header, func(f [2]string) bool { return f[0] == "if-none-match" || f[0] == "range" })
	byWorker := !slices.Contains(m.documents, path) || slices.ContainsFunc(output.WorkerPatterns, func(pattern string) bool { return assets.Matches(pattern, path) })
	return conditional || r.method != "GET" && r.method != "HEAD" && !byWorker || !served.MatchString(path)
}

// keyed reports whether a request may have an idempotency key.
func keyed(r *request) bool {
	return bytes.Contains(r.body, []byte(api.KeyArgument)) ||
		slices.ContainsFunc(r.header, func(f [2]string) bool { return strings.EqualFold(f[0], api.Key.Name) && len(f[1]) >= api.Key.Min })
}

// key is an idempotency key, or a text that is none.
func (m *maker) key() string {
	return pick(m, "0123456789abcdef", `"0123456789abcdef"`, `"\"123456789abcde\\"`, strings.Repeat("k", 64), "0123456789abcde", strings.Repeat("k", 65), `"0123456789abcdef`, "", m.text())
}

// dotted are paths with a segment "." or "..", which clients resolve themselves.
var dotted = regexp.MustCompile(`(?i)/(\.|%2e){1,2}(/|$)`)

// dynamic are the targets that the core answers.
var dynamic = regexp.MustCompile(`^/((api|v1)([/?]|$)|(healthz|readyz)(\?|$))`)

// onTheLine is a text without what would end a line of the head or a target.
func onTheLine(s string) string { return strings.ReplaceAll(inHeader(s), " ", "~") }

// inHeader is a text without what would end a line of the head.
func inHeader(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f {
			return '~'
		}
		return r
	}, s))
}

// field is the lines of a header field, most often of one that the service reads.
func (m *maker) field() (lines [][2]string) {
	name, value := "x-"+strconv.Itoa(m.IntN(50)), m.text()
	switch m.IntN(10) {
	case 0:
	case 1:
		name = pick(m, "origin", "referer", "cookie", "authorization", "x-forwarded-for", "accept", "accept-language", "user-agent", "mcp-session-id",
			"last-event-id", "x-http-method-override", "traceparent", "access-control-request-headers")
	case 2:
		name, value = "range", pick(m, "bytes=0-1", "bytes=-5", "bytes=5-1", "x")
	default:
		if name = pick(m, api.RequestHeaders...); !m.odds(8) {
			value = pick(m, edgetest.HeaderValues...)
		}
	}
	for line := range strings.SplitSeq(value, "\n") {
		if lines = append(lines, [2]string{name, line[:min(len(line), 4<<10)]}); len(lines) == 2 { // the runtimes have bounds of their own
			break
		}
	}
	return lines
}

// pieces are what texts are made of.
var pieces = []string{
	"ada", "ledger-lark", "a", "A long enough text for a suggestion. ", "0", "-1", "1e9", "true", "null", " ", "  ", "\t", "\n", "\r\n", "\x00", "\x1b[31m", "\x7f", "\u0085", "\u2028", "\u202e",
	"é", "e\u0301", "ß", "😀", "\U0010ffff", "\ufffe", "\ufeff", "Ａ", "аda", "\xff", "\xc3\x28", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\"", "\\", "'", "<b>", "&amp;", "%00", "%", "+", "=", ";", ",", ":",
	"owner@example.org", "owner@example", "o@x.y", "a..b@example.org", `"a b"@example.org`, "ö@example.org", "@", "2026-11-20", "2026-02-30", "9999-12-31", "us-nyse", "gb-eng", "eu-target",
	"rainmaker", "rainmaker:30", "scout:a:5", "$body", "constructor", "__proto__", "PIN: ten letters", "\\u0000", "\\ud800", "\\ud83d\\ude00", "{}", "[]", "/*", "--", "'; DROP TABLE registrations;",
}

func (m *maker) text() string {
	if m.careful {
		return pick(m, "ada", "ledger-lark", "Tern & Co", "a long enough text for a suggestion", "owner@example.org", "PIN: é 😀 and ten letters", "x")
	}
	switch m.IntN(8) {
	case 0, 1, 2:
		return pick(m, "ada", "ledger-lark", "owner@example.org", "2026-11-20", "1", "")
	case 3:
		return strings.Repeat(pick(m, pieces...), pick(m, 39, 40, 41, 99, 100, 101, 119, 120, 121, 254, 255, 499, 500, 501, 999, 1000, 1001, 2000, 2001, 4000))
	}
	var b strings.Builder
	for range 1 + m.IntN(5) {
		b.WriteString(pick(m, pieces...))
	}
	return b.String()
}

// quoted is a string of JSON, in one of the ways to write it, some of them wrong.
func (m *maker) quoted(s string) string {
	way := m.IntN(8)
	if m.careful {
		way = 7
	}
	switch way {
	case 0:
		return `"` + s + `"`
	case 1:
		var b strings.Builder
		for _, r := range s {
			fmt.Fprintf(&b, pick(m, `\u%04x`, `\u%04X`), r&0xffff)
		}
		return `"` + b.String() + `"`
	case 2:
		return `"` + strings.NewReplacer(`\u`, `\u`, `"`, `\"`, `/`, `\/`, "\n", `\n`).Replace(s) + `"`
	}
	text, _ := json.Marshal(s)
	return string(text)
}

// value is any value of JSON.
func (m *maker) value(depth int) string {
	switch kind := m.IntN(12); {
	case kind < 4:
		return m.quoted(m.text())
	case kind < 6:
		return pick(m, "0", "-0", "1", "-1", "5.0", "0.1", "1e2", "1E+2", "1e400", "-1e-400", "2147483647", "2147483648", "-2147483649", "9007199254740993",
			"123456789012345678901234567890", "00", "1.", ".5", "+1", "NaN", "Infinity", "0x1", "1_0", strings.Repeat("9", 400), "0."+strings.Repeat("3", 400))
	case kind < 8:
		return pick(m, "true", "false", "null", "True", "nul", "undefined")
	case kind == 8 && m.odds(4):
		n := pick(m, 30, 31, 32, 33, 200, 5000)
		return strings.Repeat(pick(m, "[", `{"a":`), n) + "0" + strings.Repeat("]", n)
	case depth > 3:
		return "{}"
	case kind < 10:
		items := make([]string, m.IntN(4))
		for i := range items {
			items[i] = m.value(depth + 1)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	var members [][2]string
	for range m.IntN(4) {
		members = append(members, [2]string{m.text(), m.value(depth + 1)})
	}
	return m.object(members)
}

// object writes an object of raw values, at times with a fault.
func (m *maker) object(members [][2]string) string {
	if len(members) > 0 && m.wrong(15) {
		members = append(members, pick(m, members...))
	}
	if m.odds(4) {
		m.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	var parts []string
	for _, member := range members {
		name, _ := json.Marshal(member[0])
		if m.wrong(20) {
			name = []byte(m.quoted(member[0]))
		}
		parts = append(parts, string(name)+pick(m, ":", ":", ":", " : ", ":\n\t")+member[1])
	}
	return "{" + strings.Join(parts, pick(m, ",", ",", ", ", ",\r\n")) + "}"
}

// valueOf is a value of a field, most often a good one.
func (m *maker) valueOf(f *input.Field) string {
	if m.wrong(6) {
		return m.value(0)
	}
	if f.Example != "" && m.odds(2) {
		return f.Example
	}
	switch f.Type {
	case input.Email:
		return m.quoted(pick(m, "owner@example.org", "a.b+c@x.example", "ö@example.org", "a@b", m.text()))
	case input.Date:
		return m.quoted(pick(m, "2026-11-20", "2027-01-01", "1970-01-01", "2026-02-30", "2026-1-1", "9999-12-31", "0000-01-01"))
	case input.Integer:
		return strconv.Itoa(pick(m, f.Min, f.Max, f.Min-1, f.Max+1, 0, 1, 5, -10, 1000))
	case input.Switch:
		return pick(m, "true", "false", `"1"`, "1", "null")
	case input.ID:
		return pick(m, "1", `"a"`, "0", "-1", "1.5", `""`, "null", "1e400", m.quoted(m.text()))
	case input.Object:
		return m.receipt()
	case input.Array:
		items := []string{}
		if _, op := api.Find(f.Same); op != nil {
			f.Items = op.Fields
		}
		for range m.IntN(max(f.Max, 3) + 1) {
			items = append(items, m.fields(f.Items))
		}
		return "[" + strings.Join(items, ",") + "]"
	case input.List:
		return pick(m, m.quoted(strings.Join([]string{pick(m, append(f.Values, "")...), pick(m, append(f.Values, "x")...)}, pick(m, ",", ", ", " "))), "["+m.quoted(pick(m, append(f.Values, "x")...))+"]")
	}
	if len(f.Values) > 0 {
		return m.quoted(pick(m, f.Values...))
	}
	if f.Max > 0 && m.odds(8) {
		return m.quoted(strings.Repeat(pick(m, "x", "é", "😀"), pick(m, f.Min, f.Max, f.Max+1, max(f.Min-1, 0))))
	}
	return m.quoted(m.text())
}

// receipt is a receipt, often tampered with.
func (m *maker) receipt() string {
	whole := pick(m, m.receipts...)
	if m.odds(3) {
		return whole
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(whole), &members) != nil {
		return whole
	}
	var list [][2]string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := string(members[name])
		switch m.IntN(20) {
		case 0:
			continue
		case 1:
			value = m.value(1)
		case 2:
			value = string(m.scratched([]byte(value)))
		}
		list = append(list, [2]string{name, value})
	}
	return m.object(list)
}

// chosen are fields of an operation with values, and at times others.
func (m *maker) chosen(fields []input.Field) (members [][2]string) {
	for i := range fields {
		f := &fields[i]
		if f.Required && m.wrong(12) || !f.Required && m.odds(2) || f.BodyOnly && f.QueryOnly {
			continue
		}
		name := f.Name
		if m.wrong(15) {
			name = pick(m, append(f.Aliases, strings.ToUpper(name), name+" ", name+"[]", "")...)
		}
		members = append(members, [2]string{name, m.valueOf(f)})
	}
	if m.odds(6) {
		members = append(members, [2]string{"dry_run", pick(m, "true", "true", "true", "1", `"1"`, "false", "null", `"yes"`)})
	}
	if m.wrong(12) {
		members = append(members, [2]string{m.text(), m.value(1)})
	}
	return members
}

func (m *maker) fields(fields []input.Field) string { return m.object(m.chosen(fields)) }

// call is a call of an operation, by its body or its query.
func (m *maker) call(r *request, route *api.Route, op *api.Operation) {
	r.target, r.method = route.Path, pick(m, op.Methods...)
	if m.wrong(15) {
		r.method = pick(m, route.Methods()...)
	}
	if op.DryRun && m.odds(4) {
		r.header = append(r.header, [2]string{api.KeyHeaders[0], m.key()})
	}
	members := m.chosen(op.Fields)
	if r.method == "POST" {
		r.body = []byte(m.object(members))
		if op.Example != "" && m.odds(2) {
			r.body = []byte(op.Example)
		}
		if m.odds(2) {
			r.header = append(r.header, [2]string{"content-type", "application/json"})
		}
		if m.odds(8) {
			r.target += "?" + m.query(m.chosen(op.Fields))
		}
		return
	}
	for i := range op.Fields {
		for _, name := range op.Fields[i].QueryNames {
			allocation := pick(m, "20", "5", "30", "5.0", "-1", "x", "101")
			if m.careful {
				allocation = "20"
			}
			if !m.wrong(6) {
				members = append(members, [2]string{name, m.quoted(pick(m, "ada", "é", "a:b", m.text()) + ":" + allocation)})
			}
		}
	}
	if len(members) > 0 && !m.odds(8) {
		r.target += "?" + m.query(members)
	}
}

// query writes members as a query, in one of the ways to escape it.
func (m *maker) query(members [][2]string) string {
	var parts []string
	for _, member := range members {
		value := member[1]
		var text string
		if json.Unmarshal([]byte(value), &text) == nil {
			value = text
		}
		switch m.IntN(6) {
		case 0:
			value = url.PathEscape(value)
		case 1:
			if value = url.QueryEscape(value); !m.careful {
				value = onTheLine(member[1])
			}
		case 2:
			var all strings.Builder
			for i := range len(value) {
				fmt.Fprintf(&all, "%%%02x", value[i])
			}
			value = all.String()
		default:
			value = url.QueryEscape(value)
		}
		parts = append(parts, url.QueryEscape(member[0])+pick(m, "=", "=", "=", "=", "=", "=", "=", "", "==")+value)
	}
	if len(parts) > 0 && m.wrong(10) {
		parts = append(parts, pick(m, parts[0], "", "&", "%zz=1", "%c3%28=1", "a;b=1", "dry_run=1", "=", "x"))
	}
	return strings.Join(parts, "&")
}

// messages are a message to the MCP server or a batch of them.
func (m *maker) messages(r *request) {
	r.method, r.target = "POST", protocol.Path
	if m.odds(2) {
		r.header = append(r.header, [2]string{"content-type", "application/json"})
	}
	if m.odds(6) {
		var list []string
		for range pick(m, 0, 1, 2, 3, 5, 10, 11, 49, 50, 51) {
			text, _, _ := m.message(false)
			list = append(list, text)
		}
		r.body = []byte("[" + strings.Join(list, ",") + "]")
		return
	}
	stateless := m.odds(3)
	text, method, name := m.message(stateless)
	r.body = []byte(text)
	if stateless && !m.odds(10) {
		r.header = append(r.header, [2]string{"mcp-protocol-version", protocol.Stateless}, [2]string{"mcp-method", method})
		if name != "" {
			r.header = append(r.header, [2]string{"mcp-name", name})
		}
	}
}

func (m *maker) message(stateless bool) (text, method, name string) {
	method = pick(m, append(protocol.Methods, "server/discover", "tools/call", "tools/call", "tools/call", "notifications/initialized", "completion/complete", "", "tools/Call")...)
	var params [][2]string
	switch method {
	case "initialize":
		params = append(params, [2]string{"protocolVersion", m.quoted(pick(m, append(protocol.Versions, protocol.Stateless, "1", "")...))},
			[2]string{"clientInfo", m.object([][2]string{{"name", m.quoted(m.text())}, {"version", m.value(2)}})}, [2]string{"capabilities", "{}"})
	case "tools/call":
		tool := pick(m, api.Tools...)
		_, op := api.Find(tool.Operation)
		name = m.s.ToolPrefix + tool.Name
		arguments := m.chosen(op.Fields)
		for i := range arguments {
			if tool.Renames != "" && arguments[i][0] == tool.Renames {
				arguments[i][0] = tool.As
			}
		}
		if op.DryRun && m.odds(4) {
			arguments = append(arguments, [2]string{api.KeyArgument, m.quoted(m.key())})
		}
		params = append(params, [2]string{"name", m.quoted(name)}, [2]string{"arguments", m.object(arguments)})
		if m.odds(3) {
			params[1][1] = edgetest.Example(&tool)
		}
	case "prompts/get":
		prompt := pick(m, api.Prompts...)
		name = m.s.ToolPrefix + prompt.Name
		params = append(params, [2]string{"name", m.quoted(name)}, [2]string{"arguments", m.fields(prompt.Arguments)})
	}
	if stateless {
		params = append(params, [2]string{"_meta", `{"io.modelcontextprotocol/protocolVersion":"` + protocol.Stateless + `","io.modelcontextprotocol/clientCapabilities":{}}`})
	}
	members := [][2]string{{"jsonrpc", pick(m, `"2.0"`, `"2.0"`, `"2.0"`, `"2.0"`, `"2.0"`, `"2.0"`, `"1.0"`, "2")}, {"method", m.quoted(method)}}
	if !m.odds(8) {
		members = append(members, [2]string{"id", m.valueOf(&protocol.Fields[1])})
	}
	if len(params) > 0 || m.odds(2) {
		members = append(members, [2]string{"params", m.object(params)})
	}
	if m.wrong(15) {
		at := m.IntN(len(members))
		members[at][1] = m.value(0)
	}
	return m.object(members), method, name
}

// scratched is a text with a few bytes changed, cut out, doubled or put in.
func (m *maker) scratched(b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + m.IntN(3) {
		if len(b) == 0 {
			return append(b, pick(m, pieces...)...)
		}
		from := m.IntN(len(b))
		to := from + m.IntN(min(len(b)-from, pick(m, 1, 4, 100))+1)
		switch m.IntN(5) {
		case 0:
			b[from] = byte(m.Uint32())
		case 1:
			b = slices.Delete(b, from, to)
		case 2:
			b = slices.Insert(b, to, b[from:to]...)
		case 3:
			b = slices.Insert(b, from, []byte(pick(m, pieces...))...)
		default:
			b = b[:from]
		}
	}
	return b
}

// broken is a request that HTTP does not allow, or that ends too early.
func (m *maker) broken() []byte {
	host, body := m.s.CanonicalHost, `{"agent_name":"broken"}`
	head := "POST /api/waitlist HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\n"
	whole := []byte(head + "Content-Length: 23\r\n\r\n" + body)
	switch m.IntN(9) {
	case 0:
		return whole[:m.IntN(len(whole))]
	case 1:
		return fmt.Appendf(nil, "%sContent-Length: %d\r\n\r\n%s", head, 24+m.IntN(1000), body)
	case 2:
		return fmt.Appendf(nil, "%sTransfer-Encoding: chunked\r\n\r\n%s\r\n%s\r\n%s", head, pick(m, "17", "18", "-1", "zz", "ffffffffffffffff", ""), body, pick(m, "", "0\r\n", "5\r\nabc"))
	case 3:
		return fmt.Appendf(nil, "%sContent-Length: 23\r\nContent-Length: %d\r\n\r\n%s", head, m.IntN(30), body)
	case 4:
		return fmt.Appendf(nil, "GET /api/quest HTTP/1.1\r\nHost: %s\r\nX: %s\r\n\r\n", host, strings.Repeat("x", pick(m, 20, 30, 40, 100)<<10))
	case 5:
		return []byte(pick(m, "GET /api/quest HTTP/1.1\r\n\r\n", "GET /api/quest HTTP/1.0\r\n\r\n", "GET /api/quest HTTP/9.9\r\nHost: x\r\n\r\n", "\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET\r\n\r\n",
			"GET  /api/quest HTTP/1.1\r\nHost: x\r\n\r\n", "GET /api/quest HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "GET /api/quest HTTP/1.1\r\nHost : x\r\n\r\n", http.MethodConnect+" x:1 HTTP/1.1\r\nHost: x\r\n\r\n"))
	case 6:
		return fmt.Appendf(nil, "GET http://%s/api/quest?x HTTP/1.1\r\nHost: %s\r\n\r\n", pick(m, host, "other.example", "", "%"), host)
	case 7:
		return fmt.Appendf(nil, "%s /api/quest HTTP/1.1\r\nHost: %s\r\n\r\n", pick(m, "FOO", "TRACE", "get", "PROPFIND", "G\x00T", "*"), host)
	}
	return m.scratched(whole)
}
