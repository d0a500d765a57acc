package site

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestCheckLinks(t *testing.T) {
	fsys := base(t)
	fsys["pages/privacy.md"] = &fstest.MapFile{Data: []byte(`---
title: Privacy
description: Little is kept.
updated: 2026-01-31
---
See [here](#here), [there](#there), [index](/), ` + "`[code](/no)`" + ` and
[gone](/gone.html), [guide](/field-guide.html#limit), [odd](index.html), [out](https://example.org/x#y),
[x](/also-gone), https://www.base.example/lost and [[base_url]]/field-guide.html#limits.

` + "```sh\ncurl [[base_url]]/api/nothing # [x](/not-a-link)\n```" + `

[def]: /undefined
[def]
[a](https://) [b](mailto:) [c](https://exa%20mple.org) [d](mailto:ada) [e](mailto:ada@base.example?subject=x) [f](mailto:[[contact]])
A text has no [anchors](/llms.txt#start). Every address of a line counts: [[base_url]], [[base_url]]/one and https://www.base.example/two.
`)}
	s, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{"/": true, "/llms.txt": true, "/privacy.html": true, "/field-guide.html": true}
	for _, p := range []string{"presence", "aup", "roster", "receipt", "suggest", "waitlist"} {
		paths["/api/"+p] = true
	}
	anchors := map[string]map[string]bool{"/field-guide.html": {"limits": true}, "/privacy.html": {"here": true}}
	err = s.CheckLinks(paths, anchors)
	want := strings.ReplaceAll(`pages/privacy.md:6:28: no #there in /privacy.html (did you mean here?)
pages/privacy.md:7:8: nothing is published at /gone.html (KNOWN)
pages/privacy.md:7:29: no #limit in /field-guide.html (did you mean limits?)
pages/privacy.md:7:61: the link index.html is neither a path from the root nor a whole address (begin it with /, #, https:// or mailto:)
pages/privacy.md:8:5: nothing is published at /also-gone (KNOWN)
pages/privacy.md:8:18: nothing is published at /lost (KNOWN)
pages/privacy.md:11:6: nothing is published at /api/nothing (KNOWN)
pages/privacy.md:14:8: nothing is published at /undefined (KNOWN)
pages/privacy.md:16:5: the link https:// leads nowhere (write the whole address)
pages/privacy.md:16:19: the link mailto: leads nowhere (write the whole address)
pages/privacy.md:16:32: the link https://exa%20mple.org leads nowhere (write the whole address)
pages/privacy.md:16:60: the link mailto:ada leads nowhere (write the whole address)
pages/privacy.md:17:25: no #start in /llms.txt (remove it)
pages/privacy.md:17:89: nothing is published at /one (KNOWN)
pages/privacy.md:17:110: nothing is published at /two (KNOWN)`, "KNOWN", "known: /, /api/aup, /api/presence, /api/receipt, /api/roster, /api/suggest, /api/waitlist, /field-guide.html, /llms.txt, /privacy.html")
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestExpand(t *testing.T) {
	values := map[string]string{"base_url": "https://x", "max:op.field": "80"}
	tests := []struct{ text, want, err string }{
		{"plain", "plain", ""},
		{"[[base_url]]/a?n={agent_name}", "https://x/a?n={agent_name}", ""},
		{"at most [[max:op.field]]", "at most 80", ""},
		{`{"a":[[1,2]]} [[ base_url ]] [[Base]]`, `{"a":[[1,2]]} [[ base_url ]] [[Base]]`, ""},
		{"[[nope]] [[min:op.field]]", "", "expand the content: no value for [[nope]], [[min:op.field]] (known: base_url, max:op.field)"},
	}
	for _, test := range tests {
		got, err := Expand(test.text, values)
		if got != test.want || (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
			t.Errorf("Expand(%q) = %q, %v", test.text, got, err)
		}
	}
}
