package generator_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"anteroom/edge/api"
	"anteroom/edge/assets"
	"anteroom/edge/jsondoc"
	"anteroom/edge/native/static"
	"anteroom/edge/respond"
	"anteroom/edge/snapshot"
	"anteroom/generator"
	"anteroom/generator/model"
	"anteroom/generator/site"
	"anteroom/generator/site/sitetest"
)

// generate makes what a content folder publishes.
func generate(t testing.TB, content fs.FS) *generator.Output {
	t.Helper()
	s, err := site.Load(content)
	if err != nil {
		t.Fatal(err)
	}
	output, err := generator.Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

var shippedContent = os.DirFS("../content")

// documents are the published documents, by their paths.
func documents(o *generator.Output) map[string][]byte {
	texts := map[string][]byte{}
	for _, d := range o.Documents {
		texts[d.Path] = d.Bytes
	}
	return texts
}

// document gives the bytes of a published document.
func document(t testing.TB, o *generator.Output, path string) []byte {
	t.Helper()
	text, is := documents(o)[path]
	if !is {
		t.Fatalf("%s is not published", path)
	}
	return text
}

// edits change files of a content folder, or add them.
type edits map[string]func(old string) string

// overlay is a copy of the shipped content with edits.
func overlay(t testing.TB, change edits) fstest.MapFS {
	t.Helper()
	content := fstest.MapFS{}
	err := fs.WalkDir(shippedContent, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(shippedContent, name)
		content[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, edit := range change {
		old := ""
		if f := content[name]; f != nil {
			old = string(f.Data)
		}
		edited := edit(old)
		if edited == old {
			t.Fatalf("the change of %s changes nothing", name)
		}
		content[name] = &fstest.MapFile{Data: []byte(edited)}
	}
	for name := range change {
		if strings.HasPrefix(name, "scoreboard/") {
			sitetest.Verify(content)
		}
	}
	return content
}

// withLists is the shipped content with jobs and audits of each kind.
func withLists(t testing.TB) fs.FS {
	hash := strings.Repeat("ab", 32)
	audit := "  - {agent_name: a, registration_sha256: " + hash + ", scope: All, claimed_at: 2026-11-01T08:30:00Z, " +
		`report_url: "https://example.org/r", report_sha256: ` + hash + ", verified_by_hand_on: "
	const jobs = `as_of: 2026-11-20
jobs:
  - {id: a-b, title: Open, description: One, status: open, posted: 2026-11-01, expires: 2026-12-01, reward_credit_units: 3, tags: [data, a-b], url: "https://example.org/x", poster: p}
  - {id: c-d, title: Done, description: Two, status: completed, posted: 2026-11-01, completed_on: 2026-11-10, tags: [], poster: p}
`
	return overlay(t, edits{
		"jobs.yaml": func(string) string { return jobs },
		"auditors.yaml": func(string) string {
			return "as_of: 2026-11-20\nledger:\n" + audit + "null}\n" + strings.Replace(audit, "report_sha256: ab", "report_sha256: cd", 1) + "2026-11-10}\n"
		},
	})
}

// board is the newest board of the shipped content with other texts, old before new.
func board(t testing.TB, oldnew ...string) func(string) string {
	t.Helper()
	text, err := fs.ReadFile(shippedContent, "scoreboard/2026-11-20.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return func(string) string { return strings.NewReplacer(oldnew...).Replace(string(text)) }
}

func replace(old, new string) func(string) string {
	return func(text string) string { return strings.ReplaceAll(text, old, new) }
}

// The same site gives the same bytes each time: nothing that is generated changes it.
func TestDeterministic(t *testing.T) {
	s, err := site.Load(shippedContent)
	if err != nil {
		t.Fatal(err)
	}
	var made [2]*generator.Output
	for i := range made {
		if made[i], err = generator.Generate(s); err != nil {
			t.Fatal(err)
		}
	}
	same := func(a, b generator.File) bool { return a.Path == b.Path && bytes.Equal(a.Bytes, b.Bytes) }
	if !slices.EqualFunc(made[0].Documents, made[1].Documents, same) || !bytes.Equal(made[0].Snapshot.Encode(), made[1].Snapshot.Encode()) {
		t.Error("the second time differs from the first")
	}
}

// The reference parser of llmstxt.org, with its own expressions.
var (
	llmsSection = regexp.MustCompile(`(?m)^##\s*(.*?$)`)
	llmsStart   = regexp.MustCompile(`(?ms)^#\s*(.+?$)\n+(?:^>\s*(.+?$)$)?\n+(.*)`)
	llmsLink    = regexp.MustCompile(`^-\s*\[([^\]]+)\]\(([^)]+)\)(?::\s*(.*))?$`)
)

func checkLLMs(t *testing.T, text string, published map[string]bool, base string) {
	t.Helper()
	at := llmsSection.FindAllStringIndex(text, -1)
	if len(at) < 3 {
		t.Fatalf("%d sections", len(at))
	}
	start := llmsStart.FindStringSubmatch(text[:at[0][0]])
	if start == nil || start[1] == "" || start[2] == "" || strings.TrimSpace(start[3]) == "" {
		t.Fatalf("no title, summary and introduction: %q", start)
	}
	if regexp.MustCompile(`(?m)^#`).MatchString(start[3]) {
		t.Error("a heading before the first section")
	}
	for i := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		links := 0
		for line := range strings.Lines(text[at[i][1]:end]) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			m := llmsLink.FindStringSubmatch(line)
			if m == nil {
				t.Errorf("the reference parser fails at %q", line)
				continue
			}
			links++
			if path, ok := strings.CutPrefix(m[2], base); !ok || !published[path] {
				t.Errorf("%s is not published", m[2])
			}
		}
		if links == 0 {
			t.Errorf("no link in %s", text[at[i][0]:at[i][1]])
		}
	}
}

// paths are the paths that answer a GET or a POST.
func paths(o *generator.Output) map[string]bool {
	paths := map[string]bool{"/": true, "/api/": true}
	for _, d := range o.Documents {
		paths[d.Path] = d.MediaType != ""
	}
	for _, route := range api.Routes {
		paths[route.Path] = true
	}
	return paths
}

var (
	idAttribute  = regexp.MustCompile(` id="([^"]*)"`)
	hrefOrSource = regexp.MustCompile(` (?:href|src)="([^"]*)"`)
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// Every link inside the service leads to something, anchors included, and every link of a page as
// Markdown to a page as Markdown.
func TestLinks(t *testing.T) {
	o := generate(t, shippedContent)
	published, ids := paths(o), map[string][]string{}
	for _, d := range o.Documents {
		if strings.HasSuffix(d.Path, ".html") {
			for _, m := range idAttribute.FindAllSubmatch(d.Bytes, -1) {
				if slices.Contains(ids[d.Path], string(m[1])) {
					t.Errorf("%s has the identifier %s twice", d.Path, m[1])
				}
				ids[d.Path] = append(ids[d.Path], string(m[1]))
			}
		}
	}
	ids["/"] = ids["/index.html"]
	check := func(from, target string) {
		target = strings.TrimPrefix(target, o.Snapshot.BaseURL())
		if regexp.MustCompile(`^(https|mailto|cursor|vscode):`).MatchString(target) {
			return
		}
		to, anchor, _ := strings.Cut(target, "#")
		to, _, _ = strings.Cut(to, "?")
		if to == "" {
			to = strings.TrimSuffix(from, ".md")
		}
		if !published[to] {
			t.Errorf("%s links to %s, which is not published", from, target)
		}
		if twin := api.Twin(to); strings.HasSuffix(from, ".html.md") && to != strings.TrimSuffix(from, ".md") && published[twin] {
			t.Errorf("%s links to %s, and not to %s", from, target, twin)
		}
		if to == from && anchor == "" && strings.HasSuffix(from, ".html.md") {
			t.Errorf("%s links to itself", from)
		}
		if to = strings.TrimSuffix(to, ".md"); anchor != "" && !slices.Contains(ids[to], anchor) {
			t.Errorf("%s links to %s, which is not an anchor", from, target)
		}
	}
	links := 0
	for _, d := range o.Documents {
		pattern := hrefOrSource
		switch path.Ext(d.Path) {
		case ".md":
			pattern = markdownLink
		case ".json", "":
			pattern = regexp.MustCompile(`"(` + regexp.QuoteMeta(o.Snapshot.BaseURL()) + `/[^"{?\s]*)"`)
		case ".html":
		default:
			continue
		}
		for _, m := range pattern.FindAllSubmatch(d.Bytes, -1) {
			links++
			check(d.Path, string(m[1]))
		}
	}
	if links < 200 {
		t.Errorf("only %d links found", links)
	}
	for _, p := range respond.ProblemTypes {
		check("problem type", p.Path())
	}
}

// No document has a complete GET that registers or files: only templates.
func TestNoCompleteWriteURL(t *testing.T) {
	complete := regexp.MustCompile(`/api/(?:waitlist|org)\?(?:[^\s"'<>]*&)?(?:agent_name|pubkey|org_name|commissioner|owner_email|rainmaker)=[^{\s"'<>]`)
	for _, d := range generate(t, shippedContent).Documents {
		if m := complete.Find(d.Bytes); m != nil {
			t.Errorf("%s holds %s", d.Path, m)
		}
	}
	if !complete.MatchString("/api/waitlist?pubkey=x") || complete.MatchString("/api/waitlist?agent_name={agent_name}") {
		t.Error("the test itself is wrong")
	}
}

// scriptTag is what a page may have: a file of the service's own, or data.
var scriptTag = regexp.MustCompile(`^<script type="(?:application/ld\+json"|module" src="/[a-z-]+\.js")>$`)

// Pages work under a policy without inline scripts and inline styles.
func TestPagesHoldNoScript(t *testing.T) {
	script := regexp.MustCompile(`<script(?:>| [^>]*>)`)
	for _, d := range generate(t, shippedContent).Documents {
		if path.Ext(d.Path) != ".html" {
			continue
		}
		for _, tag := range script.FindAll(d.Bytes, -1) {
			if !scriptTag.Match(tag) {
				t.Errorf("%s has %s", d.Path, tag)
			}
		}
		if m := regexp.MustCompile(`<style|<[a-z]+[^>]* (?:style|on[a-z]+)=`).Find(d.Bytes); m != nil {
			t.Errorf("%s has %s", d.Path, m)
		}
		for _, want := range []string{`<html lang="en">`, "<title>", `<meta name="viewport"`, `<h1 dir="auto">`, `<main id="content">`} {
			if !bytes.Contains(d.Bytes, []byte(want)) {
				t.Errorf("%s lacks %s", d.Path, want)
			}
		}
	}
}

// The sitemap has every page but the small derived ones, each with the day on which its contents
// last changed.
func TestSitemap(t *testing.T) {
	o := generate(t, overlay(t, edits{
		"scoreboard/2026-11-30.yaml": board(t, "2026-11-20", "2026-11-30"),
		"jobs.yaml":                  replace("as_of: 2026-11-20", "as_of: 2026-11-29"),
		"pages/privacy.md": func(old string) string {
			return regexp.MustCompile(`(?m)^updated: .*$`).ReplaceAllString(old+"\n", "updated: 2026-11-23")
		},
	}))
	var set struct {
		XMLName xml.Name `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
		URL     []struct {
			Loc     string `xml:"loc"`
			LastMod string `xml:"lastmod"`
		} `xml:"url"`
	}
	if err := xml.Unmarshal(document(t, o, "/sitemap.xml"), &set); err != nil {
		t.Fatal(err)
	}
	published, changed := paths(o), map[string]string{}
	for _, u := range set.URL {
		path := strings.TrimPrefix(u.Loc, o.Snapshot.BaseURL())
		if !published[path] {
			t.Errorf("%s is not published", u.Loc)
		}
		changed[path] = u.LastMod
	}
	for _, d := range o.Documents {
		small := strings.HasPrefix(d.Path, "/endpoints/") || strings.HasPrefix(d.Path, "/problems/") || d.Path == "/404.html"
		if _, listed := changed[strings.Replace(d.Path, "/index.html", "/", 1)]; path.Ext(d.Path) == ".html" && listed == small {
			t.Errorf("%s is listed: %v", d.Path, listed)
		}
	}
	for path, want := range map[string]string{
		"/": "2026-11-30", "/scoreboard.html": "2026-11-30", "/scoreboard.json": "2026-11-30",
		"/scoreboard/2026-09-22.json": "2026-09-22", "/jobs.html": "2026-11-29", "/privacy.html": "2026-11-23",
	} {
		if changed[path] != want {
			t.Errorf("%s changed on %q, want %s", path, changed[path], want)
		}
	}
}

// Both signals of robots.txt follow one setting.
// The file of a replaced key of search engines stays: they may check it later.
func TestRetiredIndexKey(t *testing.T) {
	o := generate(t, overlay(t, edits{"service.yaml": replace("  upstreams:", "  retired: [0123456789abcdef]\n  upstreams:")}))
	for _, key := range []string{"0123456789abcdef", "6f1d0c5e8b7a4932a1e4d27c90b35f68"} {
		if got := string(document(t, o, "/"+key+".txt")); got != key {
			t.Errorf("/%s.txt: %q", key, got)
		}
	}
}

func TestRobots(t *testing.T) {
	no := overlay(t, edits{"service.yaml": replace("ai_train: true", "ai_train: false")})
	text := string(document(t, generate(t, no), "/robots.txt"))
	if !strings.Contains(text, "ai-train=no") || !strings.Contains(text, "train-ai=n,") {
		t.Errorf("the two signals contradict each other:\n%s", text)
	}
}

// The manifest lists every document but itself and the CDN's configuration, with its hash.
func TestManifest(t *testing.T) {
	o := generate(t, shippedContent)
	var m model.Manifest
	doc := document(t, o, "/manifest.json")
	if err := json.Unmarshal(doc, &m); err != nil {
		t.Fatal(err)
	}
	listed := map[string]model.ManifestDocument{}
	for _, d := range m.Documents {
		listed[d.Path] = d
	}
	for _, d := range o.Documents {
		sum := sha256.Sum256(d.Bytes)
		want := model.ManifestDocument{Path: d.Path, MediaType: d.MediaType, Bytes: len(d.Bytes), SHA256: hex.EncodeToString(sum[:])}
		if d.Path == "/manifest.json" || d.MediaType == "" {
			want = model.ManifestDocument{}
		}
		if got := listed[d.Path]; got != want {
			t.Errorf("%s: listed as %+v, want %+v", d.Path, got, want)
		}
		delete(listed, d.Path)
	}
	if len(listed) > 0 {
		t.Errorf("listed and not published: %v", listed)
	}
	if len(m.Endpoints) != len(api.Routes) {
		t.Errorf("%d endpoints, want %d", len(m.Endpoints), len(api.Routes))
	}
}

func parsed(t *testing.T, text []byte) *jsondoc.Value {
	t.Helper()
	v, err := jsondoc.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return &v
}

// A dated scoreboard is made of its own content file alone.
func TestVerificationNeverChanges(t *testing.T) {
	const file = "/scoreboard/2026-11-20.json"
	before := document(t, generate(t, shippedContent), file)
	content := overlay(t, edits{
		"service.yaml":                 replace("license: CC-BY-4.0", "license: CC0-1.0"),
		"presence.yaml":                replace(`away_message: ""`, "away_message: gone"),
		"scoreboard/2026-11-20-2.yaml": board(t, "received_external: 0", "received_external: 3"),
	})
	o := generate(t, content)
	if !bytes.Equal(document(t, o, file), before) {
		t.Error("it changed with another file")
	}
	if second := document(t, o, "/scoreboard/2026-11-20-2.json"); !bytes.Contains(second, []byte(`"received_external": 3,`)) {
		t.Errorf("the second one of the day: %s", second)
	}
	newest := parsed(t, document(t, o, "/scoreboard.json")).Get("suggestions").Get("received_external").Text
	if page := string(document(t, o, "/scoreboard.html.md")); newest != "3" || o.Snapshot.ReceivedExternal != 3 ||
		!strings.HasPrefix(page[strings.Index(page, "](/scoreboard/"):], "](/scoreboard/2026-11-20-2.json)") {
		t.Errorf("the last board of the day is not the current one: %s, %d", newest, o.Snapshot.ReceivedExternal)
	}
}

// A page that the operator added is linked from every page.
func TestNavigation(t *testing.T) {
	withMore := generate(t, overlay(t, edits{
		"pages/added.md": func(string) string {
			return "---\ntitle: Added\ndescription: One more.\nupdated: 2026-11-23\n---\nWords.\n"
		},
	}))
	if !strings.Contains(string(document(t, withMore, "/terms.html")), `<h2>More</h2><ul><li><a href="/added.html">Added</a></li></ul>`) {
		t.Error("a page that the operator added has no link")
	}
}

// A board that corrects a number says so on the page of the counts, too.
func TestCorrectionOnThePage(t *testing.T) {
	o := generate(t, overlay(t, edits{"scoreboard/2026-11-20.yaml": func(board string) string {
		return board + "correction:\n  - {number: orgs.charters_filed, was: 0, board: 2026-09-22, reason: Two <were> one.}\n"
	}}))
	if page := string(document(t, o, "/scoreboard.html")); !strings.Contains(page, `<dt>Charters filed</dt><dd dir="auto"><del>0</del> → <ins>0</ins></dd></div><div><dt>Wrong on the board of</dt><dd dir="auto"><a href="/scoreboard/2026-09-22.json"><time>2026-09-22</time></a></dd>`) || !strings.Contains(page, `<p dir="auto">“Two &lt;were&gt; one.”</p>`) {
		t.Errorf("the page does not say what was corrected:\n%s", page)
	}
}

// A dated scoreboard has each number under its own name. Every count of the fixture is another one.
func TestVerificationNumbers(t *testing.T) {
	counts := []struct{ key, want string }{
		{"verified_organic_agent_conversions", "11"},
		{"registrations_recorded", "23"},
		{"charters_filed", "31"},
		{"received_external", "47"},
		{"originated_internally", "53"},
		{"shipped", "61"},
		{"development_seed_and_test_records", "71"},
		{"named_clients_that_completed_a_handshake", "2"},
		{"tool_calls_by_anything_not_auditing_us", "83"},
		{"security_reports_received", "97"},
	}
	o := generate(t, overlay(t, edits{"scoreboard/2026-11-20.yaml": func(text string) string {
		for _, c := range counts {
			text = regexp.MustCompile(`(?m)^( *`+c.key+`:).*$`).ReplaceAllString(text, "$1 "+c.want)
		}
		return regexp.MustCompile(`(?m)^( *named_clients:).*$`).ReplaceAllString(text, "$1 [one, two, three]")
	}}))
	want := `{"as_of":"2026-11-20","pilot_waitlist":{"verified_organic_agent_conversions":11,"registrations_recorded":23},"orgs":{"charters_filed":31},` +
		`"suggestions":{"received_external":47,"originated_internally":53,"shipped":61},"excluded_from_counts":{"development_seed_and_test_records":71},` +
		`"observed_attention":{"named_clients_seen":3,"named_clients_that_completed_a_handshake":2,"tool_calls_by_anything_not_auditing_us":83,"security_reports_received":97}}`
	var got bytes.Buffer
	if err := json.Compact(&got, document(t, o, "/scoreboard/2026-11-20.json")); err != nil || got.String() != want {
		t.Errorf("got  %s, %v\nwant %s", &got, err, want)
	}
	// scoreboard.json has the same numbers under the same names.
	var dated, current map[string]any
	if err := errors.Join(json.Unmarshal(got.Bytes(), &dated), json.Unmarshal(document(t, o, "/scoreboard.json"), &current)); err != nil {
		t.Fatal(err)
	}
	for group, numbers := range dated {
		numbers, _ := numbers.(map[string]any)
		for name, n := range numbers {
			if is := current[group].(map[string]any)[name]; is != n {
				t.Errorf("scoreboard.json says %s %s %v, and the dated one %v", group, name, is, n)
			}
		}
	}
}

// Where more agents and orgs came than there are founding seats, no seat is left: their number is
// not negative.
func TestFoundingSeatsAreUsedUp(t *testing.T) {
	o := generate(t, overlay(t, edits{"scoreboard/2026-11-20.yaml": func(text string) string {
		for key, n := range map[string]int{
			"verified_organic_agent_conversions": model.FoundingAgentSlots + 1, "registrations_recorded": model.FoundingAgentSlots + 1,
			"charters_filed": model.FoundingOrgSlots + 1,
		} {
			text = regexp.MustCompile(`(?m)^( *`+key+`:).*$`).ReplaceAllString(text, fmt.Sprint("$1 ", n))
		}
		return text
	}}))
	rules := parsed(t, o.Snapshot.Documents["org"])
	v := parsed(t, document(t, o, "/scoreboard.json"))
	for _, left := range []*jsondoc.Value{
		v.Get("pilot_waitlist").Get("founding_agent_slots_remaining"), v.Get("orgs").Get("founding_org_slots_remaining"), rules.Get("founding_org_slots_remaining"),
	} {
		if left.Text != "0" {
			t.Errorf("%s seats are left", left.Text)
		}
	}
}

// unshared are documents besides the pages and scripts that only the service's own pages read.
var unshared = map[string]bool{"/style.css": true, "/icon.svg": true}

// rulesOf are the rules of the CDN.
func rulesOf(t *testing.T, o *generator.Output) assets.Headers {
	t.Helper()
	rules, err := assets.ParseHeaders(string(document(t, o, "/_headers")))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// The CDN's rules give every document its own headers, and no header twice.
func TestHeaders(t *testing.T) {
	o := generate(t, shippedContent)
	rules := rulesOf(t, o)
	byEnding := map[string]string{".html": "text/html; charset=utf-8", ".md": "text/markdown; charset=utf-8", ".json": "application/json"}
	headersOf := func(at string) http.Header {
		h := http.Header{"Content-Type": {byEnding[path.Ext(at)]}} // what the CDN gives by itself
		rules.Apply(at, h)
		return h
	}
	for _, d := range o.Documents {
		if d.MediaType == "" {
			continue
		}
		h := headersOf(d.Path)
		open := "*"
		if strings.HasPrefix(d.MediaType, "text/html") || unshared[d.Path] || path.Ext(d.Path) == ".js" {
			open = ""
		}
		for name, want := range map[string]string{
			"Content-Type": d.MediaType, "Cache-Control": d.Cache, "Access-Control-Allow-Origin": open,
			"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			"Content-Signal": "search=yes, ai-input=yes, ai-train=yes", "Strict-Transport-Security": "max-age=63072000; includeSubDomains",
		} {
			if h.Get(name) != want {
				t.Errorf("%s has %s: %q, want %q", d.Path, name, h.Get(name), want)
			}
		}
		renders := open == "" || strings.HasSuffix(d.Path, ".png") || strings.HasSuffix(d.Path, ".mjs")
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'", "Cross-Origin-Resource-Policy": "cross-origin", "Content-Usage": "train-ai=y, search=y",
		} {
			if got := h.Get(name); renders && !strings.HasPrefix(got, want) || !renders && got != "" {
				t.Errorf("%s has %s: %q", d.Path, name, got)
			}
		}
		if relations := strings.Count(h.Get("Link"), `rel="alternate"`); relations > 1 {
			t.Errorf("%s has %d twins", d.Path, relations)
		}
	}
	for path, want := range map[string]string{"/no/such/page": "", "/no.txt": "", "/scoreboard/2099-01-01.json": "public, max-age=300"} {
		if got := headersOf(path).Get("Cache-Control"); got != want {
			t.Errorf("%s is kept %q, want %q", path, got, want)
		}
	}
}

// Whatever characters the operator writes, they stay text.
func TestOddCharacters(t *testing.T) {
	const odd = "Tern & Co <script>alert(1)</script> | [x](javascript:1) ]( \\ `code <b>` ` ~~z~~ *y* & \u2028 é 漢 😀 https://example.org/"
	const name = `Tern & Co <script>alert(1)</script> | ] ( "q" é 漢` // pages take it as Markdown
	content := overlay(t, edits{
		"service.yaml": func(old string) string {
			return regexp.MustCompile(`(?m)^name: .*$`).ReplaceAllString(old, `name: '`+name+`'`)
		},
		"presence.yaml": replace(`away_message: ""`, "away_message: '"+odd+"'"),
		"endpoints.yaml": func(old string) string {
			return strings.Replace(old, "Read the presence.", "'"+odd+"'", 1)
		},
	})
	s, err := site.Load(content)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Scoreboards {
		s.Scoreboards[i].ObservedAttention.NamedClients = []string{odd}
		s.Scoreboards[i].Excluded.Note = odd
	}
	o, err := generator.Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range o.Documents {
		switch path.Ext(d.Path) {
		case ".html":
			for _, bad := range []string{"<script>", "<b>", `href="javascript`, `href="https://example.org`, "<del>z", "<em>"} {
				if bytes.Contains(d.Bytes, []byte(bad)) {
					t.Errorf("%s holds %s", d.Path, bad)
				}
			}
		case ".md":
			shown := `\<script>alert(1)\</script> \| \[x\](javascript:1)`
			shows := slices.Contains([]string{"/index.html.md", "/scoreboard.html.md", "/endpoints/presence.html.md", "/reference.html.md"}, d.Path)
			if shows && !bytes.Contains(d.Bytes, []byte(shown)) {
				t.Errorf("%s does not have the text as %s", d.Path, shown)
			}
			if bytes.Contains(d.Bytes, []byte("<script>alert(1)</script> | [x]")) {
				t.Errorf("%s has the text as it is", d.Path)
			}
		case ".json", "":
			if d.MediaType != "" && !json.Valid(d.Bytes) {
				t.Errorf("%s is not JSON", d.Path)
			}
		case ".xml":
			if err := xml.Unmarshal(d.Bytes, new(struct{ XMLName xml.Name })); err != nil {
				t.Errorf("%s: %v", d.Path, err)
			}
		}
	}
	checkLLMs(t, string(document(t, o, "/llms.txt")), paths(o), o.Snapshot.BaseURL())
	if _, err := snapshot.Decode(o.Snapshot.Encode()); err != nil {
		t.Error(err)
	}
	if !bytes.Contains(document(t, o, "/index.html"), []byte("&lt;script&gt;alert(1)&lt;/script&gt;")) {
		t.Error("the front page does not show the text")
	}
}

// own adds files of the operator's own.
func own(names ...string) edits {
	added := edits{}
	for _, name := range names {
		added["static/"+name] = func(string) string { return "\x00\xff\r\n" + name }
	}
	return added
}

// TestOwnFiles: the operator's own files are documents like all others: listed, and served with the
// headers of their ending by a machine and a CDN, whatever else has that ending.
func TestOwnFiles(t *testing.T) {
	const binary, object, text = "application/octet-stream", "application/json", "text/plain; charset=utf-8"
	types := map[string]string{
		"favicon.ico": "image/vnd.microsoft.icon", "img/tern.png": "image/png", "google1.html": "text/html; charset=utf-8",
		"a/b.html": "text/html; charset=utf-8", "a/b.html.md": "text/markdown; charset=utf-8", "a.md": "text/markdown; charset=utf-8",
		"ads.txt": text, "a/b.txt": text, "pgp.asc": text, "blob": binary, "a.unknown": binary, "a.tlog-proof": binary, "a/b.json": object,
		"calendars/a/b.json": object, "calendars/a.ics": "text/calendar; charset=utf-8", "a.ics": "text/calendar; charset=utf-8", ".well-known/a/b.json": object, "own.css": "text/css; charset=utf-8",
		"a/own.js": "text/javascript; charset=utf-8", "own.svg": "image/svg+xml", "own.xml": "application/xml",
	}
	names := slices.Collect(maps.Keys(types))
	for n := range 300 {
		names = append(names, fmt.Sprintf("album/%d.jpg", n))
	}
	content, _ := logged(t) // whose files have endings too
	for name, text := range own(names...) {
		content[name] = &fstest.MapFile{Data: []byte(text(""))}
	}
	o := generate(t, content)
	rules := rulesOf(t, o)
	hosted, err := static.New(o.Documents)
	if err != nil {
		t.Fatal(err)
	}
	var m model.Manifest
	if err := json.Unmarshal(document(t, o, "/manifest.json"), &m); err != nil {
		t.Fatal(err)
	}
	listed := map[string]model.ManifestDocument{}
	for _, d := range m.Documents {
		listed[d.Path] = d
	}
	types["album/7.jpg"] = "image/jpeg"
	for name, want := range types {
		if got := rules.Of("/" + name); got.Get("Content-Type") != want || got.Get("X-Content-Type-Options") != "nosniff" || got.Get("Cache-Control") == "" {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
		made, d := "\x00\xff\r\n"+name, listed["/"+name]
		if string(document(t, o, "/"+name)) != made || d.MediaType != want || d.Bytes != len(made) || d.SHA256 != assets.SumOf([]byte(made)) {
			t.Errorf("%s is listed as %+v", name, d)
		}
		w := httptest.NewRecorder()
		hosted.ServeHTTP(w, httptest.NewRequest("GET", "/"+name, nil))
		if h := w.Header(); w.Body.String() != made || h.Get("Content-Type") != want || h.Get("ETag") == "" || h.Get("Referrer-Policy") == "" {
			t.Errorf("%s is served as %d %v", name, w.Code, h)
		}
	}
	for _, d := range o.Documents { // also the ones of the service whose ending own files have
		if got := rules.Of(d.Path).Get("Content-Type"); d.MediaType != "" && got != d.MediaType {
			t.Errorf("%s has the type %q, want %q", d.Path, got, d.MediaType)
		}
	}
}

func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		content edits
		want    string
	}{
		"no words for an operation":       {edits{"endpoints.yaml": replace("getQuest:", "getQuiz:")}, "getQuest"},
		"a source of the same page":       {edits{"pages/404.md": func(string) string { return "---\ntitle: A\ndescription: B\nupdated: 2026-11-20\n---\nC\n" }}, "pages/404.md: the service itself uses /404.html (give the file another name)"},
		"an own page of the same name":    {own("index.html"), "static/index.html: the service itself uses /index.html (give the file another name)"},
		"a twin of the same name":         {own("privacy.html.md"), "static/privacy.html.md: the service itself uses /privacy.html.md ("},
		"an own list of documents":        {own("manifest.json"), "static/manifest.json: the service itself uses /manifest.json ("},
		"an own security.txt":             {own(".well-known/security.txt"), "the service itself uses /.well-known/security.txt ("},
		"a file in place of a folder":     {own("calendars"), "the service itself uses /calendars/"},
		"a folder in place of a file":     {own("style.css/a"), "static/style.css/a: the service itself uses /style.css ("},
		"an own endpoint":                 {own("api/a"), "the service itself uses /api ("},
		"an own check":                    {own("healthz"), "the service itself uses /healthz ("},
		"an own redirect":                 {own("mcp"), "the service itself uses /mcp ("},
		"an own file in the log":          {own("log/x"), "the service itself uses /log ("},
		"an own board":                    {own("scoreboard/2026-11-20.json"), "the service itself uses /scoreboard ("},
		"a path of the CDN":               {own("cdn-cgi/a"), "the service itself uses /cdn-cgi ("},
		"a path that redirects to others": {own("auditors.html"), "the service itself uses /auditors.html ("},
		"a link to nothing":               {edits{"pages/privacy.md": func(old string) string { return old + "\n[x](/nothing.html)\n" }}, "/nothing.html"},
		"a heading in a paragraph":        {edits{"llms.yaml": replace("intro:\n", "intro:\n  - \"Words\\n## Words\"\n")}, "heading"},
		"a heading in llms.txt":           {edits{"llms.yaml": replace("Start with", "# Start with")}, "heading"},
		"a long name":                     {edits{"service.yaml": replace("name: Anteroom", "name: "+strings.Repeat("a", 101))}, "a registry takes at most 100 characters"},
		"no step that verifies": {edits{"quest.yaml": replace(
			"operation: verifyReceipt\n    answer_of: mintReceipt", `operation: computeBusinessDays
    body: '{"op":"is","calendar":"de","date":"2026-12-25"}'`)}, "the quest has no step for verifyReceipt"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := site.Load(overlay(t, test.content))
			if err != nil {
				t.Fatal(err)
			}
			_, err = generator.Generate(s)
			if err == nil || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 1000 {
				t.Errorf("error %v, want a short one that names %s", err, test.want)
			}
		})
	}
}

// withEntries is the shipped content with n jobs and n audits.
func withEntries(b *testing.B, n int) fs.FS {
	jobs, audits := make([]string, n), make([]string, n)
	for i := range n {
		jobs[i] = fmt.Sprintf(`{"id":"job-%d","title":"Check table %d","description":"Compare the table with its sources, and list every difference.","status":"open","posted":"2026-11-%02d","tags":["data"],"poster":"ledger-lark"}`, i, i, 1+i%20)
		audits[i] = fmt.Sprintf(`{"agent_name":"auditor %d","registration_sha256":"%064x","scope":"The receipts of one week.","claimed_at":"2026-11-%02dT00:00:00Z","report_url":"https://reports.example/%d","report_sha256":"%064x","verified_by_hand_on":null}`, i, i, 1+i%20, i, i)
	}
	content := overlay(b, edits{
		"jobs.json":     func(string) string { return `{"as_of":"2026-11-20","jobs":[` + strings.Join(jobs, ",") + `]}` },
		"auditors.json": func(string) string { return `{"as_of":"2026-11-20","ledger":[` + strings.Join(audits, ",") + `]}` },
	})
	delete(content, "jobs.yaml")
	delete(content, "auditors.yaml")
	return content
}

// BenchmarkGenerate loads a content folder and makes its documents.
func BenchmarkGenerate(b *testing.B) {
	for _, n := range []int{0, 1000, 100_000} {
		b.Run(fmt.Sprintf("jobs and audits=%d", n), func(b *testing.B) {
			content := withEntries(b, n)
			b.ReportAllocs()
			for b.Loop() {
				s, err := site.Load(content)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := generator.Generate(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
