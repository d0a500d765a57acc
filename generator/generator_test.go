package generator_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"anteroom/edge/api"
	"anteroom/edge/assets"
	"anteroom/edge/edgetest"
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

// shipped is what the shipped content publishes, made once.
var shipped = sync.OnceValue(func() *generator.Output {
	s, err := site.Load(shippedContent)
	if err != nil {
		panic(err)
	}
	o, err := generator.Generate(s)
	if err != nil {
		panic(err)
	}
	return o
})

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

// edits change files of a content folder, or add them. One without a function is removed.
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
		if edit == nil {
			delete(content, name)
			continue
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
  - {id: a-b, title: Open, description: Words & <b>., status: open, posted: 2026-11-01, expires: 2026-12-01, reward_credit_units: 3, tags: [data, a-b], url: "https://example.org/x", poster: p}
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

// The same content gives the same bytes each time.
func TestDeterministic(t *testing.T) {
	s, err := site.Load(shippedContent)
	if err != nil {
		t.Fatal(err)
	}
	made, err := generator.Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(made.Documents, shipped().Documents) || !bytes.Equal(made.Snapshot.Encode(), shipped().Snapshot.Encode()) {
		t.Error("another time differs from the first")
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
	o := shipped()
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
	for _, d := range shipped().Documents {
		if m := complete.Find(d.Bytes); m != nil {
			t.Errorf("%s holds %s", d.Path, m)
		}
	}
}

// Pages work under a policy without inline scripts and inline styles.
func TestPagesHoldNoScript(t *testing.T) {
	inline := regexp.MustCompile(`<style|<[a-z]+[^>]* (?:style|on[a-z]+)=|<script(?: [^>]*)?>`)
	allowed := regexp.MustCompile(`^<script type="(?:application/ld\+json"|module" src="/[a-z0-9-]+\.js")>$`)
	for _, d := range shipped().Documents {
		for _, tag := range inline.FindAll(d.Bytes, -1) {
			if path.Ext(d.Path) == ".html" && !allowed.Match(tag) {
				t.Errorf("%s has %s", d.Path, tag)
			}
		}
	}
}

// The sitemap has each page with the day on which its contents last changed.
func TestSitemap(t *testing.T) {
	o := generate(t, overlay(t, edits{
		"scoreboard/2026-11-30.yaml": board(t, "2026-11-20", "2026-11-30"),
		"jobs.yaml":                  replace("as_of: 2026-11-20", "as_of: 2026-11-29"),
		"pages/privacy.md": func(old string) string {
			return regexp.MustCompile(`(?m)^updated: .*$`).ReplaceAllString(old+"\n", "updated: 2026-11-23")
		},
	}))
	for path, day := range map[string]string{
		"/": "2026-11-30", "/scoreboard.html": "2026-11-30", "/scoreboard.json": "2026-11-30",
		"/scoreboard/2026-09-22.json": "2026-09-22", "/jobs.html": "2026-11-29", "/privacy.html": "2026-11-23",
	} {
		showsAll(t, o, "/sitemap.xml", "<loc>"+o.Snapshot.BaseURL()+path+"</loc>\n    <lastmod>"+day+"</lastmod>")
	}
}

// A dated scoreboard is made of its own content file alone.
func TestVerificationNeverChanges(t *testing.T) {
	const file = "/scoreboard/2026-11-20.json"
	before := document(t, shipped(), file)
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
	showsAll(t, o, "/scoreboard.json", `"received_external": 3,`)
	page := string(document(t, o, "/scoreboard.html.md"))
	if o.Snapshot.ReceivedExternal != 3 || !strings.HasPrefix(page[strings.Index(page, "](/scoreboard/"):], "](/scoreboard/2026-11-20-2.json)") {
		t.Error("the last board of the day is not the current one")
	}
}

// TestOptions has contents that the shipped one has not, and what their documents show.
func TestOptions(t *testing.T) {
	const icon = `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`
	const code = "```sh\n# make it {#it}\n<!-- fold A -->\n| [a](#b) | [c](/terms.html) |\n```\n"
	receipt := keyedHost(t, shipped()).Do("POST", "/api/receipt", `{"agent_name":"a <b>","note":"[[service]]"}`, "host", "www.anteroom.example").Body
	all, none := generate(t, overlay(t, edits{
		"service.yaml": func(text string) string {
			return strings.NewReplacer(`current: ""`, "current: "+edgetest.PublicKey(edgetest.Key), "ai_train: true", "ai_train: false",
				"  upstreams:", "  retired: [0123456789abcdef]\n  upstreams:").Replace(text)
		},
		"receipt.json": func(string) string { return string(receipt) },
		"icon.svg":     func(string) string { return icon },
		"pages/added.md": func(string) string {
			return "---\ntitle: Added\ndescription: One more.\nupdated: 2026-11-23\n---\nWords.\n"
		},
		"pages/privacy.md": func(text string) string {
			return text + "\n## Own {#own}\n\n[c](/terms.html) `## d {#e}`\n\n" + code
		},
		"scoreboard/2026-11-20.yaml": func(board string) string {
			return board + "correction:\n  - {number: orgs.charters_filed, was: 0, board: 2026-09-22, reason: Two <were> one.}\n"
		},
	})), generate(t, overlay(t, edits{
		"receipt.json": nil,
		"scoreboard/2026-11-20.yaml": counts(map[string]int{ // more than founding seats
			"verified_organic_agent_conversions": model.FoundingAgentSlots + 1, "registrations_recorded": model.FoundingAgentSlots + 1,
			"charters_filed": model.FoundingOrgSlots + 1,
		}),
	}))
	showsAll(t, all, "/index.html", `<p class="stamp valid">Valid <small>checked when this page was made`, `<dd dir="auto">a &lt;b&gt;</dd>`,
		`<dd dir="auto">[[service]]</dd>`, "The service signs it")
	showsAll(t, all, "/0123456789abcdef.txt", "0123456789abcdef")
	showsAll(t, all, "/robots.txt", "ai-train=no", "train-ai=n,")
	showsAll(t, all, "/terms.html", `<h2>More</h2><ul><li><a href="/added.html">Added</a></li></ul>`)
	showsAll(t, all, "/privacy.html", `<a class="brand" href="/"><img src="/icon.svg" alt=""`, `<link rel="icon" type="image/svg+xml" href="/icon.svg">`)
	showsAll(t, all, "/icon.svg", icon)
	showsAll(t, all, "/privacy.html.md", "\n## Own\n\n[c](/terms.html.md) `## d {#e}`\n\n"+code)
	showsAll(t, all, "/scoreboard.html", `<h3>Charters filed</h3>`, `<dd dir="auto"><del>0</del> → <ins>0</ins></dd></div><div><dt>Wrong on the board of</dt><dd dir="auto"><a href="/scoreboard/2026-09-22.json"><time>2026-09-22</time></a></dd>`,
		`<p dir="auto">“Two &lt;were&gt; one.”</p>`)
	showsAll(t, none, "/index.html", `<p class="stamp ">Example`, `<p class="small quiet">The service keeps no copy.</p>`)
	if rules := string(none.Snapshot.Documents["org"]); !strings.Contains(rules, `"founding_org_slots_remaining":0,`) {
		t.Errorf("seats are left: %s", rules)
	}
	showsAll(t, none, "/scoreboard.json", `"founding_agent_slots_remaining": 0`, `"founding_org_slots_remaining": 0`)
}

// counts are other numbers of a board, by their keys.
func counts(of map[string]int) func(string) string {
	return func(text string) string {
		for key, n := range of {
			text = regexp.MustCompile(`(?m)^( *`+key+`:).*$`).ReplaceAllString(text, fmt.Sprint("$1 ", n))
		}
		return text
	}
}

// A dated scoreboard has each number under its own name, and scoreboard.json the same ones. Every
// count of the fixture is another one.
func TestVerificationNumbers(t *testing.T) {
	o := generate(t, overlay(t, edits{"scoreboard/2026-11-20.yaml": func(text string) string {
		text = counts(map[string]int{
			"verified_organic_agent_conversions": 11, "registrations_recorded": 23, "charters_filed": 31, "received_external": 47,
			"originated_internally": 53, "shipped": 61, "development_seed_and_test_records": 71,
			"named_clients_that_completed_a_handshake": 2, "tool_calls_by_anything_not_auditing_us": 83, "security_reports_received": 97,
		})(text)
		return regexp.MustCompile(`(?m)^( *named_clients:).*$`).ReplaceAllString(text, "$1 [one, two, three]")
	}}))
	want := value(t, `{"as_of":"2026-11-20","pilot_waitlist":{"verified_organic_agent_conversions":11,"registrations_recorded":23},"orgs":{"charters_filed":31},`+
		`"suggestions":{"received_external":47,"originated_internally":53,"shipped":61},"excluded_from_counts":{"development_seed_and_test_records":71},`+
		`"observed_attention":{"named_clients_seen":3,"named_clients_that_completed_a_handshake":2,"tool_calls_by_anything_not_auditing_us":83,"security_reports_received":97}}`)
	if got := value(t, string(document(t, o, "/scoreboard/2026-11-20.json"))); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	current := value(t, string(document(t, o, "/scoreboard.json")))
	for group, numbers := range want.(map[string]any) {
		numbers, _ := numbers.(map[string]any)
		for name, n := range numbers {
			if is := member(current, group, name); is != n {
				t.Errorf("scoreboard.json says %s %s %v, and the dated one %v", group, name, is, n)
			}
		}
	}
}

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
	rules := rulesOf(t, shipped())
	byEnding := map[string]string{".html": "text/html; charset=utf-8", ".md": "text/markdown; charset=utf-8", ".json": "application/json"}
	for _, d := range shipped().Documents {
		h := http.Header{"Content-Type": {byEnding[path.Ext(d.Path)]}} // what the CDN gives by itself
		rules.Apply(d.Path, h)
		open := "*"
		if strings.HasPrefix(d.MediaType, "text/html") || slices.Contains([]string{".css", ".svg", ".js"}, path.Ext(d.Path)) {
			open = "" // only the service's own pages read them
		}
		for name, want := range map[string]string{"Content-Type": d.MediaType, "Cache-Control": d.Cache, "Access-Control-Allow-Origin": open} {
			if h.Get(name) != want && d.MediaType != "" {
				t.Errorf("%s has %s: %q, want %q", d.Path, name, h.Get(name), want)
			}
		}
	}
	for path, want := range map[string]string{"/no/such/page": "", "/no.txt": "", "/scoreboard/2099-01-01.json": "public, max-age=300"} {
		if got := rules.Of(path).Get("Cache-Control"); got != want {
			t.Errorf("%s is kept %q, want %q", path, got, want)
		}
	}
}

// Whatever characters the operator writes, they stay text.
func TestOddCharacters(t *testing.T) {
	const odd = "Tern & Co <script>alert(1)</script> | [x](javascript:1) ]( \\ `code <b>` ` ~~z~~ *y* & é 漢 😀 https://example.org/"
	const name = `Tern & Co <script>alert(1)</script> | ] ( "q" é 漢` // pages take it as Markdown
	content := overlay(t, edits{
		"service.yaml": func(old string) string {
			return regexp.MustCompile(`(?m)^name: .*$`).ReplaceAllString(old, `name: '`+name+`'`)
		},
		"presence.yaml": replace(`away_message: ""`, "away_message: '"+odd+"'"),
		"endpoints.yaml": func(old string) string {
			old = strings.Replace(old, "Read the presence.", "'"+odd+"'", 1)
			return strings.Replace(old, "Returns the status that", odd, 1)
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
	if _, err := snapshot.Decode(o.Snapshot.Encode()); err != nil {
		t.Error(err)
	}
	showsAll(t, o, "/index.html", "&lt;script&gt;alert(1)&lt;/script&gt;")
	for _, page := range []string{"/index", "/scoreboard", "/endpoints/presence", "/reference"} {
		showsAll(t, o, page+".html.md", `\<script>alert(1)\</script> \| \[x\](javascript:1)`)
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
		"favicon.ico": "image/vnd.microsoft.icon", "img/tern.png": "image/png", "google1.html": "text/html; charset=utf-8", "a/b.html.md": "text/markdown; charset=utf-8",
		"ads.txt": text, "pgp.asc": text, "blob": binary, "a.unknown": binary, "a/b.json": object, "calendars/a/b.json": object,
		"a.ics": "text/calendar; charset=utf-8", ".well-known/a/b.json": object, "own.css": "text/css; charset=utf-8", "a/own.js": "text/javascript; charset=utf-8", "own.xml": "application/xml",
	}
	names := slices.Collect(maps.Keys(types))
	for n := range 300 { // with one rule
		names = append(names, fmt.Sprintf("album/%d.jpg", n))
	}
	types["album/7.jpg"] = "image/jpeg"
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
	for name, want := range types {
		if got := rules.Of("/" + name); got.Get("Content-Type") != want || got.Get("X-Content-Type-Options") != "nosniff" || got.Get("Cache-Control") == "" {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
		made := "\x00\xff\r\n" + name
		if d := (model.ManifestDocument{Path: "/" + name, MediaType: want, Bytes: len(made), SHA256: assets.SumOf([]byte(made))}); listed["/"+name] != d {
			t.Errorf("listed is %+v, want %+v", listed["/"+name], d)
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
	taken := []string{ // by pages, twins, documents, endpoints, checks, redirects, the log, boards and the CDN
		".well-known/security.txt", "api/a", "auditors.html", "cdn-cgi/a", "healthz", "index.html", "log/x", "manifest.json", "mcp", "privacy.html.md",
		"scoreboard/2026-11-20.json",
	}
	named := slices.Clone(taken)
	for i, name := range taken {
		used := "/" + name
		if folder, _, _ := strings.Cut(name, "/"); slices.Contains([]string{"api", "cdn-cgi", "log", "scoreboard"}, folder) {
			used = "/" + folder
		}
		named[i] = "static/" + name + ": the service itself uses " + used + " (give the file another name)"
	}
	for name, test := range map[string]struct {
		content edits
		want    string
	}{
		"words of endpoints": {edits{"endpoints.yaml": func(text string) string {
			return strings.NewReplacer("\ngetQuest:\n", "\ngetQuestt:\n", "supplying one needs the owner's consent. It goes", "It goes", "    agent_name: Name of the sender", "    agent_nam: Name of the sender",
				"\n  notes:\n    - The operator reads", "\n    stray: Words.\n  notes:\n    - The operator reads").Replace(text)
		}}, ": unknown key getQuestt (did you mean getQuest?)\n" +
			": sendSuggestion.fields.contact does not say that an address needs its owner's consent (write: supplying one needs the owner's consent)\n" +
			": unknown key agent_nam (did you mean agent_name?)\n: unknown key stray ("},
		"a source of the same page":   {edits{"pages/404.md": func(string) string { return "---\ntitle: A\ndescription: B\nupdated: 2026-11-20\n---\nC\n" }}, "pages/404.md: the service itself uses /404.html (give the file another name)"},
		"a file in place of a folder": {own("calendars"), "the service itself uses /calendars/"},
		"own files":                   {own(taken...), strings.Join(named, "\n")},
		"a link to nothing":           {edits{"pages/privacy.md": func(old string) string { return old + "\n[x](/nothing.html)\n" }}, "/nothing.html"},
		"a heading in a paragraph":    {edits{"llms.yaml": replace("intro:\n", "intro:\n  - \"Words\\n## Words\"\n")}, "heading"},
		"descriptions of tools":       {edits{"mcp.yaml": replace("Read the hand-verified counts", strings.Repeat("Read the counts. ", 100))}, "tools/list has "},
		"a long name":                 {edits{"service.yaml": replace("name: Anteroom", "name: "+strings.Repeat("a", 101))}, "a registry takes at most 100 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := site.Load(overlay(t, test.content))
			if err != nil {
				t.Fatal(err)
			}
			_, err = generator.Generate(s)
			for want := range strings.SplitSeq(test.want, "\n") {
				if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1500 {
					t.Errorf("error %v, want a short one that says %s", err, want)
				}
			}
		})
	}
}

// withEntries is the shipped content with n jobs and n audits.
func withEntries(t testing.TB, n int) fs.FS {
	jobs, audits := make([]string, n), make([]string, n)
	for i := range n {
		jobs[i] = fmt.Sprintf(`{"id":"job-%d","title":"Check table %d","description":"Compare the table with its sources, and list every difference.","status":"open","posted":"2026-11-%02d","tags":["data"],"poster":"ledger-lark"}`, i, i, 1+i%20)
		audits[i] = fmt.Sprintf(`{"agent_name":"auditor %d","registration_sha256":"%064x","scope":"The receipts of one week.","claimed_at":"2026-11-%02dT00:00:00Z","report_url":"https://reports.example/%d","report_sha256":"%064x","verified_by_hand_on":null}`, i, i, 1+i%20, i, i)
	}
	content := overlay(t, edits{
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
				generate(b, content)
			}
		})
	}
}
