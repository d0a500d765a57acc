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

// TestLosses: HTML and attributes have a place and a hint, and what is shown has none.
func TestLosses(t *testing.T) {
	t.Parallel()
	const tag, braces = "raw HTML is left out of the page", "0: the braces at the end"
	for src, want := range map[string]string{
		"Send <name> to the desk.":       "5: " + tag,
		"Vec<T>":                         "3: " + tag,
		"3 <b and c> d":                  "2: " + tag,
		"## A <b>":                       "5: " + tag,
		"- x\n\n  <details>\n  y":        "7: " + tag,
		"<details>\n\nx\n\n</details>\n": "0: " + tag + "\n14: " + tag,
		"x <!-- c --> y":                 "2: " + tag,
		"> <!-- c -->":                   "2: " + tag,
		"<?php x ?>":                     "0: " + tag,
		"## Send {name=x}":               braces,
		"## A {#b}\n\n## C {#b}":         "11: two headings have the identifier b",

		"<!-- a marker -->\n\nx":                    "",
		"`<b>` \\<b> &lt;b> < b":                    "",
		"```\n<b> [^1]\n- [ ] x\n```\n\n\t<b> [^1]": "",
		"<https://a.example> <a@a.example>":         "",
		"````\n```\n````\n\n- ~~~\n  x\n\n  ~~~\n":  "",
		"> ```\n> ```\n\n    |-|\n\n[![x](/y)](/z)": "",
		"a\n-|b\n-- | --x":                          "",
		"|a|b|\n|-|-|\n|b\\|c|`d\\|e`|\n|f|":        "",
		"> | a | b |\n> |---|---|\n> | 1 | 2 |":     "",
		"- > | a |\n  > |---|\n  > | 1 |":           "",
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
		"one <two> three", "- [ ] one\n- two", "one[^two]\n\n[^two]: three", "# one {two=three}",
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

// TestText: a plain text is shown as it is, in a paragraph, a heading, a cell of a table and a
// list, and is not changed where nothing in it acts as markup.
func TestText(t *testing.T) {
	t.Parallel()
	for _, same := range []string{"Tern & Co", "R&D", "C# and F#", "snake_case_name", "(x)", "“é” 漢 😀"} {
		if got := markdown.Text(same); got != same {
			t.Errorf("%q becomes %q", same, got)
		}
	}
	for _, s := range []string{
		"Tern & Co", "R&D", "C#", "# One", "a # b", "A #", "A (_c_) \"_d_\"", "x __a__", "_a_", "a_b_c", "a_ b", "A ` b", "`a", "a`", "A &amp; B", "&#65; &x", "<b> <!-- x -->",
		"*a* **b** ~~c~~ ~d~", "[a](b) [c] ![d](e)", `a \b \* \_`, "a|b", "1. a", "é_ü_", "[^1]", "{#x}",
	} {
		for name, frame := range map[string][2]string{
			"text": {"x ", " y"}, "paragraph": {"", ""}, "heading": {"## x ", ""}, "cell": {"|x|y|\n|-|-|\n|a|", "|"}, "list": {"- x ", ""},
		} {
			var b bytes.Buffer
			if err := markdown.New().Convert([]byte(frame[0]+markdown.Text(s)+frame[1]), &b); err != nil {
				t.Fatal(err)
			}
			shown := html.UnescapeString(tags.ReplaceAllString(b.String(), ""))
			if name == "paragraph" && s == "1. a" {
				continue // a list of its own, with its number
			}
			if !strings.Contains(shown, s) {
				t.Errorf("%s: %q is written %q and shown %q", name, s, markdown.Text(s), shown)
			}
		}
	}
}
