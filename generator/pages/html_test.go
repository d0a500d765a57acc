package pages

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"anteroom/generator/site"
)

func TestMarkdown(t *testing.T) {
	long := strings.Repeat("x", 23)
	for name, test := range map[string]struct{ src, want string }{
		"headings in other scripts":   {"## 日本語\n\n## Ünïcode Straße 2\n\n## हिन्दी\n", `id="日本語"><a tabindex="-1" href="#日本語">日本語</a></h2>` + "\n"},
		"signs alone, twice":          {"## 🙂\n\n## !\n", `id="heading-1"`},
		"heading that holds a link":   {"## See [it](/x) {#see}\n", `<h2 id="see">See <a href="/x">it</a></h2>`},
		"an address is not a link":    {"https://example.org www.example.org\n", "<p>https://example.org www.example.org</p>"},
		"a script is not a link":      {"[x](javascript:alert(1))\n", `<p><a href="">x</a></p>`},
		"a wide table":                {"|a|b|`c` \\& \"d\"|\n|-|-|-|\n|e|f|*g*|\n", `<table class="stack"><thead><tr><th scope="col">a</th><th scope="col">b</th><th scope="col"><code>c</code> &amp; &quot;d&quot;</th></tr></thead><tbody>` + "\n" + `<tr><th scope="row">e</th><td data-label="b">f</td><td data-label="c &amp; &#34;d&#34;"><em>g</em></td></tr>`},
		"a table of prose":            {"|a|b|c|\n|-|-|-|\n|d|e|More than a word.|\n", `<table class="stack">`},
		"a key beside prose":          {"|a|b|\n|-|-|\n|" + long[:15] + "|" + long + long + long + "|\n", `<table class="stack">`},
		"a short key beside prose":    {"|a|b|\n|-|-|\n|" + long[:14] + "|" + long + long + long + "|\n", `<table><thead>`},
		"a row that is a place":       {"|a|b|\n|-|-|\n|[c](#x_y)|d|\n", `<tr id="x_y"><th scope="row"><a href="#x_y">c</a></th>`},
		"a group of rows":             {"|a|b|\n|-|-|\n|c|d|\n||e|\n|f|g|\n", `<tr><th scope="rowgroup" rowspan="2">c</th><td>d</td></tr>` + "\n<tr><td>e</td></tr>\n" + `<tr><th scope="row">f</th>`},
		"the end of a fold":           {"<!-- fold a -->\n\nb\n\n<!-- end fold -->\n\nc\n", "<p>b</p>\n</details>\n<p>c</p>"},
		"code that looks like a fold": {"```\n<!-- fold a -->\n```\n", "<code>&lt;!-- fold a --&gt;</code>"},
		"a caption with escapes":      {"```sh a\\|b \\<it>\nx\n```\n", "<figcaption>a|b &lt;it&gt;</figcaption>"},
		"JSON that is broken":         {"```json\n{\"a\":\n```\n", "<pre><code>{&quot;a&quot;:</code></pre>"},
		"a date that begins a name":   {"2026-11-20-2 a/2026-11-20 2026-11-2 12026-11-20\n", "<p>2026-11-20-2 a/2026-11-20 2026-11-2 12026-11-20</p>"},
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

// Other raw HTML than markers is refused, as a page would lose it.
func TestRawHTML(t *testing.T) {
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
	var page strings.Builder
	if err := frame(&htmlPage{draft: draft{Page: &site.Page{}}}).Render(t.Context(), &page); err != nil {
		t.Fatal(err)
	}
	ground := regexp.MustCompile(`--ground: (#[0-9a-f]{6})`).FindAllSubmatch(style, 2)
	theme := regexp.MustCompile(`name="theme-color" content="(#[0-9a-f]{6})"`).FindAllStringSubmatch(page.String(), 2)
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
