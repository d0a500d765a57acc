package generator_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"log/slog"
	"net/url"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/record"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
	"anteroom/generator"
)

var (
	mainElement = regexp.MustCompile(`(?s)<main id="content">(.*)</main>`)
	form        = regexp.MustCompile(`(?s)<form.*?</form>`)
	inlineTag   = regexp.MustCompile(`</?(?:a|code|strong|em|time|span)(?: [^>]*)?>`)
	anyTag      = regexp.MustCompile(`<[^>]*>`)
)

// visible is the text of a page between its frames.
func visible(t *testing.T, o *generator.Output, path string) string {
	t.Helper()
	m := mainElement.FindSubmatch(document(t, o, path))
	if m == nil {
		t.Fatalf("%s has no main element", path)
	}
	return html.UnescapeString(anyTag.ReplaceAllString(inlineTag.ReplaceAllString(string(m[1]), ""), " "))
}

// showsAll reports what of the texts a document lacks.
func showsAll(t *testing.T, o *generator.Output, path string, texts ...string) {
	t.Helper()
	doc := string(document(t, o, path))
	for _, text := range texts {
		if !strings.Contains(doc, text) {
			t.Errorf("%s lacks %q", path, text)
		}
	}
}

// Limits of a page: the words of one that a person reads from its beginning to its end, without the
// choices of a form, and what goes over the wire.
const (
	mostWords       = 1200
	mostPageBytes   = 30 << 10
	mostScriptBytes = 25_000
	mostScript      = 6_000  // of one file, uncompressed
	mostStyle       = 14_000 // uncompressed
)

// wire is how many bytes a host sends for a document.
func wire(doc []byte) int {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(doc)
	_ = w.Close()
	return b.Len()
}

// TestPageSizes counts the words of every page, its bytes, and those of the scripts that it loads
// with all that they import, compressed as a host compresses them.
func TestPageSizes(t *testing.T) {
	documents, imports := documents(shipped()), regexp.MustCompile(`(?:src=|from |import\()"(/[a-z0-9./-]+js)"`)
	largest := 0
	if n := len(documents["/style.css"]); n > mostStyle {
		t.Errorf("/style.css has %d bytes, more than %d", n, mostStyle)
	}
	for at, doc := range documents {
		if path.Ext(at) == ".js" && len(doc) > mostScript {
			t.Errorf("%s has %d bytes, more than %d", at, len(doc), mostScript)
		}
		if path.Ext(at) != ".html" {
			continue
		}
		scripts, size := map[string]bool{}, 0
		var load func(text []byte)
		load = func(text []byte) {
			for _, m := range imports.FindAllSubmatch(text, -1) {
				if name := string(m[1]); !scripts[name] {
					scripts[name] = true
					size += wire(documents[name])
					load(documents[name])
				}
			}
		}
		load(doc)
		largest = max(largest, size)
		words := len(strings.Fields(visible(t, shipped(), at))) - len(strings.Fields(anyTag.ReplaceAllString(string(form.Find(doc)), " ")))
		if size > mostScriptBytes || wire(doc) > mostPageBytes {
			t.Errorf("%s has %d bytes compressed, and loads %d bytes of scripts", at, wire(doc), size)
		}
		if words > mostWords && at != "/reference.html" && !strings.HasPrefix(at, "/endpoints/") {
			t.Errorf("%s has %d words, more than %d", at, words, mostWords)
		}
	}
	if bytes.Contains(documents["/llms-full.txt"], []byte("](#")) {
		t.Error("/llms-full.txt links to places of one of its pages")
	}
	if n := len(documents["/llms-full.txt"]); n > 64<<10 || largest < 10_000 {
		t.Errorf("llms-full.txt has %d bytes, the largest scripts of a page %d", n, largest)
	}
}

