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
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/respond"
	"anteroom/edge/snapshot"
)

// Transcripts are HTTP conversations that every host must hold. A file is a list of exchanges, each
// under a line "=== " with its title:
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
// The answer must have the status, the header fields ("-" for an absent one) and, unless it is a
// redirect, respond.CommonHeaders. Its body must contain the one given: members that are not given
// are not compared, and arrays are compared whole. A body "-" is an empty one.
//
// A string "<id>", "<time>", "<sha256>" or "<any>" is any value of its kind, a string that begins
// with "~" is a regular expression, and ${ID} is a document of the snapshot. In a request, "$body"
// is the body of the answer before.
//
// Settings may come before the first exchange, each on a line: "write-limit: N" for the writes a
// minute, "indexnow: URL" for the only endpoint of the signal, "receipt-key: KEY" for the published
// key (or "none"), and "in-memory: no" for a transcript that needs more than a Fake.
//
// go test ./edge/edgetest -update writes the answer of a Fake below an empty line "---".
//
//go:embed transcripts
var transcripts embed.FS

// Server starts a host with an empty store for a snapshot, which signs with Key, and returns its
// address. A limit of 0 writes a minute means no limit.
type Server func(t *testing.T, s *snapshot.Snapshot) (baseURL string)

// RunTranscripts runs the transcripts. Those with the same content share a host.
func RunTranscripts(t *testing.T, start Server) {
	hosts := map[string]string{}
	for _, c := range read(t) {
		content := string(c.published.Encode())
		if hosts[content] == "" {
			hosts[content] = start(t, c.published)
		}
		t.Run(c.name, func(t *testing.T) {
			c.hold(t, hosts[content], func(e *exchange, got *answer) { e.check(t, c.published, got) })
		})
	}
}

type conversation struct {
	name, head string
	published  *snapshot.Snapshot
	beyond     bool // a Fake cannot hold it
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

func (e *exchange) check(t *testing.T, published *snapshot.Snapshot, got *answer) {
	t.Helper()
	differs := func(format string, values ...any) {
		t.Helper()
		t.Errorf(e.title+": "+format, values...)
	}
	head, body, _ := strings.Cut(e.want, "\n\n")
	status, fields, _ := strings.Cut(head, "\n")
	if strconv.Itoa(got.status) != strings.TrimSpace(status) {
		differs("status %d, want %s\n%s", got.status, status, got.body)
		return
	}
	for line := range strings.Lines(fields) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), ": "); !fits(value, got.header, name) {
			differs("header %s is %q, want %q", name, got.header.Get(name), value)
		}
	}
	for _, common := range respond.CommonHeaders {
		if field := got.header.Values(common.Name); got.status != http.StatusPermanentRedirect && !slices.Equal(field, []string{common.Value}) {
			differs("header %s is %q, want %q", common.Name, field, common.Value)
		}
	}
	id := got.header.Get("Request-Id")
	foreign := func(m [][]byte) bool { return string(m[1]) != id }
	if len(id) != 16 || slices.ContainsFunc(requestIDs.FindAllSubmatch(got.body, -1), foreign) {
		differs("header Request-Id is %q, and the body %s", id, got.body)
	}
	got.body = bytes.ReplaceAll(got.body, []byte(id), []byte("<request>"))
	switch body = strings.TrimSpace(body); body {
	case "":
	case "-":
		if len(got.body) != 0 {
			differs("body %q, want none", got.body)
		}
	default:
		var wanted, have any
		filled := documents.ReplaceAllFunc([]byte(body), func(id []byte) []byte {
			return published.Documents[string(id[2:len(id)-1])]
		})
		if err := json.Unmarshal(filled, &wanted); err != nil {
			t.Fatalf("%s: the wanted body: %v", e.title, err)
		}
		if err := json.Unmarshal(got.body, &have); err != nil {
			differs("body %q: %v", got.body, err)
			return
		}
		compare("", wanted, have, differs)
	}
}

var (
	requestIDs = regexp.MustCompile(`request_id\\?":\\?"([^"\\]*)`)
	documents  = regexp.MustCompile(`\$\{[^}]*\}`) // names of documents in a wanted body
)

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

func compare(place string, want, got any, differs func(format string, values ...any)) {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if value, there := object[name]; there {
				compare(place+"."+name, want[name], value, differs)
			} else {
				differs("%s.%s is missing", place, name)
			}
		}
		if ok {
			return
		}
	case []any:
		if list, ok := got.([]any); ok && len(list) == len(want) {
			for i := range want {
				compare(fmt.Sprintf("%s[%d]", place, i), want[i], list[i], differs)
			}
			return
		}
	case string:
		text, ok := got.(string)
		pattern := placeholders[want]
		if rest, found := strings.CutPrefix(want, "~"); found {
			pattern = regexp.MustCompile(rest)
		}
		if ok && (pattern != nil && pattern.MatchString(text) || text == want) {
			return
		}
	default:
		if want == got {
			return
		}
	}
	differs("%s is %v, want %v", place, got, want)
}
