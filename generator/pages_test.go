package generator_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"log/slog"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/native/sqlite"
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

// identifiers are the identifiers in a page.
func identifiers(t *testing.T, o *generator.Output, path string) (ids []string) {
	t.Helper()
	for _, m := range idAttribute.FindAllSubmatch(document(t, o, path), -1) {
		ids = append(ids, string(m[1]))
	}
	return ids
}

// Limits of a page: the words of one that a person reads from its beginning to its end, without the
// choices of a form, and what goes over the wire.
const (
	mostWords     = 1200
	mostPageBytes = 30 << 10
)

// TestPageSizes counts the words of every page and its bytes, compressed as a host compresses them.
func TestPageSizes(t *testing.T) {
	o := generate(t, shippedContent)
	for _, d := range o.Documents {
		if path.Ext(d.Path) != ".html" {
			continue
		}
		var wire bytes.Buffer
		w := gzip.NewWriter(&wire)
		if _, err := w.Write(d.Bytes); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		words := len(strings.Fields(visible(t, o, d.Path))) - len(strings.Fields(anyTag.ReplaceAllString(string(form.Find(d.Bytes)), " ")))
		t.Logf("%-44s %5d words %7d bytes %6d compressed", d.Path, words, len(d.Bytes), wire.Len())
		if wire.Len() > mostPageBytes {
			t.Errorf("%s has %d bytes compressed, more than %d", d.Path, wire.Len(), mostPageBytes)
		}
		if words > mostWords && d.Path != "/reference.html" && !strings.HasPrefix(d.Path, "/endpoints/") {
			t.Errorf("%s has %d words, more than %d", d.Path, words, mostWords)
		}
	}
	if n, most := len(document(t, o, "/llms-full.txt")), 64<<10; n > most {
		t.Errorf("llms-full.txt has %d bytes, more than %d", n, most)
	}
}

