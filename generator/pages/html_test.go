package pages

import (
	"bytes"
	"context"
	"io"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/a-h/templ"
)

func TestMarkdown(t *testing.T) {
	long := strings.Repeat("x", 23)
	for name, test := range map[string]struct{ src, want string }{
		"heading with its own identifier": {"## Limits {#caps}\n", `<h2 id="caps"><a tabindex="-1" href="#caps">Limits</a></h2>`},
		"heading with one made of it":     {"## What is kept\n", `<h2 id="what-is-kept"><a tabindex="-1" href="#what-is-kept">What is kept</a></h2>`},
		"heading that holds a link":       {"## See [it](/x) {#see}\n", `<h2 id="see">See <a href="/x">it</a></h2>`},
		"an address is not a link":        {"https://example.org www.example.org\n", "<p>https://example.org www.example.org</p>"},
		"a script is not a link":          {"[x](javascript:alert(1))\n", `<p><a href="">x</a></p>`},
		"a short table":                   {"|a|b|\n|-|-|\n|c|d|\n", `<table><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead><tbody>` + "\n" + `<tr><th scope="row">c</th><td>d</td></tr>` + "\n</tbody></table>"},
		"a wide table":                    {"|a|b|`c` \\& \"d\"|\n|-|-|-|\n|e|f|*g*|\n", `<table class="stack terse"><thead><tr><th scope="col">a</th><th scope="col">b</th><th scope="col"><code>c</code> &amp; &quot;d&quot;</th></tr></thead><tbody>` + "\n" + `<tr><th scope="row">e</th><td data-label="b">f</td><td data-label="c &amp; &#34;d&#34;"><em>g</em></td></tr>`},
		"a table of prose":                {"|a|b|c|\n|-|-|-|\n|d|e|More than a word.|\n", `<table class="stack">`},
		"a table that ends with prose":    {"|a|b|c|\n|-|-|-|\n|d|e|" + long + long + long + "|\n|f|g|h|\n", `<tr><th scope="row">f</th><td data-label="b">g</td><td>h</td></tr>`},
		"a table of long names":           {"|a|b|\n|-|-|\n|" + long + "|d|\n", `<table class="stack terse">`},
		"a key beside prose":              {"|a|b|\n|-|-|\n|" + long[:15] + "|" + long + long + long + "|\n", `<table class="stack">`},
		"a short key beside prose":        {"|a|b|\n|-|-|\n|" + long[:14] + "|" + long + long + long + "|\n", `<table><thead>`},
		"a table of one column":           {"|a|\n|-|\n|b|\n", `<tr><td>b</td></tr>`},
		"an aligned table has no style":   {"|a|b|\n|:-:|-:|\n|b|c|\n", `<th scope="col">a</th>`},
		"code that looks like a table":    {"`<table>`\n", "<p><code>&lt;table&gt;</code></p>"},
		"code that fits a line":           {"`" + long[1:] + "`\n", "<code>" + long[1:] + "</code>"},
		"code that does not":              {"`" + long[1:] + "\ny`\n", `<code class="long">` + long[1:] + " y</code>"},
		"a block of code":                 {"```\na<b\nc\n```\n", "<pre><code>a&lt;b\nc</code></pre>"},
		"an indented block of code":       {"    a\n", "<pre><code>a</code></pre>"},
		"a command":                       {"```sh\ncurl -s x\n```\n", "<pre class=\"command\"><code>curl -s x</code></pre>"},
		"a long command": {
			"```sh\nprintf '{\"a -b\":%s}' | curl -s https://www.anteroom.example/api/receipt -H 'it'\\''s - |' -d @-\n```\n",
			"<code>printf '{&quot;a -b&quot;:%s}' \\\n  | curl -s https://www.anteroom.example/api/receipt \\\n  -H 'it'\\''s - |' -d @-</code>",
		},
		"JSON in a line":            {"```json\n{\"a\":[1]}\n```\n", "<pre><code>{\n  &quot;a&quot;: [\n    1\n  ]\n}</code></pre>"},
		"JSON that is broken":       {"```json\n{\"a\":\n```\n", "<pre><code>{&quot;a&quot;:</code></pre>"},
		"two commands":              {"```sh\na\nb\n```\n", "<pre><code>a\nb</code></pre>"},
		"a date":                    {"On 2026-11-20, 1-2026-11-20.\n", "<p>On <time>2026-11-20</time>, 1-2026-11-20.</p>"},
		"a date that begins a name": {"2026-11-20-2 a/2026-11-20 2026-11-2 12026-11-20\n", "<p>2026-11-20-2 a/2026-11-20 2026-11-2 12026-11-20</p>"},
		"a time":                    {"**2026-11-20T12:00:00Z** and 2026-11-21\n", "<p><strong><time>2026-11-20T12:00:00Z</time></strong> and <time>2026-11-21</time></p>"},
		"a date in code":            {"`2026-11-20`\n", "<p><code>2026-11-20</code></p>"},
		"line breaks":               {"a\nb  \nc\n", "<p>a\nb<br>\nc</p>"},
	} {
		body, err := renderMarkdown([]byte(test.src), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(body.HTML, test.want) {
			t.Errorf("%s: %q, want %q", name, body.HTML, test.want)
		}
	}
}

// The table of contents has the headings of level 2 and those of level 3 below them.
func TestSections(t *testing.T) {
	body, err := renderMarkdown([]byte("# One\n\n### Before\n\n## Two `c\\&` *x* \\&\n\n### Three\n\n#### Deep\n\n## Four {#f}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []section{
		{ID: "two-c-x-", Text: `Two c\& x &`, Sections: []section{{ID: "three", Text: "Three"}}},
		{ID: "f", Text: "Four"},
	}
	if !reflect.DeepEqual(body.Sections, want) {
		t.Errorf("sections %+v, want %+v", body.Sections, want)
	}
}

// A component takes the place of its marker. Other raw HTML is refused, as a page would lose it.
func TestComponents(t *testing.T) {
	chart := templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "<svg></svg>")
		return err
	})
	body, err := renderMarkdown([]byte("a\n\n<!-- chart -->\n\nb\n"), map[string]templ.Component{"chart": chart})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(body.HTML, "<p>a</p>\n<svg></svg>") {
		t.Errorf("%q", body.HTML)
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

// The frame escapes its texts, marks the page itself, closes a long table of contents, and loads a
// page's own script only with its form.
func TestRender(t *testing.T) {
	p := htmlPage{
		Name: "index", Base: "https://www.tern.example", Service: "Tern & Co", Title: "Tern & Co", Description: `"quoted" <x>`,
		Canonical: "https://www.tern.example/", Twin: "/index.html.md",
		Nav: []frameGroup{{Title: "Trust", Links: []frameLink{{Path: "/", Text: "Home"}, {Path: "/privacy.html", Text: "Privacy"}}}},
	}
	check := func(wants ...string) string {
		t.Helper()
		html, err := p.Render()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !bytes.Contains(html, []byte(want)) {
				t.Errorf("lacks %s:\n%s", want, html)
			}
		}
		return string(html)
	}
	check("<title>Tern &amp; Co</title>", `content="&#34;quoted&#34; &lt;x&gt;"`, `<a href="/" aria-current="page">Home</a>`)
	p.Name, p.Canonical, p.Title = "business-days", "https://www.tern.example/x/privacy.html", "Privacy"
	p.Body.Sections = []section{{ID: "a", Text: "A"}, {ID: "b", Text: "B"}, {ID: "c", Text: "C"}, {ID: "d", Text: "D"}}
	html := check("<title>Privacy - Tern &amp; Co</title>", "<details open>")
	if strings.Contains(html, "aria-current") || strings.Contains(html, "business-days.js") {
		t.Errorf("a page in a folder is taken for another, or loads a script without its form:\n%s", html)
	}
	for range 8 {
		p.Body.Sections = append(p.Body.Sections, section{ID: "e", Text: "E"})
	}
	p.Body.HTML = `<form id="ask"></form>`
	check("<details><summary>", `<script type="module" src="/page.js"></script><script type="module" src="/business-days.js"></script>`)
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
		for _, ground := range []string{"paper", "panel"} {
			for _, ink := range []string{"ink", "quiet", "link", "good", "bad"} {
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
	html, err := (&htmlPage{}).Render()
	if err != nil {
		t.Fatal(err)
	}
	paper := regexp.MustCompile(`--paper: (#[0-9a-f]{6})`).FindAllSubmatch(style, 2)
	theme := regexp.MustCompile(`name="theme-color" content="(#[0-9a-f]{6})"`).FindAllSubmatch(html, 2)
	for n := range paper {
		if string(paper[n][1]) != string(theme[n][1]) {
			t.Errorf("scheme %d: the paper is %s and the theme %s", n, paper[n][1], theme[n][1])
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
	if n := len(style); n > 12<<10 {
		t.Errorf("the style sheet has %d bytes", n)
	}
	script := pageScripts["/page.js"]
	if lines := strings.Count(string(script), "\n"); lines == 0 || lines > 60 {
		t.Errorf("the script of all pages has %d lines", lines)
	}
}
