package markdown_test

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/generator/markdown"
)

// TestLosses: what HTML would not show has a place and a hint, and what it shows has none.
func TestLosses(t *testing.T) {
	t.Parallel()
	const cell, tag, task = "8: a row with more cells", "raw HTML is left out of the page: ", "2: a list item with a box to tick"
	for src, want := range map[string]string{
		"Send <name> to the desk.":       "5: " + tag + "<name>",
		"Vec<T>":                         "3: " + tag + "<T>",
		"3 <b and c> d":                  "2: " + tag + "<b and c>",
		"## A <b>":                       "5: " + tag + "<b>",
		"- x\n\n  <details>\n  y":        "7: " + tag + "<details>",
		"<details>\n\nx\n\n</details>\n": "0: " + tag + "<details>\n14: " + tag + "</details>",
		"x <!-- c --> y":                 "2: " + tag + "<!-- c -->",
		"<?php x ?>":                     "0: " + tag + "<?php x ?>",
		"|a|\n|-|\n|b|c|":                cell,
		"|a|\n|-|\n| `b|c` |":            cell,
		"- [ ] x":                        task,
		"- [x] x":                        task,
		"Text[^1].":                      "4: a footnote",
		"Text[^1].\n\n[^1]: word":        "4: a footnote\n11: a footnote",
		"## Send {name=x}":               "3: the braces",
		"[x]: /y\n\nz":                   "0: the definition of a link",

		"<!-- a marker -->\n\nx":                          "",
		"`<b>` \\<b> &lt;b> < b":                          "",
		"```\n<b> [^1]\n- [ ] x\n```\n\n\t<b> [^1]":       "",
		"<https://a.example> <a@a.example>":               "",
		"|a|b|\n|-|-|\n|b\\|c|`d\\|e`|\n|f|":              "",
		"- [x](/y)\n- [x]\n\n[x]: /y":                     "",
		"## A {#b}\n\n`[^1]` \\[^1]\n\n[Y][x]\n\n[X]: /y": "",
	} {
		var got []string
		for _, loss := range markdown.Losses([]byte(src)) {
			if loss.Hint == "" {
				t.Errorf("%q: no hint for %s", src, loss.What)
			}
			got = append(got, fmt.Sprintf("%d: %s", loss.At, loss.What))
		}
		wanted := strings.Split(want, "\n")
		if want == "" {
			wanted = nil
		}
		if !slices.EqualFunc(got, wanted, strings.HasPrefix) {
			t.Errorf("%q: %q, want %q", src, got, wanted)
		}
	}
}

var (
	word = regexp.MustCompile(`[a-z]{2,}`)
	tags = regexp.MustCompile(`<[^>]*>`)
)

// FuzzLosses: a document either has a loss, or its HTML shows each word of it that is no address,
// title of a link, or language of a code block.
func FuzzLosses(f *testing.F) {
	for _, seed := range []string{
		"one <two> three", "|one|two|\n|-|-|\n|three|four|five|", "- [ ] one\n- two", "one[^two]\n\n[^two]: three", "# one {two=three}",
		"> one\n\n1. two\n   three `four` **five** ~~six~~", "one\n---\n\ntwo\n***\n    three", "one  \ntwo\\\nthree &amp; four",
	} {
		f.Add(seed)
	}
	skipped := regexp.MustCompile("(?m)\\]\\([^)]*|^ {0,3}\\[[^\\]]+\\]:.*|^[ >\t]*(?:```|~~~).*|&[a-z]+;|\\{#[^}]*\\}|\\][ \t]*\\[[^\\]]*\\]|<!--[\\s\\S]*?-->")
	f.Fuzz(func(t *testing.T, src string) {
		if strings.ContainsAny(src, "`~!") && strings.Count(src, "\n") > 2 || len(markdown.Losses([]byte(src))) > 0 || strings.HasPrefix(strings.TrimSpace(src), "<!--") {
			return
		}
		var b bytes.Buffer
		if err := markdown.New().Convert([]byte(src), &b); err != nil {
			t.Fatal(err)
		}
		shown := html.UnescapeString(tags.ReplaceAllString(b.String(), " "))
		for _, w := range word.FindAllString(skipped.ReplaceAllString(src, " "), -1) {
			if !strings.Contains(shown, w) && !strings.Contains(b.String(), w) {
				t.Errorf("%q does not show %q: %q", src, w, b.String())
			}
		}
	})
}
