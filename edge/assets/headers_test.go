package assets

import (
	"net/http"
	"strings"
	"testing"
)

func TestHeadersFaults(t *testing.T) {
	for text, want := range map[string]string{
		"  A: b\n": `line "A: b" before the first path`,
		"/ok\n  B: " + strings.Repeat("b", MaxLine) + "\n": "line of 2003 characters, want at most 2000: B: bbb",
		strings.Repeat("/a\n", MaxRules+1):                 "got 101 rules, want at most 100",
	} {
		if _, err := ParseHeaders(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
	if rules, err := ParseHeaders(strings.Repeat("/a\n", MaxRules)); err != nil || len(rules) != MaxRules {
		t.Errorf("%d rules: %v", len(rules), err)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"/a", "/a", true},
		{"/a", "/a/", false},
		{"/a", "/ab", false},
		{"/*", "/", true},
		{"/*", "/a/b", true},
		{"/a/*", "/a/", true},
		{"/a/*", "/a", false},
		{"/p/*.html", "/p/x.html", true},
		{"/p/*.html", "/p/x.html.md", false},
		{"/p/*.html", "/p/a/x.html", true},
		{"/p/*.html", "/q/x.html", false},
		{"/*.html", "/.html", true},
		{"/a*a", "/a", false},
		{"/a*a", "/aa", true},
	} {
		if got := Matches(c.pattern, c.path); got != c.want {
			t.Errorf("%s for %s: %v", c.pattern, c.path, got)
		}
	}
}

// Values of two rules are joined, unless the later one takes the field away before.
func TestApply(t *testing.T) {
	rules, err := ParseHeaders("/*\n  A: one\n  B: one\n/p/*.txt\n  ! B\n  b: two\n\ta: two\n/p/x.txt\n  C: three: four\n")
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{"A": {"default"}, "D": {"default"}}
	rules.Apply("/p/x.txt", h)
	for name, want := range map[string]string{"A": "one, two", "B": "two", "C": "three: four", "D": "default"} {
		if got := h.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := rules.Of("/q"); len(got) != 2 || got.Get("A") != "one" {
		t.Errorf("/q has %v", got)
	}
}
