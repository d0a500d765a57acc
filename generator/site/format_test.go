package site

import (
	"regexp"
	"strings"
	"testing"
)

// TestFormats has what each format takes and refuses, at its edges.
func TestFormats(t *testing.T) {
	long := strings.Repeat
	host := long("a", 63) + "." + long("b", 63) + "." + long("c", 63) + "." // 192 bytes
	cases := map[string]struct{ takes, refuses []string }{
		"date": {
			[]string{"2026-11-20", "2024-02-29", "2000-01-01"},
			[]string{"", "2026-11-31", "2023-02-29", "2026-1-20", "2026-11-20 ", "20261120"},
		},
		"time": {
			[]string{"2026-11-20T12:00:00Z", "2026-11-20T00:00:00Z", "2026-11-20T23:59:59Z", "2026-11-20T09:19:29Z"},
			[]string{
				"", "2026-11-20", "2026-11-20T12:60:00Z", "2026-11-20T12:00:60Z", "2026-11-20 12:00:00Z",
				"2026-11-20T12.00:00Z", "2026-11-20T12:00:00z", "2026-11-20T12:00:00ZZ", "2026-11-20T12:00:0:Z",
			},
		},
		"host": {
			[]string{"a.b", "www.anteroom.example", "a-b.c-d", "0.a", "9z.z9", "xn--a.b", host + long("d", 61), long("a", 63) + ".b", "a.b0"},
			[]string{
				"", "a", "a..b", "a.-b", "a.b-", "a.B", "a.0", "a.9b", "127.0.0.1", "a.b:1", "é.b",
				host + long("d", 62), long("a", 64) + ".b", "a." + long("b", 64),
			},
		},
		"email":        {[]string{"name@anteroom.example"}, []string{"", "name", "Name <name@anteroom.example>", "a@b"}},
		"key":          {[]string{"iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w="}, []string{"", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=", "AAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\nA=", long("A", 44), long("A", 44) + "AA=="}},
		"indexnow-key": {[]string{"aZ0-zA9-", long("a", 128)}, []string{"", "aZ0-zA9", long("a", 129), "aZ0_zA9-", "aZ0.zA9-", "aZ0-zA9é"}},
		"upstream": {
			[]string{"https://index.example.org/indexnow", "https://a.b", "http://127.0.0.1:8080/x", "http://localhost", "http://[::1]:1/", "http://127.9.9.9/?q", "https://127.0.0.1:8443"},
			[]string{
				"", "https://a.b/#x", "https://a.b/#", "http://127.0.0.1/#x", "http://127.0.0.1/#", "http://user:secret@127.0.0.1/", "http://user@localhost/", "https://user:secret@a.b/",
				"http://a.b/", "http://128.0.0.1/", "https://128.0.0.1/", "http://[::2]/", "ftp://127.0.0.1/", "//127.0.0.1/", "127.0.0.1", "http://localhost.example/", "http://%zz/",
			},
		},
		"contact": {
			[]string{"mailto:a@b.example", "tel:+49-30-1", "https://a.b/security"},
			[]string{"", "a@b.example", "mailto:a", "tel:49", "tel:+", "tel:+49 30", "http://a.b/", "https://a", "x tel:+49"},
		},
		"url": {
			[]string{"https://a.b", "https://a.b/", "https://a.b?q=1", "https://a.b#x", "https://a.b:1/x", "https://a.b:65535", "https://a.b/%20%aF%Fa", "https://a.b/!~$&'()*+,;=:@[]-._", "https://a.b/x:y", "https://a.b?u:p", "https://a.b#c:d"},
			[]string{
				"", "http://a.b", "https://", "https:///x", "https://a", "https://a.b:", "https://a.b:123456", "https://a.b:/x", "https://a.b:x", "https://a.b:1:2", "https://a.b:+1", "https://u@a.b", "https://u:p@a.b", "HTTPS://a.b",
				"https://a.b/%", "https://a.b/%2", "https://a.b/ ", "https://a.b/\x7f", "https://a.b/é", "https://a.b/\x00", `https://a.b/"`, `https://a.b/\`, "https://a.b/}", "https://A.b/",
			},
		},
		"id":        {[]string{"a", "0", "a-b", "a0-9z", "z"}, []string{"", "-", "-a", "a-", "a--b", "A", "a_b", "a b", "é"}},
		"sha256":    {[]string{long("0", 64), long("9", 64), long("a", 64), long("f", 64)}, []string{"", long("0", 63), long("0", 65), long("A", 64), long("F", 64), long("g", 64)}},
		"spdx":      {[]string{"CC-BY-4.0", "MIT", "GPL-2.0+"}, []string{"", "CC BY", "CC_BY", "é"}},
		"prefix":    {[]string{"a_", "service_", "a0_b_", "a" + long("b", 30) + "_"}, []string{"", "_", "a", "0a_", "__", "A_", "aB_", "a-_", "a_b", "a" + long("b", 31) + "_", "é_"}},
		"languages": {[]string{"en", "en, de-CH", "sr-Latn-RS"}, []string{"", "e", "en,de", "en, ", "en;de", "en-"}},
		"line":      {[]string{"a b", "é"}, []string{"a\nb", "a\rb", "a\tb"}},
	}
	for name, test := range cases {
		f := formats[name]
		_, keyword := Keywords(name)
		pattern := regexp.MustCompile(keyword)
		for _, text := range test.takes {
			if !f.ok(text) {
				t.Errorf("%s refuses %q", name, text)
			}
			if !pattern.MatchString(text) {
				t.Errorf("%s: the pattern of the schema refuses %q", name, text)
			}
		}
		for _, text := range test.refuses {
			if f.ok(text) {
				t.Errorf("%s takes %q", name, text)
			}
			if keyword != "" && pattern.MatchString(text) {
				t.Errorf("%s: the pattern of the schema takes %q", name, text)
			}
		}
	}
	if len(cases) != len(formats) {
		t.Errorf("cases for %d of %d formats", len(cases), len(formats))
	}
}
