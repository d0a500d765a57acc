package page_test

import (
	"strings"
	"testing"

	"anteroom/generator/page"
)

func TestMarkdown(t *testing.T) {
	for name, test := range map[string]struct{ src, want string }{
		"heading with its own identifier": {"## Limits {#caps}\n", `<h2 id="caps">Limits</h2>`},
		"heading with one made of it":     {"## What is kept\n", `<h2 id="what-is-kept">What is kept</h2>`},
		"raw HTML is left out":            {"a <b>c</b>\n", "<p>a <!-- raw HTML omitted -->c<!-- raw HTML omitted --></p>"},
		"an address is no link":           {"https://example.org www.example.org\n", "<p>https://example.org www.example.org</p>"},
		"a script is no link":             {"[x](javascript:alert(1))\n", `<p><a href="">x</a></p>`},
		"a table scrolls":                 {"|a|\n|-|\n|`<`|\n", `<section class="scroll" aria-label="Table 1" tabindex="0"><table>`},
		"an aligned table has no style":   {"|a|\n|:-:|\n|b|\n", "<th>a</th>"},
		"code that looks like a table":    {"`<table>`\n", "<p><code>&lt;table&gt;</code></p>"},
		"a block of code scrolls":         {"```\nx\n```\n", `<pre tabindex="0"><code>x`},
	} {
		body, err := page.Markdown([]byte(test.src), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(body.HTML, test.want) {
			t.Errorf("%s: %q, want %q", name, body.HTML, test.want)
		}
	}
	body, err := page.Markdown([]byte("# One\n\n## Two `code` *x*\n\n### Three\n\n## Four {#f}\n\n|a|\n|-|\n|b|\n\n|a|\n|-|\n|b|\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []page.Section{{ID: "two-code-x", Text: "Two code x"}, {ID: "f", Text: "Four"}}
	if len(body.Sections) != 2 || body.Sections[0] != want[0] || body.Sections[1] != want[1] {
		t.Errorf("sections %v, want %v", body.Sections, want)
	}
	if !strings.Contains(body.HTML, `aria-label="Table 2"`) {
		t.Errorf("the second table has no name of its own: %s", body.HTML)
	}
}

func TestRender(t *testing.T) {
	p := page.Page{
		Service: "Tern & Co", Title: "Tern & Co", Description: `"quoted" <x>`, Canonical: "https://www.tern.example/", Twin: "/index.html.md",
		Status: &page.Status{Dot: "amber", Status: "away", Since: "2026-11-20T12:00:00Z", Message: "<i>back soon</i>"},
		Nav:    []page.Link{{Path: "/", Text: "Home"}, {Path: "/privacy.html", Text: "Privacy"}},
		Body:   page.Body{HTML: "<p>body</p>"},
	}
	html, err := p.Render()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<title>Tern &amp; Co</title>", `content="&#34;quoted&#34; &lt;x&gt;"`, `<link rel="canonical" href="https://www.tern.example/"`,
		`<link rel="alternate" type="text/markdown" href="/index.html.md"`, `<a href="/" aria-current="page">Home</a>`, `<a href="/privacy.html">Privacy</a>`,
		`<span class="dot amber" aria-hidden="true"></span>`, "Operator away", "&lt;i&gt;back soon", "<p>body</p>",
	} {
		if !strings.Contains(string(html), want) {
			t.Errorf("lacks %s:\n%s", want, html)
		}
	}
	p.Canonical = ""
	if html, err = p.Render(); err != nil || !strings.Contains(string(html), `content="noindex"`) || strings.Contains(string(html), "aria-current") {
		t.Errorf("a page that is no document: %v\n%s", err, html)
	}
}
