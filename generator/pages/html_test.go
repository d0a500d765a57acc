package pages

import (
	"context"
	"io"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"anteroom/generator/site"

	"github.com/a-h/templ"
)

func TestMarkdown(t *testing.T) {
	long := strings.Repeat("x", 23)
	for name, test := range map[string]struct{ src, want string }{
		"heading with its own identifier": {"## Limits {#caps}\n", `<h2 id="caps"><a tabindex="-1" href="#caps">Limits</a></h2>`},
		"heading with one made of it":     {"## What is kept\n", `<h2 id="what-is-kept"><a tabindex="-1" href="#what-is-kept">What is kept</a></h2>`},
		"headings in other scripts":       {"## 日本語\n\n## Ünïcode Straße 2\n\n## हिन्दी\n", `id="日本語"><a tabindex="-1" href="#日本語">日本語</a></h2>` + "\n"},
		"letters with marks":              {"## Ünïcode Straße ２\n\n## हिन्दी\n", `id="ünïcode-straße-２"`},
		"signs alone, twice":              {"## 🙂\n\n## !\n", `id="heading-1"`},
		"heading that holds a link":       {"## See [it](/x) {#see}\n", `<h2 id="see">See <a href="/x">it</a></h2>`},
		"an address is not a link":        {"https://example.org www.example.org\n", "<p>https://example.org www.example.org</p>"},
		"a script is not a link":          {"[x](javascript:alert(1))\n", `<p><a href="">x</a></p>`},
		"a short table":                   {"|a|b|\n|-|-|\n|c|d|\n", `<table><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead><tbody>` + "\n" + `<tr><th scope="row">c</th><td>d</td></tr>` + "\n</tbody></table>"},
		"a wide table":                    {"|a|b|`c` \\& \"d\"|\n|-|-|-|\n|e|f|*g*|\n", `<table class="stack"><thead><tr><th scope="col">a</th><th scope="col">b</th><th scope="col"><code>c</code> &amp; &quot;d&quot;</th></tr></thead><tbody>` + "\n" + `<tr><th scope="row">e</th><td data-label="b">f</td><td data-label="c &amp; &#34;d&#34;"><em>g</em></td></tr>`},
		"a table of prose":                {"|a|b|c|\n|-|-|-|\n|d|e|More than a word.|\n", `<table class="stack">`},
		"a table of long names":           {"|a|b|\n|-|-|\n|" + long + "|d|\n", `<table class="stack">`},
		"a key beside prose":              {"|a|b|\n|-|-|\n|" + long[:15] + "|" + long + long + long + "|\n", `<table class="stack">`},
		"a short key beside prose":        {"|a|b|\n|-|-|\n|" + long[:14] + "|" + long + long + long + "|\n", `<table><thead>`},
		"a table of one column":           {"|a|\n|-|\n|b|\n", `<tr><td>b</td></tr>`},
		"a row that is a place":           {"|a|b|\n|-|-|\n|[c](#x_y)|d|\n", `<tr id="x_y"><th scope="row"><a href="#x_y">c</a></th>`},
		"a row that links away":           {"|a|b|\n|-|-|\n|[c](/x#y)|d|\n", `<tr><th scope="row"><a href="/x#y">c</a></th>`},
		"a group of rows":                 {"|a|b|\n|-|-|\n|c|d|\n||e|\n|f|g|\n", `<tr><th scope="rowgroup" rowspan="2">c</th><td>d</td></tr>` + "\n<tr><td>e</td></tr>\n" + `<tr><th scope="row">f</th>`},
		"a fold":                          {"<!-- fold a<b -->\n\n|a|\n|-|\n|b|\n\n<!-- end fold -->\n", "<details><summary>a&lt;b</summary>\n<table>"},
		"the end of a fold":               {"<!-- fold a -->\n\nb\n\n<!-- end fold -->\n\nc\n", "<p>b</p>\n</details>\n<p>c</p>"},
		"code that looks like a fold":     {"```\n<!-- fold a -->\n```\n", "<code>&lt;!-- fold a --&gt;</code>"},
		"a caption with escapes":          {"```sh a\\|b \\<it>\nx\n```\n", "<figcaption>a|b &lt;it&gt;</figcaption>"},
		"numbers":                         {"|a|b|\n|:-:|-:|\n|b|c|\n", `<tr><th scope="row">b</th><td class="num">c</td></tr>`},
		"code that looks like a table":    {"`<table>`\n", "<p><code>&lt;table&gt;</code></p>"},
		"code of two lines":               {"`x\ny`\n", "<code>x y</code>"},
		"a block of code":                 {"```\na<b\nc\n```\n", `<figure class="code"><figcaption>Text</figcaption><pre><code>a&lt;b` + "\nc</code></pre></figure>"},
		"an indented block of code":       {"    a\n", "<pre><code>a</code></pre>"},
		"a command":                       {"```sh\ncurl -s x\n```\n", "<pre class=\"command\"><code>curl -s x</code></pre>"},
		"a caption":                       {"```sh Keep <it>\ncurl -s x\n```\n", `<figcaption>Keep &lt;it&gt;</figcaption><pre class="command">`},
		"an unknown language":             {"```go\nx\n```\n", "<figcaption>go</figcaption>"},
		"JSON in a line":                  {"```json\n{\"a\":[1]}\n```\n", "<pre><code>{\n  &quot;a&quot;: [\n    1\n  ]\n}</code></pre>"},
		"JSON that is broken":             {"```json\n{\"a\":\n```\n", "<pre><code>{&quot;a&quot;:</code></pre>"},
		"two commands":                    {"```sh\na\nb\n```\n", "<pre><code>a\nb</code></pre>"},
		"a date":                          {"On 2026-11-20, 1-2026-11-20.\n", "<p>On <time>2026-11-20</time>, 1-2026-11-20.</p>"},
		"a date that begins a name":       {"2026-11-20-2 a/2026-11-20 2026-11-2 12026-11-20\n", "<p>2026-11-20-2 a/2026-11-20 2026-11-2 12026-11-20</p>"},
		"a time":                          {"**2026-11-20T12:00:00Z** and 2026-11-21\n", "<p><strong><time>2026-11-20T12:00:00Z</time></strong> and <time>2026-11-21</time></p>"},
		"a date in code":                  {"`2026-11-20`\n", "<p><code>2026-11-20</code></p>"},
		"line breaks":                     {"a\nb  \nc\n", "<p>a\nb<br>\nc</p>"},
	} {
		body, err := renderMarkdown([]byte(test.src), nil)
		if err != nil {
			t.Fatal(err)
		}
		if html := strings.Join(body.HTML[:], ""); !strings.Contains(html, test.want) {
			t.Errorf("%s: %q, want %q", name, html, test.want)
		}
	}
}

