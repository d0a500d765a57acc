package assets

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestHeadersFaults(t *testing.T) {
	_, err := ParseHeaders("  A: b\nhttps://x/*\n/ok\n  no colon\n/:id\n/a/*/*\n/ok\n  A:\n  B: " + strings.Repeat("b", MaxLine) + "\n")
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"1: header line before the first path", "2: got a line that begins with neither / nor a space",
		`4: got "no colon", want Name: value or ! Name`, "5: placeholder in path /:id (use *)",
		"6: path /a/*/* has more than one *", "7: duplicate path /ok", `8: got "A:", want Name: value`,
		"9: line of 2003 characters, want at most 2000",
	} {
		if !strings.Contains(err.Error(), "_headers:"+want) {
			t.Errorf("%q lacks %s", err, want)
		}
	}
	var most strings.Builder
	for i := range MaxRules {
		fmt.Fprintf(&most, "/%d\n  A: b\n", i)
	}
	if rules, err := ParseHeaders(most.String()); err != nil || len(rules) != MaxRules {
		t.Errorf("%d rules: %v", len(rules), err)
	}
	if _, err := ParseHeaders(most.String() + "/more\n  A: b\n"); err == nil || !strings.Contains(err.Error(), "got 101 rules") {
		t.Errorf("one rule more: %v", err)
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
	rules, err := ParseHeaders("# comment\n/*\n  A: one\n  B: one\n/p/*.txt\n  ! B\n  b: two\n\ta: two\n\n/p/x.txt\n  C: three: four\n")
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