// The examples of problem types are what the service answers.
func TestProblemExamples(t *testing.T) {
	o := shipped()
	do := func(h *edgetest.Fake, method, target, body string, headers ...string) *turn.Response {
		return h.Do(method, target, body, append([]string{"host", o.Snapshot.CanonicalHost}, headers...)...)
	}
	query := "agent_name=" + strings.Repeat("x", 9000-len("agent_name="))
	suggestion := `{"suggestion":"Publish the tables."}`
	store, err := sqlite.Create(filepath.Join(t.TempDir(), sqlite.FileName), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	// twice answers the second of two calls with one key, of which the first timed out.
	twice := func(h *edgetest.Fake, key, first, second string) *turn.Response {
		h.Exec, h.Fail = store.Exec, map[string]turn.Failure{"relay": turn.Timeout}
		do(h, "POST", "/api/suggest", first, "idempotency-key", key)
		return do(h, "POST", "/api/suggest", second, "idempotency-key", key)
	}
	asked := func(method, target, body string, headers ...string) func(*edgetest.Fake) *turn.Response {
		return func(h *edgetest.Fake) *turn.Response { return do(h, method, target, body, headers...) }
	}
	provocations := map[string]func(h *edgetest.Fake) *turn.Response{
		"invalid-input":          asked("POST", "/api/suggest", "{}"),
		"not-found":              asked("GET", "/api/nothing", ""),
		"not-live-yet":           asked("GET", "/v1/jobs", ""),
		"method-not-allowed":     asked("PUT", "/api/quest", ""),
		"body-too-large":         asked("POST", "/api/suggest", strings.Repeat(" ", turn.MaxBody+1)),
		"query-too-long":         asked("GET", "/api/waitlist?"+query, ""),
		"unsupported-media-type": asked("POST", "/api/suggest", "x", "content-type", "application/x-www-form-urlencoded"),
		"misdirected-request":    asked("GET", "/api/quest", "", "host", "other.example"),
		"too-early":              asked("GET", "/api/waitlist?agent_name=tern", "", "early-data", "1"),
		"too-many-writes": func(h *edgetest.Fake) *turn.Response {
			h.Left = 0
			return do(h, "POST", "/api/suggest", suggestion)
		},
		"internal-error": func(*edgetest.Fake) *turn.Response {
			current := &turn.Turn{}
			current.Begin(o.Snapshot)
			return respond.Unfinished(current)
		},
		"inconsistent-counts": func(h *edgetest.Fake) *turn.Response {
			content := *o.Snapshot
			content.Shipped = content.ReceivedExternal + content.OriginatedInternally + 1
			h.Edge = edgetest.Load(t, &content)
			return do(h, "GET", "/api/roster", "")
		},
		"relay-unreachable": func(h *edgetest.Fake) *turn.Response {
			h.Fail = map[string]turn.Failure{"relay": turn.Unavailable}
			return do(h, "POST", "/api/suggest", suggestion)
		},
		"signal-failed": func(h *edgetest.Fake) *turn.Response {
			h.Exec = func(e turn.Exec) turn.Result {
				rows := make([][][]any, len(e.Statements))
				rows[0] = [][]any{{int64(1)}}
				return turn.Result{Rows: rows}
			}
			h.Fetch = func(f turn.Fetch) turn.Result {
				if strings.HasSuffix(f.URL, ".txt") {
					return turn.Result{Status: 200, Data: []byte(o.Snapshot.IndexNowKey)}
				}
				return turn.Result{Status: 403}
			}
			return do(h, "GET", "/api/signal?fire=1", "")
		},
		"store-unavailable": func(h *edgetest.Fake) *turn.Response {
			h.Fail = map[string]turn.Failure{"exec": turn.Unavailable}
			return do(h, "POST", "/api/waitlist", `{"agent_name":"tern"}`)
		},
		"call-in-progress": func(h *edgetest.Fake) *turn.Response {
			return twice(h, "0123456789abcdef", suggestion, suggestion)
		},
		"key-reused": func(h *edgetest.Fake) *turn.Response {
			return twice(h, "fedcba9876543210", `{"suggestion":"Publish other tables."}`, suggestion)
		},
		"signal-under-way": func(h *edgetest.Fake) *turn.Response {
			h.Exec = func(e turn.Exec) turn.Result {
				return turn.Result{Rows: [][][]any{{}, {{edgetest.Now, "", ""}}}}
			}
			return do(h, "GET", "/api/signal?fire=1", "")
		},
	}
	for slug, provoke := range provocations {
		t.Run(slug, func(t *testing.T) {
			twin := string(document(t, o, "/problems/"+slug+".html.md"))
			_, example, _ := strings.Cut(twin, "```json\n")
			example, _, _ = strings.Cut(example, "```")
			want := map[string]any{}
			if err := json.Unmarshal([]byte(example), &want); err != nil {
				t.Fatalf("the example %s: %v", example, err)
			}
			h := edgetest.NewFake(t)
			h.Edge = edgetest.Load(t, o.Snapshot)
			got := edgetest.Decode(t, provoke(h))
			for name, value := range want {
				if !reflect.DeepEqual(got[name], value) {
					t.Errorf("%s is %v, and the service answers %v", name, value, got[name])
				}
			}
			if len(want) < 4 || got["errors"] != nil && want["errors"] == nil {
				t.Errorf("the example has too few members: %s", example)
			}
		})
	}
	for _, p := range respond.ProblemTypes {
		if provocations[p.Slug] == nil {
			t.Errorf("nothing provokes %s", p.Slug)
		}
	}
}

// Every call that a page shows is one that a shell takes, and that records and sends nothing as it
// is.
func TestCallsOnPages(t *testing.T) {
	o := shipped()
	calls, paths := 0, []string{"/org.html.md", "/waitlist.html.md"}
	for _, route := range api.Routes {
		paths = append(paths, "/endpoints/"+route.ID+".html.md")
	}
	for _, path := range paths {
		for _, text := range blocks(string(document(t, o, path)), "sh") {
			if strings.Contains(text, ".json") {
				continue // takes a file
			}
			calls++
			h := keyedHost(t, o)
			c := runCurl(t, text, nil)
			if r := send(t, h, o, c); strings.Contains(c.body, "<") || strings.Contains(c.url, "%3C") {
				refusedAsTemplate(t, h, text, r)
			} else if r.Status > 299 || len(h.Statements)+len(h.Messages) > 0 {
				t.Errorf("%s: %d %s", text, r.Status, r.Body)
			}
		}
	}
	if calls < 20 {
		t.Errorf("only %d calls", calls)
	}
}

// TestListPages reads the pages of the lists that grow: empty, with an entry or two, and with more
// than a page shows. The example of an empty list is in no document for agents.
func TestListPages(t *testing.T) {
	for content, shows := range map[*generator.Output][]string{
		shipped(): {"There are no open jobs as of", "There are no completed jobs as of", "There are no claimed audits as of"},
		generate(t, withLists(t)): {
			"There is 1 open job as of", "There is 1 completed job as of", "There are 2 claimed audits as of", "Open", "Words &amp; &lt;b&gt;.", `href="https://example.org/x"`,
			`<dt>reward_credit_units</dt><dd dir="auto">3</dd>`, `<dt>tags</dt><dd dir="auto">data, a-b</dd>`, strings.Repeat("ab", 32), `<dt>verified_by_hand_on</dt><dd dir="auto">null</dd>`,
		},
		generate(t, withEntries(t, 60)): {"There are 60 open jobs", "The newest 25 are below", `<a href="/jobs.json">jobs.json</a>`, ">Check table 19<", "There are 60 claimed audits", "The newest 50 are below", ">auditor 19<"},
	} {
		showsAll(t, content, "/jobs.html", shows...)
		if page := document(t, content, "/jobs.html"); bytes.Contains(page, []byte(">Check table 0<")) || bytes.Count(page, []byte(">auditor ")) > 50 {
			t.Error("more is shown than the newest")
		} else if bytes.Contains(page, []byte("<small>not a job</small>")) != (content == shipped()) {
			t.Error("the example is next to jobs, or missing")
		}
	}
	for path, doc := range documents(shipped()) {
		if path != "/jobs.html" && bytes.Contains(doc, []byte("tariff-table-check")) {
			t.Errorf("%s has the example of a job", path)
		}
	}
}

// Without scripts the pages with forms offer a dry run: what a browser sends, filled in or empty,
// writes nothing, and no address is in its URL.
func TestDryRunsWithoutScripts(t *testing.T) {
	o := shipped()
	control := regexp.MustCompile(`<(?:input|button) [^>]*?name="([^"]+)"[^>]*>`)
	for page, hint := range map[string]string{
		"/org.html":      fmt.Sprintf("Org name<small>%d to %d characters.", org.OrgName.Min, org.OrgName.Max),
		"/waitlist.html": fmt.Sprintf("Agent name<small>At most %d characters.", record.MaxName),
	} {
		showsAll(t, o, page, hint)
		text := between(string(document(t, o, page)), "<form ", "</form>")
		filled, empty := url.Values{}, url.Values{}
		for _, m := range control.FindAllStringSubmatch(text, -1) {
			switch name := m[1]; {
			case strings.Contains(m[0], " disabled"):
			case name == api.DryRun.Name:
				filled.Set(name, "1")
				empty.Set(name, "1")
			case slices.Contains(org.Positions, name):
				filled.Set(name, "wren:20")
				empty.Set(name, "")
			default:
				filled.Set(name, "wren")
				empty.Set(name, "")
			}
		}
		address := o.Snapshot.BaseURL() + between(text, `action="`, `"`) + "?"
		for status, query := range map[int]url.Values{200: filled, 400: empty} {
			h := keyedHost(t, o)
			r := send(t, h, o, call{"GET", address + query.Encode(), ""})
			if r.Status != status || len(h.Statements)+len(h.Messages) > 0 || query.Has(record.OwnerEmail.Name) {
				t.Errorf("%s: %s: %d %s", page, query.Encode(), r.Status, r.Body)
			}
		}
	}
}

// between returns what a text has between two marks.
func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
}