// A heading of level 2 begins a section and is an entry of the contents.
func TestSections(t *testing.T) {
	const src = "a\n\n### Before\n\n## Two `c\\&` *x* \\&\n\n### Three\n\n## Four {#f .half}\n\nb\n\n## Five {#five .groups}\n\n### Six\n\nc\n\n### Seven\n"
	body, err := renderMarkdown([]byte(src), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []frameLink{{"#two-c-x-", `Two c\& x &`}, {"#f", "Four"}, {"#five", "Five"}}; !reflect.DeepEqual(body.Sections, want) {
		t.Errorf("sections %+v, want %+v", body.Sections, want)
	}
	if want := "<p>a</p>\n" + `<h3 id="before">`; !strings.HasPrefix(body.HTML[inText], want) {
		t.Errorf("head %q, want %q", body.HTML[inText], want)
	}
	text := regexp.MustCompile(`<a [^>]*>|</a>|\n`).ReplaceAllString(body.HTML[inSections], "")
	want := `<section class="rail" aria-labelledby="two-c-x-"><h2 id="two-c-x-">Two <code>c\&amp;</code> <em>x</em> &amp;</h2><div><h3 id="three">Three</h3></div></section>` +
		`<section class="half" aria-labelledby="f"><h2 id="f">Four</h2><div><p>b</p></div></section>` +
		`<section class="rail" aria-labelledby="five"><h2 id="five">Five</h2><div class="groups"><div><h3 id="six">Six</h3><p>c</p></div><div><h3 id="seven">Seven</h3></div></div></section>`
	if text != want {
		t.Errorf("sections\n%s\nwant\n%s", text, want)
	}
}

// A component takes the place of its marker, or a place of its own in the head. Other raw HTML is
// refused, as a page would lose it.
func TestComponents(t *testing.T) {
	at := func(name string, at place) component {
		return component{templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, "<"+name+">")
			return err
		}), at}
	}
	all := map[string][]component{
		"chart": {at("svg", inText)}, "status": {at("p", above)}, "start": {at("i", inText), at("aside", beside)}, "counts": {at("dl", below)},
	}
	body, err := renderMarkdown([]byte("a\n\n<!-- chart -->\n\n<!-- status -->\n\n<!-- start -->\n\nb\n\n<!-- counts -->\n\nc\n\n## D\n\n<!-- counts -->\n\n<!-- start -->\n"), all)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range []string{inText: "<p>a</p>\n<svg><i><p>b</p>\n", above: "<p>", beside: "<aside>", below: "<dl><p>c</p>\n", inSections: "<div>\n<dl><i><aside></div></section>\n"} {
		if got := body.HTML[at]; got != want && (place(at) != inSections || !strings.HasSuffix(got, want)) {
			t.Errorf("place %d: %q, want %q", at, got, want)
		}
	}
	for _, src := range []string{"a <b>c</b>\n", "<!-- other -->\n", "## A <b>\n"} {
		if _, err := renderMarkdown([]byte(src), nil); err == nil || !strings.Contains(err.Error(), "raw HTML would be left out after") {
			t.Errorf("%q: %v", src, err)
		}
	}
}

