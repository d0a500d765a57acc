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
// A string "<id>", "<time>", "<sha256>" or "<any>" stands for any value of its kind, and a string
// that begins with "~" is a regular expression. In a request, "$body" is the body of the answer
// before.
//
// Two lines may stand before the first exchange: "write-limit: N" sets the limit of writes a
// minute, and "indexnow: URL" the only endpoint that the signal tells.
//
//go:embed transcripts
var transcripts embed.FS

// Server starts a host with an empty store that answers for a snapshot and signs with Key, and
// gives its address. Where the snapshot allows 0 writes a minute, the host has no limit.
type Server func(t *testing.T, s *snapshot.Snapshot) (baseURL string)

// InMemory is the Server of a Fake, for the transcripts that need no store.
func InMemory(t *testing.T, s *snapshot.Snapshot) string {
	h := NewFake(t)
	h.Edge, h.Core.Limiter, h.Left = Load(t, s), s.WritesPerMinute > 0, s.WritesPerMinute
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
		w.WriteHeader(answer.Status)
		if _, err := w.Write(answer.Body); err != nil && len(answer.Body) > 0 {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// RunTranscripts runs the named transcripts, each against a host of its own. Without a name it runs
// all.
func RunTranscripts(t *testing.T, start Server, only ...string) {
	names, err := fs.Glob(transcripts, "transcripts/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d transcripts, %v", len(names), err)
	}
	for _, name := range only {
		if !slices.Contains(names, "transcripts/"+name+".txt") {
			t.Fatalf("there is no transcript %s", name)
		}
	}
	for _, name := range names {
		if len(only) > 0 && !slices.Contains(only, strings.TrimSuffix(path.Base(name), ".txt")) {
			continue
		}
		text, err := transcripts.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(path.Base(name), ".txt"), func(t *testing.T) {
			head, rest, _ := strings.Cut(string(text), "=== ")
			published := Snapshot()
			published.WritesPerMinute = 0
			for line := range strings.Lines(head) {
				if value, ok := strings.CutPrefix(line, "write-limit: "); ok {
					if published.WritesPerMinute, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64); err != nil {
						t.Fatal(err)
					}
				}
				if value, ok := strings.CutPrefix(line, "indexnow: "); ok {
					published.IndexNowURLs = []string{strings.TrimSpace(value)}
				}
			}
			base, last := start(t, published), []byte(nil)
			for _, exchange := range strings.Split(rest, "\n=== ") {
				title, body, _ := strings.Cut(exchange, "\n")
				request, want, ok := strings.Cut(body, "\n---\n")
				if !ok {
					t.Fatalf("%s: no line --- between request and answer", title)
				}
				last = exchangeOnce(t, title, base, strings.ReplaceAll(request, "$body", string(last)), want)
			}
		})
	}
}

func exchangeOnce(t *testing.T, title, base, request, want string) (answer []byte) {
	t.Helper()
	head, body, _ := strings.Cut(request, "\n\n")
	first, fields, _ := strings.Cut(head, "\n")
	method, target, _ := strings.Cut(first, " ")
	r, err := http.NewRequest(method, base+target, strings.NewReader(strings.TrimSuffix(body, "\n")))
	if err != nil {
		t.Fatalf("%s: %v", title, err)
	}
	r.Host = "www.example.org"
	for line := range strings.Lines(fields) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if r.Header.Add(name, value); name == "host" {
			r.Host = value
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s: %v", title, err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		t.Fatalf("%s: %v", title, err)
	}
	wantHead, wantBody, _ := strings.Cut(want, "\n\n")
	status, fields, _ := strings.Cut(wantHead, "\n")
	if strconv.Itoa(resp.StatusCode) != strings.TrimSpace(status) {
		t.Errorf("%s: status %d, want %s\n%s", title, resp.StatusCode, status, answer)
		return answer
	}
	for line := range strings.Lines(fields) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		got := resp.Header.Get(name)
		pattern, isPattern := strings.CutPrefix(value, "~")
		switch {
		case value == "-" && resp.Header.Values(name) == nil:
		case isPattern && regexp.MustCompile(pattern).MatchString(got):
		case got != value:
			t.Errorf("%s: header %s is %q, want %q", title, name, got, value)
		}
	}
	for _, common := range respond.CommonHeaders {
		if got := resp.Header.Values(common.Name); resp.StatusCode != http.StatusPermanentRedirect && (len(got) != 1 || got[0] != common.Value) {
			t.Errorf("%s: header %s is %q, want %q", title, common.Name, got, common.Value)
		}
	}
	switch wantBody = strings.TrimSpace(wantBody); wantBody {
	case "":
	case "-":
		if len(answer) != 0 {
			t.Errorf("%s: body %q, want none", title, answer)
		}
	default:
		var wanted, got any
		if err := json.Unmarshal([]byte(wantBody), &wanted); err != nil {
			t.Fatalf("%s: the wanted body: %v", title, err)
		}
		d := json.NewDecoder(bytes.NewReader(answer))
		if err := d.Decode(&got); err != nil {
			t.Fatalf("%s: body %q: %v", title, answer, err)
		}
		for _, difference := range compare("", wanted, got) {
			t.Errorf("%s: %s", title, difference)
		}
	}
	return answer
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
