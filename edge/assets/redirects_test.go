package assets

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

func TestParseRedirects(t *testing.T) {
	got, err := ParseRedirects("# comment\n\n/ /index.html 200\n/a\t/b?c=d 308\n /e /f\n")
	want := Redirects{"/": {"/index.html", 200}, "/a": {"/b?c=d", 308}, "/e": {"/f", 302}}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	_, err = ParseRedirects("/a\n/b /c 404\n/d* /e\n/f /g\n/f /h\n/i https://x/\n/j //x\n/k /l 301 x\n/:m /n\n/o /p many\nq /r\n")
	if err == nil {
		t.Fatal("accepted")
	}
	for _, n := range []int{1, 2, 3, 5, 6, 7, 8, 9, 10, 11} {
		if want := fmt.Sprintf("_redirects:%d:", n); !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %s", err, want)
		}
	}
}

func TestLocation(t *testing.T) {
	for _, c := range []struct{ to, query, want string }{
		{"/b", "", "/b"}, {"/b", "x=1&y", "/b?x=1&y"}, {"/b?c=d", "x=1", "/b?c=d"},
	} {
		if got := (Redirect{To: c.to}).Location(c.query); got != c.want {
			t.Errorf("%s with %q leads to %s, want %s", c.to, c.query, got, c.want)
		}
	}
}
