package edgetest

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/respond"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// Transcripts are HTTP conversations that every host must hold, word for word. A file is a list of
// exchanges, each under a line "=== ", with what the exchange shows:
//
//	=== a registration is recorded
//	POST /api/waitlist
//	content-type: application/json
//
//	{"agent_name":"ada"}
//	---
//	200
//	cache-control: no-store
//	etag: -
//
//	{"converted":true,"record_id":"<id>"}
//
// The answer must have the status and the header fields given, where the value "-" means that the
// field is absent. Unless it is a redirect, it must have respond.CommonHeaders, too. The body given
// must be a part of the answer's body: members that are not given are not compared, and arrays are
// compared whole. A body "-" demands an empty body.
//
// A string "<id>", "<time>", "<sha256>" or "<any>" is any value of its kind, a string that
// begins with "~" is a regular expression, and ${ID} is the document of that ID in the snapshot. In
// a request, "$body" is the body of the answer before.
//
// Settings may come before the first exchange, each on a line of its own. "write-limit: N" sets
// the limit of writes a minute, "indexnow: URL" the only endpoint that the signal tells,
// "receipt-key: KEY" the key that the content publishes as the current one ("none" for no key),
// "log-lookup: PATH" where the look-up of the public log is, and "in-memory: no" says that the
// transcript needs more than InMemory.
//
// go test ./edge/edgetest -update writes the answer of InMemory into a transcript where nothing
// is below the line "---".
//
//go:embed transcripts
var transcripts embed.FS

// Server starts a host with an empty store that answers for a snapshot and signs with Key, and
// gives its address. Where the snapshot allows 0 writes a minute, the host has no limit.
type Server func(t *testing.T, s *snapshot.Snapshot) (baseURL string)

// InMemory is the Server of a Fake, for the transcripts that need no store.
func InMemory(t *testing.T, s *snapshot.Snapshot) string {
	h := NewFake(t)
	h.Edge, h.Host.Limiter, h.Left = Load(t, s), s.WritesPerMinute > 0, s.WritesPerMinute
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		headers := []string{"host", r.Host}
		for _, name := range api.RequestHeaders {
			if value := r.Header.Get(name); value != "" {
				headers = append(headers, name, value)
			}
		}
		answer := h.Do(r.Method, r.RequestURI, string(body), headers...)
		for _, field := range answer.Header {
			w.Header().Set(field.Name, field.Value)
		}
		w.Header().Set("Request-Id", new(turn.Turn).RequestID()) // Fake has no entropy
		w.WriteHeader(answer.Status)
		if _, err := w.Write(answer.Body); err != nil && len(answer.Body) > 0 {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// RunTranscripts runs the named transcripts, or all without a name. Those that are of the same
// content share a host.
func RunTranscripts(t *testing.T, start Server, only ...string) {
	all := read(t)
	for _, name := range only {
		if !slices.ContainsFunc(all, func(c *conversation) bool { return c.name == name }) {
			t.Fatalf("there is no transcript %s", name)
		}
	}
	hosts := map[string]string{}
	for _, c := range all {
		if len(only) > 0 && !slices.Contains(only, c.name) {
			continue
		}
		content := string(c.published.Encode())
		if hosts[content] == "" {
			hosts[content] = start(t, c.published)
		}
		t.Run(c.name, func(t *testing.T) {
			c.hold(t, hosts[content], func(e *exchange, got *answer) {
				for _, difference := range e.differences(t, c.published, got) {
					t.Errorf("%s: %s", e.title, difference)
				}
			})
		})
	}
}

// conversation is a transcript.
type conversation struct {
	name, head string
	published  *snapshot.Snapshot
	beyond     bool // InMemory cannot hold it
	exchanges  []*exchange
}

type exchange struct{ title, request, want string }

type answer struct {
	status int
	header http.Header
	body   []byte
}

func read(t *testing.T) (all []*conversation) {
	t.Helper()
	names, err := fs.Glob(transcripts, "transcripts/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d transcripts, %v", len(names), err)
	}
	for _, name := range names {
		text, err := transcripts.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c := &conversation{name: strings.TrimSuffix(path.Base(name), ".txt"), published: Snapshot()}
		c.published.WritesPerMinute = 0
		head, rest, _ := strings.Cut(string(text), "=== ")
		c.head = head
		for line := range strings.Lines(head) {
			switch setting, value, _ := strings.Cut(strings.TrimSpace(line), ": "); setting {
			case "write-limit":
				if c.published.WritesPerMinute, err = strconv.ParseInt(value, 10, 64); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			case "indexnow":
				c.published.IndexNowURLs = []string{value}
			case "receipt-key":
				c.published.CurrentKey = strings.TrimSuffix(value, "none")
			case "log-lookup":
				c.published.LogLookup = value
			case "in-memory":
				c.beyond = value == "no"
			}
		}
		for part := range strings.SplitSeq(rest, "\n=== ") {
			title, body, _ := strings.Cut(part+"\n", "\n")
			request, want, ok := strings.Cut(body, "\n---\n")
			if !ok {
				t.Fatalf("%s: %s: no line --- between request and answer", name, title)
			}
			c.exchanges = append(c.exchanges, &exchange{title, request, strings.TrimRight(want, "\n")})
		}
		all = append(all, c)
	}
	return all
}

func (c *conversation) hold(t *testing.T, base string, show func(*exchange, *answer)) {
	t.Helper()
	var last []byte
	for _, e := range c.exchanges {
		got := e.ask(t, base, last)
		last = got.body
		show(e, got)
	}
}

// ask makes a request, in which $body is the body of the answer before, to the canonical host or to
// the host that its fields name. It follows no redirect.
func (e *exchange) ask(t *testing.T, base string, before []byte) *answer {
	t.Helper()
	head, body, _ := strings.Cut(strings.ReplaceAll(e.request, "$body", string(before)), "\n\n")
	first, fields, _ := strings.Cut(head, "\n")
	method, target, _ := strings.Cut(first, " ")
	r, err := http.NewRequest(method, base+target, strings.NewReader(strings.TrimSuffix(body, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "www.example.org"
	for line := range strings.Lines(fields) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if r.Header.Add(name, value); name == "host" {
			r.Host = value
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s: %v", first, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", first, err)
	}
	return &answer{resp.StatusCode, resp.Header, text}
}

// differences lists where an answer is not as wanted.
func (e *exchange) differences(t *testing.T, published *snapshot.Snapshot, got *answer) (differences []string) {
	t.Helper()
	head, body, _ := strings.Cut(e.want, "\n\n")
	status, fields, _ := strings.Cut(head, "\n")
	if strconv.Itoa(got.status) != strings.TrimSpace(status) {
		return []string{fmt.Sprintf("status %d, want %s\n%s", got.status, status, got.body)}
	}
	for line := range strings.Lines(fields) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), ": "); !fits(value, got.header, name) {
			differences = append(differences, fmt.Sprintf("header %s is %q, want %q", name, got.header.Get(name), value))
		}
	}
	for _, common := range respond.CommonHeaders {
		if field := got.header.Values(common.Name); got.status != http.StatusPermanentRedirect && (len(field) != 1 || field[0] != common.Value) {
			differences = append(differences, fmt.Sprintf("header %s is %q, want %q", common.Name, field, common.Value))
		}
	}
	id := got.header.Get("Request-Id")
	if names := requestIDs.FindAllSubmatch(got.body, -1); len(id) != 16 || slices.ContainsFunc(names, func(m [][]byte) bool { return string(m[1]) != id }) {
		differences = append(differences, fmt.Sprintf("the request is named %q in the header, and in the body %s", id, got.body))
	}
	got.body = bytes.ReplaceAll(got.body, []byte(id), []byte("<request>"))
	switch body = strings.TrimSpace(body); body {
	case "":
	case "-":
		if len(got.body) != 0 {
			differences = append(differences, fmt.Sprintf("body %q, want none", got.body))
		}
	default:
		var wanted, have any
		filled := documents.ReplaceAllFunc([]byte(body), func(id []byte) []byte { return published.Documents[string(id[2:len(id)-1])] })
		if err := json.Unmarshal(filled, &wanted); err != nil {
			t.Fatalf("%s: the wanted body: %v", e.title, err)
		}
		if err := json.Unmarshal(got.body, &have); err != nil {
			return append(differences, fmt.Sprintf("body %q: %v", got.body, err))
		}
		differences = append(differences, compare("", wanted, have)...)
	}
	return differences
}

