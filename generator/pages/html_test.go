package pages

import (
	"strings"
	"testing"
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
		"JSON that is broken":         {"```json\n{\"a\":\n```\n", "<pre><code>{\"a\":</code></pre>"},
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