// The examples of problem types are what the service answers.
func TestProblemExamples(t *testing.T) {
	o := generate(t, shippedContent)
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
	provocations := map[string]func(h *edgetest.Fake) *turn.Response{
		"invalid-input":      func(h *edgetest.Fake) *turn.Response { return do(h, "POST", "/api/suggest", "{}") },
		"not-found":          func(h *edgetest.Fake) *turn.Response { return do(h, "GET", "/api/nothing", "") },
		"not-live-yet":       func(h *edgetest.Fake) *turn.Response { return do(h, "GET", "/v1/jobs", "") },
		"method-not-allowed": func(h *edgetest.Fake) *turn.Response { return do(h, "PUT", "/api/quest", "") },
		"body-too-large": func(h *edgetest.Fake) *turn.Response {
			return do(h, "POST", "/api/suggest", strings.Repeat(" ", turn.MaxBody+1))
		},
		"query-too-long": func(h *edgetest.Fake) *turn.Response { return do(h, "GET", "/api/waitlist?"+query, "") },
		"unsupported-media-type": func(h *edgetest.Fake) *turn.Response {
			return do(h, "POST", "/api/suggest", "x", "content-type", "application/x-www-form-urlencoded")
		},
		"misdirected-request": func(h *edgetest.Fake) *turn.Response {
			return do(h, "GET", "/api/quest", "", "host", "other.example")
		},
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
		"too-early": func(h *edgetest.Fake) *turn.Response {
			return h.Do("GET", "/api/waitlist?agent_name=tern", "", "host", o.Snapshot.CanonicalHost, "early-data", "1")
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

// No two pages have one title.
func TestTitlesDiffer(t *testing.T) {
	pages := map[string]string{}
	for path, text := range documents(generate(t, shippedContent)) {
		title := regexp.MustCompile("<title>.*</title>").FindString(string(text))
		if other, is := pages[title]; is && strings.HasSuffix(path, ".html") {
			t.Errorf("%s and %s have %s", path, other, title)
		}
		if title != "" {
			pages[title] = path
		}
	}
	if len(pages) < 40 {
		t.Errorf("%d titles", len(pages))
	}
}

// Every call that a page shows is one that a shell takes, and that records and sends nothing as it
// is.
func TestCallsOnEndpointPages(t *testing.T) {
	o := generate(t, shippedContent)
	calls := 0
	for _, route := range api.Routes {
		for _, text := range blocks(string(document(t, o, "/endpoints/"+route.ID+".html.md")), "sh") {
			if strings.HasPrefix(text, "printf ") {
				continue // takes a file
			}
			calls++
			h := edgetest.NewFake(t)
			h.Edge = edgetest.Load(t, o.Snapshot)
			c := runCurl(t, text, nil)
			r := send(t, h, o, c)
			if want := r.Status == 400; want != strings.Contains(c.body, "<") || r.Status > 400 {
				t.Errorf("%s: %d %s", text, r.Status, r.Body)
			}
			if len(h.Statements) > 0 || len(h.Messages) > 0 {
				t.Errorf("%s: has an effect", text)
			}
		}
	}
	if calls < 20 {
		t.Errorf("only %d calls", calls)
	}
}

// The anchors of the field guide hold, for addresses that were given out: of endpoints, operations,
// problem types and parts.
func TestGuideAnchors(t *testing.T) {
	o := generate(t, shippedContent)
	ids := identifiers(t, o, "/field-guide.html")
	want := strings.Fields(`conventions trailer data endpoints dry-run ignored get mcp commitments receipts verify errors problems codes
		signal selftest limits rate-limit counts rules retention security disclosure versions`)
	for _, route := range api.Routes {
		want = append(want, "endpoint-"+route.ID)
		for _, op := range route.Operations {
			want = append(want, op.ID)
		}
	}
	for _, p := range respond.ProblemTypes {
		want = append(want, p.Slug)
	}
	for _, id := range want {
		if !slices.Contains(ids, id) {
			t.Errorf("no #%s", id)
		}
	}
}

// TestListPages reads the pages of the lists that grow: empty, with some entries, and with more
// than a page shows.
func TestListPages(t *testing.T) {
	job := func(i int, more string) string {
		return fmt.Sprintf(`{"id":"job-%d","title":"Job %d","description":"Words & <b>.","posted":"2026-10-%02d","tags":["data"],"poster":"tern"%s}`, i, i, 1+i%28, more)
	}
	audit := func(i int) string {
		return fmt.Sprintf(`{"agent_name":"agent %d","registration_sha256":"%064x","scope":"All.","claimed_at":"2026-10-%02dT00:00:00Z",`+
			`"report_url":"https://reports.example/%d","report_sha256":"%064x","verified_by_hand_on":null}`, i, i, 1+i%28, i, i)
	}
	for name, test := range map[string]struct {
		jobs, audits       []string
		jobsSay, auditsSay []string
		jobsLack           string
	}{
		"none": {
			jobsSay:   []string{"There are no open jobs as of", "There are no completed jobs as of"},
			auditsSay: []string{"There are no claimed audits as of"},
		},
		"one": {
			jobs:      []string{job(1, `,"status":"open","reward_credit_units":12,"url":"https://jobs.example/1"`)},
			audits:    []string{audit(1)},
			jobsSay:   []string{"Job 1", "Words &amp; &lt;b&gt;.", `<dt>reward_credit_units</dt><dd dir="auto">12</dd>`, `href="https://jobs.example/1"`, `<dt>tags</dt><dd dir="auto">data</dd>`, "There is 1 open job as of", "There are no completed jobs"},
			auditsSay: []string{"agent 1", `href="https://reports.example/1"`, fmt.Sprintf("%064x", 1), `<dt>verified_by_hand_on</dt><dd dir="auto">null</dd>`},
			jobsLack:  "<b>",
		},
		"many": {
			jobs: func() (all []string) {
				for i := range 30 {
					all = append(all, job(i, `,"status":"open"`), job(100+i, `,"status":"completed","completed_on":"2026-11-01"`))
				}
				return all
			}(),
			audits: func() (all []string) {
				for i := range 60 {
					all = append(all, audit(i))
				}
				return all
			}(),
			jobsSay:   []string{"There are 30 open jobs", "There are 30 completed jobs", "The newest 25 are below", `<a href="/jobs.json">jobs.json</a>`, ">Job 27<"},
			auditsSay: []string{"There are 60 claimed audits", "The newest 50 are below", ">agent 27<", ">agent 55<"},
			jobsLack:  ">Job 0<",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := generate(t, overlay(t, edits{
				"jobs.yaml":     func(string) string { return "as_of: 2026-11-20\njobs: [" + strings.Join(test.jobs, ", ") + "]\n" },
				"auditors.yaml": func(string) string { return "as_of: 2026-11-20\nledger: [" + strings.Join(test.audits, ", ") + "]\n" },
			}))
			showsAll(t, o, "/jobs.html", test.jobsSay...)
			showsAll(t, o, "/jobs.html", test.auditsSay...)
			if jobs := document(t, o, "/jobs.html"); test.jobsLack != "" && bytes.Contains(jobs, []byte(test.jobsLack)) {
				t.Errorf("jobs.html holds %s", test.jobsLack)
			}
			if n := bytes.Count(document(t, o, "/jobs.html.md"), []byte("- **agent")); n > 50 {
				t.Errorf("%d audits are shown", n)
			}
		})
	}
}

// A page closes each part that it folds, and a twin has no marks of HTML.
func TestFolds(t *testing.T) {
	for _, d := range generate(t, shippedContent).Documents {
		text := string(d.Bytes)
		if n, closed := strings.Count(text, "<details"), strings.Count(text, "</details>"); n != closed {
			t.Errorf("%s folds %d parts, and closes %d", d.Path, n, closed)
		}
		if strings.HasSuffix(d.Path, ".html.md") && strings.Contains(text, "<!--") {
			t.Errorf("%s has the mark %s", d.Path, between(text, "<!--", "-->"))
		}
	}
}

// The content's icon replaces the mark at the head of every page, which is their icon too.
func TestOwnIcon(t *testing.T) {
	const own = `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`
	o := generate(t, overlay(t, edits{"icon.svg": func(string) string { return own }}))
	if got := string(document(t, o, "/icon.svg")); got != own {
		t.Errorf("/icon.svg is %s", got)
	}
	page := string(document(t, o, "/privacy.html"))
	for _, want := range []string{`<a class="brand" href="/"><img src="/icon.svg" alt=""`, `<link rel="icon" type="image/svg+xml" href="/icon.svg">`} {
		if !strings.Contains(page, want) || strings.Contains(page, "<svg") {
			t.Errorf("a page lacks %s", want)
		}
	}
}

// What stands in code is the twin's as it was written.
func TestCodeInTwin(t *testing.T) {
	const code = "```sh\n# make it {#it}\n<!-- fold A -->\n| [a](#b) | [c](/terms.html) |\n```\n"
	o := generate(t, overlay(t, edits{"pages/privacy.md": func(text string) string {
		return text + "\n## Own {#own}\n\n[c](/terms.html) `## d {#e}`\n\n" + code
	}}))
	if twin := string(document(t, o, "/privacy.html.md")); !strings.Contains(twin, "\n## Own\n\n[c](/terms.html.md) `## d {#e}`\n\n"+code) {
		t.Errorf("%s", between(twin, "## Own", "\x00"))
	}
}

// between returns what a text has between two marks.
func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
}