// requestIDs are the names of requests in a body.
var requestIDs = regexp.MustCompile(`request_id\\?":\\?"([^"\\]*)`)

// documents are the names of documents of the snapshot, in a wanted body.
var documents = regexp.MustCompile(`\$\{[^}]*\}`)

func fits(want string, header http.Header, name string) bool {
	pattern, isPattern := strings.CutPrefix(want, "~")
	return want == "-" && header.Values(name) == nil || header.Get(name) == want ||
		isPattern && regexp.MustCompile(pattern).MatchString(header.Get(name))
}

var placeholders = map[string]*regexp.Regexp{
	"<id>":     regexp.MustCompile(`^[0-9a-f]{32}$`),
	"<time>":   regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`),
	"<sha256>": regexp.MustCompile(`^[0-9a-f]{64}$`),
	"<any>":    regexp.MustCompile(`(?s)^.+$`),
}

// compare lists the places where want is not a part of got. at is the place of both.
func compare(at string, want, got any) (differences []string) {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, want an object", at, got)}
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			value, there := object[name]
			if !there {
				differences = append(differences, fmt.Sprintf("%s.%s is missing", at, name))
				continue
			}
			differences = append(differences, compare(at+"."+name, want[name], value)...)
		}
		return differences
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return []string{fmt.Sprintf("%s is %v, want %d items", at, got, len(want))}
		}
		for i := range want {
			differences = append(differences, compare(fmt.Sprintf("%s[%d]", at, i), want[i], list[i])...)
		}
		return differences
	case string:
		text, ok := got.(string)
		pattern := placeholders[want]
		if rest, found := strings.CutPrefix(want, "~"); found {
			pattern = regexp.MustCompile(rest)
		}
		if ok && (pattern != nil && pattern.MatchString(text) || text == want) {
			return nil
		}
	default:
		if want == got {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s is %v, want %v", at, got, want)}
}