func TestDated(t *testing.T) {
	var b strings.Builder
	if err := dated("From <i> 2026-11-20 to 2026-11-21T00:00:00Z, not 2026-11-20-2").Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	if want := "From &lt;i&gt; <time>2026-11-20</time> to <time>2026-11-21T00:00:00Z</time>, not 2026-11-20-2"; b.String() != want {
		t.Errorf("%s, want %s", b.String(), want)
	}
}

func rendered(t *testing.T, p *htmlPage) string {
	t.Helper()
	var b strings.Builder
	if err := frame(p).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The frame escapes its texts, marks the page itself, has contents for more than a few sections,
// and loads a script only for a page that needs it.
func TestRender(t *testing.T) {
	p := htmlPage{
		draft: draft{Page: &site.Page{Name: "index", Title: "Tern & Co", Description: `"quoted" <x>`}},
		Base:  "https://www.tern.example", Service: "Tern & Co",
		Canonical: "https://www.tern.example/", Twin: "/index.html.md",
		Nav: []frameLink{{Path: "/", Text: "Home"}, {Path: "/privacy.html", Text: "Privacy"}},
	}
	check := func(wants ...string) string {
		t.Helper()
		html := rendered(t, &p)
		for _, want := range wants {
			if !strings.Contains(html, want) {
				t.Errorf("lacks %s:\n%s", want, html)
			}
		}
		return html
	}
	check("<title>Tern &amp; Co</title>", `content="&#34;quoted&#34; &lt;x&gt;"`, `<a href="/" aria-current="page">Home</a>`)
	p.Name, p.Canonical, p.Title = "business-days", "https://www.tern.example/x/privacy.html", "Privacy"
	p.Body.Sections = []frameLink{{"#a", "A"}, {"#b", "B"}, {"#c", "C"}}
	if html := check("<title>Privacy - Tern &amp; Co</title>"); strings.Contains(html, "aria-current") || strings.Contains(html, "<script") || strings.Contains(html, "On this page") {
		t.Errorf("a page in a folder is taken for another, loads a script that it does not need, or has contents:\n%s", html)
	}
	p.Body.Sections = append(p.Body.Sections, frameLink{"#d", "D"})
	p.Body.HTML[inText] = `<form id="ask"></form>`
	check(`<li><a href="#d">D</a></li></ul></nav></section></main>`, `<link rel="stylesheet" href="/style.css"><script type="module" src="/business-days.js"></script>`)
	p.Body.HTML[inSections] = "<pre></pre>"
	check(`<script type="module" src="/page.js"></script><script type="module" src="/business-days.js"></script>`)
	p.Body.HTML[beside] = "<aside></aside>"
	check(`<main id="content"><section class="split"><div><h1 dir="auto">`, `</div><aside></aside><nav class="wide"`)
	p.Canonical = ""
	if html := check(`content="noindex"`); strings.Contains(html, "og:") {
		t.Errorf("a page that is not a document has a preview:\n%s", html)
	}
}

// Text has a contrast of at least 4.5 to its background (WCAG 2.2, 1.4.3), in light and in dark.
func TestContrast(t *testing.T) {
	color := regexp.MustCompile(`--([a-z]+): (#[0-9a-f]{6});`)
	root := regexp.MustCompile(`(?s):root \{.*?\}`).FindAllString(string(style), 2)
	for n, block := range root {
		colors := map[string]float64{}
		for _, m := range color.FindAllStringSubmatch(block, -1) {
			colors[m[1]] = luminance(t, m[2])
		}
		for _, ground := range []string{"paper", "ground"} {
			for _, ink := range []string{"ink", "quiet", "good", "bad", "warn"} {
				a, b := colors[ink]+0.05, colors[ground]+0.05
				if ratio := max(a, b) / min(a, b); colors[ink] == 0 || ratio < 4.5 {
					t.Errorf("scheme %d: %s on %s has the contrast %.2f", n, ink, ground, ratio)
				}
			}
		}
	}
	if len(root) != 2 {
		t.Fatalf("%d colour schemes", len(root))
	}
	html := rendered(t, &htmlPage{draft: draft{Page: &site.Page{}}})
	ground := regexp.MustCompile(`--ground: (#[0-9a-f]{6})`).FindAllSubmatch(style, 2)
	theme := regexp.MustCompile(`name="theme-color" content="(#[0-9a-f]{6})"`).FindAllStringSubmatch(html, 2)
	for n := range ground {
		if string(ground[n][1]) != theme[n][1] {
			t.Errorf("scheme %d: the ground is %s and the theme %s", n, ground[n][1], theme[n][1])
		}
	}
}

// luminance is the relative luminance of a colour (WCAG 2.2).
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// A page needs little: the style sheet and the script that all pages share.
func TestShare(t *testing.T) {
	if n := len(style); n > 14_000 {
		t.Errorf("the style sheet has %d bytes", n)
	}
	script, _ := scripts.ReadFile("page.js")
	if lines := strings.Count(string(script), "\n"); lines == 0 || lines > 60 {
		t.Errorf("the script of all pages has %d lines", lines)
	}
}
